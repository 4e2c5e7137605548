"""Loops whose bounds are close to the ends of their type, or further apart than a signed number says: every level runs them as Python does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from minitriton.fuzz.control_flow.builder import Block, Buffer, Line, Program
from minitriton.fuzz.control_flow.comparison import run_program
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.tree import Scalar

LOW, HIGH = -(1 << 31), (1 << 31) - 1
HALF = 1 << 30
ORACLES = ("python", "interpreter", "ttir", "ttgir", "emulator", "emulator-sm80")
LEVELS = ORACLES[:4]
INT32, INT64 = ELEMENTS["int32"], ELEMENTS["int64"]


def program(loop: Block, **numbers: int) -> Program:
    """A kernel that stores what `loop` adds to `total`; `numbers` are its parameters."""
    out = Buffer("out", INT64, 1, written=True)
    data = Buffer("data", INT32, 3 * 64, 1, 9)
    values = Buffer("total_of", INT32, 64, written=True)
    body = (
        Line("lane = tl.arange(0, 64)"),
        Line("total = tl.full((), 0, tl.int64)"),
        Line("tile = tl.full((64,), 0, tl.int32)"),
        loop,
        Line("tl.store(out, total)"),
        Line("tl.store(total_of + lane, tile)"),
    )
    scalars = tuple(Scalar(name, INT32, value) for name, value in numbers.items())
    return Program(1, (data, values, out), scalars, (), body, num_warps=2)


def counting(header: str) -> Block:
    return Block(header, (Line("total = total * 3 + i.to(tl.int64)"),))


@pytest.mark.parametrize(
    ("hints", "numbers"),
    [
        ("n, m, loop_unroll_factor=3", {"n": HIGH - 13, "m": LOW + 50}),
        ("n, m, k, loop_unroll_factor=2", {"n": LOW, "m": 1, "k": HALF}),
        ("n, m, k, loop_unroll_factor=4", {"n": 0, "m": HALF - 1, "k": HALF}),
        (f"n, m, {HALF}, loop_unroll_factor=2", {"n": -HALF, "m": 1}),
    ],
)
def test_unrolled_loops(hints: str, numbers: dict[str, int]) -> None:
    assert not run_program(program(counting(f"for i in tl.range({hints}):"), **numbers), LEVELS)[0].findings


@pytest.mark.parametrize(
    ("bounds", "inner", "numbers"),
    [
        ("n, m", "2", {"n": HIGH - 13, "m": LOW + 50}),
        ("n, m, k", "2", {"n": LOW, "m": 1, "k": HALF}),
        ("1, m", "2", {"n": 0, "m": LOW}),
        ("2", "n, m, k", {"n": LOW + 1, "m": HALF, "k": HALF}),
    ],
)
def test_flattened_loops(bounds: str, inner: str, numbers: dict[str, int]) -> None:
    loop = Block(
        f"for i in tl.range({bounds}, flatten=True):",
        (Block(f"for j in range({inner}):", (Line("total = total * 3 + (i ^ j).to(tl.int64)"),)),),
    )
    assert not run_program(program(loop, **numbers), LEVELS)[0].findings


@pytest.mark.parametrize("stages", [2, 4])
@pytest.mark.parametrize(
    ("bounds", "index", "numbers"),
    [
        ("n, m", "(i - n) * 3", {"n": HIGH - 1, "m": HIGH}),
        ("n, m", "i - n", {"n": LOW, "m": LOW + 1}),
        ("n, m", "i - n", {"n": HIGH, "m": LOW}),
        ("n, m, k", "i // k + 2", {"n": LOW, "m": 5, "k": HALF}),
        (f"n, m, {HALF}", f"(i - n) // {HALF}", {"n": -HALF, "m": 1}),
    ],
)
def test_pipelined_loads_stay_in_bounds(bounds: str, index: str, numbers: dict[str, int], stages: int) -> None:
    loop = Block(
        f"for i in tl.range({bounds}, num_stages={stages}):", (Line(f"tile += tl.load(data + ({index}) * 64 + lane)"),)
    )
    assert not run_program(program(loop, **numbers), ORACLES)[0].findings


def test_a_descriptor_made_in_a_while_loop_within_a_pipelined_loop() -> None:
    made = "tl.make_tensor_descriptor(data, [192], [1], [64])"
    body = (
        Line("c = tl.full((), 0, tl.int32)"),
        Line("tile += tl.load(data + i * 64 + lane)"),
        Block("while c < n:", (Line(f"tile += {made}.load([(c + i) * 64])"), Line("c += 1"))),
    )
    assert not run_program(program(Block("for i in range(n):", body), n=2), ORACLES)[0].findings


def test_a_loop_that_moves_out_of_one_that_does_not_run_does_not_run() -> None:
    inner = Block("for j in tl.range(tl.load(first), m):", (Line("each = each + j"),))
    body = (Line("each = tl.full((), 0, tl.int32)"), inner, Line("total = total + (each + i).to(tl.int64)"))
    asked = program(Block("for i in range(2, tl.load(first + 1)):", body), m=HIGH - 20)
    first = Buffer("first", INT32, 2, values=(HIGH - 18, 1))
    assert not run_program(replace(asked, buffers=(*asked.buffers, first)), LEVELS)[0].findings
