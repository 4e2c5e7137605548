"""Compiles what is nested deeper than Python's stack allows: a sum of 500 terms, a hundred functions that call each other in turn.

The walks over syntax trees and IR recurse. What runs out of stack runs again in a thread that has a hundred times as much:

    on_deep_stack(lambda: compile(source), "kernel 'add'", location)
"""

import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.locks import finished_before_forks

T = TypeVar("T")

_STACK_BYTES = (512 << 20, 128 << 20, 32 << 20)
"""The most that the system gives is taken; memory is used only as far as the stack grows."""
_BYTES_A_CALL = 4096
"""Stack that a call may take, C functions between Python's included: 2 kB at most were seen (CPython 3.11, 2026-11-22)."""

_thread = threading.local()
_one_at_a_time = threading.RLock()
"""The size of new threads' stacks and the limit of recursion are the process's."""


class NestedTooDeep(MinitritonError, RecursionError):
    """A program nested deeper than can be compiled."""


def on_deep_stack(function: Callable[[], T], what: str, location: SourceLocation | None = None) -> T:
    """`function()`, which is called again on a deeper stack if it runs out of stack. So it must be able to start anew.

    Raises `NestedTooDeep`, which names `what` at `location`, if that is not enough either.
    """
    if getattr(_thread, "is_inside", False):
        return function()  # whoever called first starts anew: what lies between may hold locks
    _thread.is_inside = True
    try:
        return function()
    except RecursionError:
        pass
    finally:
        _thread.is_inside = False
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def run() -> None:
        _thread.is_inside = True
        try:
            outcome.extend((True, context.run(function)))
        except BaseException as error:
            outcome.extend((False, error))

    with finished_before_forks(), _one_at_a_time:
        size = _started(run)
    if outcome[0]:
        return outcome[1]
    error = outcome[1]
    if isinstance(error, RecursionError) and not isinstance(error, NestedTooDeep):
        raise NestedTooDeep(
            f"{what} is nested too deep to be compiled (on a stack of {size >> 20} MiB)",
            location,
            help="assign parts of long expressions to variables, and write chains of branches or calls as loops",
        ) from None
    raise error


def _started(run: Callable[[], None]) -> int:
    """Runs `run` in a thread of its own, to its end; the bytes of its stack."""
    for size in _STACK_BYTES:
        before = threading.stack_size(size)
        try:
            thread = threading.Thread(target=run, name="minitriton-deep-stack")
            with _recursion_limit(size // _BYTES_A_CALL):
                thread.start()
                thread.join()
        except RuntimeError:  # the system has no room for such a stack
            continue
        finally:
            threading.stack_size(before)
        return size
    raise NestedTooDeep("the system gives no thread a deeper stack", help="raise the limit of memory (ulimit -v)")


@contextlib.contextmanager
def _recursion_limit(least: int) -> Generator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, least))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
