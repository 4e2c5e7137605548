"""A compiled kernel as it is kept: the stages of a compile, its metadata, its entry in the cache."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from minitriton import knobs
from minitriton.codegen.assemblers import assembler_available
from minitriton.host.whole_file import stem_of
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.cache import KernelCache
from minitriton.runtime.compiled_parts import ASSEMBLED_ON_DEMAND, AsmDict, make_metadata

if TYPE_CHECKING:
    from minitriton.emulator import Report
    from minitriton.pipeline.ir_source import IRSource
    from minitriton.runtime.launching.launcher import Launcher


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
        """The cubin."""
        return self.asm["cubin"]

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
        """Makes the cubin where an assembler is at hand; elsewhere the driver compiles the PTX when the kernel is loaded."""
        if "ptx" in self.asm and assembler_available(self.metadata.arch):
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
        files["metadata.json"] = json.dumps(self.metadata._asdict(), default=vars).encode()
        KernelCache().store(self.hash, files)

    def stored_files(self) -> dict[str, str]:
        """Name → path of what `store` wrote."""
        folder = KernelCache().path(self.hash)
        return {path.name: str(path) for path in sorted(folder.iterdir())} if folder.exists() else {}


def _as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()
