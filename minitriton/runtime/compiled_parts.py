"""What a compiled kernel consists of, in forms that can be pickled: its stages and its metadata.

asm = AsmDict({"ptx": ...}, make_metadata({"name": "add", ...}), {}); asm["cubin"]    →    assembled when first asked for
"""

from __future__ import annotations

import functools
import time
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol, cast, overload

from minitriton.errors import MinitritonError
from minitriton.target import GPUTarget
from minitriton.target.tensor_map import DescriptorCopy


class MissingStage(MinitritonError, KeyError):
    """A stage that a kernel was not compiled to."""


class KernelMetadata(Protocol):
    """What a launch needs to know of a kernel: a named tuple, of all compile options and of what follows. Names are Triton's."""

    @property
    def name(self) -> str: ...

    @property
    def hash(self) -> str: ...

    @property
    def target(self) -> GPUTarget: ...

    @property
    def arch(self) -> str: ...

    @property
    def num_warps(self) -> int: ...

    @property
    def num_ctas(self) -> int: ...

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory of a block."""
        ...

    @property
    def global_scratch_size(self) -> int:
        """Bytes of global memory that each program needs beside its arguments."""
        ...

    @property
    def global_scratch_align(self) -> int: ...

    @property
    def pipeline(self) -> str:
        """The passes that made it, as text."""
        ...

    @property
    def enable_fp_fusion(self) -> bool: ...

    @property
    def maxnreg(self) -> int | None: ...

    @property
    def ptx_options(self) -> str | None: ...

    @property
    def launch_cooperative_grid(self) -> bool: ...

    @property
    def launch_pdl(self) -> bool: ...

    @property
    def tensordesc_meta(self) -> list[DescriptorCopy]: ...

    def _asdict(self) -> dict[str, object]: ...


class AsmDict(dict[str, "str | bytes"]):
    """Stage name → text. `cubin` and `sass` are made when first asked for; `seconds` notes how long the first took.

    With the cubin comes, for some kernels, a `few_cubin`: the same with more registers, for launches of few programs; it may be
    `codegen.cubin.WHEN_ASKED`.
    """

    def __init__(self, texts: Mapping[str, str | bytes], metadata: KernelMetadata, seconds: dict[str, float]) -> None:
        super().__init__(texts)
        self._metadata = metadata
        self._seconds = seconds

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, key: Literal["cubin", "few_cubin"]) -> bytes: ...

        @overload
        def __getitem__(self, key: Literal["source", "ttir", "ttgir", "llir", "ptx", "sass"]) -> str: ...

        @overload
        def __getitem__(self, key: str) -> str | bytes: ...

        def __getitem__(self, key: str) -> str | bytes: ...

    def __missing__(self, key: str) -> str | bytes:
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

    def __reduce__(self) -> tuple[object, ...]:
        return AsmDict, (dict(self), self._metadata, self._seconds)


def _disassembled(cubin: bytes) -> str:
    from minitriton.tools.disasm import get_sass

    return get_sass(cubin)


def make_metadata(fields: dict[str, object]) -> KernelMetadata:
    """A `KernelMetadata`, a named tuple of `fields`."""
    return _metadata_class(tuple(sorted(fields)))(**fields)


@functools.lru_cache(maxsize=64)
def _metadata_class(names: tuple[str, ...]) -> Callable[..., KernelMetadata]:
    """The class of metadata that has fields of these names: making one takes as long as half a pass."""
    made = namedtuple("KernelMetadata", names)
    made.__reduce__ = lambda self: (make_metadata, (self._asdict(),))  # pyright: ignore[reportAttributeAccessIssue]
    return cast("Callable[..., KernelMetadata]", made)
