"""Microscaling numbers: codes, rounding, packing."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from minitriton.tools.mxfp import MXFP4Tensor, MXScaleTensor

CODES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


def test_every_fp4_code_is_the_code_of_its_number() -> None:
    numbers = torch.tensor([*CODES, *(-c for c in CODES)])
    assert MXFP4Tensor(numbers).data.tolist() == list(range(16))
    torch.testing.assert_close(MXFP4Tensor(numbers).to(torch.float32), numbers)


def test_fp4_rounds_to_nearest_ties_to_even() -> None:
    halfway = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.0, -5.0, float("inf"), float("nan")])
    assert MXFP4Tensor(halfway).to(torch.float32).tolist() == [0, 1, 1, 2, 2, 4, 4, 6, -4, 6, 6]


@pytest.mark.parametrize(("shape", "dim"), [((6, 4), 0), ((6, 4), 1), ((3, 5, 7), 1), ((9,), 0)])
def test_packing_is_undone_by_unpacking(shape: tuple[int, ...], dim: int) -> None:
    tensor = MXFP4Tensor(size=shape).random()
    packed = tensor.to_packed_tensor(dim)
    assert packed.shape[dim] == (shape[dim] + 1) // 2
    assert torch.equal(tensor.unpack_packed_tensor(packed, dim, shape), tensor.data)


def test_the_first_of_a_pair_is_in_the_low_half() -> None:
    assert MXFP4Tensor(torch.tensor([0.5, 6.0])).to_packed_tensor(0).tolist() == [0x71]


def test_scales_are_floors_of_powers_of_two() -> None:
    numbers = torch.tensor([1.0, 3.9, 0.3, 2.0**100, 2.0**-126, 0.0, -1.0, float("nan"), float("inf")])
    assert MXScaleTensor(numbers).data.tolist() == [127, 128, 125, 227, 1, 255, 255, 255, 255]
    scales = MXScaleTensor(size=(100,)).random(low=0.5, high=4.0)
    assert set(scales.to(torch.float32).tolist()) <= {0.5, 1.0, 2.0, 4.0}
