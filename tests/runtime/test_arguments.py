"""What a launch makes of its arguments: Triton's type names and specialisations."""

import importlib.util
from collections import namedtuple
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError
from minitriton.runtime.launching.arguments import (
    DeviceArray,
    foreign_array,
    is_array,
    is_host_array,
    is_on_host,
    offers,
    refuse_without_memory,
    runtime_value,
    specialize,
)
from minitriton.runtime.launching.dispatch import belongs_on_host


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1 / np.sqrt(64), ("fp32", None)),
        (np.float32(2.5), ("fp32", None)),
        (np.int32(48), ("i32", "D")),
        (np.int64(2**40), ("i64", "D")),
        (np.uint64(2**63), ("u64", "D")),
        (np.int8(1), ("constexpr", 1)),
        (np.bool_(True), ("u1", None)),
    ],
)
def test_numpy_scalars_are_numbers(value: object, expected: object) -> None:
    assert specialize(value, False, True, True) == expected
    assert specialize((value,), False, True, True) == ((expected[0],), (expected[1],))  # type: ignore[index]


@triton.jit
def stores(out, number, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), number)


def test_numpy_scalars_are_passed_by_value() -> None:
    out = np.zeros(2, np.float64)
    for number in (np.float64(0.125), np.float32(2.5), np.int32(-7), np.int64(1), np.bool_(True), np.uint8(200)):
        stores[(1,)](out, number, BLOCK=2)
        assert out.tolist() == [number, number]
    stores[(1,)](out, np.array([3.0])[0], 2)
    assert out[0] == 3


def test_an_array_without_dimensions_is_a_pointer() -> None:
    assert specialize(np.array(2.5, np.float32), False, True, True)[0] == "*fp32"


def test_masked_arrays_are_refused() -> None:
    masked = np.ma.array(np.zeros(4, np.float32), mask=[0, 1, 0, 1])
    with pytest.raises(MinitritonError, match="would not see its mask") as raised:
        stores[(1,)](masked, 1.0, BLOCK=2)
    assert "x.filled(value)" in str(raised.value)


class Tensor:
    """What torch says of a tensor on a GPU that requires a gradient: some questions run code that raises."""

    is_cuda = True
    dtype = "torch.float32"
    requires_grad = True

    def __init__(self, address: int = 64, kind: str = "cuda", elements: int = 4) -> None:
        self.address, self.device, self.elements = address, SimpleNamespace(type=kind, index=0), elements

    def data_ptr(self) -> int:
        return self.address

    def numel(self) -> int:
        return self.elements

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")

    @property
    def __dlpack__(self) -> Any:
        raise BufferError("Can't export tensors that require gradient")

    @property
    def base(self) -> Any:
        raise RuntimeError("not asked for")


def test_what_a_tensor_is_asks_for_nothing_that_raises() -> None:
    tensor = Tensor()
    assert is_array(tensor) and not is_host_array(tensor) and not is_on_host(tensor)
    assert not belongs_on_host((tensor, 3)) and is_on_host((Tensor(kind="cpu"),))
    assert specialize(tensor, False, True, True) == ("*fp32", "D")
    assert runtime_value(tensor, "*fp32") == 64


class Forwards:
    """Attributes by `__getattr__`, as proxies have them."""

    def __init__(self, target: Any) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


def test_a_proxy_is_what_it_stands_for() -> None:
    assert offers(Forwards(Tensor()), "data_ptr") and not offers(Forwards(3), "data_ptr")
    assert specialize(Forwards(Tensor(72)), False, True, True) == ("*fp32", "")


class WithoutStorage(Tensor):
    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def test_tensors_without_memory_are_refused_before_a_launch() -> None:
    refuse_without_memory("x", Tensor(address=0, elements=0))
    for tensor in (Tensor(address=0, kind="cpu"), WithoutStorage(kind="cpu")):
        with pytest.raises(MinitritonError, match="lacks memory that a kernel could be given") as raised:
            stores[(1,)](tensor, 1.0, BLOCK=2)
        assert "'out'" in str(raised.value) and "help: fake, functional" in str(raised.value)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torch")
def test_tensors_of_every_kind() -> None:
    import torch  # pyright: ignore[reportMissingImports]

    class Hooked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise RuntimeError(f"asked for {func}")

    for make in (
        lambda: torch.zeros(2, requires_grad=True),
        lambda: torch.nn.Parameter(torch.zeros(2)),
        lambda: torch.zeros(4)[1:3],
        lambda: torch.zeros(2, 2).t()[0],
    ):
        tensor = make()
        stores[(1,)](tensor, 3.0, BLOCK=1)
        assert tensor.detach().flatten()[0] == 3
    plain = torch.zeros(2)
    stores[(1,)](plain.as_subclass(Hooked), 3.0, BLOCK=2)
    assert plain.tolist() == [3, 3]
    fake = torch._to_functional_tensor(torch.zeros(2))
    for tensor in (fake, torch.zeros(2).to_sparse()):
        with pytest.raises(MinitritonError, match="lacks memory"):
            stores[(1,)](tensor, 3.0, BLOCK=2)
