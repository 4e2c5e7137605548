"""What `torch.compile` is to leave as it is, in launches that it does not know for such.

It knows the kernels of `triton`, in a program that imports minitriton by that name; a kernel of `import minitriton as triton` is a
Python object to it like any other, and it would trace the compiler and the emulator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


def untraced(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """`function`, which is run without being looked at where the program has imported what traces."""
    dynamo = sys.modules.get("torch._dynamo")
    return function if dynamo is None else dynamo.disable(function)
