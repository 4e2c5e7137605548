"""Where C programs that launch kernels find the CUDA driver: `cuda.h`, `libcuda.so`, and C's names of argument types.

gcc main.c kernel.c -I {include_dirs[0]} -L {library_dirs()[0]} -lcuda
"""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.active_driver import ActiveDriver as CudaDriver

__all__ = ["CudaDriver", "include_dirs", "library_dirs", "ty_to_cpp"]

include_dirs = [str(Path(__file__).parent / "include")]
"""Folders of `cuda.h`: the part of it that ahead-of-time kernels need."""

_C_TYPES = {
    "i1": "int8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u1": "uint8_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "fp16": "uint16_t", "bf16": "uint16_t", "fp32": "float", "f32": "float", "fp64": "double",
}  # fmt: skip


def ty_to_cpp(ty: str) -> str:
    """The C type in which a parameter of this type is passed: pointers as `CUdeviceptr`, half precision as its bits.

    Raises `MinitritonError` for types that C cannot pass.
    """
    if ty.startswith("*"):
        return "CUdeviceptr"
    found = _C_TYPES.get(ty)
    if found is None:
        raise MinitritonError(f"a parameter of type {ty!r} cannot be passed from C")
    return found


@functools.cache
def library_dirs() -> list[str]:
    """Folders in which a linker finds the driver as `libcuda.so`. Raises `MinitritonError` where there is no driver."""
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    library = _loaded_driver()
    if (library.parent / "libcuda.so").exists():
        return [str(library.parent)]
    # The driver is installed without the name that linkers look for.
    folder = Path(knobs.cache.dir) / "libcuda"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "libcuda.so"
    if not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    return [str(folder), str(library.parent)]


def _loaded_driver() -> Path:
    """The file that this process gets as `libcuda.so.1`."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise MinitritonError(
            "no CUDA driver (libcuda.so.1) on this machine", help="name its folder by TRITON_LIBCUDA_PATH"
        ) from None
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.partition("/")[2]
        if "libcuda.so" in path:
            return Path("/" + path)
    raise MinitritonError("the CUDA driver is loaded from no file", help="name its folder by TRITON_LIBCUDA_PATH")
