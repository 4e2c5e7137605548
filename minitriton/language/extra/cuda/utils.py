"""Special registers of NVIDIA GPUs, and casts to and from fp8e4b15: declarations only."""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.core import cast
from minitriton.language.declare import Emits, builtin
from minitriton.language.dtypes import dtype
from minitriton.language.values import ConstBool, ConstStr, constexpr, tensor


@builtin
def globaltimer() -> tensor:
    """The GPU's nanosecond timer, int64."""


@builtin
def smid() -> tensor:
    """The number of the multiprocessor that runs this program."""


@builtin
def num_threads() -> constexpr:
    """Threads in a program, a compile-time value."""


@builtin
def num_warps() -> constexpr:
    """Warps in a program, a compile-time value."""


@builtin
def convert_custom_float8(
    arg: tensor,
    dst_ty: dtype,
    fp_downcast_rounding: ConstStr | None = None,
    has_minx2: ConstBool = True,
    _semantic: Emits | None = None,
) -> tensor:
    """`arg` as `dst_ty`, one being fp8e4b15: what `arg.to(dst_ty)` gives."""
    return cast.emitted_by(_semantic, arg, dst_ty)


@builtin
def convert_custom_float8_sm80(
    arg: tensor, dst_ty: dtype, fp_downcast_rounding: ConstStr | None = None, _semantic: Emits | None = None
) -> tensor:
    """`convert_custom_float8`."""
    return cast.emitted_by(_semantic, arg, dst_ty)


@builtin
def convert_custom_float8_sm70(
    arg: tensor, dst_ty: dtype, fp_downcast_rounding: ConstStr | None = None, _semantic: Emits | None = None
) -> tensor:
    """`convert_custom_float8`."""
    return cast.emitted_by(_semantic, arg, dst_ty)
