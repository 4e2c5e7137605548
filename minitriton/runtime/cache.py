"""The on-disk cache of compiled kernels: content-addressed, safe with many processes, self-healing, bounded.

In: a key (the SHA-256 of everything that determines the result) and the files of one kernel. Out: those files again, in
any later process. One entry is one folder, written under a temporary name and renamed at the end, so a reader sees all of
it or none; its `manifest.json` holds a digest of each file, and an entry that does not match is deleted and rebuilt. Entries
take `knobs.cache.size` bytes at most, the least recently used going first (`cache_eviction`).

`sources_digest` names the compiler: a digest of minitriton's own sources and of the versions of its libraries, remembered next to the bytecode. Reading 960
files costs each process 30 to 60 ms, and asking what version xDSL is of 20 more, where the rest of loading a cached kernel costs 150 (2026-11-24). The
digest is remembered in a folder `__pycache__` with what it was made of: path, size and time of change of every file, a stricter form of that by which
Python itself tells whether bytecode is of the source that is there. Where Python keeps no bytecode, none is remembered.
"""

import base64
import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import minitriton
from minitriton import knobs
from minitriton.host.damaged_files import parse_json, read_regular
from minitriton.host.whole_file import whole_folder, write_whole
from minitriton.runtime.caches.eviction import MANIFEST, note_store, note_use, take_away
from minitriton.runtime.caches.manager import own_folder

LIBRARIES = ("xdsl", "llvmlite")


def sources_digest(root: Path) -> str:
    """SHA-256 over the Python files below `root`, the folder of a package, and the versions of `LIBRARIES`."""
    files = sorted(_python_files(str(root)))
    libraries = [_version_of_library(name) for name in LIBRARIES]
    seen = hashlib.sha256(repr((files, libraries)).encode()).hexdigest()
    kept = Path(importlib.util.cache_from_source(str(root / "__init__.py"))).with_suffix(".sources")
    with contextlib.suppress(OSError, ValueError):
        of, digest = kept.read_text().split()
        if of == seen:
            return digest
    digest = _digest_of_contents(root, files)
    if not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            write_whole(kept, f"{seen} {digest}")
    return digest


def _python_files(folder: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change of each."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _python_files(entry.path)


def _version_of_library(name: str) -> tuple[str, int, int] | None:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return None
    found = os.stat(spec.origin)
    return spec.origin, found.st_size, found.st_mtime_ns


def _digest_of_contents(root: Path, files: list[tuple[str, int, int]]) -> str:
    versions = " ".join(f"{name} {importlib.import_module(name).__version__}" for name in LIBRARIES)
    digest = hashlib.sha256(versions.encode())
    for path, _, _ in files:
        digest.update(os.path.relpath(path, root).encode())
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()


def cache_directory() -> Path:
    """`knobs.cache.dir`: `TRITON_CACHE_DIR` if set, else `minitriton` in the user's cache folder; where others may write there, a folder of
    the user's own (`own_folder`)."""
    return own_folder(knobs.cache.dir)


@functools.cache
def compiler_fingerprint() -> str:
    """SHA-256 over minitriton's own sources and the versions of its libraries: another compiler, another entry."""
    return sources_digest(Path(minitriton.__file__).parent)


def triton_key() -> str:
    """Names the compiler: what programs mix into keys of their own caches."""
    return f"minitriton-{compiler_fingerprint()}"


def _base32(key: str) -> str:
    """A hexadecimal digest as Triton names folders by: torch and Helion look for a kernel's files there."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


class KernelCache:
    """Entries under `root`, each a mapping from file name to bytes."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_directory()

    def load(self, key: str) -> dict[str, bytes] | None:
        """The files of `key`, or None. A damaged entry is removed and reported as absent."""
        folder = self.path(key)
        try:
            manifest: dict[str, str] = parse_json(read_regular(folder / MANIFEST))
            if any(os.path.basename(name) != name for name in manifest):
                raise ValueError("a name that leaves the entry")
            files = {name: read_regular(folder / name) for name in manifest}
            sound = manifest == _digests(key, files)
        except FileNotFoundError:
            if not os.path.lexists(folder):
                return None
            sound, files = False, {}
        except (OSError, ValueError, AttributeError, TypeError):
            sound, files = False, {}
        if not sound:
            self.remove(key)
            return None
        note_use(folder)
        return files

    def remove(self, key: str) -> None:
        """Takes the entry of `key` away, if there is one."""
        take_away(self.path(key))

    def store(self, key: str, files: dict[str, bytes]) -> None:
        """Publishes `files` under `key`. What is there already stays: a key names all that an entry depends on. A cache that cannot be
        written (full or read-only disk) is left alone."""
        entry = self.path(key)
        if os.path.exists(entry / MANIFEST):
            return
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with whole_folder(entry, f".{entry.name[:16]}-") as folder:
                for name, content in files.items():
                    (folder / name).write_bytes(content)
                (folder / MANIFEST).write_text(json.dumps(_digests(key, files)), "utf-8")
        except OSError:
            return
        note_store(self.root, sum(map(len, files.values())), knobs.cache.size)

    def add(self, key: str, files: dict[str, bytes]) -> None:
        """Adds `files` to the entry of `key`, if there is one: its manifest is replaced once they are there."""
        entry = self.path(key)
        try:
            manifest: dict[str, str] = parse_json(read_regular(entry / MANIFEST))
            for name, content in files.items():
                write_whole(entry / name, content)
            write_whole(entry / MANIFEST, json.dumps({**manifest, **_digests(key, files)}))
        except (OSError, ValueError, TypeError):
            return
        note_store(self.root, sum(map(len, files.values())), knobs.cache.size)

    def path(self, key: str) -> Path:
        """Where the entry of `key` is (whether or not it exists): a digest's in a folder of Triton's name for it."""
        return self.root / (_base32(key) if len(key) == 64 else key)


def _digests(key: str, files: dict[str, bytes]) -> dict[str, str]:
    """What a manifest says of each file: a digest of its content, its name and its entry's key, so that no other file is taken for it."""
    return {name: hashlib.sha256(f"{key}/{name}\n".encode() + content).hexdigest() for name, content in files.items()}


class Hashed(Protocol):
    """What says by a digest what it is."""

    def hash(self) -> str: ...


def get_cache_key(src: Hashed, backend: Hashed, backend_options: Hashed, env_vars: dict[str, str]) -> str:
    """Names what a compile depends on, as Triton puts it together. `backend_options` has a `hash()`."""
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{sorted(env_vars.items())}"


_MANAGERS = (
    "CacheManager", "FileCacheManager", "RedisRemoteCacheBackend", "RemoteCacheBackend", "RemoteCacheManager",
    "get_cache_manager", "get_dump_manager", "get_override_manager",
)  # fmt: skip


def __getattr__(name: str) -> object:
    """Triton has its managers of files in this module."""
    if name not in _MANAGERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from minitriton.runtime.caches import manager

    return getattr(manager, name)
