"""What a kernel argument is: its Triton type name, what is specialised on, and the value that the launch passes.

In: any Python value (torch tensor, CuPy or NumPy array, anything with `__cuda_array_interface__` or DLPack, numbers,
tuples). Out: `(type, specialisation)` as Triton 3.6.0 gives them (`python/src/specialize.cc`):

    specialize(tensor_of_f32)  →  ("*fp32", "D")      address divisible by 16
    specialize(1)              →  ("constexpr", 1)
    specialize(48)             →  ("i32", "D")
"""

import ctypes
import sys
from collections.abc import Callable
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypeVar

from minitriton.errors import MinitritonError
from minitriton.host.frozen import frozen
from minitriton.host.json_values import is_tuple
from minitriton.pipeline.ast_source import TypeName
from minitriton.runtime.launching.host_values import (
    Exchangeable,
    Tensor,
    is_descriptor,
    is_exchangeable,
    is_tensor,
    offers,
)

Specialization: TypeAlias = "tuple[TypeName, object]"
"""An argument's type, and what a kernel is specialised on of it: see `specialize`."""


_T = TypeVar("_T")


@frozen
class Argument:
    """One runtime argument of a launch: the parameter's name, its type name, and what was passed."""

    name: str
    type_name: str
    value: Any


_DTYPE_NAMES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv", "float8e4nv": "fp8e4nv", "float8_e4m3fnuz": "fp8e4b8", "float8e4b8": "fp8e4b8",
    "float8_e5m2": "fp8e5", "float8e5": "fp8e5", "float8_e5m2fnuz": "fp8e5b16", "float8e4b15": "fp8e4b15",
}  # fmt: skip
"""Triton's short name of an element type, by the last part of what its dtype prints (`torch.float32` → `float32`)."""

_known_dtypes: dict[object, str] = {}


def dtype_name(dtype: object) -> str:
    """Triton's short name of `dtype` (a torch, NumPy, CuPy or Triton dtype, or its name). Raises for unknown ones."""
    try:
        return _known_dtypes[dtype]
    except (KeyError, TypeError):
        pass
    text = str(dtype)
    key = text.split("'")[1] if text.startswith("<class") else text
    key = key.split(".")[-1]
    name = _DTYPE_NAMES.get(key, key if key in _DTYPE_NAMES.values() else None)
    if name is None:
        raise MinitritonError(
            f"element type {text!r} lacks a counterpart in the language",
            help="pass an array of bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64 or float8",
        )
    _known_dtypes[dtype] = name
    return name


@frozen
class DeviceArray:
    """An array as the launcher sees it: its address, and Triton's name of its element type."""

    address: int
    element: str


def plain_argument(arg: Any) -> object:
    """`arg` as launches take it: a NumPy scalar as Python's number, and of a tensor of a class that hooks into torch's functions
    the tensor below, so that what it is can be asked without running those hooks."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(arg, numpy.generic):
        return arg.item()
    given: object = arg
    kind = type(given)
    if torch is None or not issubclass(kind, torch.Tensor) or not has_hooks(kind):
        return arg
    if _dispatch_hook(kind) is not _dispatch_hook(torch.Tensor):
        return arg
    with torch._C.DisableTorchFunctionSubclass():
        return arg.as_subclass(torch.Tensor)


def has_hooks(tensor_class: type[object]) -> bool:
    """Whether tensors of this class are notified of every function of torch that is called on them."""
    torch = sys.modules["torch"]
    if tensor_class is torch.Tensor:
        return False
    function = getattr(tensor_class, "__torch_function__", None)
    if function is not None and function is not getattr(torch._C, "_disabled_torch_function_impl", None):
        return True
    return _dispatch_hook(tensor_class) is not _dispatch_hook(torch.Tensor)


def _dispatch_hook(tensor_class: type[object]) -> object:
    return getattr(tensor_class, "__torch_dispatch__", None)


def refuse_without_memory(name: str, arg: object) -> None:
    """Raises `MinitritonError` for a tensor with elements without memory, before a launch."""
    if not is_tensor(arg) or not offers(arg, "numel"):
        return
    try:
        address = tensor_address(arg)
        if not getattr(arg, "is_nested", False) and (address or arg.numel() == 0):
            return
    except MinitritonError as error:
        error.message = f"parameter {name!r}: {error.message}"
        raise
    raise MinitritonError(f"parameter {name!r}: {_no_memory(arg)}", help=_NO_MEMORY_HELP)


def tensor_address(arg: Tensor) -> int:
    """`arg.data_ptr()`. Raises `MinitritonError` where torch says that there is none."""
    try:
        return arg.data_ptr()
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
        raise MinitritonError(f"{_no_memory(arg)} ({reason})", help=_NO_MEMORY_HELP) from None


def _no_memory(arg: object) -> str:
    return f"a {type(arg).__name__} lacks memory that a kernel could be given"


_NO_MEMORY_HELP = (
    "fake, functional, meta, sparse and nested tensors and those of vmap or grad stand for values: launch outside of what makes "
    "them, or wrap the launch in a custom operator (torch.library.triton_op)"
)


def data_address(arg: object) -> int:
    """The address of an array argument's first element. Raises `MinitritonError` for what is no array."""
    return tensor_address(arg) if is_tensor(arg) else foreign_array(arg).address


