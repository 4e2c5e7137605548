"""Keeps a folder of entries within its size: the least recently used go first.

An entry is a folder with the name of a SHA-256 in base 32 (or, of older releases, 16) and a manifest, whose time is that of its last use. Other files below the
root (Triton's entries, if it shares the folder) are neither counted nor touched. Looking at all entries takes 20 us each: a process
looks when it has stored an eighth of the limit, and once if no process has for ten minutes; one process at a time does. A folder of few
entries is not looked at for its age, and holds nothing else: programs count what is in the folder of a cache.
"""

import contextlib
import os
import re
import time
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

MANIFEST = "manifest.json"
_ENTRY = re.compile(r"[A-Z2-7]{52}|[0-9a-f]{64}")
_SCRATCH = re.compile(r"\.(?:[A-Z2-7]{16}|[0-9a-f]{16})-\w+")
"""Entries as they are written, and as they are taken away."""
_LOCK = ".eviction"
SECONDS_BETWEEN_LOOKS = 600.0
FEW = 32
SECONDS_OF_A_WRITE = 3600.0
"""After which an entry that is still being written has been left by a process that ended."""
KEPT = 0.9
"""Of the limit, once entries have gone: the next store does not have to evict again."""

_stored: dict[Path, int] = {}
"""Bytes that this process has stored below a root since it last looked."""


class Entry(NamedTuple):
    """One entry: bytes of its files, seconds of its last use."""

    path: Path
    size: int
    used: float


def entries_of(root: Path) -> list[Entry]:
    """The entries below `root`; none where it cannot be read."""
    found: list[Entry] = []
    with contextlib.suppress(OSError), os.scandir(root) as folders:
        for folder in folders:
            if not _ENTRY.fullmatch(folder.name):
                continue
            # Another process may take it away meanwhile.
            with contextlib.suppress(OSError):
                used = os.lstat(os.path.join(folder.path, MANIFEST)).st_mtime
                with os.scandir(folder.path) as files:
                    size = sum(file.stat(follow_symlinks=False).st_size for file in files)
                found.append(Entry(Path(folder.path), size, used))
    return found


def note_use(entry: Path) -> None:
    """An entry was used now."""
    with contextlib.suppress(OSError):
        os.utime(entry / MANIFEST)


def note_store(root: Path, size: int, limit: int) -> None:
    """An entry of `size` bytes was stored: evicts down to `limit` bytes (0: none) when it is time to look."""
    if not limit:
        return
    _stored[root] = _stored.get(root, 0) + size
    if _stored[root] >= limit // 8 or not _looked_lately(root):
        _stored[root] = 0
        evict(root, limit)


def _looked_lately(root: Path) -> bool:
    try:
        return time.time() - (root / _LOCK).stat().st_mtime < SECONDS_BETWEEN_LOOKS
    except FileNotFoundError:
        return len(os.listdir(root)) <= FEW
    except OSError:
        return False


def evict(root: Path, limit: int) -> int:
    """Takes entries away, the least recently used first, until they have at most `limit` bytes. Returns how many went.

    Nothing where another process is at it, or where the folder cannot be written.
    """
    with _alone(root) as is_alone:
        if not is_alone:
            return 0
        _clear_scratch(root, SECONDS_OF_A_WRITE)
        entries = sorted(entries_of(root), key=lambda entry: entry.used)
        total = sum(entry.size for entry in entries)
        gone = 0
        if total > limit:
            for entry in entries:
                if total <= limit * KEPT:
                    break
                take_away(entry.path)
                total -= entry.size
                gone += 1
        return gone


def clear(root: Path) -> int:
    """Takes all entries away. Returns how many there were."""
    entries = entries_of(root)
    for entry in entries:
        take_away(entry.path)
    _clear_scratch(root, 0.0)
    with contextlib.suppress(OSError):
        (root / _LOCK).unlink()
    return len(entries)


def take_away(path: Path) -> None:
    """Removes an entry, or whatever else has its name. It is renamed first: who opens it then finds all of it or nothing."""
    import shutil
    import tempfile

    grave = path
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        grave = Path(tempfile.mkdtemp(prefix=f".{path.name[:16]}-", dir=path.parent))
        path.rename(grave / path.name)
    except OSError:  # another process was first, or the folder cannot be written
        shutil.rmtree(path, ignore_errors=True)
    shutil.rmtree(grave, ignore_errors=True)


def _clear_scratch(root: Path, seconds: float) -> None:
    import shutil

    with contextlib.suppress(OSError):
        for path in list(root.iterdir()):
            if _SCRATCH.fullmatch(path.name) and time.time() - path.lstat().st_mtime >= seconds:
                shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _alone(root: Path) -> Generator[bool]:
    """Whether this process may evict; the time of the lock's file is that of the last look."""
    try:
        import fcntl
    except ImportError:
        yield True
        return
    try:
        descriptor = os.open(root / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NONBLOCK, 0o644)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.utime(root / _LOCK)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
