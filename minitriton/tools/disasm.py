"""SASS of a cubin, through `nvdisasm` or `cuobjdump` where one is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from minitriton.errors import MinitritonError


def _find(tool: str) -> str | None:
    given = os.environ.get(f"TRITON_{tool.upper()}_PATH")
    if given:
        return given
    found = shutil.which(tool)
    if found:
        return found
    for root in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"):
        if root and (Path(root) / "bin" / tool).exists():
            return str(Path(root) / "bin" / tool)
    return None


def get_sass(cubin: bytes) -> str:
    """The disassembly of `cubin`. Raises `MinitritonError` where no disassembler is installed."""
    for tool, arguments in (("nvdisasm", ["-c"]), ("cuobjdump", ["-sass"])):
        path = _find(tool)
        if path is None:
            continue
        with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
            file.write(cubin)
            file.flush()
            done = subprocess.run([path, *arguments, file.name], capture_output=True, text=True)
        if done.returncode == 0:
            return done.stdout
    raise MinitritonError(
        "no disassembler found",
        help="install nvdisasm or cuobjdump (CUDA toolkit) or name one by TRITON_NVDISASM_PATH",
    )
