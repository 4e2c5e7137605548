"""Gluon for the frontend: what emits each call, and the IR's types of its values. Importing this lets kernels be in Gluon.

ttgl.allocate_shared_memory(...)                            buffers.allocate: the entries that `frontend.emitters` lacks
distributed_type(float32, [64], BlockedLayout(...))         tensor<64xf32, #blocked>
shared_memory_descriptor_type(float16, [64], ..., [3, 64])  !ttg.memdesc<64xf16, #shared, #smem, mutable, 3x64>

Warp specialization: one function on the warps at hand, others on warps of their own.

warp_specialize([(f, args), (g, others)], [4], [24])

    ttg.warp_specialize(%others) attributes {requestedRegisters = array<i32: 24>}
    default { tt.call @f(%args); ttg.warp_yield }
    partition0(%arg: ...) num_warps(4) { tt.call @g__..._NW4(%arg); ttg.warp_return }
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, Region, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.encodings import SMEM, encoding_attr
from minitriton.dialects.gluon import AUTO, COALESCED
from minitriton.dialects.locations import source_location
from minitriton.dialects.tt.types import TensorDescType, tensor_type
from minitriton.dialects.ttg.types import MemDescType
from minitriton.dialects.ttng.tensor_memory import TMEM, TensorMemoryEncodingAttr, TensorMemoryScalesEncodingAttr
from minitriton.frontend.builder import GLUON, IRBuilder, ir_type
from minitriton.frontend.errors import LanguageTypeError, LanguageValueError
from minitriton.frontend.generator.base import flatten_all, rebuild_all, wrapped
from minitriton.frontend.gluon import buffers, nvidia, tcgen05, tensors
from minitriton.frontend.semantic import program
from minitriton.language.declare import Builtin
from minitriton.language.descriptors import tensor_descriptor_type as plain_descriptor_type
from minitriton.language.dtypes import base_type
from minitriton.language.gluon import buffers as methods
from minitriton.language.gluon import core
from minitriton.language.gluon.amd import cdna3, cdna4, gfx1250, rdna3, rdna4
from minitriton.language.gluon.layouts import (
    AutoLayout,
    CoalescedLayout,
    Layout,
    SharedLayout,
    read_layout,
)
from minitriton.language.gluon.nvidia import ampere, blackwell, hopper
from minitriton.language.gluon.nvidia.blackwell import tensor_memory
from minitriton.language.gluon.nvidia.blackwell.tensor_memory import (
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    tensor_memory_descriptor_type,
)
from minitriton.language.gluon.types import (
    distributed_type,
    memory_descriptor_type,
    shared_memory_descriptor_type,
    tensor_descriptor_type,
    warpgroup_mma_accumulator_type,
)
from minitriton.language.values import Function, base_value, constexpr, type_of
from minitriton.language.values import tuple as language_tuple
from minitriton.target.architectures import LIMITS

_FEWEST_REGISTERS, _MOST_REGISTERS = 24, 256
"""That a thread can be allotted (PTX ISA, "setmaxnreg")."""
_GROUP = 4
"""Warps of a warp group: `setmaxnreg` counts for whole ones."""


def num_warps(b: IRBuilder) -> constexpr:
    """Of the function that is compiled."""
    return constexpr(b.options.num_warps if b.partition_warps is None else b.partition_warps)


def num_ctas(b: IRBuilder) -> constexpr:
    """Of the kernel."""
    return constexpr(b.options.num_ctas)


def _arguments(given: object) -> list[object]:
    if not isinstance(given, (tuple, language_tuple)):
        raise LanguageTypeError(f"function arguments must be a tuple of arguments, but got {type(given)}", "(x, y)")
    return [wrapped(each) for each in cast("Sequence[object]", given if isinstance(given, tuple) else given.values)]


def warp_specialize(
    b: IRBuilder,
    functions_and_args: Sequence[tuple[Function, object]],
    worker_num_warps: Sequence[int],
    worker_num_regs: Sequence[int],
) -> language_tuple | None:
    """A fork into partitions, joined at the end."""
    if not functions_and_args:
        raise LanguageValueError("expected at least one function for the default partition")
    default, *workers = [(function, _arguments(args)) for function, args in functions_and_args]
    for given, what in ((worker_num_warps, "warp"), (worker_num_regs, "register")):
        if len(given) != len(workers):
            raise LanguageValueError(f"warp specialize got {len(workers)} partitions but {len(given)} {what} counts")
    for index, (warps, registers) in enumerate(zip(worker_num_warps, worker_num_regs, strict=True)):
        if warps < 1 or warps & (warps - 1):
            raise LanguageValueError(f"partition #{index} number of warps ({warps}) must be a power of 2")
        if not _FEWEST_REGISTERS <= registers <= _MOST_REGISTERS:
            raise LanguageValueError(
                f"partition #{index} asks for {registers} registers a thread",
                f"{_FEWEST_REGISTERS} to {_MOST_REGISTERS}",
            )

    if (
        b.options.num_warps + -(-sum(worker_num_warps) // _GROUP) * _GROUP
        > LIMITS.threads_per_cta // b.target.warp_size
    ):
        raise LanguageValueError(
            f"partitions of {list(worker_num_warps)} warps, whole groups of {_GROUP}, next to {b.options.num_warps} warps",
            f"at most {LIMITS.threads_per_cta // b.target.warp_size} together",
        )
    _warn_of_registers(b, worker_num_warps, worker_num_regs)
    region, block = b.region()
    with b.in_block(block):
        found = b.call_function(default[0], default[1], {})
        results = _results(found)
        handles = flatten_all(results)
        b.insert(ttg.WarpYieldOp(handles))

    captured = [flatten_all(args) for _, args in workers]
    operands = [handle for each in captured for handle in each]
    regions: list[Region] = []
    first = 0
    counts = zip(worker_num_warps, worker_num_regs, strict=True)
    for (function, args), own, (warps, registers) in zip(workers, captured, counts, strict=True):
        regions.append(_partition(b, function, args, operands, first, len(own), warps, registers))
        first += len(own)
    op = ttg.WarpSpecializeOp(
        operands,
        [handle.type for handle in handles],
        partition_num_warps=worker_num_warps,
        default_region=region,
        partition_regions=regions,
        requested_registers=worker_num_regs,
    )
    b.insert(op)
    if found is None:
        return None
    return language_tuple(rebuild_all(map(type_of, results), list(op.results)))


def _warn_of_registers(b: IRBuilder, counts: Sequence[int], registers: Sequence[int]) -> None:
    """Warns where partitions leave the default warps too few: `tritongpu-allocate-warp-groups` ignores what they ask for then."""
    asked = sorted(zip(counts, registers, strict=True), reverse=True)
    of_warps = [most for count, most in asked for _ in range(count)]
    groups = [max(of_warps[first : first + _GROUP]) for first in range(0, len(of_warps), _GROUP)]
    left = LIMITS.registers_per_sm // b.target.warp_size - _GROUP * sum(groups)
    if left < _FEWEST_REGISTERS * b.options.num_warps:
        where = source_location(b.location)
        warnings.warn(
            f"{where}: partitions that ask for {list(registers)} registers a thread leave the default warps fewer than "
            f"{_FEWEST_REGISTERS}: their requests are ignored",
            RuntimeWarning,
            stacklevel=2,
        )


def _results(found: base_value | None) -> list[object]:
    if isinstance(found, language_tuple):
        return list(found.values)
    return [] if found is None else [found]


def _partition(
    b: IRBuilder,
    function: Function,
    args: list[object],
    operands: Sequence[SSAValue],
    first: int,
    count: int,
    warps: int,
    registers: int,
) -> Region:
    """The region in which `warps` warps, with so many `registers` a thread, run `function`.

    Its arguments are `count` of the region's from `first` on."""
    region, block = b.region([operand.type for operand in operands])
    outer = b.partition_warps, b.partition_registers
    b.partition_warps, b.partition_registers = warps, registers
    try:
        with b.in_block(block):
            values = rebuild_all(map(type_of, args), list(block.args)[first : first + count])
            b.call_function(function, values, {})
            b.insert(ttg.WarpReturnOp())
    finally:
        b.partition_warps, b.partition_registers = outer
    return region


