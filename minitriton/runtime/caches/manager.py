"""Files by key, under the cache directory: the interface through which Triton programs keep files of their own there.

manager = get_cache_manager(key)
path = manager.put(b"...", "helper.so")
manager.get_file("helper.so")    →    path, in this and any later process
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import parse_json, read_regular
from minitriton.host.whole_file import write_whole
from minitriton.runtime.caches.own_folder import writable_folder


class CacheManager(ABC):
    """Base of what `TRITON_CACHE_MANAGER` may name."""

    @abstractmethod
    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        """The files of `key`: in the cache, or those that stages are taken from or dumped to."""

    @abstractmethod
    def get_file(self, filename: str) -> str | None:
        """The path of `filename`, or None if it was not put there."""

    @abstractmethod
    def put(self, data: object, filename: str, binary: bool = True) -> str:
        """Writes `filename` and returns its path."""

    @abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None:
        """The files put as group `filename`, by name, or None."""

    @abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> str:
        """Says which files belong together."""


def names_of_group(path: Path) -> list[str] | None:
    """The names of the files that belong to a group, by the file that says so; None where it is missing or damaged. Where it says that they are
    is not asked: it is in the folder of their key."""
    try:
        names = list(parse_json(read_regular(path))["child_paths"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return names if all(isinstance(name, str) for name in names) else None


def group_name(filename: str) -> str:
    """The name of the file that says what belongs to a group."""
    return f"__grp__{filename}"


class FileCacheManager(CacheManager):
    """Files in a folder named `key` below the cache, dump or override directory."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key
        root = (
            knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else writable_folder(knobs.cache.dir)
        )
        self.cache_dir = os.path.join(root, key)
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _path(self, filename: str) -> Path:
        if os.path.basename(filename) != filename or filename in ("", ".", ".."):
            raise MinitritonError(
                f"a file of the cache cannot be called {filename!r}",
                help="give a plain name: it is in the folder of its key",
            )
        return Path(self.cache_dir) / filename

    def has_file(self, filename: str) -> bool:
        return self._path(filename).exists()

    def get_file(self, filename: str) -> str | None:
        """The path of `filename`, or None if it was not put there."""
        return str(self._path(filename)) if self.has_file(filename) else None

    def put(self, data: object, filename: str, binary: bool = True) -> str:
        """Writes `filename`, at once visible as a whole, and returns its path."""
        write_whole(self._path(filename), data if isinstance(data, bytes) else str(data).encode())
        return str(self._path(filename))

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The files put as group `filename`, by name, or None."""
        names = names_of_group(self._path(group_name(filename)))
        return None if names is None else {name: str(self._path(name)) for name in names if self.has_file(name)}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), group_name(filename), binary=False)


def get_cache_manager(key: str) -> CacheManager:
    """The manager of `key`: of the class that `knobs.cache.manager_class` names, else files."""
    return (knobs.cache.manager_class or FileCacheManager)(key)


def get_override_manager(key: str) -> CacheManager:
    """The manager of the files that `TRITON_KERNEL_OVERRIDE` takes stages of the source `key` from."""
    return (knobs.cache.manager_class or FileCacheManager)(key, override=True)


def get_dump_manager(key: str) -> CacheManager:
    """The manager of the files that `TRITON_KERNEL_DUMP` writes for the source `key`."""
    return (knobs.cache.manager_class or FileCacheManager)(key, dump=True)
