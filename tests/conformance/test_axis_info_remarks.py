"""Every remark of Triton's test/Analysis/test-alignment.mlir, read from the checkout that TRITON_SRC names.

All of them hold here, so the list of deliberate differences is empty. Where Triton's analysis claims what can be false
(divisibility of partial groups, signed division of numbers that may be negative), the file has no remark; those cases are in
tests/analysis.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects.text import parse_module

SOURCE = Path(os.environ.get("TRITON_SRC", "")) / "test" / "Analysis" / "test-alignment.mlir"
DELIBERATE_DIFFERENCES: frozenset[tuple[str, str]] = frozenset()
"""Pairs of function and result name whose remark does not hold here."""


def named_results(text: str) -> str:
    """`text` with every value name such that it is kept as a hint: `%0` becomes `%v0`, `%cst_0` becomes `%cst_v0`."""
    return re.sub(r"%((?:\w+_)?)(\d+)\b", r"%\1v\2", text)


def expectations(chunk: str) -> tuple[str, list[tuple[str, str, str]]]:
    """The chunk's IR, and (function, result name, expected text) of each remark in it."""
    found: list[tuple[str, str, str]] = []
    lines: list[str] = []
    pending: list[str] = []
    function, nameless = "", 0
    for line in named_results(chunk).splitlines():
        remark = re.match(r"\s*// expected-remark @below \{\{(.*?)\}\}?", line)
        if remark:
            pending.append(remark.group(1))
            continue
        if not line.strip() or line.strip().startswith("//"):
            continue
        opened = re.search(r"tt\.func\s+(?:public\s+)?@(\w+)", line)
        function = opened.group(1) if opened else function
        if pending:
            result = re.match(r"(\s*)%(\w+)(?::\d+)?(?:\s*,.*)?\s*=", line)
            if result is None:
                name = f"nameless{nameless}"
                line = f"%{name} = {line.strip()}"
                nameless += 1
            else:
                name = result.group(2)
            found.extend((function, name, text) for text in pending)
            pending = []
        lines.append(line)
    return "\n".join(lines), found


def enclosing_function(op: Operation | None) -> str:
    while op is not None and op.name != "tt.func":
        op = op.parent_op()
    name = op.properties["sym_name"] if op is not None else None
    return name.data if isinstance(name, StringAttr) else ""


CHUNKS = SOURCE.read_text().split("// -----") if SOURCE.is_file() else []


@pytest.mark.skipif(not CHUNKS, reason="TRITON_SRC does not name a checkout of Triton")
def test_the_file_has_all_its_chunks():
    assert len(CHUNKS) == 44
    assert sum(len(expectations(chunk)[1]) for chunk in CHUNKS) == 308


@pytest.mark.parametrize("index", range(len(CHUNKS)))
def test_remarks_of_a_chunk_hold(index: int):
    text, expected = expectations(CHUNKS[index])
    module = parse_module(text)
    analysis = AxisInfoAnalysis(module)
    facts: dict[tuple[str, str | None], list[str]] = {}
    for op in module.walk():
        for result in op.results:
            key = (enclosing_function(op), op.results[0].name_hint)
            facts.setdefault(key, []).append(str(analysis.get(result)))
    for function, name, remark in expected:
        if (function, name) not in DELIBERATE_DIFFERENCES:
            assert any(remark in fact for fact in facts[function, name]), (
                function,
                name,
                remark,
                facts[function, name],
            )
