"""A descriptor argument becomes what the kernel takes: a tensor map where the target has tensor copies, else its numbers."""

import ctypes
from typing import Any

import numpy as np
import pytest

from minitriton.errors import MinitritonError
from minitriton.runtime.driver import CudaDriver
from minitriton.runtime.launching import loading
from minitriton.runtime.launching.arguments import Argument, is_on_host, specialize
from minitriton.runtime.launching.descriptor_arguments import HostTensorMap, expanded_arguments, expanded_types
from minitriton.target.tensor_map import DRIVER_TYPES, SIZE, TensorMap
from minitriton.tools.tensor_descriptor import DescriptorError, TensorDescriptor

ARRAY = np.zeros((40, 64), np.float16)
DESCRIPTOR = TensorDescriptor.from_tensor(ARRAY, [8, 32], padding="nan")
TYPE = specialize(DESCRIPTOR, False, True, True)[0]
METADATA = {"swizzle": 2, "elem_size": 2, "elem_type": 6, "block_size": [8, 32], "fp4_padded": False}


def test_its_type_names_elements_and_blocks() -> None:
    assert TYPE == "tensordesc<fp16[8, 32]>"


def test_without_tensor_copies_it_is_taken_apart() -> None:
    types = ["*fp16", "i64", "i64", "i64", "i64", "i1", "i32", "i32", "i64", "i64"]
    assert expanded_types(["i32", TYPE], []) == ["i32", *types]
    arguments = expanded_arguments([Argument("d", TYPE, DESCRIPTOR)], [])
    assert [a.type_name for a in arguments] == types
    assert [a.value for a in arguments[1:]] == [40, 64, 64, 1, True, 40, 64, 64, 1]
    assert arguments[0].value is ARRAY
    assert [a.name for a in arguments[:2]] == ["d", "d.shape[0]"]


def test_with_tensor_copies_it_is_a_tensor_map_and_its_sizes() -> None:
    assert expanded_types([TYPE], [METADATA]) == ["nvTmaDesc", "i32", "i32", "i64", "i64"]
    map, *sizes = expanded_arguments([Argument("d", TYPE, DESCRIPTOR)], [METADATA])
    assert [a.value for a in sizes] == [40, 64, 64, 1]
    assert isinstance(map.value, HostTensorMap)
    expected = TensorMap(ARRAY.ctypes.data, "f16", (64, 40), (128,), (32, 8), swizzle=2, l2_promotion=2, nan_fill=True)
    assert map.value.placed() == expected


def test_a_tensor_that_no_map_describes_is_refused_by_the_parameter_s_name() -> None:
    with pytest.raises(MinitritonError, match=r"no tensor map describes .* the innermost box size"):
        expanded_arguments([Argument("d", TYPE, DESCRIPTOR)], [{**METADATA, "block_size": [8, 4]}])


def test_it_lies_where_its_array_lies() -> None:
    assert is_on_host(DESCRIPTOR) and is_on_host((1, (DESCRIPTOR,))) and not is_on_host((1, None))


@pytest.mark.parametrize(
    ("shape", "strides", "block", "padding", "message"),
    [
        ([40, 64], [64], [8, 32], "zero", "rank mismatch"),
        ([], [], [], "zero", "rank must not be zero"),
        ([1] * 6, [64] * 5 + [1], [1] * 6, "zero", "rank cannot be more than 5"),
        ([40, 64], [9, 1], [8, 32], "zero", "strides must be 16-byte aligned"),
        ([40, 0], [64, 1], [8, 32], "zero", "shape must be positive"),
        ([40, 64], [64, 2], [8, 32], "zero", "Last dimension must be contiguous"),
        ([40, 64], [64, 1], [8, 32], "one", "Illegal value for padding"),
    ],
)
def test_what_is_no_descriptor_is_an_assertion_error_as_in_triton(shape, strides, block, padding, message) -> None:
    with pytest.raises(DescriptorError, match=message) as caught:
        TensorDescriptor(ARRAY, shape, strides, block, padding)
    assert isinstance(caught.value, AssertionError)


def test_integers_have_no_nan() -> None:
    with pytest.raises(DescriptorError, match="only supported for floating point"):
        TensorDescriptor.from_tensor(np.zeros((8, 64), np.int32), [8, 32], padding="nan")


class _Library:
    """A driver library that encodes as the driver does, and keeps what it was asked for."""

    def __init__(self, code: int = 0) -> None:
        self.calls: list[TensorMap] = []
        self.code = code

    def cuTensorMapEncodeTiled(self, to: Any, kind: int, rank: int, base: Any, *fields: Any) -> int:
        dims, strides, box, steps, interleave, swizzle, promotion, fill = fields
        map = TensorMap(
            base.value,
            DRIVER_TYPES[kind],
            tuple(dims),
            tuple(strides)[: rank - 1],
            tuple(box),
            tuple(steps),
            interleave,
            swizzle,
            promotion,
            bool(fill),
        )
        self.calls.append(map)
        assert to.value % 64 == 0
        ctypes.memmove(to, map.encode(), SIZE)
        return self.code


def _driver(library: _Library) -> CudaDriver:
    driver = CudaDriver.__new__(CudaDriver)
    driver.library = library  # pyright: ignore[reportAttributeAccessIssue]
    return driver


def test_the_driver_encodes_a_map_once_for_all_launches_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    driver = _driver(library)
    monkeypatch.setattr(loading, "get_driver", lambda: driver)
    monkeypatch.setattr(loading, "_encodings", {})
    arguments = expanded_arguments([Argument("d", TYPE, DESCRIPTOR)], [METADATA])
    first, second = (loading.passed_values(arguments) for _ in range(2))
    expected = arguments[0].value.placed()
    assert library.calls == [expected] and first == second and first[1:] == (40, 64, 64, 1)
    assert ctypes.string_at(first[0], SIZE) == expected.encode()


def test_a_descriptor_is_made_without_reading_the_array() -> None:
    class OnDevice(np.ndarray):
        def __repr__(self) -> str:
            raise AssertionError("the text of a tensor fetches its numbers from the device")

        __str__ = __format__ = __repr__

    TensorDescriptor.from_tensor(ARRAY.view(OnDevice), [8, 32])
