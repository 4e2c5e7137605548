"""Rounding from exact results, against NumPy where it rounds to nearest, and by order where it does not."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitriton.emulator.arithmetic.floats import exactly, fma64

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
floats = st.floats(width=64)
singles = st.floats(width=32)
OPERATIONS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


@pytest.mark.parametrize("operation", OPERATIONS)
@given(a=floats, b=floats)
def test_to_nearest_is_what_numpy_does(operation: str, a: float, b: float) -> None:
    with np.errstate(all="ignore"):
        wanted = OPERATIONS[operation](np.float64(a), np.float64(b))
    np.testing.assert_array_equal(exactly(operation, "rn", a, b), wanted)
    if wanted == 0:
        assert np.signbit(exactly(operation, "rn", a, b)) == np.signbit(wanted)


@given(a=st.floats(min_value=0, width=64))
def test_roots_to_nearest_are_numpy_s(a: float) -> None:
    np.testing.assert_array_equal(exactly("sqrt", "rn", a), np.sqrt(a))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("operation", [*OPERATIONS, "fma", "sqrt"])
@given(a=singles, b=singles, c=singles)
def test_directions_enclose_the_exact_result_by_neighbours(
    operation: str, dtype: type, a: float, b: float, c: float
) -> None:
    operands = [dtype(v) for v in {"fma": (a, b, c), "sqrt": (abs(a),)}.get(operation, (a, b))]
    down, near, up, zero = (exactly(operation, m, *operands)[()] for m in ("rm", "rn", "rp", "rz"))
    if np.isnan(near):
        assert all(np.isnan(v) for v in (down, up, zero))
        return
    assert down <= near <= up
    assert down == up or up == np.nextafter(down, dtype(np.inf))
    assert zero == (down if near > 0 or (near == 0 and up > 0) else up) or down == up


@given(a=floats, b=floats, c=floats)
def test_fused_products_round_once_everywhere(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        found = fma64(np.float64(a), np.float64(b), np.float64(c))
    wanted = exactly("fma", "rn", a, b, c)
    np.testing.assert_array_equal(found, wanted)
    if wanted == 0:
        assert np.signbit(found) == np.signbit(wanted)


@pytest.mark.parametrize("signs", list(itertools.product([1.0, -1.0], repeat=3)))
def test_a_fused_product_of_zeros_has_a_sign(signs: tuple[float, float, float]) -> None:
    a, b, c = np.float64(signs[0]) * 0.0, np.float64(signs[1]) * 2.0, np.float64(signs[2]) * 0.0
    assert np.signbit(fma64(a, b, c)) == np.signbit(a * b + c)


def test_a_sum_that_is_exactly_zero_has_the_sign_of_its_rounding() -> None:
    assert not np.signbit(exactly("add", "rn", 1.0, -1.0))
    assert np.signbit(exactly("add", "rm", 1.0, -1.0))
    assert np.signbit(exactly("add", "rn", -0.0, -0.0))
    assert np.signbit(exactly("fma", "rm", 1.0, 1.0, -1.0))
