"""The dtype of an operation on two operands is Triton's, for every pair of dtypes."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import pytest

from minitriton.frontend.semantic.values import computation_type, integer_promotion, number_dtype
from minitriton.language import dtypes as dt

NAMES = (*dt.dtype.SINT_TYPES, *dt.dtype.UINT_TYPES, *dt.dtype.FP_TYPES)
INTEGERS = (*dt.dtype.SINT_TYPES, *dt.dtype.UINT_TYPES)


def result_of(function: Any, *args: Any) -> str:
    """The name of the dtype that `function` gives, or that it raises `TypeError`."""
    try:
        return function(*args).name
    except TypeError:
        return "TypeError"


@pytest.mark.oracle
@pytest.mark.parametrize("division", [False, True])
@pytest.mark.parametrize("numbers", [(False, False), (True, False), (False, True), (True, True)])
def test_every_pair_of_dtypes_promotes_as_in_triton(numbers: tuple[bool, bool], division: bool) -> None:
    core = pytest.importorskip("triton.language.core")
    semantic = pytest.importorskip("triton.language.semantic").TritonSemantic(SimpleNamespace())
    for a, b in itertools.product(NAMES, NAMES):
        ours = result_of(computation_type, dt.dtype(a), numbers[0], dt.dtype(b), numbers[1], division)
        theirs = result_of(
            semantic.computation_type_impl, core.dtype(a), numbers[0], core.dtype(b), numbers[1], division
        )
        assert ours == theirs, (a, b)


@pytest.mark.parametrize("a", INTEGERS)
@pytest.mark.parametrize("b", INTEGERS)
def test_integer_promotion_is_symmetric_and_never_narrows(a: str, b: str) -> None:
    x, y = dt.dtype(a), dt.dtype(b)
    assert integer_promotion(x, y) == integer_promotion(y, x)
    assert integer_promotion(x, y).int_bitwidth == max(x.int_bitwidth, y.int_bitwidth)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (True, "int1"), (0, "int32"), (-(2**31), "int32"), (2**31, "uint32"), (2**32, "int64"), (-(2**31) - 1, "int64"),
        (2**63, "uint64"), (0.5, "fp32"), (1e39, "fp64"), (1e-40, "fp64"), (0.0, "fp32"), (float("inf"), "fp32"),
        (float("nan"), "fp32"),
    ],
)  # fmt: skip
def test_a_number_has_the_smallest_common_dtype_that_holds_it(number: Any, name: str) -> None:
    assert number_dtype(number).name == name


def test_integers_beyond_64_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="Nonrepresentable integer"):
        number_dtype(2**64)
