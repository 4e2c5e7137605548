"""What programs pass to launches, as types: nothing here is a base class of it, it is known by what it offers.

Asked by `offers`, which runs no code of the value's class.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, SupportsIndex, TypeAlias, TypeGuard

Size: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
Grid: TypeAlias = "Size | Callable[[dict[str, Any]], Size]"
"""How many programs there are along one to three axes, or a function of the arguments by name to that."""


class LaunchedArray(Protocol):
    """What has elements."""

    @property
    def dtype(self) -> object: ...


class Tensor(LaunchedArray, Protocol):
    """What a launch asks of a tensor of torch, and of what passes for one."""

    def data_ptr(self) -> int: ...

    def numel(self) -> int: ...


class HostDescriptor(Protocol):
    """What a launch asks of a tensor descriptor: sizes and strides are in elements."""

    @property
    def base(self) -> LaunchedArray: ...

    @property
    def shape(self) -> Sequence[int]: ...

    @property
    def strides(self) -> Sequence[int]: ...

    @property
    def block_shape(self) -> Sequence[int]: ...

    @property
    def padding(self) -> str: ...


class Exchangeable(Protocol):
    """An array of any library that speaks DLPack."""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def offers(arg: object, name: str) -> bool:
    """Whether `arg` has an attribute, asked without running code of its class: torch raises for
    `__cuda_array_interface__` of a tensor that requires a gradient. Only who answers by `__getattr__` is asked itself."""
    if (type(arg), name) in _offered:
        return True
    classes = type(arg).__mro__
    if any(name in cls.__dict__ for cls in classes):
        if len(_offered) >= _MOST_OFFERED:
            _offered.clear()
        _offered.add((type(arg), name))
        return True
    if name in getattr(arg, "__dict__", ()):
        return True
    if not any("__getattr__" in cls.__dict__ for cls in classes):
        return False
    try:
        return hasattr(arg, name)
    except Exception:
        return False


_offered: set[tuple[type, str]] = set()
"""Classes with names that they are known to have."""
_MOST_OFFERED = 4096


def is_tensor(arg: object) -> TypeGuard[Tensor]:
    """Whether `arg` says its address in memory, as torch's tensors do."""
    return offers(arg, "data_ptr")


def is_descriptor(arg: object) -> TypeGuard[HostDescriptor]:
    """Whether `arg` is a tensor descriptor."""
    return offers(arg, "block_shape") and offers(arg, "base")


def is_exchangeable(arg: object) -> TypeGuard[Exchangeable]:
    """Whether `arg` is an array that is handed over by DLPack."""
    return offers(arg, "__dlpack__")