def foreign_array(arg: object) -> DeviceArray:
    """Address and element type of an array that is no torch tensor (CUDA array interface, NumPy's, or DLPack)."""
    # NumPy imports it when it is first asked for; another thread may be at that.
    masked = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    if masked is not None and isinstance(arg, masked):
        raise MinitritonError(
            "a masked array cannot be passed to a kernel, which would not see its mask",
            help="pass x.filled(value), or x.data and the mask (~x.mask) as an array of its own",
        )
    interface = None
    for name in ("__cuda_array_interface__", "__array_interface__"):
        interface = interface or (getattr(arg, name, None) if offers(arg, name) else None)
    if interface is not None:
        dtype = getattr(arg, "dtype", None)
        element = dtype_name(dtype) if dtype is not None else _typestr_name(interface["typestr"])
        return DeviceArray(interface["data"][0], element)
    if is_exchangeable(arg):
        return _from_dlpack(arg)
    raise MinitritonError(
        f"cannot pass an argument of type {type(arg).__name__} to a kernel",
        help="pass a torch tensor, an array with __cuda_array_interface__ or __dlpack__, a number, or None",
    )


def _typestr_name(typestr: str) -> str:
    kind, size = typestr[1], int(typestr[2:])
    names = {"b": "i1", "i": f"i{8 * size}", "u": f"u{8 * size}", "f": f"fp{8 * size}"}
    if kind not in names:
        raise MinitritonError(f"arrays of element type {typestr!r} cannot be passed to a kernel")
    return names[kind]


