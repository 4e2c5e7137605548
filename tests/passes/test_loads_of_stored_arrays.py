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
