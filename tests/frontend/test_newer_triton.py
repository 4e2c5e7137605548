"""What Triton 3.7 to 3.9 added to the language, against plain Python and NumPy (docs/newer-triton.md); atomic loads are in `tests/codegen/test_atomic_loads.py`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError
from minitriton.runtime.jit import JITFunction
from minitriton.tools.tensor_descriptor import DescriptorError, TensorDescriptor

Run = Callable[..., np.ndarray]


@pytest.fixture(params=["interpreter", "sm80", "sm90"])
def run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Launches `kernel(out, *arguments)` on the interpreter or the emulator; `size` zeros of `dtype` go in as `out`."""
    monkeypatch.setenv("MINITRITON_INTERPRET", "1" if request.param == "interpreter" else "0")
    level = {} if request.param == "interpreter" else {"arch": request.param}

    def launch(kernel: JITFunction, *args: Any, size: int = 16, dtype: Any = np.int32, **constants: Any) -> np.ndarray:
        out = np.zeros(size, dtype)
        triton.jit(kernel.fn)[(1,)](out, *args, **constants, **level)
        return out

    return launch


N = np.arange(16, dtype=np.int32)


# Syntax ---------------------------------------------------------------------------------------------------------------


@triton.jit
def assigns_in_an_expression(out, x):
    i = tl.arange(0, 16)
    tl.store(out + (j := i), (a := tl.load(x + j)) + a)
    if (first := tl.load(x)) == 0:
        tl.store(out, first - 5)


def test_an_expression_may_assign(run: Run) -> None:
    assert run(assigns_in_an_expression, N).tolist() == [-5, *(2 * N[1:])]


@triton.jit
def compares_in_a_chain(out, x, n, LOW: tl.constexpr):
    i = tl.arange(0, 16)
    value = tl.load(x + i)
    tl.store(out + i, (LOW < value <= n != 3).to(tl.int32), mask=0 <= i < 16)
    if LOW < n < 3:
        tl.store(out, 7)


def test_comparisons_may_be_chained(run: Run) -> None:
    assert run(compares_in_a_chain, N, 9, LOW=4).tolist() == [int(4 < v <= 9) for v in N]
    assert run(compares_in_a_chain, N, 2, LOW=0).tolist() == [7, *(int(0 < v <= 2) for v in N[1:])]


@triton.jit
def compares_what_is_known(out):
    tl.static_assert(1 < 2 <= 2)
    tl.static_assert(not (1 < 2 < 2))
    tl.static_assert(1 < 0 < undefined is None or True)  # noqa: F821
    tl.store(out, 1)


def test_a_chain_ends_with_the_first_comparison_that_is_known_to_be_false(run: Run) -> None:
    assert run(compares_what_is_known, size=1).tolist() == [1]


@triton.jit
def filters(out):
    even = [i for i in (1, 2, 3, 4) if i % 2 == 0]
    products = [a * b for a, b in ((2, 3), (4, 5))]
    tl.static_assert(len(even) == 2)
    tl.store(out, even[0] * 1000 + even[1] * 100 + products[0] + products[1])


def test_a_comprehension_may_filter_and_unpack(run: Run) -> None:
    assert run(filters, size=1).tolist() == [2426]


@triton.jit
def summed(first, *rest, scale=1):
    for i in tl.static_range(len(rest)):
        first += rest[i]
    return first * scale


@triton.jit
def passes_any_number(out, x, *, STEP: tl.constexpr = 2):
    tl.store(out, summed(tl.load(x + 1)))
    tl.store(out + 1, summed(tl.load(x + 1), STEP, 3, scale=10))
    tl.store(out + 2, summed(*(1, 2), *(3, 4)))


def test_a_function_may_take_any_number_of_arguments_and_some_by_name_only(run: Run) -> None:
    assert run(passes_any_number, N, size=3).tolist() == [1, 60, 10]
    assert run(passes_any_number, N, size=3, STEP=5).tolist() == [1, 90, 10]


