"""The cyclic garbage collector, put off while much is made that stays: 40 ms of a process's first compile, 24 of 27 ms of a small one (2026-11-24, 2026-11-21)."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
from collections.abc import Generator

_STANDARD_ERROR = 2

_MANY = 50_000
"""New objects, as many as only the import of the compiler makes before anything else does."""


@functools.cache
def _count_as_old() -> None:
    """Moves all there is to the oldest generation, once: the compiler stays, and the collection that is due would look through it (40 ms, 2026-11-26)."""
    if gc.get_freeze_count() == 0:  # else a program has frozen some of its own
        gc.freeze()
        gc.unfreeze()
    atexit.register(_end_without_collections)


def _end_without_collections() -> None:
    """Spares the process's end three collections that look through the compiler, unless an object alive has a finalizer, which only they may call
    (a softmax from start to end: 666 ms of processor time, 552 so; 2026-11-28)."""
    if not _has_finalizers():
        gc.freeze()


def _has_finalizers() -> bool:
    """Whether an object alive has a `__del__` that matters at the end: an open file's, or a class's that is neither `io`'s nor llvmlite's."""
    objects = gc.get_objects()
    types = list(map(type, objects))
    if any(
        hasattr(each, "__del__") and each.__module__.partition(".")[0] not in ("_io", "llvmlite") for each in set(types)
    ):
        return True
    position = -1
    for _ in range(types.count(io.FileIO)):
        position = types.index(io.FileIO, position + 1)
        file = objects[position]
        if not file.closed and file.fileno() > _STANDARD_ERROR:
            return True
    return False


@contextlib.contextmanager
def no_garbage_collection() -> Generator[None]:
    """Within the `with`, no collection begins by itself. One that a program has switched off stays off."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY:
            _count_as_old()
        gc.enable()
