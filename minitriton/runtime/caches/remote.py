"""Files by key in a store that machines share, stored on this machine too: what `TRITON_CACHE_MANAGER` may name other than files.

TRITON_CACHE_MANAGER=minitriton.runtime.cache:RemoteCacheManager
TRITON_REMOTE_CACHE_BACKEND=my_store:MyBackend

These hold what programs put there by `get_cache_manager(key)`; compiled kernels stay in the cache on disk.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.caches.manager import CacheManager, FileCacheManager, group_name, names_of_group


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
