"""What a compiled kernel consists of, in forms that can be pickled: its stages and its metadata.

asm = AsmDict({"ptx": ...}, make_metadata({"name": "add", ...}), {}); asm["cubin"]    →    assembled when first asked for
"""

from __future__ import annotations

import functools
import time
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, overload

from minitriton.errors import MinitritonError
from minitriton.target import GPUTarget
from minitriton.target.tensor_map import DescriptorCopy


class MissingStage(MinitritonError, KeyError):
    """A stage that a kernel was not compiled to."""


class KernelMetadata(NamedTuple):
    """What a launch needs to know of a kernel: a named tuple, of all compile options and of what follows. Names are Triton's."""

    name: str
    hash: str
    target: GPUTarget
    arch: str
    num_warps: int
    num_ctas: int
    shared: int
    """Bytes of dynamic shared memory of a block."""
    global_scratch_size: int
    """Bytes of global memory that each program needs in addition to its arguments."""
    global_scratch_align: int
    pipeline: str
    """The passes that made it, as text."""
    enable_fp_fusion: bool
    maxnreg: int | None
    ptx_options: str | None
    launch_cooperative_grid: bool
    launch_pdl: bool
    tensordesc_meta: list[DescriptorCopy]


ASSEMBLED_ON_DEMAND = b""
"""In place of a cubin that is assembled when a launch asks for it."""


class AsmDict(dict[str, "str | bytes"]):
    """Stage name → text. `cubin` and `sass` are made when first asked for; `seconds` notes how long the first took.

    With the cubin comes, for kernels assembled under a limit of registers, an `unlimited_cubin`: the same without it, for launches of few programs; it may
    be `ASSEMBLED_ON_DEMAND`.
    """

    def __init__(self, texts: Mapping[str, str | bytes], metadata: KernelMetadata, seconds: dict[str, float]) -> None:
        super().__init__(texts)
        self._metadata = metadata
        self._seconds = seconds

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: Literal["cubin", "unlimited_cubin"]) -> bytes: ...

        @overload
        def __getitem__(self, key: Literal["source", "ttir", "ttgir", "llir", "ptx", "sass"]) -> str: ...

        @overload
        def __getitem__(self, key: str) -> str | bytes: ...

        def __getitem__(self, key: str) -> str | bytes: ...

    def __missing__(self, key: str) -> str | bytes:
        if key not in ("cubin", "sass"):
            raise MissingStage(
                f"this kernel lacks stage {key!r}; it has: {', '.join(self)}",
                help=f"name one of those, or compile with a pipeline that leads to {key!r}",
            )
        self[key] = self._assembled() if key == "cubin" else _disassembled(self["cubin"])
        return self[key]

    def _assembled(self) -> bytes:
        from minitriton.pipeline.stages import assemble

        start = time.perf_counter()
        cubin = assemble(self["ptx"], self._metadata.pipeline)
        self._seconds["cubin"] = time.perf_counter() - start
        if cubin.taken is not None and cubin.taken.limit is not None:
            self["unlimited_cubin"] = cubin.unlimited or ASSEMBLED_ON_DEMAND
        return cubin

    def __reduce__(self) -> tuple[object, ...]:
        return AsmDict, (dict(self), self._metadata, self._seconds)


def _disassembled(cubin: bytes) -> str:
    from minitriton.as_triton.tools.disasm import get_sass

    return get_sass(cubin)


def make_metadata(fields: dict[str, object]) -> KernelMetadata:
    """A `KernelMetadata`, a named tuple of `fields`."""
    return _metadata_class(tuple(sorted(fields)))(**fields)


@functools.lru_cache(maxsize=64)
def _metadata_class(names: tuple[str, ...]) -> Callable[..., KernelMetadata]:
    """The class of metadata that has fields of these names: making one takes as long as half a pass."""
    base = _named_tuple("KernelMetadata", names)
    return cast(
        "Callable[..., KernelMetadata]", type("KernelMetadata", (base,), {"__slots__": (), "__reduce__": _reduced})
    )


def _reduced(metadata: KernelMetadata) -> tuple[object, ...]:
    return make_metadata, (metadata._asdict(),)


_named_tuple: Callable[[str, tuple[str, ...]], type[tuple[object, ...]]] = namedtuple
"""Of fields that only running tells."""
