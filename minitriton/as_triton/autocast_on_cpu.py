"""`torch.autocast("cuda")` where CUDA devices are the CPU: autocasting of the CPU, with a GPU's default type.

    with torch.autocast("cuda"):            →   with torch.autocast("cpu", torch.float16):
        a @ b                                       a @ b

The functions that torch casts are those that it casts on the CPU.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def install_autocast(torch: Any) -> None:
    """Has torch's functions around autocasting take the CPU for a CUDA device."""
    modes = torch.amp.autocast_mode
    begin, enabled, enable, type_of, set_type = (
        modes.autocast.__init__,
        torch.is_autocast_enabled,
        torch.set_autocast_enabled,
        torch.get_autocast_dtype,
        torch.set_autocast_dtype,
    )
    chosen = {"cuda": torch.float16}

    def autocast(
        self: Any, device_type: str, dtype: object = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if device_type == "cuda":
            device_type, dtype = "cpu", dtype or chosen["cuda"]
        begin(self, device_type, dtype, enabled, cache_enabled)

    def is_autocast_enabled(device_type: str = "cuda") -> bool:
        return enabled(_cpu(device_type))

    def set_autocast_enabled(*given: object) -> None:
        # Of one argument, in torch's old way: for CUDA.
        device_type, value = given if len(given) == 2 else ("cuda", *given)
        enable(_cpu(str(device_type)), value)

    def get_autocast_dtype(device_type: str) -> object:
        if device_type == "cuda" and not enabled("cpu"):
            return chosen["cuda"]
        return type_of(_cpu(device_type))

    def set_autocast_dtype(device_type: str, dtype: object) -> None:
        # While autocasting, what is read and set is the type that it casts to: torch.compile sets what it read.
        if device_type == "cuda" and not enabled("cpu"):
            chosen["cuda"] = dtype
        else:
            set_type(_cpu(device_type), dtype)

    modes.autocast.__init__ = autocast
    torch.is_autocast_enabled, torch.get_autocast_dtype = is_autocast_enabled, get_autocast_dtype
    torch.set_autocast_dtype, torch.set_autocast_enabled = set_autocast_dtype, set_autocast_enabled
    torch.get_autocast_gpu_dtype = functools.partial(get_autocast_dtype, "cuda")
    for name in ("custom_fwd", "custom_bwd"):
        decorator = _for_cpu(getattr(modes, name))
        setattr(modes, name, decorator)
        setattr(torch.amp, name, decorator)
        setattr(torch.cuda.amp, name, functools.partial(decorator, device_type="cuda"))


def _cpu(device_type: str) -> str:
    return "cpu" if device_type == "cuda" else device_type


def _for_cpu(decorator: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(decorator)
    def mapped(fwd: object = None, *, device_type: str, **options: object) -> Any:
        return decorator(fwd, device_type=_cpu(device_type), **options)

    return mapped
