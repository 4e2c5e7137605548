"""Links the device functions that a module calls and does not define: NVIDIA's libdevice (`__nv_*`), or given files.

In: a live LLVM module. Out: the same module with those functions, internal to it. From the library only what is needed is taken;
what a set of functions needs is kept as bitcode, so that the library is read once a process.

Libdevice is no part of minitriton: it is searched for in a CUDA toolkit, in NVIDIA's Python packages, and next to an installed
Triton; `MINITRITON_LIBDEVICE` or `TRITON_LIBDEVICE_PATH` name it. No kernel needs it that keeps to `tl` and 32-bit floats.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import llvmlite.binding as llvm

from minitriton import knobs
from minitriton.codegen.llvm_session import context_of
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import read_regular

PREFIX = "__nv_"
_FILE = "libdevice.10.bc"


def _candidates() -> Iterator[Path]:
    if given := knobs.nvidia.libdevice_path:
        yield Path(given)
    for home in knobs.cuda_homes():
        yield Path(home) / "nvvm" / "libdevice" / _FILE
    for package, inside in (("nvidia", "cuda_nvcc/nvvm/libdevice"), ("triton", "backends/nvidia/lib")):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            yield Path(folder) / inside / _FILE


def find_libdevice() -> Path | None:
    """Where libdevice is on this machine, or None."""
    return next((path for path in _candidates() if path.is_file()), None)


def missing_functions(module: llvm.ModuleRef) -> list[str]:
    """Functions that `module` calls, and that neither it nor the driver defines."""
    return sorted(f.name for f in module.functions if f.is_declaration and f.name.startswith(PREFIX))


def link_device_library(module: llvm.ModuleRef, libraries: Sequence[Path] = ()) -> None:
    """Links what `module` lacks, from `libraries` first and then from libdevice. Raises if a function is nowhere found."""
    for library in libraries:
        names = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
        if names:
            _link(module, library, names)
    names = missing_functions(module)
    if not names:
        return
    libdevice = find_libdevice()
    if libdevice is None:
        raise MinitritonError(
            f"the kernel calls {names[0]}, which is in NVIDIA's libdevice, and none is installed",
            help=f"install a CUDA toolkit, or name {_FILE} in MINITRITON_LIBDEVICE",
        )
    _link(module, libdevice, names)
    if names := missing_functions(module):
        raise MinitritonError(f"libdevice lacks the function {names[0]}", help="check the name of the device function")


def library_digest(library: Path) -> str:
    """Names the contents of a library. Raises `MinitritonError` if it cannot be read."""
    return hashlib.sha256(_contents(library)).hexdigest()


def _contents(library: Path) -> bytes:
    try:
        return read_regular(library)
    except OSError as error:
        raise MinitritonError(
            f"cannot read the device library {str(library)!r}: {error.strerror}",
            help="extern_libs maps names to paths of LLVM bitcode",
        ) from None


def _link(module: llvm.ModuleRef, library: Path, names: Sequence[str]) -> None:
    bitcode = _contents(library)
    try:
        wanted = frozenset(names) & _functions(bitcode)
    except (RuntimeError, UnicodeDecodeError) as error:
        raise MinitritonError(
            f"LLVM cannot read the device library {str(library)!r}: {str(error).strip()}",
            help="compile device functions by `clang -emit-llvm -c --target=nvptx64-nvidia-cuda`",
        ) from None
    if not wanted:
        return
    part = llvm.parse_bitcode(_extracted(bitcode, wanted), context_of(module))
    part.triple, part.data_layout = module.triple, module.data_layout
    module.link_in(part)
    for function in module.functions:
        if function.name in wanted:
            function.linkage = "internal"


_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""How bitcode begins: as it is, and in a wrapper (LLVM Bitcode File Format, "Magic Numbers")."""


def _parsed(library: bytes) -> llvm.ModuleRef:
    """A library in LLVM: bitcode, or else LLVM IR text. Raises `RuntimeError`."""
    return llvm.parse_bitcode(library) if library.startswith(_BITCODE) else llvm.parse_assembly(library.decode())


@lru_cache(maxsize=8)
def _functions(library: bytes) -> frozenset[str]:
    """What a library defines."""
    parsed = _parsed(library)
    return frozenset(f.name for f in parsed.functions if not f.is_declaration)


@lru_cache(maxsize=64)
def _extracted(library: bytes, names: frozenset[str]) -> bytes:
    """The part of a library that `names` need, as bitcode."""
    parsed = _parsed(library)
    for function in parsed.functions:
        if not function.is_declaration and function.name not in names:
            function.linkage = "internal"
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    builder = llvm.create_pass_builder(
        llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(), llvm.create_pipeline_tuning_options()
    )
    manager.run(parsed, builder)
    return parsed.as_bitcode()
