"""Special registers of NVIDIA GPUs, and casts to and from fp8e4b15: declarations only."""

from __future__ import annotations

from typing import Any

from minitriton.language.core import cast
from minitriton.language.declare import builtin


@builtin
def globaltimer() -> Any:
    """The GPU's nanosecond timer, int64."""


@builtin
def smid() -> Any:
    """The number of the multiprocessor that this program runs on."""


@builtin
def num_threads() -> Any:
    """Threads in a program, a compile-time value."""


@builtin
def num_warps() -> Any:
    """Warps in a program, a compile-time value."""


@builtin
def convert_custom_float8(
    arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None, has_minx2: Any = True, _semantic: Any = None
) -> Any:
    """`arg` as `dst_ty`, one of which is fp8e4b15: what `arg.to(dst_ty)` gives."""
    return cast(arg, dst_ty, _semantic=_semantic)


@builtin
def convert_custom_float8_sm80(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None, _semantic: Any = None) -> Any:
    """`convert_custom_float8`."""
    return cast(arg, dst_ty, _semantic=_semantic)


@builtin
def convert_custom_float8_sm70(arg: Any, dst_ty: Any, fp_downcast_rounding: Any = None, _semantic: Any = None) -> Any:
    """`convert_custom_float8`."""
    return cast(arg, dst_ty, _semantic=_semantic)
