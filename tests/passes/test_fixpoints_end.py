"""What is repeated until nothing changes ends where something always changes, with a remark."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import Operation, SSAValue

import minitriton as triton
import minitriton.language as tl
from minitriton.analysis.dataflow import MOST_TIMES, ForwardDataflow
from minitriton.dialects.text import parse_module
from minitriton.passes.remove_layout_conversions import MAX_ROUNDS
from minitriton.rewriting.greedy import VISITS_OF_AN_OP, apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.rewriter import Rewriter


@pytest.fixture(autouse=True)
def remarks_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_ENABLE_REMARK", "1")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")


@triton.jit
def reshapes_in_a_loop(x, y, n, R: tl.constexpr, C: tl.constexpr):
    offsets = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    values = tl.load(x + offsets)
    for _ in range(n):
        values = tl.reshape(tl.permute(values, (1, 0)), (R, C)) + 1
    tl.store(y + offsets, values)


@pytest.mark.parametrize(("rows", "columns"), [(2, 32), (2, 16), (4, 8)])
def test_a_tile_smaller_than_the_threads_reshaped_in_a_loop(
    rows: int, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns)
    y, wanted = np.zeros_like(x), x.copy()
    reshapes_in_a_loop[(1,)](x, y, 3, R=rows, C=columns)
    for _ in range(3):
        wanted = wanted.T.reshape(rows, columns) + 1
    np.testing.assert_array_equal(y, wanted)
    assert f"still move after {MAX_ROUNDS} rounds" in capsys.readouterr().err


def test_patterns_that_undo_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    visits = 0
    there_and_back = PatternSet()

    @there_and_back.pattern(test.TestOp)
    def flip(op: Operation, rewriter: Rewriter) -> bool:
        nonlocal visits
        visits += 1
        rewriter.replace_with(op, test.TestOp(result_types=[i32]))
        return True

    module = ModuleOp([test.TestOp(result_types=[i32])])
    assert apply_patterns_greedily(module, there_and_back)
    assert visits <= VISITS_OF_AN_OP * 17
    assert "patterns undo each other" in capsys.readouterr().err


class Counting(ForwardDataflow[float]):
    """An analysis without an end: what a loop carries counts up. Nothing known is infinity."""

    def transfer(self, op: Operation) -> None:
        for result in op.results:
            self.facts[result] = 1 + max((self.fact(operand) for operand in op.operands), default=0.0)

    def join(self, a: float, b: float) -> float:
        return max(a, b)

    def unknown(self, value: SSAValue) -> float:
        return float("inf")

    def loop_variable(self, lower: float, step: float) -> float:
        return 0.0

    def constant_of(self, fact: float) -> int | None:
        return None


LOOP = """
tt.func @f(%low: i32, %high: i32, %step: i32) {
  %zero = arith.constant 0 : i32
  %r = scf.for %i = %low to %high step %step iter_args(%x = %zero) -> (i32) : i32 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  tt.return
}"""
JUMPS = """
tt.func @f(%c: i1) {
  %zero = arith.constant 0 : i32
  cf.br ^again(%zero : i32)
^again(%x: i32):
  %y = arith.addi %x, %x : i32
  cf.cond_br %c, ^again(%y : i32), ^end
^end:
  tt.return
}"""


@pytest.mark.parametrize("text", [LOOP, JUMPS])
def test_a_fact_that_gets_weaker_for_ever(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = parse_module(text)
    analysis = Counting()
    analysis.run(module.regions[0].block.first_op.regions[0])
    added = next(op for op in module.walk() if op.name == "arith.addi")
    assert analysis.fact(added.results[0]) == float("inf")
    assert f"after {MOST_TIMES} rounds" in capsys.readouterr().err
