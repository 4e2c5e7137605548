"""The NumPy meaning of every op of TTIR and of TTGIR, and kernels run by it without a GPU.

    interpret(module, "add", [x, y, out, 1000], grid=(8,))      runs the kernel; `out` is written in place

The tables in `meanings` are the definition of the ops: where a lowering and they differ, they are right.
"""

from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import interpret

__all__ = ["InterpreterError", "interpret"]
