"""Timings of an autotuned kernel, kept in the kernel cache for other processes.

In: the kernel, the key of its arguments and the configurations. Out: a file `<kernel>.autotune.json`, found again for as long
as the compiler, the device's architecture, the kernel's source, the key and the configurations are the same.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias

from minitriton.host.damaged_files import parse_json
from minitriton.host.file_names import stem_of
from minitriton.identity import loose_key_of
from minitriton.runtime.benchmarking import Times
from minitriton.runtime.cache import KernelCache, compiler_fingerprint
from minitriton.runtime.config import Config
from minitriton.runtime.default_target import default_target

Timings: TypeAlias = "dict[Config, Times]"


class TimingsFile:
    """The entry for one kernel (`fn`, possibly decorated), `key` and `configs`."""

    def __init__(self, fn: Any, key: tuple[object, ...], configs: list[Config]) -> None:
        while not hasattr(fn, "cache_key"):
            fn = fn.fn
        self.key = key
        self.name = f"{stem_of(fn.__name__)}.autotune.json"
        parts = [compiler_fingerprint(), default_target(), fn.cache_key, loose_key_of(key), *configs]
        self.digest = hashlib.sha256("-".join(map(str, parts)).encode()).hexdigest()

    def load(self) -> Timings | None:
        """The stored timings, or None where there are none that can be read."""
        files = KernelCache().load(self.digest)
        if files is None or self.name not in files:
            return None
        try:
            return {Config(**config): timing for config, timing in parse_json(files[self.name])["configs_timings"]}
        except (KeyError, ValueError, TypeError):
            return None

    def store(self, timings: Timings) -> None:
        """Keeps `timings`, unless the key or a configuration holds what JSON cannot."""
        pairs = [(config.__dict__, timing) for config, timing in timings.items()]
        try:
            text = json.dumps({"key": self.key, "configs_timings": pairs})
        except TypeError:
            return
        KernelCache().store(self.digest, {self.name: text.encode()})
