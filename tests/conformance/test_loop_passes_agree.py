"""Passes that reshape loops and branches give what Triton's wheel gives, op by op."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from triton._C.libtriton import passes
from wheel_passes import canonical_text, on_wheel

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.coalesce_async_copy import CoalesceAsyncCopy
from minitriton.passes.combine_tensor_select_and_if import CombineTensorSelectAndIf
from minitriton.passes.cse import Cse
from minitriton.passes.fuse_nested_loops import FuseNestedLoops
from minitriton.pipeline.pass_registry import Pass

pytestmark = pytest.mark.oracle

CONTEXT = make_context()

SOURCE = os.environ.get("TRITON_SRC")


AddPass = Callable[[Any], None]


def agree(text: str, *steps: tuple[AddPass, Pass]) -> None:
    """Asserts that the wheel's passes and ours make the same of `text`."""
    module = parse_module(text)
    for _, answer in steps:
        answer.apply(CONTEXT, module)
    module.verify()
    want = on_wheel(text, [add_pass for add_pass, _ in steps])
    assert canonical_text(module) == canonical_text(parse_module(want)), text


def lit_chunks(name: str) -> list[str]:
    """The parts of one of Triton's lit tests, if its checkout is at hand."""
    if SOURCE is None:
        pytest.skip("TRITON_SRC names no checkout of Triton")
    return re.split(r"^// ?-----.*$", Path(SOURCE, "test", name).read_text(), flags=re.MULTILINE)


def with_calls(text: str) -> str:
    """`text` with calls in place of ops of no dialect, which the wheel refuses."""
    declared: dict[str, None] = {}

    def call(match: re.Match[str]) -> str:
        name, operands, inputs, outputs = match.groups()
        if not outputs.startswith("("):
            outputs = f"({outputs})"
        symbol = re.sub(r"\W+", "_", f"{name}_{inputs}_{outputs}")
        arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(filter(None, inputs.split(", "))))
        declared[f"tt.func private @{symbol}({arguments}) -> {outputs}"] = None
        return f"tt.call @{symbol}({operands}) : ({inputs}) -> {outputs}"

    text = re.sub(r'"([\w.]+)"\(([^)]*)\) : \(([^)]*)\) -> (\([^)]*\)|\w+)', call, text)
    return "\n".join([*declared, text])


def test_selects_of_the_lit_test_are_merged_alike() -> None:
    for chunk in lit_chunks("TritonGPU/combine-select-if.mlir"):
        agree(chunk, (passes.ttgpuir.add_combine_tensor_select_and_if, CombineTensorSelectAndIf()))


def test_asynchronous_copies_of_the_lit_test_are_coalesced_alike() -> None:
    for chunk in lit_chunks("TritonGPU/coalesce-async-copy.mlir"):
        agree(chunk, (passes.ttgpuir.add_coalesce_async_copy, CoalesceAsyncCopy()))


def functions_of(chunk: str) -> list[str]:
    """The functions of a chunk that is nothing else."""
    return re.split(r"^(?=tt\.func )", chunk, flags=re.MULTILINE)[1:]


def counts_in_64_bits(function: str) -> bool:
    """Whether the length of the fused loop is as wide as ours, which is a product of lengths and must not overflow."""
    return not re.search(r": (i32|i16) \{|index", function)


def test_loop_nests_of_the_lit_test_are_fused_alike() -> None:
    """But for those marked `tt.flatten`: where the inner loop may be empty, Triton asks whether its bounds are equal."""
    functions = [each for chunk in lit_chunks("TritonGPU/fuse-nested-loops.mlir") for each in functions_of(chunk)]
    compared = [each for each in functions if counts_in_64_bits(each) and "tt.flatten" not in each]
    assert len(compared) > 7
    for function in compared:
        agree(
            with_calls(function),
            (passes.ttgpuir.add_fuse_nested_loops, FuseNestedLoops()),
            (passes.common.add_canonicalizer, Canonicalize()),
            (passes.common.add_cse, Cse()),
        )
