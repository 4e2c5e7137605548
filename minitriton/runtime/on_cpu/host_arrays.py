"""Arrays in host memory as NumPy arrays over the same bytes, whatever library they are of.

    host_view(torch.zeros(4, dtype=torch.bfloat16), "emulator")      →  a uint16 array of 4 elements, at the tensor's address

Elements that NumPy has no type for (bf16, fp8) come as unsigned integers of the same width.

A launch on the CPU also reaches arrays by addresses alone, as every live array of a GPU can be reached:

    a_ptrs = torch.tensor([a.data_ptr() for a in matrices], device="cuda")
    grouped[grid](a_ptrs, ...)          # tl.load(a_ptrs + i).to(tl.pointer_type(tl.float16))       →  the matrices

The live arrays (CPU tensors of torch, NumPy arrays) that integers of 8 bytes among a launch's values point into are looked for only where the kernel
makes pointers of integers or integers of pointers (`handles_addresses`), for that asks Python's garbage collector for all that is alive.
"""

import gc
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minitriton.dialects.narrowing import instance_of
from minitriton.errors import MinitritonError
from minitriton.runtime.cuda_driver import has_gpu, torch_module
from minitriton.runtime.launching.arguments import is_host_array, offers


class ForgottenOnHost(MinitritonError, ValueError):
    """A tensor that was left in host memory by a program that uses a GPU; also a `ValueError`, as in Triton."""


def refuse_forgotten_tensors(kernel: str, names: Sequence[str], args: Sequence[Any]) -> None:
    """Raises `ForgottenOnHost` for a CPU tensor of torch where there is a GPU, unless its memory is pinned: such a launch is
    meant for the GPU. NumPy arrays are meant for the emulator everywhere."""
    torch = torch_module()
    if torch is None or not has_gpu():
        return
    for number, (name, arg) in enumerate(zip(names, args, strict=True)):
        if isinstance(arg, torch.Tensor) and arg.device.type == "cpu" and not arg.is_pinned():
            raise ForgottenOnHost(
                f"kernel {kernel!r}: pointer argument {name!r} (at {number}) is a CPU tensor in host memory, which the GPU does "
                "not reach",
                help=f"pass {name}.cuda(); NumPy arrays ({name}.numpy()) run on the emulator",
            )


def host_view(array: Any, runs_on: str) -> np.ndarray:
    """`array` (a NumPy array, a CPU tensor, or a host array of another library) over the same memory.

    Raises `MinitritonError`, which names what the launch `runs_on`, for arrays in device memory.
    """
    if instance_of(array, np.ndarray):
        return array
    if not is_host_array(array):
        raise MinitritonError(
            f"the {runs_on} takes arrays in host memory, and this launch mixes them with device arrays",
            help="move all arguments to the CPU, or all to the GPU",
        )
    if offers(array, "data_ptr"):
        return _over_tensor(_tensor_within(array))
    return np.asarray(array) if offers(array, "__array_interface__") else np.from_dlpack(array)


