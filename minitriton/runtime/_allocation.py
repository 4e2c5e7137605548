"""`set_allocator`: where launches take global memory that a kernel needs in addition to its arguments.

set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn, Protocol

from minitriton.errors import MinitritonError


class DeviceMemory(Protocol):
    """Memory of the device, there for as long as the object is."""

    def data_ptr(self) -> int: ...


Allocator = Callable[[int, int, "int | None"], DeviceMemory]
"""`(bytes, alignment, stream)` to an object with `data_ptr()`, kept alive until the launch is enqueued."""


class MissingAllocator(MinitritonError, RuntimeError):
    """A kernel needs global memory, and the program has not said where it comes from."""


class NullAllocator:
    """The allocator before a program sets one: refuses."""

    def __call__(self, size: int, alignment: int, stream: int | None) -> NoReturn:
        raise MissingAllocator(
            f"the kernel needs {size} bytes of global scratch memory, and no allocator is set",
            help="call triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device='cuda'))",
        )


_REFUSING: Allocator = NullAllocator()
_allocator: ContextVar[Allocator] = ContextVar("allocator", default=_REFUSING)


def set_allocator(allocator: Allocator) -> None:
    """Uses `allocator` for the launches of this context (a thread or task)."""
    _allocator.set(allocator)


@contextmanager
def allocator_scope(allocator: Allocator) -> Generator[None]:
    """Uses `allocator` for the launches of this context until the end of the block."""
    token = _allocator.set(allocator)
    try:
        yield
    finally:
        _allocator.reset(token)


def current_allocator() -> Allocator:
    return _allocator.get()
