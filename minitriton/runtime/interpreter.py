"""`InterpretedFunction`, under the module path that programs import it from.

Here `@jit` makes a `JITFunction` in any case, which runs on the interpreter where TRITON_INTERPRET asks for it.
"""

from collections.abc import Callable
from typing import Unpack

from minitriton.runtime.jit import JITFunction, JITOptions

__all__ = ["InterpretedFunction"]

_MISSING = object()
"""In Triton, an attribute of `tl` that a launch adds and takes away again. Programs ask for the name to know that `tl` stays as it was
(Helion's tests of `breakpoint`); here a launch changes nothing in `tl`."""


class InterpretedFunction(JITFunction):
    """A kernel whose launches all run its TTIR on the interpreter, whatever the environment says."""

    def __init__(self, fn: Callable[..., object], **options: Unpack[JITOptions]) -> None:
        super().__init__(fn, **options)

    def is_interpreted(self) -> bool:
        return True
