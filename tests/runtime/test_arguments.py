"""What a launch makes of its arguments: Triton's type names and specialisations."""

from collections import namedtuple

import numpy as np
import pytest

from minitriton.errors import MinitritonError
from minitriton.runtime.arguments import DeviceArray, foreign_array, runtime_value, specialize


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, ("constexpr", 1)),
        (2, ("i32", "")),
        (48, ("i32", "D")),
        (-(2**31), ("i32", "D")),
        (2**31, ("i64", "D")),
        (2**63 + 1, ("u64", "")),
        (True, ("u1", None)),
        (1.5, ("fp32", None)),
        (None, ("constexpr", None)),
        ((1, 2.0), (("constexpr", "fp32"), (1, None))),
    ],
)
def test_numbers_are_specialised_as_in_triton(value: object, expected: object) -> None:
    assert specialize(value, False, True, True) == expected


def test_a_parameter_that_is_not_specialised_keeps_its_type_only() -> None:
    assert specialize(16, False, False, True) == ("i32", None)
    assert specialize(1, False, False, True) == ("i32", None)
    assert specialize(16, False, True, False) == ("i32", "")


def test_named_tuples_keep_their_names() -> None:
    point = namedtuple("point", "x y")
    assert specialize(point(2, 3.0), False, True, True) == (point("i32", "fp32"), point("", None))


@pytest.mark.parametrize(
    ("dtype", "name"), [("float32", "fp32"), ("int8", "i8"), ("uint16", "u16"), ("float16", "fp16"), ("bool", "i1")]
)
def test_arrays_are_pointers_to_their_element_type(dtype: str, name: str) -> None:
    array = np.zeros(64, dtype)
    assert specialize(array, False, True, True)[0] == "*" + name
    assert specialize(array, True, True, True)[0] == "*k" + name


def test_an_address_that_is_no_multiple_of_sixteen_is_not_called_aligned() -> None:
    array = np.zeros(64, np.uint8)
    offset = -array.ctypes.data % 16
    assert specialize(array[offset:], False, True, True)[1] == "D"
    assert specialize(array[offset + 1 :], False, True, True)[1] == ""


def test_dlpack_gives_address_and_type() -> None:
    array = np.zeros(5, np.float32)

    class OnlyDLPack:
        def __dlpack__(self) -> object:
            return array.__dlpack__()

    assert foreign_array(OnlyDLPack()) == DeviceArray(array.ctypes.data, "fp32")


def test_a_cuda_array_interface_gives_address_and_type() -> None:
    class Device:
        __cuda_array_interface__ = {"data": (4096, False), "typestr": "<f8", "shape": (1,), "version": 3}

    assert foreign_array(Device()) == DeviceArray(4096, "fp64")
    assert runtime_value(Device(), "*fp64") == 4096


def test_what_cannot_be_passed_is_refused_with_what_to_do() -> None:
    with pytest.raises(MinitritonError, match=r"tl\.constexpr"):
        specialize(object(), False, True, True)
    with pytest.raises(MinitritonError, match="64 bits"):
        specialize(2**64, False, True, True)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_an_integer_of_more_than_64_bits_overflows(number: int) -> None:
    with pytest.raises(OverflowError, match="does not fit in 64 bits"):
        specialize(number, False, True, True)
