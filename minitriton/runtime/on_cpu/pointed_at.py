"""Arrays that a launch on the CPU reaches by addresses alone, as every live array of a GPU can be reached.

    a_ptrs = torch.tensor([a.data_ptr() for a in matrices], device="cuda")
    grouped[grid](a_ptrs, ...)          # tl.load(a_ptrs + i).to(tl.pointer_type(tl.float16))       →  the matrices

In: a launch's values. Out: the live arrays (CPU tensors of torch, NumPy arrays) that integers of 8 bytes among them point into. Looked for only
where the kernel makes pointers of integers or integers of pointers (`handles_addresses`), for it asks Python's garbage collector for all that is alive.
"""

from __future__ import annotations

import gc
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from minitriton.dialects.narrowing import instance_of
from minitriton.runtime.cuda_driver import torch_module
from minitriton.runtime.on_cpu.host_arrays import host_view

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
