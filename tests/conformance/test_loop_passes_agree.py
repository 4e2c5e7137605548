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
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from minitriton.dialects import arith, tt
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


def as_it_is(module: ModuleOp) -> None:
    """No adjustment."""


def agree(text: str, *steps: tuple[AddPass, Pass], adjust: Callable[[ModuleOp], None] = as_it_is) -> None:
    """Asserts that the wheel's passes and ours make the same of `text`; ours with a change that is meant, which `adjust` takes back."""
    module = parse_module(text)
    for _, answer in steps:
        answer.apply(CONTEXT, module)
    module.verify()
    adjust(module)
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
    loops = re.findall(r"^(?!\s*//).*scf\.for .*", function, flags=re.MULTILINE)
    return all(": i64 {" in loop for loop in loops)


def fused_alike(function: str, *, guarded: bool = False) -> None:
    """Asserts that a function's nests become the same. `guarded`: where the innermost of three loops has a length that takes a division,
    Triton divides even if the outermost loop does not run; ours asks first, and what it then does is compared."""
    steps = (
        (passes.ttgpuir.add_fuse_nested_loops, FuseNestedLoops()),
        (passes.common.add_canonicalizer, Canonicalize()),
        (passes.common.add_cse, Cse()),
    )
    agree(function, *steps, adjust=without_guard if guarded else as_it_is)


def without_guard(module: ModuleOp) -> None:
    """Takes what one `scf.if` at the top of a function holds out of it, and drops its condition."""
    [guard] = [op for op in module.walk() if isinstance(op, scf.IfOp) and isinstance(op.parent_op(), tt.FuncOp)]
    block, condition = guard.true_region.block, guard.cond.owner
    assert not guard.false_region.blocks and not guard.results and isinstance(condition, arith.CmpiOp)
    for op in list(block.ops)[:-1]:
        op.detach()
        Rewriter.insert_op(op, InsertPoint.before(guard))
    for op in (guard, condition):
        Rewriter.erase_op(op)


def test_loop_nests_of_the_lit_test_are_fused_alike() -> None:
    """But for those marked `tt.flatten`: where the inner loop may be empty, Triton asks whether its bounds are equal."""
    functions = [each for chunk in lit_chunks("TritonGPU/fuse-nested-loops.mlir") for each in functions_of(chunk)]
    compared = [each for each in functions if counts_in_64_bits(each) and "tt.flatten" not in each]
    assert len(compared) > 7
    for function in compared:
        fused_alike(with_calls(function), guarded="@triple_loop_nest(" in function)


TWO_DEEP = """
tt.func private @note(%at: i64, %total: index) -> index
tt.func @rows_of_a_table(%rows: i64, %columns: i64, %total: index) -> index {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %all = scf.for %row = %zero to %rows step %one iter_args(%before = %total) -> index : i64 {
    %sum = scf.for %column = %zero to %columns step %one iter_args(%part = %before) -> index : i64 {
      %more = tt.call @note(%column, %part) : (i64, index) -> index
      scf.yield %more : index
    }
    scf.yield %sum : index
  } {"ttg.always-fuse"}
  tt.return %all : index
}
// CHECK-LABEL: the next function counts with an index, and in i32 {
"""

THREE_DEEP = """
tt.func private @visit(%x: i64, %y: i64, %z: i64)
tt.func @cells_of_a_box(%width: i64, %height: i64, %depth: i64, %stride: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for %x = %zero to %width step %one : i64 {
    scf.for %y = %zero to %height step %one : i64 {
      scf.for %z = %zero to %depth step %stride : i64 {
        tt.call @visit(%x, %y, %z) : (i64, i64, i64) -> ()
      }
    }
  } {"ttg.always-fuse"}
  tt.return
}
"""


@pytest.mark.parametrize(("function", "guarded"), [(TWO_DEEP, False), (THREE_DEEP, True)])
def test_loop_nests_are_fused_alike(function: str, guarded: bool) -> None:
    assert counts_in_64_bits(function)
    fused_alike(function, guarded=guarded)


def test_a_nest_that_counts_in_32_bits_or_with_an_index_is_told_apart() -> None:
    """Of other loops the length is as wide as they count in Triton."""
    assert not counts_in_64_bits(THREE_DEEP.replace(": i64 {", ": i32 {"))
    assert not counts_in_64_bits(THREE_DEEP.replace(" : i64 {", " {"))
