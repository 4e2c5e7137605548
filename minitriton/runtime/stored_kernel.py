"""A compiled kernel as it is kept: the stages of a compile and its metadata in forms that can be pickled, and its entry in the cache.

asm = AsmDict({"ptx": ...}, make_metadata({"name": "add", ...}), {}); asm["cubin"]    →    assembled when first asked for
"""

from __future__ import annotations

import copy
import functools
import json
import time
from collections import namedtuple
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast, overload

from minitriton import knobs
from minitriton.codegen.assembled_code import Cubin
from minitriton.codegen.assemblers import assembler_available
from minitriton.errors import MinitritonError
from minitriton.host.whole_file import stem_of
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.cache import KernelCache
from minitriton.target import GPUTarget
from minitriton.target.backends import BackEnd, backend
from minitriton.target.tensor_map import DescriptorCopy

if TYPE_CHECKING:
    from minitriton.emulator import Report
    from minitriton.pipeline.ir_source import IRSource
    from minitriton.runtime.launching.launcher import Launcher


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


ATTEMPTS = "attempts"
"""How the file of a cached kernel ends that says under which limits of registers it was assembled."""


class AsmDict(dict[str, "str | bytes"]):
    """Stage name → text. `cubin` (`hsaco`), `sass` and AMD's assembly are made when first asked for; `seconds` notes how long it took.

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

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or self._makes_text(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Assembly that is not made yet is made."""
        return self[key] if key in self else default  # noqa: SIM401

    def _makes_text(self, key: object) -> bool:
        """Whether `key` is the assembly of a kernel whose binary is made of a stage before that."""
        found = backend(self._metadata.target.backend)
        return key == found.text_stage != found.binary_of and super().__contains__(found.binary_of)

    def __missing__(self, key: str) -> str | bytes:
        found = backend(self._metadata.target.backend)
        text = self._emitted(found) if key == found.text_stage else None
        if text is None and key not in found.stages_when_asked and (key != "sass" or found.binary != "cubin"):
            raise MissingStage(
                f"this kernel lacks stage {key!r}; it has: {', '.join(self)}",
                help=f"name one of those, or compile with a pipeline that leads to {key!r}",
            )
        self[key] = text or (_disassembled(self["cubin"]) if key == "sass" else self._assembled(found))
        if found.binary_of != found.text_stage:
            # A cached kernel has it from now on.
            KernelCache().add(self._metadata.hash, {f"{stem_of(self._metadata.name)}.{key}": _as_bytes(self[key])})
        return self[key]

    def _emitted(self, backend: BackEnd) -> str | None:
        """The assembly, where the binary is made of a stage before it; None if there is no such stage."""
        if backend.binary_of == backend.text_stage or backend.binary_of not in self:
            return None
        from minitriton.codegen.llvm_session import CheckedLLVMIR
        from minitriton.pipeline.stages import emitted

        start = time.perf_counter()
        llvm_ir = str(self[backend.binary_of])
        is_own = "ttgir" in self  # else somebody else may have written it
        text = emitted(backend.text_stage, CheckedLLVMIR(llvm_ir) if is_own else llvm_ir, self._metadata.pipeline)
        self._seconds[backend.text_stage] = time.perf_counter() - start
        return text

    def _assembled(self, backend: BackEnd) -> bytes:
        from minitriton.pipeline.stages import assemble

        start = time.perf_counter()
        cubin = assemble(str(self[backend.binary_of]), self._metadata.pipeline)
        self._seconds[backend.binary] = time.perf_counter() - start
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


_NO_HANDLES = {"module": None, "function": None, "launcher": None}
"""Of a copy, which is loaded by itself where it is launched."""


