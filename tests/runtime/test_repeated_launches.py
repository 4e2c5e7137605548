"""Which launches with descriptors are the same launch again."""

from __future__ import annotations

from typing import Any

import pytest

from minitriton.runtime.launching import repeated_launches
from minitriton.runtime.launching.repeated_launches import MOST_REPEATED, RepeatedLaunches, launch_key
from minitriton.tools.tensor_descriptor import TensorDescriptor


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


def test_tensors_that_answer_by_hooks_have_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_launches, "_is_tensor_class", lambda kind: False)
    assert key(Descriptor(), 5) is None


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> RepeatedLaunches[str]:
    monkeypatch.setattr(repeated_launches, "stream_functions", lambda: (lambda: 3, lambda device: 100 + device))
    return RepeatedLaunches()


def test_a_launch_is_found_with_the_device_and_stream_of_now(launches: RepeatedLaunches[str]) -> None:
    assert launches.find((Descriptor(), 5), {}) is None
    launches.remember(3, (Descriptor(), 5), {}, "first")
    assert launches.find((Descriptor(), 5), {}) == ("first", 3, 103)
    assert launches.find((Descriptor(), 6), {}) is None
    assert launches.find((Descriptor(), 5), {"num_warps": 8}) is None
    launches.remember(2, (Descriptor(), 6), {}, "on another device")
    assert launches.find((Descriptor(), 6), {}) is None


def test_what_is_remembered_is_bounded(launches: RepeatedLaunches[str]) -> None:
    for number in range(MOST_REPEATED + 1):
        launches.remember(3, (Descriptor(), number), {}, str(number))
    assert launches.find((Descriptor(), 0), {}) is None
    assert launches.find((Descriptor(), MOST_REPEATED), {}) == (str(MOST_REPEATED), 3, 103)


def test_a_tensor_that_turned_out_to_have_no_memory_is_not_found(launches: RepeatedLaunches[str]) -> None:
    launches.remember(3, (Descriptor(), 5), {}, "first")
    gone = Descriptor()
    gone.base.data_ptr = lambda: (_ for _ in ()).throw(RuntimeError("no storage"))  # type: ignore[method-assign]
    assert launches.find((gone, 5), {}) is None


def test_descriptors_that_programs_make_are_known_by_what_they_describe() -> None:
    """By class, and the sizes whatever they stand in."""

    class Array(Tensor):
        shape = (64, 64)

        def stride(self) -> tuple[int, int]:
            return (64, 1)

    Array.dtype = type("float16", (), {"itemsize": 2})()  # type: ignore[assignment]
    made = [TensorDescriptor.from_tensor(Array(512), block) for block in ([8, 32], [8, 32], [16, 32])]  # type: ignore[arg-type]
    assert key(made[0]) == key(made[1]) != key(made[2])