def memory_around(values: Iterable[Any]) -> list[np.ndarray]:
    """The storages of the CPU tensors of torch among `values` that are views: as on a GPU, a kernel may reach a padding that a view
    leaves out. Of a large storage, `_PADDING` bytes on each side of the view.
    """
    found: list[np.ndarray] = []
    for value in map(_tensor_within, values):
        if not (offers(value, "untyped_storage") and is_host_array(value)):
            continue
        storage, width, view = value.untyped_storage(), value.element_size(), _over_tensor(value)
        low, high = np.lib.array_utils.byte_bounds(view)
        before = min(low - storage.data_ptr(), _PADDING) // width
        after = min(storage.data_ptr() + storage.nbytes() - high, _PADDING) // width
        if view.size and (before or after):
            shape = (before + (high - low) // width + after,)
            found.append(_over_memory(value, low - before * width, shape, (width,), width))
    return found


_PADDING = 1 << 20


def _tensor_within(value: Any, depth: int = 3) -> Any:
    """The tensor of torch that an object with `data_ptr` keeps in its attributes and is the address of, or else the object itself.

    A program's own class may have a shape and strides that mean something else than the address of its bytes.
    """
    if not offers(value, "data_ptr") or offers(value, "untyped_storage"):
        return value
    address, held = value.data_ptr(), [value]
    for _ in range(depth):
        held = [attribute for part in held for attribute in getattr(part, "__dict__", {}).values()]
        for part in held:
            if offers(part, "untyped_storage") and part.data_ptr() == address:
                return part
    return value


def _over_tensor(tensor: Any) -> np.ndarray:
    """A tensor with torch's methods, without torch: address, shape and strides say all."""
    width = tensor.element_size()
    strides = tuple(stride * width for stride in tensor.stride())
    return _over_memory(tensor, tensor.data_ptr(), tuple(tensor.shape), strides, width)


def _over_memory(owner: Any, address: int, shape: tuple[int, ...], strides: tuple[int, ...], width: int) -> np.ndarray:
    interface = {"data": (address, False), "shape": shape, "strides": strides, "typestr": f"<u{width}", "version": 3}
    return np.asarray(type("HostTensor", (), {"__array_interface__": interface, "owner": owner})())


_LEAST, _END = 1 << 16, 1 << 48
"""Addresses of user space."""

_HANDLES_ADDRESSES = re.compile(r"tt\.int_to_ptr|tt\.ptr_to_int|!tt\.ptr<!tt\.ptr")


def handles_addresses(ir: str) -> bool:
    """Whether a kernel, given as TTIR or TTGIR, makes pointers of integers or the reverse, or loads or stores pointers."""
    return _HANDLES_ADDRESSES.search(ir) is not None


def may_handle_addresses(stages: Mapping[str, Any]) -> bool:
    """`handles_addresses` of a kernel's stages; true where it was compiled from a text that does not tell, such as PTX."""
    known = next((stages[stage] for stage in ("ttir", "ttgir") if stage in stages), None)
    return known is None or handles_addresses(known)


def arrays_pointed_at(values: Iterable[object]) -> list[np.ndarray]:
    """The live arrays that integers among `values` (arrays, numbers, a number's bytes) point into, and those that they point into,
    without arrays among `values`."""
    known = [value for value in values if instance_of(value, np.ndarray)]
    wanted = _outside(np.concatenate([possible_addresses(value) for value in values] or [_NONE]), known)
    if not wanted.size:
        return []
    alive = [array for array in _live_arrays() if array.size]
    found: list[np.ndarray] = []
    while wanted.size:
        new = [array for array in alive if _points_into(wanted, array)]
        alive = [array for array in alive if not any(array is other for other in new)]
        found += new
        wanted = _outside(np.concatenate([possible_addresses(array) for array in new] or [_NONE]), [*known, *found])
    return found


_NONE = np.empty(0, np.uint64)


def possible_addresses(value: object) -> np.ndarray:
    """The sorted integers of 8 bytes that `value` holds and that may be addresses."""
    if instance_of(value, np.ndarray):
        words = value.ravel().view(np.uint64) if value.dtype.kind in "iu" and value.dtype.itemsize == 8 else _NONE
    elif isinstance(value, bytes):
        words = np.frombuffer(value, np.uint64) if len(value) == 8 else _NONE
    else:
        is_address = isinstance(value, int) and _LEAST <= value < _END
        words = np.array([value], np.uint64) if is_address else _NONE
    return np.unique(words[(words >= _LEAST) & (words < _END)])


def _span(array: np.ndarray) -> tuple[int, int]:
    return np.lib.array_utils.byte_bounds(array)


def _points_into(words: np.ndarray, array: np.ndarray) -> bool:
    low, high = np.searchsorted(words, np.array(_span(array), np.uint64))
    return bool(low < high)


def _outside(words: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
    words = np.unique(words)
    for array in arrays:
        if array.size:
            low, high = _span(array)
            words = words[(words < low) | (words >= high)]
    return words


def _live_arrays() -> Iterator[np.ndarray]:
    """CPU tensors of torch, and NumPy arrays that a container or a function's variable holds."""
    torch = torch_module()
    tensor: Any = torch.Tensor if torch is not None else None
    tracked = gc.get_objects()
    seen: set[int] = set()
    for held in tracked:
        if tensor is not None and issubclass(type(held), tensor) and _is_plain(torch, held):
            yield host_view(held.detach(), "emulator")
    frame = inspect.currentframe()
    variables: list[Any] = []
    while frame is not None:
        variables += frame.f_locals.values()
        frame = frame.f_back
    held_anywhere: list[Any] = [*gc.get_referents(*tracked), *variables]
    for held in held_anywhere:
        # The type itself: `isinstance` asks objects for their class, and some warn of being asked.
        if issubclass(type(held), np.ndarray) and id(held) not in seen:
            seen.add(id(held))
            yield held


def _is_plain(torch: Any, held: Any) -> bool:
    return (
        type(held) in (torch.Tensor, torch.nn.Parameter)
        and held.device.type == "cpu"
        and held.layout is torch.strided
        and bool(held.numel())
    )