@triton.jit
def adds_any_number(out, *rest, scale=1, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for n in tl.static_range(len(rest)):
        total += tl.load(rest[n] + i) if rest[n].dtype.is_ptr() else rest[n]
    tl.store(out + i, total * scale)


def test_a_launch_may_pass_any_number_of_arguments(run: Run) -> None:
    assert run(adds_any_number, N, 2 * N, 5, BLOCK=16).tolist() == (3 * N + 5).tolist()
    assert run(adds_any_number, N, scale=3, BLOCK=16).tolist() == (3 * N).tolist()
    assert run(adds_any_number, BLOCK=16).tolist() == [0] * 16
    with pytest.raises(TypeError, match="missing a required argument: 'BLOCK'"):
        run(adds_any_number, N)


def test_any_number_of_arguments_is_told_apart_in_the_cache(run: Run) -> None:
    kernel = triton.jit(adds_any_number.fn)
    for count in (1, 3, 1, 2):
        out = np.zeros(16, np.int32)
        kernel[(1,)](out, *[N] * count, BLOCK=16)
        assert out.tolist() == (count * N).tolist()
    ttir = kernel.warmup(tl.int32, tl.int32, 3, BLOCK=16, grid=(1,)).asm["ttir"]
    assert "tt.load" in ttir


def test_what_comes_by_name_only_is_not_taken_by_position() -> None:
    @triton.jit
    def by_name(x, *, y):
        return x + y

    @triton.jit
    def kernel(out):
        tl.store(out, by_name(1, 2))

    with pytest.raises(MinitritonError, match=r"by_name\(\) takes 1 positional arguments but 2 were given"):
        kernel.warmup(np.zeros(1, np.int32), grid=(1,))


@triton.jit
def announces_a_constant(out, FEW: tl.constexpr):
    count: tl.constexpr
    if FEW:
        count = 4
    else:
        count = 8
    tl.store(out + tl.arange(0, count), 1)


def test_a_constant_may_be_announced_before_it_has_its_value(run: Run) -> None:
    assert run(announces_a_constant, FEW=True).sum() == 4
    assert run(announces_a_constant, FEW=False).sum() == 8


# Aggregates -----------------------------------------------------------------------------------------------------------


@triton.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor
    scale: tl.constexpr = 2

    @triton.jit
    def total(self):
        return (self.x + self.y) * self.scale

    @triton.jit
    def __add__(self, other):
        return Point(self.x + other, self.y + other)

    @triton.jit
    def __rsub__(self, other):
        return Point(other - self.x, other - self.y)

    @triton.jit
    def __neg__(self):
        return tl.aggregate_replace(self, x=-self.x)

    @triton.jit
    def __lt__(self, other):
        return self.x < other


@triton.aggregate
class Named(Point):
    z: tl.tensor

    @triton.jit
    def all(self):
        return self.total() + self.z


@triton.jit
def uses_aggregates(out, x):
    one, two = tl.load(x + 1), tl.load(x + 2)
    tl.store(out, Point(one, y=two).total())
    tl.store(out + 1, tl.aggregate_replace(Point(one, two), y=one, scale=10).total())
    tl.store(out + 2, Named(x=one, y=two, z=one).all())
    tl.store(out + 3, (Point(one, two) + 3).x)
    tl.store(out + 4, (5 - Point(one, two)).y)
    tl.store(out + 5, (-Point(one, two)).x)
    tl.store(out + 6, (Point(one, two) < 9).to(tl.int32) + (0 < two < 9).to(tl.int32))


def test_aggregates_have_constructors_defaults_bases_and_operators(run: Run) -> None:
    assert run(uses_aggregates, N, size=7).tolist() == [6, 20, 7, 4, 3, -1, 2]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Point(1), "needs a value for field 'y'"),
        (lambda: Point(1, 2, 3, 4), "has 3 fields, but 4 values were given"),
        (lambda: Point(1, 2, x=3), "got two values for field 'x'"),
        (lambda: Point(1, 2, w=3), "has no field 'w'"),
        (lambda: tl.aggregate_replace(3), "takes an aggregate, got int"),
        (lambda: triton.aggregate(type("Child", (int,), {})), "which is not an aggregate"),
    ],
)
def test_wrong_uses_of_aggregates_are_refused(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        make()


def test_an_operator_that_an_aggregate_lacks_is_named() -> None:
    @triton.jit
    def kernel(out, x):
        tl.store(out, Point(tl.load(x), tl.load(x)) * 2)

    with pytest.raises(MinitritonError, match=r"operator .Mult. is not defined for .*Point and int"):
        kernel.warmup(N, N, grid=(1,))


# Operations -----------------------------------------------------------------------------------------------------------


@triton.jit
def changes_shapes(out, x):
    i = tl.arange(0, 16)
    row = tl.unsqueeze(tl.load(x + i), 0)
    column = tl.unsqueeze(tl.load(x + i), -1)
    tl.static_assert(row.shape[0] == 1 and column.shape[1] == 1)
    tl.store(out + i, tl.squeeze(row, 0) * 100 + tl.squeeze(column, -1))


def test_dimensions_of_size_1_come_and_go(run: Run) -> None:
    assert run(changes_shapes, N).tolist() == (N * 101).tolist()


@triton.jit
def concatenates(out, x, DIM: tl.constexpr):
    a = tl.load(x + tl.arange(0, 16)).reshape(4, 4)
    tl.store(out + tl.arange(0, 32), tl.cat(a, a + 100, dim=DIM).reshape(32))


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_blocks_are_concatenated_in_order(dim: int, run: Run) -> None:
    a = N.reshape(4, 4)
    assert run(concatenates, N, size=32, DIM=dim).tolist() == np.concatenate([a, a + 100], dim).ravel().tolist()


@triton.jit
def picks(out, x, K: tl.constexpr, DESCENDING: tl.constexpr):
    rows = tl.load(x + tl.arange(0, 64)).reshape(4, 16)
    tl.store(out + tl.arange(0, 4 * K), tl.topk(rows, K, descending=DESCENDING).reshape(4 * K))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("k", [1, 4, 16])
@pytest.mark.parametrize("descending", [True, False])
def test_the_smallest_are_picked_too(k: int, descending: bool, run: Run) -> None:
    x = np.random.default_rng(0).permutation(64).astype(np.int32)
    expected = np.sort(x.reshape(4, 16), 1)
    expected = expected[:, ::-1][:, :k] if descending else expected[:, :k]
    assert run(picks, x, size=4 * k, K=k, DESCENDING=descending).tolist() == expected.ravel().tolist()


def test_the_number_of_elements_to_pick_is_a_power_of_two() -> None:
    @triton.jit
    def picks_three(x):
        tl.topk(tl.load(x + tl.arange(0, 16)), 3)

    with pytest.raises(MinitritonError, match="topk takes a power of two of at most"):
        picks_three.warmup(N, grid=(1,))


@triton.jit
def divides(out, x, y, n):
    i = tl.arange(0, 64)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.fdiv(a, b, approx=True))
    tl.store(out + 64 + i, tl.fdiv(a, b, ieee_rounding=True))
    tl.store(out + 128 + i, tl.fdiv(n, b))
    tl.store(out + 192 + i, tl.fdiv(a.to(tl.float16), b))


