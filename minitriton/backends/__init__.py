"""Triton's module paths for target descriptions (`triton.backends.compiler`), imported when first used."""

import importlib

_MODULES = ("amd", "compiler", "driver", "nvidia")
_EXPORTS = {"BaseBackend": "compiler", "DriverBase": "driver", "Backend": "driver", "backends": "driver"}


def __getattr__(name: str) -> object:
    if name in _EXPORTS:
        return getattr(importlib.import_module(f"{__name__}.{_EXPORTS[name]}"), name)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
