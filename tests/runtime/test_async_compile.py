"""Compiling on an executor: what is handed out when, and what comes back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.errors import MinitritonError


class ByHand(Executor):
    """Runs what it was given when told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        self.waiting.append(work)
        return future

    def run(self, count: int) -> None:
        for _ in range(count):
            self.waiting.pop(0)()


def make_kernel() -> Any:
    @triton.jit
    def kernel(out_ptr, VALUE: tl.constexpr):
        tl.store(out_ptr, VALUE)

    return kernel


@pytest.fixture(autouse=True)
def cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))


def test_a_warmup_is_handed_to_the_executor_once_and_a_launch_waits_for_it() -> None:
    kernel, pool = make_kernel(), ByHand()
    out = np.zeros(1, np.int32)
    with triton.AsyncCompileMode(pool):
        first = kernel.warmup(out, 7, grid=(1,))
        assert kernel.warmup(out, 7, grid=(1,)) is first
        kernel.warmup(out, 8, grid=(1,))
        assert isinstance(first, triton.FutureKernel)
        assert (len(pool.waiting), len(kernel.device_caches[0][0])) == (2, 0)
        pool.run(1)
        kernel[(1,)](out, 7)
        assert (out[0], len(kernel.device_caches[0][0])) == (7, 1)
        pool.run(1)
    assert len(kernel.device_caches[0][0]) == 2


def test_threads_compile_while_the_program_goes_on() -> None:
    kernel = make_kernel()
    outs = [np.zeros(4, dtype) for dtype in (np.float32, np.int32, np.int64)]
    with ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
        for out in outs:
            for value in range(3):
                kernel.warmup(out, value, grid=(1,))
        for out in outs:
            for value in (2, 0, 1, 5):
                kernel[(1,)](out, value)
                assert out[0] == value
    assert len(kernel.device_caches[0][0]) == 12


@triton.jit
def wrong(out_ptr, VALUE: tl.constexpr):
    tl.store(out_ptr, tl.arange(0, VALUE))


def test_errors_are_raised_where_the_kernel_is_asked_for_and_at_the_end() -> None:
    out = np.zeros(8, np.int32)
    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(MinitritonError), triton.AsyncCompileMode(pool):
            future = wrong.warmup(out, 7, grid=(1,))
            with pytest.raises(MinitritonError, match="power of 2"):
                future.result()
        with triton.AsyncCompileMode(pool, ignore_errors=True):
            future = wrong.warmup(out, 7, grid=(1,))
    assert future.result(ignore_errors=True) is None


def test_modes_are_not_nested() -> None:
    pool = ByHand()
    with triton.AsyncCompileMode(pool), pytest.raises(RuntimeError, match="already active"):
        triton.AsyncCompileMode(pool).__enter__()
    with triton.AsyncCompileMode(pool):
        pass