def test_quotients_are_approximate_or_correctly_rounded_as_asked(run: Run) -> None:
    x, y = np.random.default_rng(0).uniform(0.5, 2, (2, 64)).astype(np.float32)
    approximate, exact, of_integer, mixed = run(divides, x, y, 3, size=256, dtype=np.float32).reshape(4, 64)
    np.testing.assert_array_max_ulp(approximate, x / y, 2)
    np.testing.assert_array_equal(exact, x / y)
    np.testing.assert_allclose(of_integer, 3 / y, rtol=1e-6)
    np.testing.assert_allclose(mixed, x.astype(np.float16).astype(np.float32) / y, rtol=1e-6)


def test_a_quotient_is_approximate_by_one_instruction() -> None:
    ptx = divides.warmup(*(np.zeros(256, np.float32),) * 3, 3, grid=(1,)).asm["ptx"]
    assert "div.approx.f32" in ptx and "div.rn.f32" in ptx


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("tl.fdiv(x, x, ieee_rounding=True, approx=True)", "cannot both be True"),
        ("tl.fdiv(x.to(tl.float16), x.to(tl.float16), approx=True)", "requires float32 operands"),
        ("tl.fdiv(x.to(tl.int32), x.to(tl.int32))", "must have floating scalar type"),
        ("tl.squeeze(tl.zeros((2, 2), tl.int32), 0)", "takes away a dimension of size 1"),
        ("tl.cat(tl.zeros((2,), tl.int32), tl.zeros((4,), tl.int32))", "cat takes two blocks of one type"),
    ],
)
def test_wrong_uses_of_operations_are_refused(call: str, reason: str, tmp_path: Any) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        f"import minitriton as triton\nimport minitriton.language as tl\n@triton.jit\ndef k(p):\n    x = tl.load(p)\n    {call}\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    with pytest.raises(MinitritonError, match=reason):
        scope["k"].warmup(np.zeros(4, np.float32), grid=(1,))


