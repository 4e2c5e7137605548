"""What a benchmark needs and this machine may lack, said in a line instead of a traceback."""

from __future__ import annotations

import importlib.util
import sys


def has_gpu() -> bool:
    """Whether torch, Triton and a GPU that torch finds are here."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "triton")):
        return False
    import torch

    return bool(torch.cuda.is_available())


def need_gpu() -> None:
    """Ends the program where there is no torch, no Triton or no GPU, with what to do about it."""
    missing = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"this benchmark needs {' and '.join(missing)}: pip install -e '.[bench]'")
    import torch

    if not torch.cuda.is_available():
        sys.exit(
            "this benchmark needs an NVIDIA GPU that torch finds; benchmarks/emulated.py and compile_time.py need none"
        )
