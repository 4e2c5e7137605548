"""A pipelined loop that stores to the array which it loads: the load stays in its iteration, or the emulator says what went wrong."""

from __future__ import annotations

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.runtime.on_cpu.emulation import KernelFault

ROUNDS, BLOCK = 5, 1024


@triton.jit
def doubled_rows(p, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.range(0, n, num_stages=3):
        x = tl.load(p + i * BLOCK + offsets)
        tl.store(p + (i + 1) * BLOCK + offsets, x * 2)


@triton.jit
def doubled_rows_by_steps(p, n, BLOCK: tl.constexpr):
    source = p + tl.arange(0, BLOCK)
    target = source + BLOCK
    for _ in tl.range(0, n, num_stages=3):
        tl.store(target, tl.load(source) * 2)
        source += BLOCK
        target += BLOCK


@triton.jit
def doubled_under_condition(p, q, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.range(0, n, num_stages=3):
        x = tl.load(p + i * BLOCK + offsets)
        if i >= 0:
            tl.store(p + (i + 1) * BLOCK + offsets, x * 2)


@triton.jit
def from_one_to_another(p, q, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.range(0, n, num_stages=3):
        x = tl.load(p + i * BLOCK + offsets)
        tl.store(q + (i + 1) * BLOCK + offsets, x * 2)


@triton.jit
def in_place(p, n, BLOCK: tl.constexpr):
    """One pass over an array: every element is read by the iteration that writes it."""
    for i in tl.range(0, n, num_stages=3):
        at = p + i * BLOCK + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at) * 2)


@triton.jit
def in_place_by_steps(p, n, BLOCK: tl.constexpr):
    at = p + n * BLOCK - BLOCK + tl.arange(0, BLOCK)
    for _ in tl.range(0, n, num_stages=3):
        tl.store(at, tl.load(at) * 2)
        at -= BLOCK


@triton.jit
def in_place_by_programs(p, n, BLOCK: tl.constexpr):
    for start in tl.range(tl.program_id(0) * BLOCK, n * BLOCK, tl.num_programs(0) * BLOCK, num_stages=3):
        at = p + start + tl.arange(0, BLOCK)[:, None]
        tl.store(at, tl.load(at) * 2)


@triton.jit
def two_ahead(p, n, BLOCK: tl.constexpr):
    """What an iteration loads the one after the next stores."""
    for i in tl.range(0, n - 1, num_stages=3):
        at = p + i * BLOCK + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at + BLOCK) * 2)


@triton.jit
def half_a_step(p, n, BLOCK: tl.constexpr):
    """Half of what an iteration stores the next one loads."""
    for i in tl.range(0, 2 * n - 1, num_stages=3):
        at = p + i * (BLOCK // 2) + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at) * 2)


@triton.jit
def backwards(p, n, BLOCK: tl.constexpr):
    """What an iteration stores the next one loads, further down."""
    for i in tl.range(0, n - 1, num_stages=3):
        at = p + (n - 2 - i) * BLOCK + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at + BLOCK) * 2)


@triton.jit
def stored_first(p, n, BLOCK: tl.constexpr):
    """What an iteration loads it has stored itself."""
    for i in tl.range(0, n, num_stages=3):
        at = p + i * BLOCK + tl.arange(0, BLOCK)
        tl.store(at, at.to(tl.int64).to(tl.float32) * 0 + i)
        tl.store(at, tl.load(at) * 2)


@triton.jit
def steps_of_any_width(p, n, step, BLOCK: tl.constexpr):
    for i in tl.range(0, n, num_stages=3):
        at = p + i * step + tl.arange(0, BLOCK)
        tl.store(at, tl.load(at) * 2)


def rows() -> np.ndarray:
    return np.ones((ROUNDS + 1, BLOCK), np.float32)