@triton.jit
def runs_on(out, x, DTYPE: tl.constexpr):
    a = tl.load(x + tl.arange(0, 16))
    tl.store(out + tl.arange(0, 16), tl.cumprod(a, 0, dtype=DTYPE) + tl.cumsum(a, 0, dtype=DTYPE))


def test_running_products_are_computed_in_a_dtype(run: Run) -> None:
    x = np.full(16, 3, np.int8)
    found = run(runs_on, x, dtype=np.float64, DTYPE=tl.float64)
    np.testing.assert_array_equal(found, 3.0 ** (N + 1) + 3.0 * (N + 1))


@triton.jit
def limits(out, x):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.clamp(tl.load(x + i, cache_modifier=".cs"), 3, 9))


def test_integers_are_clamped(run: Run) -> None:
    assert run(limits, N).tolist() == np.clip(N, 3, 9).tolist()


def test_streaming_loads_say_so_in_ptx() -> None:
    assert "ld.global.cs" in limits.warmup(N, N, grid=(1,)).asm["ptx"]


@triton.jit
def softens(out, x, DIM: tl.constexpr):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.softmax(tl.load(x + i).reshape(4, 4), DIM).reshape(16))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_a_softmax_along_any_dimension_has_the_shape_of_its_input(dim: int, run: Run) -> None:
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    powers = np.exp(x - x.max(dim, keepdims=True))
    found = run(softens, x, dtype=np.float32, DIM=dim)
    np.testing.assert_allclose(found.reshape(4, 4), powers / powers.sum(dim, keepdims=True), rtol=1e-5)


@triton.jit
def expects_zeros(out, x):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.expect_zero(tl.load(x + i), i < 1))


def test_what_is_expected_to_be_zero_is_checked_with_debug(run: Run) -> None:
    assert run(expects_zeros, N).tolist() == N.tolist()
    assert run(expects_zeros, N, debug=True).tolist() == N.tolist()
    with pytest.raises(MinitritonError, match="expect_zero expected x == 0"):
        run(expects_zeros, N + 1, debug=True)


