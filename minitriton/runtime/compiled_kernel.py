"""`CompiledKernel`: the stages of a compile, its metadata, its place in the cache, and launching it."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import parse_json
from minitriton.host.file_names import stem_of
from minitriton.runtime.cache import KernelCache
from minitriton.runtime.compiled_parts import AsmDict, make_metadata
from minitriton.target import GPUTarget

if TYPE_CHECKING:
    from minitriton.emulator import Report


_NO_HANDLES = {"module": None, "function": None, "_launcher": None}
"""Of a copy, which is loaded by itself where it is launched."""


class CompiledKernel:
    """A compiled kernel: `.asm[stage]`, `.metadata`, and launching it: `kernel[grid](*args)`.

    `n_regs`, `n_spills` and `n_max_threads` are known once it is loaded on a device; without one, the first two by its cubin.
    """

    def __init__(
        self, src: Any, texts: dict[str, str], metadata: dict[str, Any], key: str, seconds: dict[str, float]
    ) -> None:
        self.src = src
        self.hash = key
        self.stage_seconds = seconds
        self.metadata = make_metadata(metadata)
        self.name: str = metadata["name"]
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
        self._launcher: Any = None

    @property
    def packed_metadata(self) -> tuple[int, int, int]:
        return (self.metadata.num_warps, self.metadata.num_ctas, self.metadata.shared)

    @property
    def kernel(self) -> bytes:
        """The cubin."""
        return self.asm["cubin"]

    def __getstate__(self) -> dict[str, Any]:
        """All but the handles of this process and the function: a copy in another process loads the kernel there."""
        return {**self.__dict__, **_NO_HANDLES, "src": self.src.described()}

    def __copy__(self) -> CompiledKernel:
        return self._copied({})

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledKernel:
        """Texts, numbers and the report are copied; the source is what it was compiled from, as a function is in a copy."""
        own = {
            name: copy.deepcopy(self.__dict__[name], memo)
            for name in ("metadata", "asm", "stage_seconds", "last_report")
        }
        return self._copied(own)

    def _copied(self, own: dict[str, Any]) -> CompiledKernel:
        other = object.__new__(CompiledKernel)
        other.__dict__.update({**self.__dict__, **_NO_HANDLES, **own})
        return other

    def assemble_if_possible(self) -> None:
        """Makes the cubin where an assembler is at hand; elsewhere the driver compiles the PTX when the kernel is loaded."""
        from minitriton.codegen.cubin import assembler_available

        if "ptx" in self.asm and assembler_available(self.metadata.arch):
            self.asm["cubin"]

    def complete_stored(self) -> None:
        """Adds the cubin to a cached kernel that was compiled without it, for a launch on host arrays."""
        from minitriton.codegen.cubin import assembler_available

        if "cubin" not in self.asm and "ptx" in self.asm and assembler_available(self.metadata.arch):
            self.asm["cubin"]
            KernelCache().remove(self.hash)
            self.store()

    def store(self) -> None:
        """Puts the kernel into the on-disk cache."""
        only_binary = knobs.compilation.store_binary_only and "cubin" in self.asm
        stored = [stage for stage in self.asm if stage.endswith("cubin") or not only_binary]
        files = {f"{stem_of(self.name)}.{stage}": _as_bytes(self.asm[stage]) for stage in stored}
        files["metadata.json"] = json.dumps(self.metadata._asdict(), default=vars).encode()
        KernelCache().store(self.hash, files)

    def stored_files(self) -> dict[str, str]:
        """Name → path of what `store` wrote."""
        folder = KernelCache().path(self.hash)
        return {path.name: str(path) for path in sorted(folder.iterdir())} if folder.exists() else {}

    def _init_handles(self) -> None:
        """Loads the kernel on the current device. Raises `OutOfResources` where it does not fit.

        Where there is no GPU it notes what the cubin says that the kernel takes.
        """
        if self.module is not None:
            return
        from minitriton.runtime.launching.loading import load

        load(self)

    @property
    def run(self) -> Any:
        """The launcher of the current device. Raises `MinitritonError` where there is none."""
        self._init_handles()
        if self._launcher is None:
            from minitriton.runtime.driver import get_driver

            get_driver()
        return self._launcher

    def launch_metadata(self, grid: tuple[int, ...], stream: int, *args: Any) -> Any:
        """What launch hooks are told of a launch with these arguments (of all parameters), a `LazyDict`; None if there is no hook."""
        if not knobs.runtime.launch_enter_hook:
            return None
        from minitriton.runtime.launching.launch_hooks import LazyDict

        self._init_handles()
        metadata = LazyDict({"name": self.name, "function": self.function, "stream": stream})
        extra = getattr(self.src.fn, "launch_metadata", None) if hasattr(self.src, "fn") else None
        if extra is not None:
            metadata.add(extra, (grid, self.metadata, dict(zip(self.src.fn.arg_names, args, strict=False))))
        return metadata

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        """`kernel[grid](*args, stream=None)`: launches with all arguments, with those not declared constexpr, or with those not compiled in."""
        from minitriton.runtime.launching.loading import direct_launcher

        return direct_launcher(self, grid)


def _as_bytes(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def load_stored(source: Any, key: str) -> CompiledKernel | None:
    """The cached kernel of `key`; an entry that cannot be understood is removed and counts as absent."""
    files = KernelCache().load(key)
    if files is None:
        return None
    try:
        metadata: dict[str, Any] = parse_json(files.pop("metadata.json"))
        metadata["target"] = GPUTarget(**metadata["target"])
        texts: dict[str, Any] = {
            name.rsplit(".", 1)[1]: data if name.endswith("cubin") else data.decode() for name, data in files.items()
        }
        return CompiledKernel(source, texts, metadata, key, {})
    except (LookupError, ValueError, TypeError, AttributeError, MinitritonError):
        KernelCache().remove(key)
        return None