_ATTRIBUTES: dict[type[Layout], Callable[[Any], Attribute]] = {
    AutoLayout: lambda _: AUTO,
    CoalescedLayout: lambda _: COALESCED,
    TensorMemoryLayout: lambda x: TensorMemoryEncodingAttr(
        *map(IntAttr, (*x.block, x.col_stride, *x.cta_split, int(x.two_ctas)))
    ),
    TensorMemoryScalesLayout: lambda x: TensorMemoryScalesEncodingAttr(*map(IntAttr, x.cta_split)),
}
"""Of layouts that no encoding is the value of."""


def encoding_of(layout: object) -> Attribute:
    """The attribute of `layout`. Raises `LanguageTypeError` for what is not one, `IRError` for parameters that none has."""
    if not isinstance(layout, Layout):
        raise LanguageTypeError(f"expected a layout, got {layout!r}", "for example ttgl.BlockedLayout(...)")
    attribute = _ATTRIBUTES.get(type(layout))
    return encoding_attr(layout.encoding()) if attribute is None else attribute(layout)


def descriptor_with_layout(type: plain_descriptor_type, text: str) -> tensor_descriptor_type:
    """The type of descriptors whose blocks have the layout that `text` writes as Python does: `NVMMASharedLayout(128, 16, 2)`."""
    layout = read_layout(text)
    if not isinstance(layout, SharedLayout):
        raise LanguageTypeError(
            f"{text!r} is not a layout of a descriptor's blocks", "for example NVMMASharedLayout(...)"
        )
    return tensor_descriptor_type(type.block_type, type.shape_type, type.strides_type, layout)