@triton.jit
def multiplies(out, x, M: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m, k = tl.arange(0, M), tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    acc = tl.zeros((M, M), out.dtype.element_ty)
    acc = tl.dot(a, a.T, acc, input_precision=PRECISION)
    tl.store(out + m[:, None] * M + m[None, :], acc)


@pytest.mark.parametrize(
    ("dtype", "k", "precision"),
    [("float16", 16, "ieee"), ("float32", 8, "tf32"), ("float32", 8, "ieee"), ("float64", 4, "ieee")],
)
def test_dots_are_as_short_as_an_instruction_and_have_the_dtype_of_their_accumulator(
    dtype: str, k: int, precision: str, run: Run
) -> None:
    x = np.random.default_rng(0).integers(-4, 5, (64, k)).astype(dtype)
    found = run(multiplies, x, size=64 * 64, dtype=dtype, M=64, K=k, PRECISION=precision)
    np.testing.assert_array_equal(found.reshape(64, 64), x @ x.T)


# Descriptors that round -----------------------------------------------------------------------------------------------


@triton.jit
def loads_a_block(out, block):
    i = tl.arange(0, 16)
    tl.store(out + i[:, None] * 16 + i[None, :], block.load([0, 0]))


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_a_descriptor_rounds_what_it_loads_to_the_nearest_tf32(padding: str, run: Run, request: Any) -> None:
    x = np.random.default_rng(0).standard_normal((12, 16)).astype(np.float32)
    x[0, :4] = np.inf, np.nan, 1 + 2**-11, 1 + 3 * 2**-11
    block = TensorDescriptor.from_tensor(x, [16, 16], padding, round_f32_to_tf32=True)
    if "sm80" in request.node.name:
        with pytest.raises(MinitritonError, match="round_f32_to_tf32 needs the copies of sm_90"):
            run(loads_a_block, block, size=256, dtype=np.float32)
        return
    found = run(loads_a_block, block, size=256, dtype=np.float32).reshape(16, 16)
    assert found[0, 0] == np.inf and np.isnan(found[0, 1])
    assert found[0, 2] == 1 and found[0, 3] == 1 + 2**-9
    assert not (found[1:12].view(np.uint32) & 0x1FFF).any()
    np.testing.assert_allclose(found[1:12], x[1:], rtol=2**-11)
    assert (np.isnan(found[12:]) if padding == "nan" else found[12:] == 0).all()


def test_only_float32_is_rounded() -> None:
    with pytest.raises(DescriptorError, match="only supported for float32"):
        TensorDescriptor.from_tensor(np.zeros((16, 16), np.float16), [16, 16], round_f32_to_tf32=True)


# Where versions disagree ----------------------------------------------------------------------------------------------


@triton.jit
def four():
    return 4


class Pair(NamedTuple):
    first: Any
    second: Any


@triton.jit
def constant_and_not(x):
    return Pair(4, x)


@triton.jit
def uses_a_constant_result(out, x):
    count: tl.constexpr = four()
    tl.store(out + tl.arange(0, count), constant_and_not(tl.load(x + 1)).second)
    tl.store(out + 8 + tl.arange(0, constant_and_not(x).first), 2)


def test_a_constant_that_a_function_returns_stays_one_from_3_7_on(run: Run) -> None:
    found = run(uses_a_constant_result, N, triton_version="3.7.0")
    assert found.tolist() == [1] * 4 + [0] * 4 + [2] * 4 + [0] * 4
    with pytest.raises(MinitritonError, match=r"tl\.constexpr"):
        run(uses_a_constant_result, N)


@triton.jit
def width(FLOAT: tl.constexpr):
    if FLOAT:
        return 4, 1
    return 8, 2


@triton.jit
def by_value(x, half):
    if x > 5:
        return Pair(1, 4)
    if x > 3:
        return Pair(half, 4)
    return Pair(3, 4)


@triton.jit
def uses_several_returns(out, x):
    tl.store(out + tl.arange(0, width(True)[0]), width(False)[1])
    for n in tl.static_range(3):
        value, half = tl.load(x + 2 * n + 2), tl.load(x + 9)
        tl.store(out + 4 + n * 4 + tl.arange(0, by_value(value, half).second), by_value(value, half).first)


def test_so_does_one_of_several_returns_if_those_that_are_reached_agree(run: Run) -> None:
    found = run(uses_several_returns, N, triton_version="3.9.0")
    assert found.tolist() == [2] * 4 + [3] * 4 + [9] * 4 + [1] * 4


def test_returns_of_different_types_are_refused_in_any_version() -> None:
    @triton.jit
    def mixed(x):
        if x > 5:
            return 1
        return 1.5

    @triton.jit
    def kernel(out, x):
        tl.store(out, mixed(x))

    for version in ("3.6.0", "3.9.0"):
        with pytest.raises(MinitritonError, match="Inconsistent return types"):
            kernel.warmup(N, 7, grid=(1,), triton_version=version)


@triton.jit
def negates(out, x):
    i = tl.arange(0, 16)
    tl.store(out + i, -tl.load(x + i))


def test_zero_has_the_other_sign_when_it_is_negated_from_3_8_on(run: Run) -> None:
    x = np.zeros(16, np.float32)
    assert not np.signbit(run(negates, x, dtype=np.float32)).any()
    assert np.signbit(run(negates, x, dtype=np.float32, triton_version="3.8.0")).all()


@triton.jit
def keeps_dtypes(out, x, DTYPE: tl.constexpr, KEPT: tl.constexpr):
    i = tl.arange(0, 16)
    a = tl.load(x + i).to(DTYPE)
    largest = tl.maximum(a, 0.0)
    if KEPT:
        tl.static_assert(largest.dtype == DTYPE)
        tl.static_assert(tl.clamp(a, 0.0, 1.0).dtype == DTYPE)
        tl.static_assert(tl.fma(a, 2.0, 1.0).dtype == DTYPE)
        tl.static_assert(tl.minimum(a, a).dtype == DTYPE)
        tl.static_assert(tl.cumsum(a, 0).dtype == DTYPE)
        tl.static_assert(tl.cumprod(a, 0).dtype == DTYPE)
    else:
        tl.static_assert(largest.dtype == tl.float32)
    tl.store(out + i, tl.fma(tl.clamp(a, -1.0, 1.0), 2.0, 1.0) + largest)


@pytest.mark.parametrize("dtype", [tl.float16, tl.bfloat16])
def test_a_number_takes_the_dtype_of_a_tensor_from_3_9_on(dtype: tl.dtype, run: Run) -> None:
    x = (np.arange(16, dtype=np.float32) - 8) / 4
    expected = np.clip(x, -1, 1) * 2 + 1 + np.maximum(x, 0)
    for version in ("3.8.0", "3.9.0"):
        found = run(keeps_dtypes, x, dtype=np.float32, DTYPE=dtype, KEPT=version == "3.9.0", triton_version=version)
        np.testing.assert_array_equal(found, expected)


@triton.jit
def compares_with_a_number(out, x):
    i = tl.arange(0, 16)
    tl.store(out + i, (tl.load(x + i).to(tl.bfloat16) == 0.1).to(tl.int32))


def test_a_number_is_compared_in_the_dtype_of_the_tensor_from_3_9_on(run: Run) -> None:
    x = np.full(16, 0.1, np.float32)
    assert run(compares_with_a_number, x).sum() == 0
    assert run(compares_with_a_number, x, triton_version="3.9.0").sum() == 16


@triton.jit
def stores_truths(out, x):
    i = tl.arange(0, 16)
    tl.store(out + i, tl.load(x + i))


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_an_integer_that_is_not_zero_is_stored_as_true(run: Run, dtype: type) -> None:
    x = (N * 256).astype(dtype)
    assert run(stores_truths, x, dtype=np.bool_).tolist() == (x != 0).tolist()


def test_programs_are_told_the_version_that_is_set() -> None:
    code = (
        "import minitriton.run_as_triton as r; r.install(); import triton, importlib.metadata as m;"
        "print(triton.__version__, m.version('triton'))"
    )
    for version, told in (("3.9.0", "3.9.0"), (None, "3.6.0")):
        settings = {k: v for k, v in os.environ.items() if k != "MINITRITON_TRITON_VERSION"}
        settings |= {} if version is None else {"MINITRITON_TRITON_VERSION": version}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settings)
        assert done.stdout.split() == [told, told]


def test_another_version_is_refused() -> None:
    with pytest.raises(MinitritonError, match="triton_version must be a version of Triton"):
        negates.warmup(N, N, grid=(1,), triton_version="2.1.0")
