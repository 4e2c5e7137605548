"""The locks of the process, and a `fork` that leaves none of them held for ever.

A child process has only the thread that forked. A lock that another thread held at that moment would stay locked in it, and what
that lock protects half changed. So a fork waits until it has every lock, in one order, and both processes release them:

    thread 1   compiles, holds LLVM ................ releases
    thread 2        os.fork() waits for LLVM ........ forks; the child can compile

Work that holds other locks than these (imports) is in `host.fork_gate`, which is closed first: work takes these locks.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

from minitriton.host import fork_gate


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

DECLARATIONS = threading.RLock()
"""Held while the declaration of an op is read."""

_in_order: list[Lock] = [FUNCTIONS, DRIVER, LLVM, DECLARATIONS]


def held_across_forks(lock: Lock) -> None:
    """Adds `lock`, which is taken by threads that hold any of the others, never the other way around."""
    _in_order.append(lock)


def _before() -> None:
    fork_gate.close()
    for lock in _in_order:
        lock.acquire()


def _in_parent() -> None:
    _release_all()
    fork_gate.open_in_parent()


def _in_child() -> None:
    _release_all()
    fork_gate.open_in_child()


def _release_all() -> None:
    for lock in reversed(_in_order):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
