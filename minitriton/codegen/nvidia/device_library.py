"""Links the device functions that a module calls and does not define: NVIDIA's libdevice (`__nv_*`), or given files.

In: a live LLVM module. Out: the same module with those functions, internal to it (`bitcode_library`).

Libdevice is no part of minitriton: it is searched for in a CUDA toolkit, in NVIDIA's Python packages, and next to an installed
Triton; `MINITRITON_LIBDEVICE` or `TRITON_LIBDEVICE_PATH` name it. No kernel needs it that keeps to `tl` and 32-bit floats.
"""

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

import llvmlite.binding as llvm

from minitriton import knobs
from minitriton.codegen.bitcode_library import link
from minitriton.errors import MinitritonError

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
            link(module, library, names)
    names = missing_functions(module)
    if not names:
        return
    libdevice = find_libdevice()
    if libdevice is None:
        raise MinitritonError(
            f"the kernel calls {names[0]}, which is in NVIDIA's libdevice, and none is installed",
            help=f"install a CUDA toolkit, or name {_FILE} in MINITRITON_LIBDEVICE",
        )
    link(module, libdevice, names)
    if names := missing_functions(module):
        raise MinitritonError(f"libdevice lacks the function {names[0]}", help="check the name of the device function")
