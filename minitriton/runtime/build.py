"""C sources to Python extension modules, built by the machine's C compiler and stored in the cache.

module = compile_module_from_src(source_of_a_module_named_helper, "helper")

minitriton itself compiles no C; programs that bring C launchers or utilities of their own use this, by Triton's name.
"""

import hashlib
import importlib.util
import logging
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.runtime.caches.manager import get_cache_manager


def compile_module_from_src(
    src: str,
    name: str,
    library_dirs: list[str] | None = None,
    include_dirs: list[str] | None = None,
    libraries: list[str] | None = None,
    ccflags: list[str] | None = None,
) -> ModuleType:
    """The extension module `name` of the C source `src`, built at most once on a machine.

    A cached file that cannot be loaded is built anew. Raises `MinitritonError` where there is no compiler, or with what it says.
    """
    key = hashlib.sha256(f"{src}{platform.machine()}{platform.system()}{platform.architecture()}".encode())
    cache = get_cache_manager(key.hexdigest())
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    cached = cache.get_file(name + suffix)
    if cached is not None:
        try:
            return _load(name, cached)
        except ImportError:
            logging.getLogger(__name__).warning("%s cannot be loaded and is built again", cached)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{name}.c"
        source.write_text(src, "utf-8")
        built = _build(
            name, str(source), folder, library_dirs or [], include_dirs or [], libraries or [], ccflags or []
        )
        return _load(name, cache.put(Path(built).read_bytes(), name + suffix, binary=True))


def _build(
    name: str,
    src: str,
    srcdir: str,
    library_dirs: list[str],
    include_dirs: list[str],
    libraries: list[str],
    ccflags: list[str],
) -> str:
    """The path of the shared object, made by `knobs.build.impl` if set."""
    if knobs.build.impl is not None:
        return knobs.build.impl(name, src, srcdir, library_dirs, include_dirs, libraries)
    output = os.path.join(srcdir, name + sysconfig.get_config_var("EXT_SUFFIX"))
    headers = [*include_dirs, srcdir, sysconfig.get_paths()["include"], *sorted(knobs.build.backend_dirs)]
    command = [_compiler(), src, "-O3", "-shared", "-fPIC", "-o", output]
    command += [f"-l:{library}" if _is_file_name(library) else f"-l{library}" for library in libraries]
    command += [*(f"-L{folder}" for folder in library_dirs), *(f"-I{folder}" for folder in headers), *ccflags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise MinitritonError(f"{command[0]} cannot build {name!r}: {done.stderr.strip()}")
    return output


def _compiler() -> str:
    found = knobs.build.cc or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if found is None:
        raise MinitritonError("no C compiler found", help="install gcc or clang, or name one by CC or knobs.build.impl")
    return found


def _is_file_name(library: str) -> bool:
    """Whether `library` is a file (`libcuda.so.1`) rather than a name (`cuda`)."""
    return ".so" in library or library.endswith(".a")


def _load(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not an extension module", name=name, path=path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
