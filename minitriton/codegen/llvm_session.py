"""The one place that talks to LLVM (llvmlite).

LLVM's options are global to the process and llvmlite is not safe to enter twice: options are set here, under one lock, before
anything else is done with LLVM. Bad IR aborts the process, so text that is not our own is checked in a child process first.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import lru_cache

import llvmlite.binding as llvm

from minitriton.errors import IRError

TRIPLE = "nvptx64-nvidia-cuda"

LOCK = threading.RLock()
"""Held around every call into LLVM."""

_fma_level: int | None = None
_initialized = False


def initialize() -> None:
    """Sets up LLVM's NVPTX target, once. Short pointers must be chosen before any data layout is made."""
    global _initialized
    if _initialized:
        return
    llvm.set_option("", "-nvptx-short-ptr")
    llvm.set_option("", "-nvptx-mad-wide-opt")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    _initialized = True


def set_fp_fusion(enabled: bool) -> None:
    """Whether multiplications and additions may become fused multiply-adds from now on (the option that is last set wins)."""
    global _fma_level
    level = 2 if enabled else 0
    if level != _fma_level:
        llvm.set_option("", f"-nvptx-fma-level={level}")
        _fma_level = level


@lru_cache(maxsize=16)
def target_machine(cpu: str, features: str) -> llvm.TargetMachine:
    """LLVM's code generator for a GPU, at its highest level (the lowest one spills)."""
    initialize()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=features, opt=3)


_CHECK = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
text = sys.stdin.read()
try:
    module = llvm.parse_assembly(text)
    module.verify()
except RuntimeError as error:
    print(error)
    sys.exit(1)
"""


def check_in_child(text: str) -> None:
    """Raises `IRError` if LLVM cannot read `text`. Takes a process start (about 150 ms)."""
    result = subprocess.run(
        [sys.executable, "-c", _CHECK], input=text, capture_output=True, text=True, timeout=120, check=False
    )
    if result.returncode:
        lines = (result.stdout or result.stderr).strip().splitlines()
        why = "\n".join(lines[-4:]) or f"LLVM ended with status {result.returncode}"
        raise IRError(f"this is no valid LLVM IR:\n{why}")