def runs_ahead(compiled: object) -> bool:
    return "cp.async" in compiled.asm["ptx"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kernel", [doubled_rows, doubled_rows_by_steps])
def test_a_load_of_what_an_earlier_iteration_stored_is_not_run_ahead(kernel: object) -> None:
    p = rows()
    compiled = kernel[(1,)](p, ROUNDS, BLOCK=BLOCK)  # type: ignore[index]
    assert p[:, 0].tolist() == [2.0**i for i in range(ROUNDS + 1)]
    assert not runs_ahead(compiled)


def test_a_store_under_a_condition_counts() -> None:
    p = rows()
    compiled = doubled_under_condition[(1,)](p, rows(), ROUNDS, BLOCK=BLOCK)
    assert p[:, 0].tolist() == [2.0**i for i in range(ROUNDS + 1)]
    assert not runs_ahead(compiled)


def test_a_remark_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    with knobs.compilation.scope():
        knobs.compilation.enable_remarks = True
        knobs.compilation.always_compile = True
        doubled_rows.warmup(rows(), ROUNDS, BLOCK=BLOCK // 2, grid=(1,))
    said = capfd.readouterr().err
    assert "remark: not started ahead of its iteration: the loop stores through argument 0 too" in said
    assert said.startswith(__file__)


def test_loads_of_another_array_still_run_ahead() -> None:
    p, q = rows(), rows()
    compiled = from_one_to_another[(1,)](p, q, ROUNDS, BLOCK=BLOCK)
    assert q[:, 0].tolist() == [1.0] + [2.0] * ROUNDS
    assert runs_ahead(compiled)


def test_one_array_given_twice_is_found_by_the_emulator() -> None:
    p = rows()
    with pytest.raises(KernelFault, match="async-write: writes what an asynchronous copy reads"):
        from_one_to_another[(1,)](p, p, ROUNDS, BLOCK=BLOCK)


@pytest.mark.parametrize("kernel", [in_place, in_place_by_steps, in_place_by_programs])
def test_an_array_that_is_gone_over_in_place_is_read_ahead(kernel: object) -> None:
    p = rows()
    compiled = kernel[(1,)](p, ROUNDS + 1, BLOCK=BLOCK)  # type: ignore[index]
    np.testing.assert_array_equal(p, 2)
    assert runs_ahead(compiled)


def test_an_array_whose_later_parts_are_moved_forward_is_read_ahead() -> None:
    p = np.arange((ROUNDS + 1) * BLOCK, dtype=np.float32).reshape(-1, BLOCK)
    compiled = two_ahead[(1,)](p, ROUNDS + 1, BLOCK=BLOCK)
    np.testing.assert_array_equal(p[:-1].ravel(), 2 * np.arange(BLOCK, (ROUNDS + 1) * BLOCK, dtype=np.float32))
    assert runs_ahead(compiled)


def test_what_is_stored_is_not_read_ahead_where_steps_overlap_turn_back_or_are_not_known() -> None:
    p = rows()
    assert not runs_ahead(half_a_step[(1,)](p, ROUNDS + 1, BLOCK=BLOCK))
    assert (p.ravel()[BLOCK // 2 : -BLOCK // 2] == 4).all()
    p = rows()
    assert not runs_ahead(backwards[(1,)](p, ROUNDS + 1, BLOCK=BLOCK))
    assert p[:, 0].tolist() == [2.0 ** (ROUNDS - i) for i in range(ROUNDS + 1)]
    p = rows()
    assert not runs_ahead(stored_first[(1,)](p, ROUNDS + 1, BLOCK=BLOCK))
    assert p[:, 0].tolist() == [2.0 * i for i in range(ROUNDS + 1)]
    p = rows()
    assert not runs_ahead(steps_of_any_width[(1,)](p, 3, 0, BLOCK=BLOCK))
    assert (p[0] == 8).all()


@triton.jit
def doubled_by_assembly(p, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.range(0, n, num_stages=3):
        x = tl.load(p + i * BLOCK + offsets)
        tl.inline_asm_elementwise(
            "st.global.b32 [$1], $2; mov.b32 $0, 0;",
            "=r,l,r",
            [(p + (i + 1) * BLOCK + offsets).to(tl.int64), (x * 2).to(tl.int32, bitcast=True)],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )


def test_a_load_does_not_move_over_assembly_that_may_write() -> None:
    rows = np.ones((ROUNDS + 1, BLOCK), np.float32)
    doubled_by_assembly[(1,)](rows, ROUNDS, BLOCK)
    assert (rows == 2.0 ** np.arange(ROUNDS + 1)[:, None]).all()
