"""From what kernels call to what emits it: one table, and what is `elementwise` says itself which op it is.

A key is a declaration of `minitriton.language`; a value takes the `IRBuilder` and the call's arguments, in which compile-time
values stand for themselves (no `constexpr` around them) and tuples are Python tuples.

What `tl.extra` offers: special registers, dependent launches, the device library.

tl.extra.cuda.smid()           tt.elementwise_inline_asm "mov.u32 $0, %smid;"
tl.extra.libdevice.asin(x)     tt.extern_elementwise %x {symbol = "__nv_asinf"}
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton.frontend.builder import GLUON, IRBuilder
from minitriton.frontend.errors import LanguageTypeError
from minitriton.frontend.semantic import arithmetic as semantic_arithmetic
from minitriton.frontend.semantic import atomics as semantic_atomics
from minitriton.frontend.semantic import casts as semantic_casts
from minitriton.frontend.semantic import descriptors as semantic_descriptors
from minitriton.frontend.semantic import dot as semantic_dot
from minitriton.frontend.semantic import math as semantic_math
from minitriton.frontend.semantic import memory as semantic_memory
from minitriton.frontend.semantic import program as semantic_program
from minitriton.frontend.semantic import reduce as semantic_reduce
from minitriton.frontend.semantic import shapes as semantic_shapes
from minitriton.frontend.semantic import values as semantic_values
from minitriton.language import core as tl
from minitriton.language import descriptors, math, operations
from minitriton.language import dtypes as dt
from minitriton.language.declare import Builtin, ElementwiseBuiltin
from minitriton.language.extra import cuda, libdevice
from minitriton.language.values import Operand, tensor
from minitriton.language.values import tuple as language_tuple


def _register(
    instruction: str, constraint: str, type: dt.dtype, pure: bool
) -> Callable[[IRBuilder], tensor | language_tuple]:
    """The emitter of an instruction that takes nothing and gives one value."""

    def emit(b: IRBuilder) -> tensor | language_tuple:
        return semantic_program.inline_asm_elementwise(b, instruction, constraint, [], type, pure, 1)

    return emit


def _dependency(instruction: str) -> Callable[[IRBuilder], None]:
    """The emitter of `griddepcontrol`. The comment takes up the result that an op must have."""
    emit_value = _register(f"griddepcontrol.{instruction}; // dummy $0", "=r", dt.int32, False)

    def emit(b: IRBuilder) -> None:
        emit_value(b)

    return emit


def num_warps(b: IRBuilder) -> int:
    """Warps in a program."""
    b.counts_warps = True
    return b.options.num_warps


def num_threads(b: IRBuilder) -> int:
    """Threads in a program."""
    return num_warps(b) * b.target.warp_size


def _library_function(name: str) -> Callable[..., tensor]:
    overloads = libdevice.OVERLOADS[name]

    def emit(b: IRBuilder, *args: Operand) -> tensor:
        result = semantic_program.extern_elementwise(b, "", "", args, overloads, True)
        return semantic_casts.cast(b, result, dt.int1) if name in libdevice.PREDICATES else result

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


Emitter = Callable[..., object]


def cast(
    b: IRBuilder, input: Operand, dtype: object, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """`tl.cast` and `x.to`."""
    if not isinstance(dtype, dt.dtype):
        raise LanguageTypeError(f"cannot cast to {dtype!r}: it is not a dtype", "for example x.to(tl.float32)")
    value = semantic_values.to_tensor(b, input)
    if bitcast:
        return semantic_casts.bitcast(b, value, dtype)
    return semantic_casts.cast(b, value, dtype, fp_downcast_rounding)


EMITTERS: dict[Builtin[..., object], Emitter] = {
    tl.to_tensor: semantic_values.to_tensor,
    tl.program_id: semantic_program.program_id,
    tl.num_programs: semantic_program.num_programs,
    tl.arange: semantic_shapes.arange,
    tl.full: semantic_shapes.full,
    tl.cast: cast,
    tl.dot: semantic_dot.dot,
    tl.dot_scaled: semantic_dot.dot_scaled,
    tl.where: semantic_arithmetic.where,
    operations.logical_and: semantic_arithmetic.logical_and,
    operations.logical_or: semantic_arithmetic.logical_or,
    tl.add: semantic_arithmetic.add,
    tl.sub: semantic_arithmetic.sub,
    tl.mul: semantic_arithmetic.mul,
    tl.minimum: semantic_math.minimum,
    tl.maximum: semantic_math.maximum,
    tl.clamp: semantic_math.clamp,
    tl.builtin_max: semantic_math.builtin_max,
    tl.builtin_min: semantic_math.builtin_min,
    tl.reduce: semantic_reduce.reduce,
    tl._promote_bfloat16_to_float32: semantic_reduce.promote_bfloat16_to_float32,
    tl._reduce_with_indices: semantic_reduce.reduce_with_indices,
    tl.associative_scan: semantic_reduce.associative_scan,
    tl.histogram: semantic_reduce.histogram,
    tl.gather: semantic_reduce.gather,
    tl.map_elementwise: semantic_reduce.map_elementwise,
    tl.inline_asm_elementwise: semantic_program.inline_asm_elementwise,
    tl.extern_elementwise: semantic_program.extern_elementwise,
    tl.debug_barrier: semantic_program.debug_barrier,
    tl.multiple_of: semantic_program.multiple_of,
    tl.max_contiguous: semantic_program.max_contiguous,
    tl.max_constancy: semantic_program.max_constancy,
    tl.assume: semantic_program.assume,
    tl.device_print: semantic_program.device_print,
    tl.device_assert: semantic_program.device_assert,
    tl.expect_zero: semantic_program.expect_zero,
    tl.broadcast: semantic_shapes.broadcast,
    tl.broadcast_to: semantic_shapes.broadcast_to,
    tl.trans: semantic_shapes.trans,
    tl.permute: semantic_shapes.permute,
    tl.cat: semantic_shapes.cat,
    tl.join: semantic_shapes.join,
    tl.split: semantic_shapes.split,
    tl.view: semantic_shapes.view,
    tl.item: semantic_shapes.unsplat,
    tl.reshape: semantic_shapes.reshape,
    tl.expand_dims: semantic_shapes.expand_dims,
    tl.load: semantic_memory.load,
    tl.store: semantic_memory.store,
    tl.make_block_ptr: semantic_memory.make_block_ptr,
    tl.advance: semantic_memory.advance,
    descriptors.make_tensor_descriptor: semantic_descriptors.make_tensor_descriptor,
    descriptors.load_tensor_descriptor: semantic_descriptors.load_tensor_descriptor,
    descriptors.store_tensor_descriptor: semantic_descriptors.store_tensor_descriptor,
    descriptors.descriptor_atomic_add: semantic_descriptors.descriptor_atomic_add,
    descriptors.descriptor_atomic_min: semantic_descriptors.descriptor_atomic_min,
    descriptors.descriptor_atomic_max: semantic_descriptors.descriptor_atomic_max,
    descriptors.descriptor_atomic_and: semantic_descriptors.descriptor_atomic_and,
    descriptors.descriptor_atomic_or: semantic_descriptors.descriptor_atomic_or,
    descriptors.descriptor_atomic_xor: semantic_descriptors.descriptor_atomic_xor,
    descriptors.descriptor_gather: semantic_descriptors.descriptor_gather,
    descriptors.descriptor_scatter: semantic_descriptors.descriptor_scatter,
    tl.atomic_cas: semantic_atomics.atomic_cas,
    tl.atomic_load: semantic_atomics.atomic_load,
    tl.atomic_store: semantic_atomics.atomic_store,
    tl.atomic_poll: semantic_atomics.atomic_poll,
    tl.atomic_xchg: semantic_atomics.atomic_xchg,
    tl.atomic_add: semantic_atomics.atomic_add,
    tl.atomic_max: semantic_atomics.atomic_max,
    tl.atomic_min: semantic_atomics.atomic_min,
    tl.atomic_and: semantic_atomics.atomic_and,
    tl.atomic_or: semantic_atomics.atomic_or,
    tl.atomic_xor: semantic_atomics.atomic_xor,
    math.abs: semantic_math.abs,
    math.fdiv: semantic_math.fdiv,
    math.fma: semantic_math.fma,
    **EXTRA_EMITTERS,
}


def emitter_of(declaration: Builtin[..., object], is_gluon: bool = False) -> Emitter:
    """What emits calls of `declaration`, in a Gluon kernel or in one of `tl`. Raises if nothing does."""
    emitter = EMITTERS.get(declaration)
    if emitter is None and is_gluon:
        emitter = GLUON.emitters.get(declaration)
    if emitter is None:
        if not is_gluon and declaration.__module__.startswith("minitriton.language.gluon"):
            raise LanguageTypeError(
                f"{declaration.__name__} is an operation of Gluon, and this kernel is not written in it",
                "decorate the kernel with @gluon.jit",
            )
        if not isinstance(declaration, ElementwiseBuiltin):
            raise LanguageTypeError(
                f"{declaration.__name__} is declared, but nothing emits it",
                "add it to the table EMITTERS in minitriton/frontend/emitters.py (docs/frontend.md), or declare it as @elementwise",
            )
        emitter = EMITTERS[declaration] = semantic_math.elementwise(declaration)
    return emitter
