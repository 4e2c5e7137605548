"""Every remark of Triton's test-alias.mlir and test-allocation.mlir, and every check of its test-membar files.

They are read from the checkout that TRITON_SRC names. A remark holds if the same line has a remark that contains it; a function
with buffers but without a remark for them may not exist.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from triton_test_passes import print_membar
from triton_test_passes.allocate_shared_memory import AllocateSharedMemory
from triton_test_passes.print_alias import TextNames, alias_remarks
from triton_test_passes.print_allocation import allocation_remarks
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module

TRITON_SRC = os.environ.get("TRITON_SRC")
pytestmark = pytest.mark.skipif(TRITON_SRC is None, reason="TRITON_SRC does not name a checkout of Triton 3.6.0")
FOLDER = Path(TRITON_SRC or "") / "test" / "Analysis"


def chunks(name: str) -> list[str]:
    return re.split(r"^// -----.*$", (FOLDER / name).read_text(), flags=re.M)


def expected(text: str) -> list[tuple[int, str]]:
    """The lines that must have a remark, and what it says."""
    found: list[tuple[int, str]] = []
    waiting: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        remark = re.search(r"expected-remark @below \{\{(.*)\}\}", line)
        if remark:
            waiting.append(remark[1])
        elif line.strip():
            found += [(number, message) for message in waiting]
            waiting = []
    return found


def places(remarks: Iterator[tuple[Operation, str]]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for op, message in remarks:
        assert isinstance(op.location, FileLineColLoc)
        found.append((op.location.line.data, message))
    return found


def alias_of(module: ModuleOp) -> Iterator[tuple[Operation, str]]:
    for function in module.walk():
        if function.name == "tt.func":
            yield from alias_remarks(function, TextNames(function))


def missing(text: str, got: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Expected remarks that no remark of the line answers, each remark answering one; and the other way round."""
    open_remarks = list(got)
    unanswered: list[tuple[int, str]] = []
    for number, message in sorted(expected(text), key=lambda entry: -len(entry[1])):
        answer = next((entry for entry in open_remarks if entry[0] == number and message in entry[1]), None)
        if answer is None:
            unanswered.append((number, message))
        else:
            open_remarks.remove(answer)
    return unanswered


def test_aliases_are_those_of_the_lit_test() -> None:
    (text,) = chunks("test-alias.mlir")
    got = places(alias_of(parse_module(text)))
    assert missing(text, got) == []
    assert len(got) == len(expected(text))


def test_allocations_are_those_of_the_lit_test() -> None:
    for text in chunks("test-allocation.mlir"):
        assert missing(text, places(allocation_remarks(parse_module(text), triton_scratch_bytes))) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["test-membar.mlir", "test-membar-ttng.mlir"])
def test_barriers_are_where_the_lit_test_wants_them(name: str, tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    printed: list[str] = []
    for text in chunks(name):
        module = parse_module(text)
        for each in (AllocateSharedMemory(), print_membar.PrintMembar()):
            each.apply(make_context(), module)
        printed.append(print_module(module))
    command = [str(Path(triton.__file__).parent / "FileCheck"), str(FOLDER / name)]
    if name.endswith("ttng.mlir"):
        command.append("--check-prefixes=CHECK,SCF")
    done = subprocess.run(command, input="// -----\n".join(printed), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:3000]
