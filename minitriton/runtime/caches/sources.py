"""A digest of minitriton's own sources and of the versions of its libraries, remembered next to the bytecode.

Reading 960 files costs each process 30 to 60 ms, and asking what version xDSL is of 20 more, where the rest of loading a cached kernel costs 150 (2026-11-24). The digest is
remembered in a folder `__pycache__` with what it was made of: path, size and time of change of every file, a stricter form of that by which Python itself tells whether
bytecode is of the source that is there. Where Python keeps no bytecode, none is remembered.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from minitriton.host.whole_file import write_whole

LIBRARIES = ("xdsl", "llvmlite")


def sources_digest(root: Path) -> str:
    """SHA-256 over the Python files below `root`, the folder of a package, and the versions of `LIBRARIES`."""
    files = sorted(_python_files(str(root)))
    seen = _digest_of_facts(files)
    kept = _kept_at(root)
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


def _digest_of_facts(files: list[tuple[str, int, int]]) -> str:
    libraries = [_facts_of_library(name) for name in LIBRARIES]
    return hashlib.sha256(repr((files, libraries)).encode()).hexdigest()


def _facts_of_library(name: str) -> tuple[str, int, int] | None:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return None
    found = os.stat(spec.origin)
    return spec.origin, found.st_size, found.st_mtime_ns


def _kept_at(root: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(root / "__init__.py"))).with_suffix(".sources")


def _digest_of_contents(root: Path, files: list[tuple[str, int, int]]) -> str:
    versions = " ".join(f"{name} {importlib.import_module(name).__version__}" for name in LIBRARIES)
    digest = hashlib.sha256(versions.encode())
    for path, _, _ in files:
        digest.update(os.path.relpath(path, root).encode())
        digest.update(Path(path).read_bytes())
    return digest.hexdigest()