class _DLTensor(ctypes.Structure):
    """`DLTensor` of dlpack.h, version 0.8."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_DLPACK_KINDS = {0: "i", 1: "u", 2: "fp", 4: "bf", 6: "i"}


_DLPACK_CPU = 1
"""`kDLCPU` of dlpack.h."""


def _from_dlpack(arg: Exchangeable) -> DeviceArray:
    capsule = arg.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    kind = _DLPACK_KINDS.get(tensor.code)
    if kind is None:
        raise MinitritonError(f"DLPack element code {tensor.code} cannot be passed to a kernel")
    return DeviceArray((tensor.data or 0) + tensor.byte_offset, f"{kind}{1 if tensor.code == 6 else tensor.bits}")


def is_array(arg: object) -> bool:
    """Whether `arg` is passed as a pointer."""
    return any(offers(arg, name) for name in _ARRAY_PROTOCOLS)


_ARRAY_PROTOCOLS = ("data_ptr", "__cuda_array_interface__", "__array_interface__", "__dlpack__")


def is_host_array(arg: object) -> bool:
    """Whether `arg` is an array in host memory: a NumPy array, a CPU tensor, or an array that says so by DLPack."""
    if offers(arg, "data_ptr"):
        device = getattr(arg, "device", None)
        return getattr(device, "type", device) == "cpu"
    if offers(arg, "__cuda_array_interface__"):
        return False
    if is_exchangeable(arg) and offers(arg, "__dlpack_device__"):
        return arg.__dlpack_device__()[0] == _DLPACK_CPU
    return offers(arg, "__array_interface__")


class IntegerOverflow(MinitritonError, OverflowError):
    """An integer argument of more than 64 bits; also an `OverflowError`, as in Triton."""


def is_on_host(arg: object) -> bool:
    """Whether `arg` is, describes or holds an array in host memory."""
    if is_tuple(arg):
        return any(map(is_on_host, arg))
    return is_host_array(arg.base if is_descriptor(arg) else arg)


def specialize(arg: object, is_const: bool, specialize_value: bool, align: bool) -> Specialization:
    """Triton's `(type name, specialisation key)` of one argument.

    The key is "D" for a number or address divisible by 16, the value itself for a constexpr, else "" or None.
    """
    handler = _HANDLERS.get(type(arg))
    if handler is None:
        arg = plain_argument(arg)
        handler = _HANDLERS.get(type(arg))
    if handler is not None:
        return handler(arg, is_const, specialize_value, align)
    if is_tuple(arg):
        return _specialize_tuple(arg)
    if is_constant(arg):
        return ("constexpr", arg)
    if is_descriptor(arg):
        given = getattr(arg, "layout", None)
        layout = "" if given is None else f",{given!r}"
        return (f"tensordesc<{dtype_name(arg.base.dtype)}{list(arg.block_shape)}{layout}>", None)
    if is_array(arg):
        return _specialize_array(arg, is_const, specialize_value, align)
    if isinstance(arg, bool):
        return ("u1", None)
    if isinstance(arg, int):
        return _specialize_int(arg, is_const, specialize_value, align)
    if isinstance(arg, float):
        return ("fp32", None)
    if isinstance(arg, SupportsIndex):
        return _specialize_int(arg.__index__(), is_const, specialize_value, align)
    if hasattr(arg, "__float__"):
        return ("fp32", None)
    raise MinitritonError(
        f"failed to specialize argument of type {type(arg).__name__}",
        help="pass a tensor or array, a number, a tuple of those, or declare the parameter tl.constexpr",
    )


def integer_type(number: int) -> str | None:
    """The narrowest of i32, i64 and u64 that holds `number`, or None."""
    if -(2**31) <= number < 2**31:
        return "i32"
    if -(2**63) <= number < 2**63:
        return "i64"
    return "u64" if 0 <= number < 2**64 else None


def _specialize_int(arg: int, is_const: bool, specialize_value: bool, align: bool) -> Specialization:
    if specialize_value and arg == 1:
        return ("constexpr", 1)
    kind = integer_type(arg)
    if kind is None:
        raise IntegerOverflow(f"integer argument {arg} does not fit in 64 bits", help="pass it in two parts")
    return (kind, ("D" if align and arg % 16 == 0 else "") if specialize_value else None)


def _specialize_array(arg: object, is_const: bool, specialize_value: bool, align: bool) -> Specialization:
    if is_tensor(arg):
        address, element = tensor_address(arg), dtype_name(arg.dtype)
    else:
        array = foreign_array(arg)
        address, element = array.address, array.element
    kind = ("*k" if is_const else "*") + element
    return (kind, ("D" if align and address % 16 == 0 else "") if specialize_value else None)


def _specialize_tuple(arg: tuple[object, ...]) -> Specialization:
    parts = [specialize(item, False, True, True) for item in arg]
    types = tuple(p[0] for p in parts)
    keys = tuple(p[1] for p in parts)
    if hasattr(arg, "_fields"):
        return _like(arg, types), _like(arg, keys)
    return (types, keys)


def _like(named: tuple[object, ...], items: tuple[_T, ...]) -> tuple[_T, ...]:
    """`items` as a named tuple of the class of `named`."""
    make: Any = type(named)
    return make(*items)


def is_dtype(value: object) -> bool:
    """Whether `value` is an element type of torch, NumPy or Triton."""
    return any(cls.__name__ == "dtype" for cls in type(value).__mro__) and not getattr(value, "shape", ())


def is_constant(arg: object) -> bool:
    """Whether `arg` is a compile-time value wherever it stands: a `constexpr`, or a function that kernels call."""
    return type(arg).__name__ == "constexpr" or offers(arg, "cache_key")


_HANDLERS: dict[type, Callable[[Any, bool, bool, bool], Specialization]] = {
    int: _specialize_int,
    bool: lambda arg, is_const, specialize_value, align: ("u1", None),
    float: lambda arg, is_const, specialize_value, align: ("fp32", None),
    type(None): lambda arg, is_const, specialize_value, align: ("constexpr", None),
    tuple: lambda arg, is_const, specialize_value, align: _specialize_tuple(arg),
}


def runtime_value(arg: Any, type_name: str) -> int | float:
    """What is packed for an argument whose type name is `type_name`: an address or a number."""
    if type_name[0] == "*":
        return 0 if arg is None else data_address(arg)
    if type_name[0] in "iu":
        return int(arg)
    return float(arg)


def collect_arguments(name: str, kind: TypeName, arg: Any, found: list[Argument]) -> None:
    """Appends what a launch passes for a parameter of type `kind` given `arg`: tuples taken apart, what is compiled in left out."""
    if isinstance(kind, tuple):
        for index, (k, a) in enumerate(zip(kind, arg, strict=True)):
            collect_arguments(f"{name}[{index}]", k, a, found)
    elif kind != "constexpr":
        found.append(Argument(name, kind, arg))


class TensorSpecializing(Protocol):
    """A backend that says itself what kernels are specialised on of a tensor."""

    def get_tensor_specialization(self, arg: object, *, align: bool) -> object: ...


def native_specialize_impl(
    backend: TensorSpecializing, arg: object, is_const: bool, specialize_value: bool, align: bool
) -> Specialization:
    """`(type name, specialisation key)` of one argument; a backend that specialises otherwise is asked for the key.

    Raises `TypeError` for what no kernel takes.
    """
    try:
        kind, key = specialize(arg, is_const, specialize_value, align)
    except MinitritonError as error:
        raise TypeError(str(error)) from None
    if key is None or getattr(backend, "supports_native_tensor_specialization", True) or not is_array(arg):
        return kind, key
    return kind, backend.get_tensor_specialization(arg, align=align)
