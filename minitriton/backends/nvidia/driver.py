"""Where C programs that launch kernels find the CUDA driver: `cuda.h`, `libcuda.so`, and C's names of argument types.

gcc main.c kernel.c -I {include_dirs[0]} -L {library_dirs()[0]} -lcuda
"""

import ctypes
import functools
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.active_driver import ActiveDriver as CudaDriver
from minitriton.runtime.active_driver import c_type
from minitriton.runtime.cache import cache_directory

__all__ = ["CudaDriver", "include_dirs", "libcuda_dirs", "library_dirs", "ty_to_cpp"]

include_dirs = [str(Path(__file__).parent / "include")]
"""Folders of `cuda.h`: the part of it that ahead-of-time kernels need."""

ty_to_cpp = c_type


@functools.cache
def library_dirs() -> list[str]:
    """Folders in which a linker finds the driver as `libcuda.so`. Raises `MinitritonError` where there is no driver."""
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    library = _loaded_driver()
    if (library.parent / "libcuda.so").exists():
        return [str(library.parent)]
    # The driver is installed without the name that linkers look for.
    folder = cache_directory() / "libcuda"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "libcuda.so"
    if not link.exists():
        link.unlink(missing_ok=True)
        link.symlink_to(library)
    return [str(folder), str(library.parent)]


libcuda_dirs = library_dirs
"""Triton's name for it."""


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
