"""What was measured of kernels of a kind: stored in the kernel cache, so that another size starts from what was learned.

Measured(kind).add([("BM: 128, ...", 21.0, 25.2)])     21 us were expected, 25.2 measured
Measured(kind).corrections()                           {"BM: 128, ...": 1.08, ...}: relative to the kind's mean
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Sequence

from minitriton.host.damaged_files import parse_json
from minitriton.runtime.cache import KernelCache, compiler_fingerprint

Timing = tuple[str, float, float]
"""A configuration, the microseconds that were expected, and those that were measured."""

_NAME = "tiles.json"
_MOST = 512
"""Timings of a kind that are kept."""
_in_memory: dict[str, list[Timing]] = {}


class Measured:
    """Timings of one kind of kernel."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def timings(self) -> list[Timing]:
        """All that is known, of this process or an earlier one."""
        if self.kind not in _in_memory:
            _in_memory[self.kind] = self._load()
        return _in_memory[self.kind]

    def add(self, timings: Sequence[Timing]) -> None:
        """Keeps more timings, the last ones where they are many."""
        kept = _in_memory[self.kind] = [*self.timings(), *timings][-_MOST:]
        with contextlib.suppress(OSError):
            KernelCache().store(self._key, {_NAME: json.dumps(kept).encode()})

    def corrections(self) -> dict[str, float]:
        """By configuration, how much longer it took than expected, relative to all: geometric means."""
        logs: dict[str, list[float]] = {}
        for config, expected, taken in self.timings():
            if expected > 0 and 0 < taken < math.inf:
                logs.setdefault(config, []).append(math.log(taken / expected))
        if not logs:
            return {}
        every = [each for one in logs.values() for each in one]
        mean = sum(every) / len(every)
        return {config: math.exp(sum(one) / len(one) - mean) for config, one in logs.items()}

    @property
    def _key(self) -> str:
        import hashlib

        return hashlib.sha256(f"tiles {compiler_fingerprint()} {self.kind}".encode()).hexdigest()

    def _load(self) -> list[Timing]:
        files = KernelCache().load(self._key)
        if files is None or _NAME not in files:
            return []
        with contextlib.suppress(ValueError, TypeError):
            return [
                (str(config), float(expected), float(taken)) for config, expected, taken in parse_json(files[_NAME])
            ]
        return []
