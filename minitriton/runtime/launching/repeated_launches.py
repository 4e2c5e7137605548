"""Launches that are repeated: by what arguments and options one is known again, so that nothing of it has to be worked out twice.

In: a device, the arguments of a launch, its options. Out: a key that is equal for launches with the same kernel and the same values,
or None where no argument is a tensor descriptor, or one has no such key.

    launch_key(0, (descriptor of x, 512), {"num_warps": 8})   ->   the address, sizes and blocks of the descriptor, 512, the options

For launches with tensor descriptors, whose arguments have no generated path: taking three descriptors apart, naming their types and asking
where each array lies takes some 0.2 ms of the host, as long as the product of 4096³ that they may be for; the key takes 5 µs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Generic, TypeVar

from minitriton.language.dtypes import dtype
from minitriton.runtime.launching.arguments import has_hooks
from minitriton.runtime.launching.descriptor_arguments import rounds_to_tf32
from minitriton.runtime.launching.host_values import is_descriptor
from minitriton.runtime.launching.loading import stream_functions

MOST_REPEATED = 256
"""Launches of a kernel that are remembered; then all are forgotten."""

_BY_VALUE = frozenset({int, bool, str, type(None), dtype})

LaunchT = TypeVar("LaunchT")


class RepeatedLaunches(Generic[LaunchT]):
    """What launches of one kernel passed, by what they were asked for with."""

    def __init__(self) -> None:
        self._known: dict[Hashable, LaunchT] = {}
        self._functions: tuple[Callable[[], int], Callable[[int], int]] | None = None
        self._had_torch = False

    def find(self, args: tuple[object, ...], options: dict[str, object]) -> tuple[LaunchT, int, int] | None:
        """The same launch of before, with the calling thread's device and stream; None where there was none."""
        if not self._known:
            return None
        has_torch = "torch" in sys.modules
        if self._functions is None or has_torch is not self._had_torch:
            self._functions, self._had_torch = stream_functions(), has_torch
        current_device, stream_of = self._functions
        try:
            device = current_device()
            found = self._known.get(launch_key(device, args, options))
        except RuntimeError:  # a tensor without memory, which is refused where launches are worked out
            return None
        return None if found is None else (found, device, stream_of(device))

    def remember(self, device: int, args: tuple[object, ...], options: dict[str, object], launch: LaunchT) -> None:
        """Keeps a launch, if it can be known again."""
        key = launch_key(device, args, options)
        if key is not None:
            if len(self._known) >= MOST_REPEATED:
                self._known.clear()
            self._known[key] = launch


def launch_key(device: int, args: tuple[object, ...], options: dict[str, object]) -> Hashable | None:
    """What a launch is known by again."""
    parts: list[object] = [device, *options.items()]
    has_descriptor = False
    for arg in args:
        kind = type(arg)
        if kind in _BY_VALUE:
            parts += (kind, arg)
        elif kind is float:
            parts.append(arg.hex())  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        elif _is_tensor_class(kind):
            parts += _array_key(arg)
        elif (_describes(kind) or is_descriptor(arg)) and _is_tensor_class(type(arg.base)):  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
            has_descriptor = True
            parts += _descriptor_key(arg)
        else:
            return None
    key = tuple(parts)
    try:
        hash(key)
    except TypeError:
        return None
    return key if has_descriptor else None


def _array_key(array: Any) -> tuple[object, ...]:
    return array.__class__, array.data_ptr(), array.dtype, getattr(array, "is_cuda", None)


def _descriptor_key(arg: Any) -> tuple[object, ...]:
    sizes = (tuple(arg.shape), tuple(arg.strides), tuple(arg.block_shape))
    return (*_array_key(arg.base), *sizes, arg.padding, rounds_to_tf32(arg))


@lru_cache(maxsize=256)
def _is_tensor_class(kind: type[object]) -> bool:
    """Whether what is of this class says where it lies, and runs nobody's hooks when it is asked."""
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.Tensor) and has_hooks(kind):
        return False
    return any("data_ptr" in cls.__dict__ for cls in kind.__mro__)


@lru_cache(maxsize=256)
def _describes(kind: type[object]) -> bool:
    """Whether objects of this class are tensor descriptors; of a class that does not say it, each is asked."""
    return {"base", "block_shape"} <= getattr(kind, "__dataclass_fields__", {}).keys()
