"""`@gluon.jit`: kernels whose author says layouts. They compile from TTGIR on, and launch as others do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack, overload

from minitriton.pipeline.ast_source import GluonASTSource
from minitriton.runtime.jit import JITFunction, JITOptions


class GluonJITFunction(JITFunction):
    """A kernel in Gluon."""

    ASTSource = GluonASTSource

    def is_gluon(self) -> bool:
        return True


@overload
def jit(fn: Callable[..., object]) -> GluonJITFunction: ...
@overload
def jit(**options: Unpack[JITOptions]) -> Callable[[Callable[..., object]], GluonJITFunction]: ...
def jit(
    fn: Callable[..., object] | None = None, **options: Unpack[JITOptions]
) -> GluonJITFunction | Callable[[Callable[..., object]], GluonJITFunction]:
    """Makes a function in Gluon a kernel, with the options of `@triton.jit`."""

    def decorate(fn: Callable[..., object]) -> GluonJITFunction:
        return GluonJITFunction(fn, **options)

    return decorate if fn is None else decorate(fn)
