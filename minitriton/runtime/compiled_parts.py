"""What a compiled kernel consists of, in forms that can be pickled: its stages and its metadata.

asm = AsmDict({"ptx": ...}, make_metadata({"name": "add", ...}), {}); asm["cubin"]    →    assembled when first asked for
"""

from __future__ import annotations

import functools
import time
from collections import namedtuple
from typing import Any

from minitriton.errors import MinitritonError


class MissingStage(MinitritonError, KeyError):
    """A stage that a kernel was not compiled to."""


class AsmDict(dict[str, Any]):
    """Stage name → text. `cubin` and `sass` are made when first asked for; `seconds` notes how long the first took.

    With the cubin comes, for some kernels, a `few_cubin`: the same with more registers, for launches of few programs.
    """

    def __init__(self, texts: dict[str, Any], metadata: Any, seconds: dict[str, float]) -> None:
        super().__init__(texts)
        self._metadata = metadata
        self._seconds = seconds

    def __missing__(self, key: str) -> Any:
        if key not in ("cubin", "sass"):
            raise MissingStage(
                f"this kernel has no stage {key!r}; it has: {', '.join(self)}",
                help=f"name one of those, or compile with a pipeline that leads to {key!r}",
            )
        self[key] = self._assembled() if key == "cubin" else _disassembled(self["cubin"])
        return self[key]

    def _assembled(self) -> bytes:
        from minitriton.codegen.cubin import assembled

        start = time.perf_counter()
        cubins = assembled(self["ptx"], self._metadata.target, self._metadata)
        self._seconds["cubin"] = time.perf_counter() - start
        if cubins.few is not None:
            self["few_cubin"] = cubins.few
        return cubins.cubin

    def __reduce__(self) -> tuple[Any, ...]:
        return AsmDict, (dict(self), self._metadata, self._seconds)


def _disassembled(cubin: bytes) -> str:
    from minitriton.tools.disasm import get_sass

    return get_sass(cubin)


def make_metadata(fields: dict[str, Any]) -> Any:
    """A `KernelMetadata`, a named tuple of `fields`."""
    return _metadata_class(tuple(sorted(fields)))(**fields)


@functools.lru_cache(maxsize=64)
def _metadata_class(names: tuple[str, ...]) -> type[Any]:
    """The class of metadata that has fields of these names: making one takes as long as half a pass."""
    made = namedtuple("KernelMetadata", names)
    made.__reduce__ = lambda self: (make_metadata, (self._asdict(),))  # pyright: ignore[reportAttributeAccessIssue]
    return made
