"""The locks of the process, and a `fork` that leaves none of them held for ever.

A child process has only the thread that forked. A lock that another thread held at that moment would stay locked in it, and what
that lock protects half changed. So a fork waits until it has every lock, in one order, and both processes release them:

    thread 1   compiles, holds LLVM ................ releases
    thread 2        os.fork() waits for LLVM ........ forks; the child can compile
"""

from __future__ import annotations

import os
import threading
from typing import Protocol


class Lock(Protocol):
    """What a thread holds."""

    def acquire(self) -> bool: ...

    def release(self) -> None: ...


FUNCTIONS = threading.RLock()
"""Held while the source of a function of the language is read and its key made."""

DRIVER = threading.RLock()
"""Held while the process looks for the driver."""

LLVM = threading.RLock()
"""Held around every call into LLVM."""

_in_order: list[Lock] = [FUNCTIONS, DRIVER, LLVM]


def held_across_forks(lock: Lock) -> None:
    """Adds `lock`, which is taken by threads that hold any of the others, never the other way around."""
    _in_order.append(lock)


def _acquire_all() -> None:
    for lock in _in_order:
        lock.acquire()


def _release_all() -> None:
    for lock in reversed(_in_order):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all)
