"""An operand that `cp.async` cannot copy is loaded synchronously, alone: the same numbers at every number of stages, and a remark."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.assemblers import assembler_available
from minitriton.lab import check_call
from minitriton.lab.call import source_of_call
from minitriton.target import GPUTarget


@triton.jit
def mixed(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    rows, cols, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + rows[:, None] * sa + ks[None, :], b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        x = tl.load(pa, mask=ks[None, :] < K - k * BK, other=0)
        y = tl.load(pb, mask=ks[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x.to(tl.float16), y, acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc)


def arguments(dtype: Any, step: int) -> list[Any]:
    """A whose elements lie `step` apart, K that divides by nothing."""
    rng = np.random.default_rng(5)
    a = rng.integers(-3, 4, (32, 71 * step)).astype(dtype)
    b = rng.integers(-3, 4, (71, 32)).astype(np.float16)
    return [a, b, np.zeros((32, 32), np.float32), 71, 71 * step, 32, 32]


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(mixed.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("dtype", [np.int8, np.float16])
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_numbers_are_the_same_at_every_number_of_stages(arch: int, dtype: Any, stages: int) -> None:
    given = arguments(dtype, 1)
    report = check_call(mixed, given, (1,), arch=arch, BM=32, BN=32, BK=32, STAGES=stages)
    assert report.ok, report.text()
    assert np.array_equal(given[2], given[0].astype(np.float32) @ given[1].astype(np.float32))


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("dtype", [np.int8, np.float16])
def test_only_that_operand_is_synchronous_and_a_remark_names_its_line(
    arch: int, dtype: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_REMARK", "1")
    source, _ = source_of_call(mixed, arguments(dtype, 1), {"BM": 32, "BN": 32, "BK": 32, "STAGES": 3})
    kernel = triton.compile(source, target=GPUTarget("cuda", arch, 32))
    assert "cp.async.c" in kernel.asm["ptx"]
    if assembler_available(f"sm{arch}"):
        assert kernel.asm["cubin"]
    said = [line for line in capsys.readouterr().err.splitlines() if "cannot be prefetched" in line]
    assert said and all(line.startswith(f"{__file__}:{line_of('x = tl.load')}:") for line in said)
    assert "cp.async takes" in said[0] and "multiple" in said[0]


@triton.jit
def patterned(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * K + (k + ks)[None, :], mask=((k + ks) % 2 == 0)[None, :], other=0.0)
        acc = tl.dot(x, tl.load(b + (k + ks)[:, None] * BN + cols[None, :]), acc)
    tl.store(c + rows[:, None] * BN + cols[None, :], acc)


def test_the_remark_names_the_mask_where_pointers_alone_would_be_wide_enough(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_REMARK", "1")
    given = [np.zeros((32, 64), np.float16), np.zeros((64, 32), np.float16), np.zeros((32, 32), np.float32), 64]
    source, _ = source_of_call(patterned, given, {"BM": 32, "BN": 32, "BK": 32})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
    said = [line for line in capsys.readouterr().err.splitlines() if "cannot be prefetched" in line]
    assert said and all("its mask may change after 1 element" in line and "tl.where" in line for line in said)
