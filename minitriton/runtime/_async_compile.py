"""`AsyncCompileMode`: compiles on the threads of an executor, and launches that wait for what they need only.

with ThreadPoolExecutor(8) as pool, AsyncCompileMode(pool):
    for block in (64, 128, 256):
        kernel.warmup(torch.float32, 4096, block, grid=(1,))    →    a FutureKernel at once; it compiles in the background
    kernel[grid](x, 4096, 128)                                  →    waits for that one and launches it
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from minitriton.runtime.compiled_kernel import CompiledKernel

active_mode: ContextVar[AsyncCompileMode | None] = ContextVar("active_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled. `result()` waits for it, and finishes it in the calling thread."""

    def __init__(self, finalize_compile: Callable[[CompiledKernel], None], future: Future[CompiledKernel]) -> None:
        self.finalize_compile = finalize_compile
        self.future = future
        self.kernel: CompiledKernel | None = None

    def result(self, ignore_errors: bool = False) -> CompiledKernel | None:
        """The compiled kernel. Raises what the compile raised, or returns None then if `ignore_errors`."""
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if ignore_errors:
                    return None
                raise
            self.finalize_compile(kernel)
            self.kernel = kernel
        return self.kernel


class AsyncCompileMode:
    """Within the `with`, kernels of this context are compiled by `executor`; at its end all of them are done.

    Errors are raised where a kernel is asked for, or at the end unless `ignore_errors`. Modes cannot be nested.
    """

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.future_kernels: dict[Hashable, FutureKernel] = {}

    def submit(
        self, key: Hashable, compile_fn: Callable[[], CompiledKernel], finalize_fn: Callable[[CompiledKernel], None]
    ) -> FutureKernel:
        """The kernel of `key`, handed to the executor when it is first asked for."""
        known = self.future_kernels.get(key)
        if known is None:
            known = self.future_kernels[key] = FutureKernel(finalize_fn, self.executor.submit(compile_fn))
        return known

    def __enter__(self) -> AsyncCompileMode:
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        from concurrent.futures import as_completed

        kernels = {kernel.future: kernel for kernel in self.future_kernels.values()}
        try:
            for future in as_completed(kernels):
                kernels[future].result(self.ignore_errors)
        finally:
            active_mode.set(None)
