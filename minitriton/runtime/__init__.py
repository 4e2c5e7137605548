"""Running kernels: launches, the cache, the driver. The names below are those of `triton.runtime`, imported when first used."""

import importlib
from typing import Any

_EXPORTS = {
    "Autotuner": "minitriton.runtime.autotuner",
    "Config": "minitriton.runtime.autotuner",
    "Heuristics": "minitriton.runtime.autotuner",
    "InterpreterError": "minitriton.runtime.errors",
    "JITFunction": "minitriton.runtime.jit",
    "KernelInterface": "minitriton.runtime.kernel_interface",
    "MockTensor": "minitriton.runtime.jit",
    "OutOfResources": "minitriton.errors",
    "TensorWrapper": "minitriton.runtime.tensor_wrapper",
    "RedisRemoteCacheBackend": "minitriton.runtime.caches.manager",
    "RemoteCacheBackend": "minitriton.runtime.caches.manager",
    "autotune": "minitriton.runtime.autotuner",
    "heuristics": "minitriton.runtime.autotuner",
    "reinterpret": "minitriton.runtime.tensor_wrapper",
}
_MODULES = ("autotuner", "cache", "driver", "errors", "jit")


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        value = getattr(importlib.import_module(_EXPORTS[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"minitriton.runtime.{name}")
    raise AttributeError(f"module 'minitriton.runtime' has no attribute {name!r}")
