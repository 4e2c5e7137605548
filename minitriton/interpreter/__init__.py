"""The NumPy meaning of every op of TTIR and of TTGIR, and kernels run by it without a GPU.

    interpret(module, "add", [x, y, out, 1000], grid=(8,))      runs the kernel; `out` is written in place

The tables in `launch` are the definition of the ops: where a lowering and they differ, they are right.
"""

from typing import TYPE_CHECKING, Any

from minitriton.interpreter.errors import InterpreterError

if TYPE_CHECKING:
    from minitriton.interpreter.launch import interpret

__all__ = ["InterpreterError", "interpret"]


def __getattr__(name: str) -> Any:
    """`interpret` brings NumPy and the dialects with it: programs that catch the error alone start without them."""
    if name != "interpret":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from minitriton.interpreter.launch import interpret

    return interpret


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