class StoredKernel:
    """A compiled kernel as it is kept: `.asm[stage]`, `.metadata`, its entry in the cache, and its handles where it is loaded.

    `n_regs`, `n_spills` and `n_max_threads` are known once it is loaded on a device; without one, the first two by its cubin.
    """

    def __init__(
        self,
        src: ASTSource | IRSource,
        texts: Mapping[str, str | bytes],
        metadata: dict[str, object],
        key: str,
        seconds: dict[str, float],
    ) -> None:
        self.src = src
        self.hash = key
        self.stage_seconds = seconds
        self.metadata = make_metadata(metadata)
        self.name = self.metadata.name
        self.asm = AsmDict(texts, self.metadata, seconds)
        self.module: int | None = None
        self.function: int | None = None
        self.n_regs: int | None = None
        self.n_spills: int | None = None
        self.n_max_threads: int | None = None
        self.last_report: Report | None = None
        """What the emulator found and counted in the last launch on host arrays; None if it did not check that launch."""
        self.checked_on_emulator = False
        """Whether any launch on host arrays was checked."""
        self.launcher: Launcher | None = None

    @property
    def packed_metadata(self) -> tuple[int, int, int]:
        return (self.metadata.num_warps, self.metadata.num_ctas, self.metadata.shared)

    @property
    def kernel(self) -> bytes:
        """The cubin, or its back end's binary."""
        return cast("bytes", self.asm[backend(self.metadata.target.backend).binary])

    def __getstate__(self) -> dict[str, object]:
        """All but the handles of this process and the function: a copy in another process loads the kernel there."""
        return {**self.__dict__, **_NO_HANDLES, "src": self.src.described()}

    def __copy__(self) -> Self:
        return self._copied({})

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Texts, numbers and the report are copied; the source is what it was compiled from, as a function is in a copy."""
        own = {
            name: copy.deepcopy(self.__dict__[name], memo)
            for name in ("metadata", "asm", "stage_seconds", "last_report")
        }
        return self._copied(own)

    def _copied(self, own: dict[str, object]) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update({**self.__dict__, **_NO_HANDLES, **own})
        return other

    def assemble_if_possible(self) -> None:
        """Makes the cubin where an assembler is at hand; elsewhere the driver compiles the PTX when the kernel is loaded. For AMD the code object where
        there is such a GPU; elsewhere the emulator takes the assembly."""
        found = backend(self.metadata.target.backend)
        if found.devices and found.may_have_device:
            self.asm[found.binary]
        elif "ptx" in self.asm and assembler_available(self.metadata.arch):
            self.asm["cubin"]

    def complete_stored(self) -> None:
        """Adds the cubin to a cached kernel that was compiled without it, for a launch on host arrays."""
        if "cubin" not in self.asm and "ptx" in self.asm and assembler_available(self.metadata.arch):
            self.asm["cubin"]
            KernelCache().remove(self.hash)
            self.store()

    def unlimited_cubin(self) -> bytes:
        """The cubin for launches of few programs of a kernel that has one, assembled (and stored) when first asked for."""
        if self.asm["unlimited_cubin"] == ASSEMBLED_ON_DEMAND:
            from minitriton.pipeline.stages import assemble

            self.asm["unlimited_cubin"] = assemble(self.asm["ptx"], self.metadata.pipeline, registers="unlimited")
            if self.stored_files():
                KernelCache().remove(self.hash)
                self.store()
        return self.asm["unlimited_cubin"]

    def store(self) -> None:
        """Puts the kernel into the on-disk cache."""
        only_binary = knobs.compilation.store_binary_only and "cubin" in self.asm
        if only_binary and "unlimited_cubin" in self.asm:
            self.unlimited_cubin()
        stored = [stage for stage in self.asm if stage.endswith("cubin") or not only_binary]
        files = {f"{stem_of(self.name)}.{stage}": _as_bytes(self.asm[stage]) for stage in stored}
        cubin = self.asm.get("cubin")
        if isinstance(cubin, Cubin) and cubin.attempts and not only_binary:
            files[f"{stem_of(self.name)}.{ATTEMPTS}"] = cubin.described()
        files["metadata.json"] = json.dumps(self.metadata._asdict(), default=vars).encode()
        KernelCache().store(self.hash, files)

    def stored_files(self) -> dict[str, str]:
        """Name → path of what `store` wrote."""
        folder = KernelCache().path(self.hash)
        return {path.name: str(path) for path in sorted(folder.iterdir())} if folder.exists() else {}


def _as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
