"""The cyclic garbage collector, put off while much is made that stays: 40 ms of a process's first compile, 24 of 27 ms of a small one (2026-11-24, 2026-11-21)."""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import io
import itertools
from collections.abc import Generator

_STANDARD_ERROR = 2

_MANY = 50_000
"""New objects, as many as only the import of the compiler makes before anything else does."""


@functools.cache
def _count_as_old() -> None:
    """Moves all there is to the oldest generation, once: the compiler stays, and the collection that is due would look through it (40 ms, 2026-11-26)."""
    if gc.get_freeze_count():  # a program has frozen some of its own
        return
    knows_of_none = not _have_finalizers(1, 2)  # what there was before, for what came since is all in the youngest
    gc.freeze()
    gc.unfreeze()
    atexit.register(_end_without_collections, knows_of_none, _collections())


def _end_without_collections(knows_of_none: bool, collections: list[int]) -> None:
    """Spares the process's end three collections that look through the compiler, unless an object alive has a finalizer, which only they may call
    (a softmax from start to end: 666 ms of processor time, 530 so; 2026-11-28).

    `knows_of_none`: no object had one when the oldest generation was filled, which nothing has joined without further `collections`.
    """
    if not _have_finalizers(0, 1, *(() if knows_of_none and _collections() == collections else (2,))):
        gc.freeze()


def _collections() -> list[int]:
    """How many there were of the second and of the oldest generation: what either leaves joins the oldest."""
    return [each["collections"] for each in gc.get_stats()[1:]]


def _have_finalizers(*generations: int) -> bool:
    """Whether an object has a `__del__` that matters at the end: an open file's, or a class's that is neither `io`'s nor llvmlite's."""
    objects = [each for generation in generations for each in gc.get_objects(generation)]
    types = list(map(type, objects))
    if any(
        hasattr(each, "__del__") and each.__module__.partition(".")[0] not in ("_io", "llvmlite") for each in set(types)
    ):
        return True
    files = itertools.compress(objects, (each is io.FileIO for each in types)) if io.FileIO in types else ()
    return any(not file.closed and file.fileno() > _STANDARD_ERROR for file in files)


@contextlib.contextmanager
def no_garbage_collection() -> Generator[None]:
    """Within the `with`, no collection begins by itself. One that a program has switched off stays off."""
    if not gc.isenabled():
        yield
        return
    gc.collect(0)  # what is young from here on was made within
    gc.disable()
    try:
        yield
    finally:
        if gc.get_count()[0] > _MANY:
            _count_as_old()
        gc.enable()
