"""The locks of the process, and a `fork` that leaves none of them held for ever.

A child process has only the thread that forked. A lock that another thread held at that moment would stay locked in it, and what
that lock protects half changed. So a fork waits until it has every lock, in one order, and both processes release them:

    thread 1   compiles, holds LLVM ................ releases
    thread 2        os.fork() waits for LLVM ........ forks; the child can compile

Work that holds other locks than these (imports) has a gate, which is closed first: work takes these locks.

Work that a `fork` waits for: a compile, the first import of the emulator.

What such work holds meanwhile is held for ever in a child forked meanwhile: the locks of modules that are being imported, those of `cached_property`
(Python 3.11), our own. So a fork waits until no other thread is at such work, and who begins some during a fork waits for that:

    thread 1   with finished_before_forks(): compiles .... done
    thread 2        os.fork() waits ...................... forks; the child finds no lock held
"""

import contextlib
import contextvars
import os
import threading
from collections.abc import Generator
from typing import Protocol

PATIENCE_SECONDS = 60.0
"""A fork waits no longer: work may itself wait for the thread that forks."""

_own: contextvars.ContextVar[object | None] = contextvars.ContextVar("work", default=None)
"""The work that a thread is at, those threads too that run with a copy of its context."""


class _Gate:
    def __init__(self) -> None:
        self.changed = threading.Condition(threading.Lock())
        self.at_work: set[object] = set()
        self.forks = 0

    def enter(self, work: object) -> None:
        with self.changed:
            self.changed.wait_for(lambda: not self.forks, PATIENCE_SECONDS)
            self.at_work.add(work)

    def leave(self, work: object) -> None:
        with self.changed:
            self.at_work.discard(work)
            self.changed.notify_all()

    def close(self) -> None:
        """Before a fork. Work that the forking thread is at itself goes on in the child, too."""
        with self.changed:
            self.forks += 1
            self.changed.wait_for(lambda: self.at_work <= {_own.get()}, PATIENCE_SECONDS)

    def open(self) -> None:
        with self.changed:
            self.forks -= 1
            self.changed.notify_all()


_gate = _Gate()


@contextlib.contextmanager
def finished_before_forks() -> Generator[None]:
    """Work within is at its end, or has not begun, when the process forks. Within such work it does nothing."""
    if _own.get() is not None:
        yield
        return
    work = object()
    gate = _gate
    gate.enter(work)
    token = _own.set(work)
    try:
        yield
    finally:
        _own.reset(token)
        gate.leave(work)


def close() -> None:
    """Before a fork: waits for the work of other threads."""
    _gate.close()


def open_in_parent() -> None:
    """After a fork, in the process that forked."""
    _gate.open()


def open_in_child() -> None:
    """After a fork, in the new process, which has none of the other threads."""
    global _gate
    _gate = _Gate()


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
    close()
    for lock in _in_order:
        lock.acquire()


def _in_parent() -> None:
    _release_all()
    open_in_parent()


def _in_child() -> None:
    _release_all()
    open_in_child()


def _release_all() -> None:
    for lock in reversed(_in_order):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
