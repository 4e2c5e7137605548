"""SASS of a cubin, through `nvdisasm` or `cuobjdump` where one is installed."""

from __future__ import annotations

import contextlib
import importlib.metadata
import shutil
import subprocess
import tempfile
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError


def find_tool(tool: str) -> str | None:
    """The path of `nvdisasm` or `cuobjdump`: of a setting, on the PATH, in a CUDA toolkit, or in an installed Triton."""
    found = knobs.env_opt_path(f"TRITON_{tool.upper()}_PATH").get() or shutil.which(tool)
    folders = [Path(home) / "bin" for home in knobs.cuda_homes()]
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        folders.append(Path(str(importlib.metadata.distribution("triton").locate_file("triton/backends/nvidia/bin"))))
    return found or next((str(path) for folder in folders if (path := folder / tool).exists()), None)


def extract(file_path: str | Path, fun: str | None = None) -> str:
    """The disassembly of a cubin's file. Raises `MinitritonError` as `get_sass` does."""
    return get_sass(Path(file_path).read_bytes(), fun)


def path_to_cuobjdump() -> tuple[str | None, str]:
    """Where `cuobjdump` is (None: nowhere), and its version."""
    path = find_tool("cuobjdump")
    if path is None:
        return None, ""
    said = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
    return path, said.rpartition(" V")[2].strip()


def get_sass(cubin: bytes, fun: str | None = None) -> str:
    """The disassembly of `cubin`, or of its function `fun`. Raises `MinitritonError` where no disassembler is installed."""
    for tool, arguments in (("nvdisasm", ["-c"]), ("cuobjdump", ["-sass"]))[1 if fun else 0 :]:
        path = find_tool(tool)
        if path is None:
            continue
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            done = subprocess.run(
                [path, *arguments, *(["-fun", fun] if fun else []), file.name], capture_output=True, text=True
            )
        if done.returncode == 0:
            return done.stdout
    raise MinitritonError(
        "no disassembler found",
        help="install nvdisasm or cuobjdump (CUDA toolkit) or name one by TRITON_NVDISASM_PATH",
    )
