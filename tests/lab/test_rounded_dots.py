"""Products that round their operands to tf32, which the interpreters do not, and numbers that are rounded on their way to a product are evaluated
by that and called neither broken nor wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.lab.comparison import Verdict, rounding_tolerance
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker
from minitriton.lab.sweeping.tuning_task import TuningTask


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + i + k[None, :])
        y = tl.load(b + (i + k)[:, None] * BN + n[None, :])
        total = tl.dot(x, y, total, input_precision=PRECISION)
    tl.store(c + m[:, None] * BN + n[None, :], total)


def arguments(k: int) -> list[Any]:
    """Numbers of 23 bits behind the point."""
    rng = np.random.default_rng(0)
    return [
        rng.standard_normal((64, k), np.float32),
        rng.standard_normal((k, 64), np.float32),
        np.zeros((64, 64), np.float32),
        k,
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("precision", ["tf32", "tf32x3", "bf16x3", "bf16x6", "ieee"])
def test_no_pass_is_called_broken(minitriton_check: Any, precision: str) -> None:
    report = minitriton_check(kernel=product, args=arguments(64), grid=(1,), BM=64, BN=64, BK=32, PRECISION=precision)
    assert report.ok and not any(row.wrong for row in report.rows)
    last = report.rows[-1].against_first
    assert last is Verdict.CLOSE or precision != "tf32"


@pytest.mark.parametrize("k", [32, 512])
def test_orders_of_passes_are_right(k: int) -> None:
    task = TuningTask.of_call(product, tuple(arguments(k)), (1,), BM=64, BN=64, BK=32, PRECISION="tf32")
    assert CorrectnessChecker(task).record(task.pipeline()).result is Class.RIGHT


@pytest.mark.parametrize(("precision", "tolerance"), [("tf32", 3e-2), ("bf16x3", 1e-3), ("tf32x3", 0.0), ("ieee", 0.0)])
def test_only_products_that_round_widen_what_is_equal(precision: str, tolerance: float) -> None:
    task = TuningTask.of_call(product, tuple(arguments(32)), (1,), BM=64, BN=64, BK=32, PRECISION=precision)
    assert rounding_tolerance(task.make_ir()) == tolerance


@triton.jit
def product_of_kinds(a, b, c, K, KIND: tl.constexpr):
    m, k = tl.arange(0, 64), tl.arange(0, 64)
    kind = c.dtype.element_ty
    total = tl.zeros((64, 64), kind)
    for i in range(0, K, 64):
        x = tl.load(a + m[:, None] * K + i + k[None, :]).to(KIND)
        y = tl.load(b + (i + k)[:, None] * 64 + m[None, :]).to(KIND)
        total = tl.dot(x, y, total, out_dtype=kind)
    tl.store(c + m[:, None] * 64 + m[None, :], total)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("arch", [80, 89, 90])
@pytest.mark.parametrize(
    ("kind", "sum"),
    [("fp16", np.float16), ("fp16", np.float32), ("fp8e5", np.float16), ("fp8e5", np.float32), ("bf16", np.float32)],
)
@pytest.mark.parametrize("k", [64, 512])
def test_sums_of_any_type_are_right(kind: str, sum: type, k: int, arch: int) -> None:
    a, b = arguments(k)[:2]
    given = (a, b, np.zeros((64, 64), sum), k)
    types = {"fp16": tl.float16, "fp8e5": tl.float8e5, "bf16": tl.bfloat16}
    task = TuningTask.of_call(product_of_kinds, given, (1,), KIND=types[kind], arch=arch)
    record = CorrectnessChecker(task).record(task.pipeline())
    assert record.result is Class.RIGHT, record.reason


def test_halves_are_not_rounded() -> None:
    given = [each.astype(np.float16) if isinstance(each, np.ndarray) else each for each in arguments(32)]
    task = TuningTask.of_call(product, tuple(given), (1,), BM=64, BN=64, BK=32, PRECISION="tf32")
    assert rounding_tolerance(task.make_ir()) == 0.0


@triton.jit
def attention(q, k, v, o, N, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    m, n, d = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    queries = tl.load(q + m[:, None] * D + d[None, :]).to(KIND)
    highest, total = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for i in range(0, N, BN):
        rows = (i + n)[:, None] * D + d[None, :]
        scores = tl.dot(queries, tl.load(k + rows).to(KIND).T) * 0.125
        now = tl.maximum(highest, tl.max(scores, 1))
        p, decay = tl.exp(scores - now[:, None]), tl.exp(highest - now)
        total, highest = total * decay + tl.sum(p, 1), now
        acc = tl.dot(p.to(KIND), tl.load(v + rows).to(KIND), acc * decay[:, None])
    tl.store(o + m[:, None] * D + d[None, :], acc / total[:, None])


@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize(("kind", "tolerance"), [(tl.float16, 4e-3), (tl.bfloat16, 3e-2)])
def test_what_is_rounded_for_a_product_may_round_the_other_way(kind: Any, tolerance: float, arch: int) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((rows, 64), np.float32) for rows in (16, 128, 128))
    given = (q, k, v, np.zeros((16, 64), np.float32), 128)
    task = TuningTask.of_call(attention, given, (1,), KIND=kind, BM=16, BN=32, D=64, arch=arch)
    assert rounding_tolerance(task.make_ir()) == tolerance
    record = CorrectnessChecker(task).record(task.pipeline())
    assert record.result is Class.RIGHT, record.reason


@triton.jit
def rounded(x, y, out, FOR_A_STORE: tl.constexpr, LOADED: tl.constexpr):
    at = tl.arange(0, 128)
    value = tl.load(x + at)
    value = (value if LOADED else tl.exp(value)).to(tl.float16)
    tl.store(out + at, value if FOR_A_STORE else value + tl.load(y + at))


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("for_a_store", [False, True])
def test_what_is_rounded_last_or_first_is_held_to_its_type(for_a_store: bool, loaded: bool) -> None:
    given = (np.zeros(128, np.float32), np.zeros(128, np.float16), np.zeros(128, np.float16))
    task = TuningTask.of_call(rounded, given, (1,), FOR_A_STORE=for_a_store, LOADED=loaded)
    assert (rounding_tolerance(task.make_ir()) == 0.0) == (for_a_store or loaded)
