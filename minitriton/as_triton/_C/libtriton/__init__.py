"""What programs import from Triton's C++ extension and that has a meaning without one.

native_specialize_impl(CUDABackend, 48, False, True, True)    →    ("i32", "D")
ir.parse_mlir_module("k.ttgir", ir.context()).walk(visit)     →    `visit` is called with every op
llvm.link_extern_libs(module, [path])                         →    device functions that an LLVM module lacks
linear_layout.LinearLayout                                    →    linear layouts
nvidia.cublas.CublasLt(workspace).matmul(a, b, c)           →    cuBLAS, by way of torch
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType

from minitriton import knobs
from minitriton.runtime.launching.arguments import native_specialize_impl

__all__ = ["get_cache_invalidating_env_vars", "getenv", "getenv_bool", "native_specialize_impl"]

_PARTS = ("gluon_ir", "ir", "linear_layout", "llvm", "nvidia")


def getenv(name: str, default: str | None = None) -> str | None:
    """An environment variable."""
    return os.environ.get(name, default)


def getenv_bool(name: str, default: bool) -> bool:
    """An environment variable that says yes or no. Raises `MinitritonError` if it says neither."""
    return knobs.env_bool(name, default).get()


_CHANGES_RESULTS = (
    "DISABLE_LLVM_OPT", "DISABLE_PTXAS_OPT", "LLVM_EXTRACT_DI_LOCAL_VARIABLES", "MINITRITON_ASSEMBLER", "PTXAS_OPTIONS",
    "TRITON_DEFAULT_FP_FUSION", "TRITON_DISABLE_LINE_INFO", "TRITON_OVERRIDE_ARCH", "USE_IR_LOC",
)  # fmt: skip


def get_cache_invalidating_env_vars() -> dict[str, str]:
    """The environment variables that are set and that change what a compile gives: a cache of one's own has to tell them apart."""
    return {name: os.environ[name] for name in _CHANGES_RESULTS if name in os.environ}


def __getattr__(name: str) -> ModuleType:
    if name not in _PARTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
