"""What `tl.extra` offers: special registers, dependent launches, the device library.

tl.extra.cuda.smid()           tt.elementwise_inline_asm "mov.u32 $0, %smid;"
tl.extra.libdevice.asin(x)     tt.extern_elementwise %x {symbol = "__nv_asinf"}
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton.frontend.builder import IRBuilder
from minitriton.frontend.semantic.casts import cast
from minitriton.frontend.semantic.program import extern_elementwise, inline_asm_elementwise
from minitriton.language import dtypes as dt
from minitriton.language.declare import Builtin
from minitriton.language.extra import cuda, libdevice
from minitriton.language.values import Operand, tensor
from minitriton.language.values import tuple as language_tuple


def _register(
    instruction: str, constraint: str, type: dt.dtype, pure: bool
) -> Callable[[IRBuilder], tensor | language_tuple]:
    """The emitter of an instruction that takes nothing and gives one value."""

    def emit(b: IRBuilder) -> tensor | language_tuple:
        return inline_asm_elementwise(b, instruction, constraint, [], type, pure, 1)

    return emit


def _dependency(instruction: str) -> Callable[[IRBuilder], None]:
    """The emitter of `griddepcontrol`. The comment takes up the result that an op must have."""
    emit_value = _register(f"griddepcontrol.{instruction}; // dummy $0", "=r", dt.int32, False)

    def emit(b: IRBuilder) -> None:
        emit_value(b)

    return emit


def num_warps(b: IRBuilder) -> int:
    """Warps in a program."""
    return b.options.num_warps


def num_threads(b: IRBuilder) -> int:
    """Threads in a program."""
    return b.options.num_warps * b.target.warp_size


def _library_function(name: str) -> Callable[..., tensor]:
    overloads = libdevice.OVERLOADS[name]

    def emit(b: IRBuilder, *args: Operand) -> tensor:
        result = extern_elementwise(b, "", "", args, overloads, True)
        return cast(b, result, dt.int1) if name in libdevice.PREDICATES else result

    return emit


EXTRA_EMITTERS: dict[Builtin[..., object], Callable[..., object]] = {
    cuda.globaltimer: _register("mov.u64 $0, %globaltimer;", "=l", dt.int64, False),
    cuda.smid: _register("mov.u32 $0, %smid;", "=r", dt.int32, True),
    cuda.num_warps: num_warps,
    cuda.num_threads: num_threads,
    cuda.gdc_wait: _dependency("wait"),
    cuda.gdc_launch_dependents: _dependency("launch_dependents"),
    **{declaration: _library_function(name) for name, declaration in libdevice.FUNCTIONS.items()},
}
"""The part of the emitter table for `tl.extra`."""