def _tensor(type: distributed_type) -> Attribute:
    return tensor_type(type.shape, ir_type(type.element_ty), encoding_of(type.layout))


def _buffer(type: memory_descriptor_type) -> Attribute:
    space = SMEM if isinstance(type, shared_memory_descriptor_type) else TMEM
    return MemDescType(type.shape, ir_type(type.element_ty), encoding_of(type.layout), space, True, type.alloc_shape)


def _accumulator(type: warpgroup_mma_accumulator_type) -> Attribute:
    return ir_type(type.tensor_type)


def _descriptor(type: tensor_descriptor_type) -> Attribute:
    block = type.block_type
    element = ir_type(block.element_ty)
    return TensorDescType.of_block(
        tensor_type(block.shape, element, encoding_of(type.layout)), block.element_ty.is_int_signed()
    )


GLUON_TYPES: dict[type[base_type], Callable[[Any], Attribute]] = {
    distributed_type: _tensor,
    shared_memory_descriptor_type: _buffer,
    tensor_memory_descriptor_type: _buffer,
    warpgroup_mma_accumulator_type: _accumulator,
    tensor_descriptor_type: _descriptor,
}


GLUON_EMITTERS: dict[Builtin[..., object], Callable[..., object]] = {
    core.arange: tensors.arange,
    core.full: tensors.full,
    core.convert_layout: tensors.convert_layout,
    core.set_auto_layout: tensors.set_auto_layout,
    core.histogram: tensors.histogram,
    core.cat: tensors.cat,
    core.fp4_to_fp: tensors.fp4_to_fp,
    core.dot_fma: tensors.dot_fma,
    core.bank_conflicts: tensors.static_bank_conflicts,
    core.to_linear_layout: tensors.static_linear_layout,
    core.allocate_shared_memory: buffers.allocate_shared_memory,
    core.warp_specialize: warp_specialize,
    core.num_warps: num_warps,
    core.num_ctas: num_ctas,
    core.thread_barrier: program.debug_barrier,
    methods.load: buffers.load,
    methods.store: buffers.store,
    methods.slice: buffers.slice,
    methods.index: buffers.index,
    methods.permute: buffers.permute,
    methods.reshape: buffers.reshape,
    methods.reinterpret: buffers.reinterpret,
    methods.keep_alive: buffers.keep_alive,
    ampere.mma_v2: nvidia.mma_v2,
    ampere.async_copy.async_copy_global_to_shared: nvidia.async_copy_global_to_shared,
    ampere.async_copy.mbarrier_arrive: nvidia.async_copy_mbarrier_arrive,
    ampere.async_copy.commit_group: nvidia.commit_group,
    ampere.async_copy.wait_group: nvidia.wait_group,
    ampere.mbarrier.init: nvidia.init,
    ampere.mbarrier.invalidate: nvidia.invalidate,
    ampere.mbarrier.wait: nvidia.wait,
    ampere.mbarrier.arrive: nvidia.arrive,
    hopper.fence_async_shared: nvidia.fence_async_shared,
    hopper.warpgroup_mma_init: nvidia.warpgroup_mma_init,
    hopper.warpgroup_mma: nvidia.warpgroup_mma,
    hopper.warpgroup_mma_wait: nvidia.warpgroup_mma_wait,
    hopper.mbarrier.expect: nvidia.expect,
    hopper.mbarrier.arrive: nvidia.arrive,
    hopper.tma.async_copy_global_to_shared: nvidia.tma_load,
    hopper.tma.async_copy_shared_to_global: nvidia.tma_store,
    hopper.tma.store_wait: nvidia.store_wait,
    hopper.tma.make_tensor_descriptor: nvidia.make_tensor_descriptor,
    tensor_memory.allocate_tensor_memory: tcgen05.allocate_tensor_memory,
    tensor_memory.load: tcgen05.load,
    tensor_memory.store: tcgen05.store,
    tensor_memory.slice: tcgen05.slice,
    tensor_memory.index: tcgen05.index,
    tensor_memory.reinterpret: tcgen05.reinterpret,
    blackwell.tcgen05_copy: tcgen05.tcgen05_copy,
    blackwell.tcgen05_mma: tcgen05.tcgen05_mma,
    blackwell.tcgen05_mma_scaled: tcgen05.tcgen05_mma_scaled,
    blackwell.tcgen05_commit: tcgen05.tcgen05_commit,
    blackwell.tma.async_gather: tcgen05.async_gather,
    blackwell.tma.async_scatter: tcgen05.async_scatter,
}


