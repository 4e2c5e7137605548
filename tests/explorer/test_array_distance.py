"""How far apart two arrays are: elements, sizes of differences in three measures, where, and what rounding explains."""

from __future__ import annotations

import numpy as np
import pytest

from minitriton.explorer.array_distance import distance


def test_the_largest_difference_is_said_with_its_place_and_numbers() -> None:
    before = np.full((4, 8), 0.5, np.float16)
    now = before.copy()
    now[1, 2], now[3, 7] = 0.5 + 2**-11, 0.75
    found = distance(now, before, "fp16")
    assert found["differing"] == 2 and found["first"] == [1, 2] and found["at"] == [3, 7]
    assert (found["now"], found["before"], found["absolute"], found["relative"]) == (0.75, 0.5, 0.25, 0.5)
    assert found["ulps"] == 0.25 * 2**11 and found["beyond"] == 1


@pytest.mark.parametrize(
    ("element", "dtype", "step"),
    [
        ("fp64", np.float64, 2**-52),
        ("fp32", np.float32, 2**-23),
        ("fp16", np.float16, 2**-10),
        ("bf16", np.float32, 2**-7),
        ("fp8e5", np.float32, 2**-2),
        ("fp8e4nv", np.float32, 2**-3),
    ],
)
def test_neighbours_are_one_unit_in_the_last_place_apart(element: str, dtype: type, step: float) -> None:
    one = np.array([1.0], dtype)
    assert distance(one + dtype(step), one, element)["ulps"] == 1
    assert distance(one * 2, one * 2 + dtype(2 * step), element)["ulps"] == 1


def test_what_is_not_finite_in_one_is_counted_apart_from_how_far_numbers_are() -> None:
    before = np.array([1.0, np.nan, np.inf, 4.0], np.float32)
    now = np.array([1.5, np.nan, 3.0, np.nan], np.float32)
    found = distance(now, before, "fp32")
    assert (found["differing"], found["not_finite"], found["absolute"]) == (3, 2, 0.5)
    assert found["before"] in ("inf", 4.0)


def test_integers_have_no_relative_distance_and_arrays_of_other_sizes_none() -> None:
    found = distance(np.array([1, 5]), np.array([1, 9]), "i32")
    assert (found["absolute"], found["beyond"], found["differing"]) == (4, 1, 1)
    assert "relative" not in found and "ulps" not in found
    assert distance(np.zeros(3), np.zeros(4), "fp64") == {"differing": 4, "sizes": [3, 4]}


def test_equal_numbers_with_other_bits_do_not_differ() -> None:
    assert distance(np.array([0.0, np.nan]), np.array([-0.0, np.nan]), "fp64") == {"differing": 0}


def test_many_differences_in_one_direction_are_no_rounding() -> None:
    before = np.random.default_rng(0).standard_normal(400).astype(np.float32)
    signs = np.resize([1, -1], 400)
    assert distance(before * np.float32(1.0001), before, "fp32", 1e-3)["larger"] == 400
    assert distance(before * np.float32(0.9999), before, "fp32", 1e-3)["larger"] == 0
    assert "larger" not in distance(before * (1 + 1e-4 * signs).astype(np.float32), before, "fp32", 1e-3)
    assert "larger" not in distance(before[:20] * np.float32(1.0001), before[:20], "fp32", 1e-3)
