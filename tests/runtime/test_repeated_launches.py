"""Which launches with descriptors are the same launch again."""

from __future__ import annotations

from typing import Any

import pytest

from minitriton.runtime.launching.repeated_launches import launch_key


class Tensor:
    """An array on a device."""

    dtype = "float16"
    itemsize = 2

    def __init__(self, address: int) -> None:
        self.address = address

    def data_ptr(self) -> int:
        return self.address


class Descriptor:
    """A tensor descriptor."""

    def __init__(self, address: int = 512, block: tuple[int, ...] = (8, 32), padding: str = "zero") -> None:
        self.base, self.block_shape, self.padding = Tensor(address), list(block), padding
        self.shape, self.strides = [64, 64], [64, 1]


def key(*args: Any, device: int = 0, **options: Any) -> Any:
    return launch_key(device, args, options)


def test_equal_arguments_and_options_are_the_same_launch() -> None:
    assert key(Descriptor(), Tensor(16), 5, num_warps=4) == key(Descriptor(), Tensor(16), 5, num_warps=4) != None  # noqa: E711


@pytest.mark.parametrize(
    "other",
    [
        key(Descriptor(528), Tensor(16), 5, 0.0),
        key(Descriptor(block=(16, 32)), Tensor(16), 5, 0.0),
        key(Descriptor(padding="nan"), Tensor(16), 5, 0.0),
        key(Descriptor(), Tensor(32), 5, 0.0),
        key(Descriptor(), Tensor(16), 6, 0.0),
        key(Descriptor(), Tensor(16), True, 0.0),
        key(Descriptor(), Tensor(16), 5, -0.0),
        key(Descriptor(), Tensor(16), 5, 0.0, num_warps=8),
        key(Descriptor(), Tensor(16), 5, 0.0, device=1),
    ],
)
def test_any_other_value_is_another_launch(other: Any) -> None:
    assert key(Descriptor(), Tensor(16), 5, 0.0) != other


def test_launches_without_descriptors_or_with_tuples_have_no_key() -> None:
    assert key(Tensor(16), 5) is None
    assert key(Descriptor(), (1, 2)) is None
