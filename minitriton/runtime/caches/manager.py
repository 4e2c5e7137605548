"""Files by key, under the cache directory: the interface through which Triton programs keep files of their own there.

manager = get_cache_manager(key)
path = manager.put(b"...", "helper.so")
manager.get_file("helper.so")    →    path, in this and any later process

`TRITON_CACHE_MANAGER` may name others than files in a folder, as those in a store that machines share, stored on this machine too:

    TRITON_CACHE_MANAGER=minitriton.runtime.cache:RemoteCacheManager
    TRITON_REMOTE_CACHE_BACKEND=my_store:MyBackend

They hold what programs put there by `get_cache_manager(key)`; compiled kernels stay in the cache on disk.

What comes out of the cache is run, so nobody else may have written there. A folder of the superuser's that others may not write either is taken as it is: an
image of a container may bring compiled kernels.

    own_folder("/home/me/.cache/minitriton")   →  the same: mine, and no others may write
    own_folder("/scratch/shared")              →  /scratch/shared/user-1000, for me alone, where others may write there
    own_folder("/home/you/.cache")             →  a temporary folder, until this process ends, and a warning
"""

import atexit
import functools
import json
import os
import stat
import warnings
from abc import ABC, abstractmethod
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import parse_json, read_regular
from minitriton.host.whole_file import write_whole

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def own_folder(root: str) -> Path:
    """The folder to use for `root`; it need not be there where nothing can be written at all."""
    return _found(root, os.geteuid()) if hasattr(os, "geteuid") else Path(root)


def writable_folder(root: str) -> Path:
    """The same, where it can be written; else a temporary one."""
    folder = own_folder(root)
    return folder if os.access(folder, os.W_OK) else temporary_folder(root, "it cannot be written")


@functools.cache
def _found(root: str, user: int) -> Path:
    try:
        os.makedirs(root, mode=0o755, exist_ok=True)
        found = os.stat(root)
        if found.st_uid in (user, 0) and not found.st_mode & _WRITABLE_BY_OTHERS and os.access(root, os.R_OK | os.X_OK):
            return Path(root)
        mine = Path(root) / f"user-{user}"
        mine.mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(mine)
        if stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & _WRITABLE_BY_OTHERS:
            return mine
        why = f"{mine} belongs to another user"
    except OSError as error:
        why = f"{error.strerror}: {error.filename}" if error.filename else str(error)
    return temporary_folder(root, why)


@functools.cache
def temporary_folder(root: str, why: str) -> Path:
    """A folder until this process ends, in place of `root`, which is said once."""
    import tempfile

    warnings.warn(
        f"the cache folder {root} cannot be used ({why}): what is compiled is kept until this process ends. "
        "Set TRITON_CACHE_DIR to a folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )
    folder = tempfile.mkdtemp(prefix="minitriton-cache-")
    atexit.register(_remove, folder, os.getpid())
    return Path(folder)


def _remove(folder: str, owner: int) -> None:
    import shutil

    if os.getpid() == owner:  # not a process that was copied from it
        shutil.rmtree(folder, ignore_errors=True)


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


class RemoteCacheBackend(ABC):
    """Base of what `TRITON_REMOTE_CACHE_BACKEND` may name: the files of one key in a shared store."""

    def __init__(self, key: str) -> None:
        self.key = key

    @abstractmethod
    def get(self, filenames: list[str]) -> dict[str, bytes]:
        """Those of `filenames` that the store has, with their contents."""

    @abstractmethod
    def put(self, filename: str, data: bytes) -> None:
        """Stores a file."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """A Redis server, at `knobs.redis.host` and `.port`. Needs the package `redis`."""

    def __init__(self, key: str) -> None:
        import redis

        super().__init__(key)
        self._client = redis.Redis(host=knobs.redis.host, port=knobs.redis.port)

    def _name(self, filename: str) -> str:
        return knobs.redis.key_format.format(key=self.key, filename=filename)

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        found = self._client.mget([self._name(filename) for filename in filenames])
        return {filename: data for filename, data in zip(filenames, found, strict=True) if data is not None}

    def put(self, filename: str, data: bytes) -> None:
        self._client.set(self._name(filename), data)


class RemoteCacheManager(CacheManager):
    """Files of a `RemoteCacheBackend`; their paths are of copies on this machine. Dumps and overrides are on this machine only."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        backend = knobs.cache.remote_manager_class
        if backend is None:
            raise MinitritonError(
                "no shared store is named", help="set TRITON_REMOTE_CACHE_BACKEND=module:Class, a RemoteCacheBackend"
            )
        self._backend: RemoteCacheBackend = backend(key)
        self._files = FileCacheManager(key, override=override, dump=dump)
        self._is_local = override or dump

    def get_file(self, filename: str) -> str | None:
        """The path of `filename`, or None if nobody put it. The store is always asked, so that it knows what is in use."""
        if self._is_local:
            return self._files.get_file(filename)
        found = self._backend.get([filename])
        return self._files.put(found[filename], filename) if filename in found else None

    def put(self, data: object, filename: str, binary: bool = True) -> str:
        """Stores `filename`; returns the path of the copy."""
        if not self._is_local:
            self._backend.put(filename, data if isinstance(data, bytes) else str(data).encode())
        return self._files.put(data, filename, binary=binary)

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The files put as group `filename`, by name, or None."""
        if self._is_local:
            return self._files.get_group(filename)
        path = self.get_file(group_name(filename))
        if path is None:
            return None
        names = names_of_group(Path(path))
        if names is None:
            return None
        return {name: self._files.put(data, name) for name, data in self._backend.get(names).items()}

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        """Says which files belong together."""
        if self._is_local:
            return self._files.put_group(filename, group)
        return self.put(json.dumps({"child_paths": sorted(group)}), group_name(filename), binary=False)