def _amd(name: str, *first: object) -> Callable[..., object]:
    """An emitter of `frontend.gluon.amd`, with its `first` arguments. A kernel for another GPU imports neither it nor `amdg`."""

    def emit(*args: object, **kwargs: object) -> object:
        return getattr(importlib.import_module("minitriton.frontend.gluon.amd"), name)(*first, *args, **kwargs)

    return emit


AMD_EMITTERS: dict[Builtin[..., object], Callable[..., object]] = {
    rdna3.wmma: _amd("wmma", 1),
    rdna4.wmma: _amd("wmma", 2),
    gfx1250.wmma: _amd("wmma", 3),
    gfx1250.wmma_scaled: _amd("wmma_scaled"),
    cdna3.mfma: _amd("mfma"),
    cdna4.mfma_scaled: _amd("mfma_scaled"),
    cdna3.buffer_load: _amd("buffer_load"),
    cdna3.buffer_store: _amd("buffer_store"),
    **{
        getattr(where, f"buffer_atomic_{name}"): _amd("buffer_atomic", name, where is cdna4)
        for where in (cdna3, cdna4)
        for name in ("add", "and", "max", "min", "or", "xchg", "xor")
    },
    cdna4.async_copy.global_load_to_shared: _amd("global_load_to_shared"),
    cdna4.async_copy.buffer_load_to_shared: _amd("buffer_load_to_shared"),
    cdna4.async_copy.commit_group: nvidia.commit_group,
    cdna4.async_copy.wait_group: nvidia.wait_group,
    cdna4.async_copy.load_shared_relaxed: _amd("load_shared_relaxed"),
    gfx1250.async_copy.global_to_shared: _amd("global_to_shared"),
    gfx1250.async_copy.mbarrier_arrive: _amd("mbarrier_arrive"),
    gfx1250.mbarrier.init: _amd("init"),
    gfx1250.mbarrier.wait: _amd("wait"),
    gfx1250.mbarrier.arrive: _amd("arrive"),
    gfx1250.tdm.make_tensor_descriptor: _amd("make_tensor_descriptor"),
    gfx1250.tdm.async_load: _amd("async_load"),
    gfx1250.tdm.async_store: _amd("async_store"),
    gfx1250.tdm.async_wait: _amd("async_wait"),
}

GLUON.emitters.update({**GLUON_EMITTERS, **AMD_EMITTERS})
GLUON.ir_types.update(GLUON_TYPES)
GLUON.with_one_layout = tensors.with_one_layout
GLUON.descriptor_type = descriptor_with_layout
