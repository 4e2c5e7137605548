"""The cyclic garbage collector, put off while much is made that stays: 40 ms of a process's first compile, 24 of 27 ms of a small one (2026-11-24, 2026-11-21)."""

import atexit
import contextlib
import functools
import gc
import io
import itertools
import sys
import weakref
from collections.abc import Callable, Generator

_MANY = 50_000
"""New objects, as many as only the import of the compiler makes before anything else does."""


@functools.cache
def _count_as_old() -> None:
    """Moves all there is to the oldest generation, once: the compiler stays, and the collection that is due would look through it (40 ms, 2026-11-26)."""
    if gc.get_freeze_count():  # a program has frozen some of its own
        return
    waiting = [
        _reference(each) for each in _with_finalizers(1, 2)
    ]  # of what there was before: what came since is all in the youngest
    gc.freeze()
    gc.unfreeze()
    atexit.register(_end_without_collections, waiting, _collections())


def _reference(each: object) -> Callable[[], object]:
    """Asks whether it is alive still, as one that has no weak references seems to be for ever."""
    try:
        return weakref.ref(each)
    except TypeError:
        return lambda: True


def _end_without_collections(waiting: list[Callable[[], object]], collections: list[int]) -> None:
    """Spares the process's end three collections that look through the compiler, unless an object alive has a finalizer, which only they may call
    (a softmax from start to end: 666 ms of processor time, 530 so; 2026-11-28). Callbacks of weak references to objects in cycles are not called then.

    `waiting`: what had one in the oldest generation when it was filled. Nothing has joined that without further `collections`.
    """
    is_as_then = _collections() == collections and all(each() is None for each in waiting)
    if not _with_finalizers(0, 1, *(() if is_as_then else (2,))):
        gc.freeze()


def _collections() -> list[int]:
    """How many there were of the second and of the oldest generation: what either leaves joins the oldest."""
    return [each["collections"] for each in gc.get_stats()[1:]]


def _with_finalizers(*generations: int) -> list[object]:
    """Objects whose `__del__` matters at the end: open files, and those of classes that are neither `io`'s nor llvmlite's."""
    objects: list[object] = [each for generation in generations for each in gc.get_objects(generation)]
    types = list(map(type, objects))
    classes = {each for each in set(types) if hasattr(each, "__del__") and _root(each) != "llvmlite"}
    if all(_root(each) == "_io" for each in classes):
        classes &= {io.FileIO}
    found = itertools.compress(objects, map(classes.__contains__, types)) if classes else ()
    return [each for each in found if _root(type(each)) != "_io" or _is_open_file(each)]


def _root(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _is_open_file(each: object) -> bool:
    return isinstance(each, io.FileIO) and not each.closed and all(each is not one for one in _standard_files())


def _standard_files() -> list[object]:
    """Those below `sys.stdin`, `sys.stdout` and `sys.stderr`, which Python flushes itself."""
    buffers = [getattr(each, "buffer", None) for each in (sys.__stdin__, sys.__stdout__, sys.__stderr__)]
    return [getattr(each, "raw", each) for each in buffers]


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
