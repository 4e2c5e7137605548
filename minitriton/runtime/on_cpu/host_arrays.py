"""Arrays in host memory as NumPy arrays over the same bytes, whatever library they are of.

    host_view(torch.zeros(4, dtype=torch.bfloat16), "emulator")      →  a uint16 array of 4 elements, at the tensor's address

Elements that NumPy has no type for (bf16, fp8) come as unsigned integers of the same width.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
