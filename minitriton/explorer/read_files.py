"""Which files a compile read that a user may change, and whether they are what they were: the kernel's, those it imports, those these read.

    with reading() as read:
        open_program(asked)
    read.stamps                                  {"/home/me/kernel.py": "1795857972123456789 ...", "/home/me/helpers.py": ...}
    changed(read.stamps)                         the first that is not what it was; None

Files of Python, of its libraries and of the compiler are left out: these change as a whole (`installed`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import site
import stat
import sys
import sysconfig
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from minitriton import knobs
from minitriton.host.source_text import forget_changed_texts

Stamps = dict[str, str]
"""By path of a file what changes with its content."""

_COMPILER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


@dataclass(eq=False)
class Read:
    """What was read within `reading`; `stamps` are there at its end."""

    paths: set[str] = field(default_factory=set[str])
    stamps: Stamps = field(default_factory=dict[str, str])


_readers: list[Read] = []
_modules: dict[str, tuple[str, str]] = {}
"""Of a user's module its file, and the stamp of that when the module was first seen."""


@functools.cache
def _watch() -> None:
    """An audit hook cannot be taken away: there is one for all."""
    sys.addaudithook(_opened)


def _opened(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _readers:
        return
    path, _, flags = arguments
    if isinstance(path, str | bytes) and isinstance(flags, int) and not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        for one in _readers:
            one.paths.add(os.fsdecode(path))


_left_out: list[str] = []


def leave_out(folder: str) -> None:
    """What is in `folder` is named by what it holds, and several processes write it."""
    _left_out.append(os.path.abspath(folder) + os.sep)


@contextlib.contextmanager
def reading() -> Generator[Read]:
    """Notes what is read in this process, and all modules of the user's that it has: one that was there already is used all the same."""
    _watch()
    read = Read()
    _readers.append(read)
    try:
        yield read
    finally:
        _readers.remove(read)
        _see_modules()
        paths = {os.path.abspath(path) for path in read.paths}
        found = {path: stamp for path in paths if _is_users(path) and (stamp := _stamp(path))}
        read.stamps = dict(sorted({**found, **dict(_modules.values())}.items()))


def changed(stamps: Mapping[str, str]) -> str | None:
    """The first file that is not what it was when `stamps` were taken."""
    return next((path for path, stamp in stamps.items() if _stamp(path) != stamp), None)


def forget_changed_modules() -> None:
    """Lets the next import of the user's modules read them again, where the file of one has changed. Others may have what it defines: all are read."""
    _see_modules()
    if changed(dict(_modules.values())) is None:
        return
    for name, (file, _) in _modules.items():
        if getattr(sys.modules.get(name), "__file__", None) == file:
            del sys.modules[name]
    _modules.clear()
    importlib.invalidate_caches()
    forget_changed_texts()


def _see_modules() -> None:
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name not in _modules and name != "__main__" and isinstance(file, str) and _is_users(os.path.abspath(file)):
            _modules[name] = file, _stamp(file)


def _is_users(path: str) -> bool:
    # What is in the cache is named by what it depends on, or is the compiler's own.
    return not path.startswith((*_not_users(), *_left_out, os.path.abspath(knobs.cache.dir) + os.sep))


@functools.cache
def _not_users() -> tuple[str, ...]:
    """Where files of Python, its libraries and the compiler are, and what is no file."""
    return (_COMPILER + os.sep, *(folder + os.sep for folder in _library_folders()), "/proc/", "/sys/", "/dev/")


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    named = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(sorted({*named, *site.getsitepackages(), site.getusersitepackages()}))


def installed() -> list[tuple[str, int]]:
    """The folders that libraries are installed in, and when something was installed there last."""
    found: list[tuple[str, int]] = []
    for folder in _library_folders():
        with contextlib.suppress(OSError):
            found.append((folder, os.stat(folder).st_mtime_ns))
    return found


def _stamp(path: str) -> str:
    """Every write changes the time of the inode's change; "" for what is no ordinary file."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return (
        f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_size} {found.st_ino}" if stat.S_ISREG(found.st_mode) else ""
    )
