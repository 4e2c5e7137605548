"""Tensors of a GPU for a launch on the interpreter: copied to host memory, and back after the launch, as Triton's interpreter does.

    with on_host((x.cuda(), 3)) as args:      args[0] is a CPU tensor; what is written to it is in x afterwards

Views of one storage are views of one copy.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Generator
from typing import Any

from minitriton.host.containers import is_tuple
from minitriton.runtime.cuda_driver import torch_module
from minitriton.runtime.launching.host_values import is_descriptor


@contextlib.contextmanager
def on_host(args: tuple[object, ...]) -> Generator[tuple[object, ...]]:
    """`args` with copies in place of torch's tensors on a GPU, also of those in tuples and descriptors."""
    torch = torch_module()
    copies: dict[int, tuple[Any, Any]] = {}

    def copied(value: Any) -> Any:
        if is_tuple(value):
            parts = [copied(part) for part in value]
            make: Any = getattr(value, "_make", tuple)
            return make(parts)
        if is_descriptor(value):
            described: Any = copy.copy(value)
            described.base = copied(value.base)
            return described
        if torch is None or not isinstance(value, torch.Tensor) or not value.is_cuda:
            return value
        storage = value.untyped_storage()
        address = storage.data_ptr()
        if address not in copies:
            copies[address] = storage, storage.cpu()
        view = torch.empty(0, dtype=value.dtype)
        return view.set_(copies[address][1], value.storage_offset(), value.size(), value.stride())

    yield tuple(map(copied, args))
    for device, host in copies.values():
        device.copy_(host)
