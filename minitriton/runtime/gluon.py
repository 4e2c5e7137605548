"""`@gluon.jit`: kernels whose author says layouts. They compile from TTGIR on, and launch as others do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, overload

from minitriton.pipeline.gluon_source import GluonASTSource
from minitriton.runtime.jit import JITFunction


class GluonJITFunction(JITFunction):
    """A kernel in Gluon."""

    ASTSource = GluonASTSource

    def is_gluon(self) -> bool:
        return True


@overload
def jit(fn: Callable[..., object]) -> GluonJITFunction: ...
@overload
def jit(fn: None = None, **options: Any) -> Callable[[Callable[..., object]], GluonJITFunction]: ...
def jit(
    fn: Callable[..., object] | None = None,
    *,
    version: object = None,
    repr: Callable[[Any], str] | None = None,
    launch_metadata: Callable[..., dict[str, object]] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
) -> GluonJITFunction | Callable[[Callable[..., object]], GluonJITFunction]:
    """Makes a function in Gluon a kernel, with the options of `@triton.jit`."""

    def decorate(fn: Callable[..., object]) -> GluonJITFunction:
        return GluonJITFunction(
            fn,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
        )

    return decorate if fn is None else decorate(fn)
