"""`tritongpu-coalesce-async-copy`: threads read no more at once than they can write to the buffer at once.

    sizePerThread = [1, 16], buffer with vec = 8:        sizePerThread = [1, 8]:
    two copies of 8 bytes, 16 bytes apart          =>    one copy of 8 bytes, neighbours next to each other

`cp.async` joins a load and a store. Where the buffer's swizzle breaks a thread's run into parts, the parts of one thread are
not neighbours of another's any more; a layout with shorter runs is coalesced again.

Counterpart of lib/Dialect/TritonGPU/Transforms/CoalesceAsyncCopy.cpp.

`minitriton-transpose-by-copies`: loads of 32-bit elements that a buffer holds the other way round are laid out so that few of them meet in a bank.

    %b = tt.load %p : tensor<32x128xf32, #blocked>                 #blocked:  threadsPerWarp = [1, 32], sizePerThread = [1, 4]
    ttg.local_alloc %b : -> memdesc<32x128xf32, #transposed>
                                                            =>
    %b = tt.load %q : tensor<32x128xf32, #blocked1>                #blocked1: threadsPerWarp = [2, 16], sizePerThread = [1, 1]

In: TTGIR with buffers for `wgmma` of tf32, whose K must be contiguous in shared memory. Out: a load along N that fills such a buffer has 16
neighbours along N by 2 along K in a warp. It becomes `cp.async` of 4 bytes each in either layout, for a transpose moves every element alone; of
the first up to 16 of 32 go to the same bank (4 neighbours of a thread are 4 copies, and lanes 4 apart along N have two swizzled groups), of the
second two. Fewer rows of K in a warp are fewer lines of global memory, more are fewer collisions: 4096x4096x4096 with tiles of 128x256 ran at
214 TFLOP/s with 4 along K, 229 with 2 and 209 with 1 (one H200, 2026-11-22; Triton 85).

Triton 3.6.0 keeps the layout for 16-byte accesses: tf32 dots with row-major B run at a third of the speed of those column-major.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32
from xdsl.ir import OpResult, SSAValue

from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.launch import num_warps, threads_per_warp
from minitriton.dialects.fast_paths.op_access import defining, operand_values, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Blocked, NVMMAShared, SwizzledShared
from minitriton.layouts.properties import contig_per_thread
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.passes.coalesce import convert_to_layout
from minitriton.passes.tensor_layouts import convert_before, element_bits, layout_of_value, shape_of
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.target.architectures import WARP_SIZE

_NOTHING_KNOWN = IntegerAttr(1, i32)
"""The lowering asks for the contiguity of the addresses in their final layout."""


def _shorter_runs(copy: ttg.AsyncCopyGlobalToLocalOp) -> Blocked | None:
    """A layout of the source whose runs the buffer does not break; None if it has such a layout already."""
    layout, shape = layout_of_value(copy.src), shape_of(copy.src)
    assert isinstance(copy.destination.type, ttg.MemDescType)
    buffer = ttg.layout_of(copy.destination.type)
    if not isinstance(layout, Blocked) or not isinstance(buffer, SwizzledShared):
        return None
    map_ = to_linear_layout(layout, shape).invert_and_compose(to_linear_layout(buffer, shape))
    length = map_.get_num_consecutive_in_out()
    runs = list(contig_per_thread(layout, shape))
    fastest = layout.order[0]
    if runs[fastest] <= length:
        return None
    runs[fastest] = length
    return blocked_for_cga(shape, runs, layout.order, num_warps(copy), threads_per_warp(copy), layout.cga)


@register_pass
class CoalesceAsyncCopy(Pass, stage="ttgir", origin="triton"):
    """Gives asynchronous copies layouts whose runs the buffer does not break."""

    name: ClassVar[str] = "tritongpu-coalesce-async-copy"
    acts_on = frozenset({ttg.AsyncCopyGlobalToLocalOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the operands of all copies that need it."""
        for copy in ops_of(op, ttg.AsyncCopyGlobalToLocalOp):
            layout = _shorter_runs(copy)
            if layout is None:
                continue
            for index, operand in enumerate(operand_values(copy)):
                if isinstance(operand.type, TensorType):
                    copy.operands[index] = convert_before(copy, operand, layout)
            copy.properties["contiguity"] = _NOTHING_KNOWN


_BITS = 32


@register_pass
class TransposeByCopies(Pass, stage="ttgir"):
    """Lays out loads that are transposed into shared memory."""

    name: ClassVar[str] = "minitriton-transpose-by-copies"
    acts_on = frozenset({ttg.LocalAllocOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    along_k: int = 2
    """Lanes of a warp along K."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Change the layout of every such load."""
        warps, threads = num_warps(op), threads_per_warp(op)
        for alloc in [found for found in ops_of(op, ttg.LocalAllocOp) if found.operands]:
            load = _load_of(alloc.operands[0])
            layout = (
                _layout_for(alloc, load, warps, self.along_k) if load is not None and threads == WARP_SIZE else None
            )
            if load is not None and layout is not None:
                convert_to_layout(load, layout)


def _load_of(value: SSAValue) -> tt.LoadOp | None:
    """The load through pointers that `value` is, used for nothing else; conversions seen through."""
    while isinstance(value, OpResult) and isinstance(value.op, ttg.ConvertLayoutOp) and value.has_one_use():
        value = value.op.src
    load = defining(value, tt.LoadOp)
    return load if load is not None and value.has_one_use() else None


def _layout_for(alloc: ttg.LocalAllocOp, load: tt.LoadOp, warps: int, lanes_along_k: int) -> Blocked | None:
    """The layout without collisions, if the buffer is contiguous along the other dimension than the load."""
    buffer, type_ = alloc.results[0].type, load.results[0].type
    if not isinstance(buffer, ttg.MemDescType) or not instance_of(type_, TensorType) or element_bits(type_) != _BITS:
        return None
    shared, loaded = ttg.layout_of(buffer), ttg.layout_of(type_)
    if not isinstance(shared, NVMMAShared) or not isinstance(loaded, Blocked) or len(type_.get_shape()) != 2:
        return None
    along_k = 0 if shared.transposed else 1
    along_n = 1 - along_k
    lanes_along_n = WARP_SIZE // lanes_along_k
    shape = type_.get_shape()
    if loaded.order[0] != along_n or shape[along_n] < lanes_along_n or shape[along_k] < lanes_along_k or loaded.cga:
        return None
    across = min(warps, shape[along_n] // lanes_along_n)
    threads, warps_of = [1, 1], [1, 1]
    threads[along_n], threads[along_k] = lanes_along_n, lanes_along_k
    warps_of[along_n], warps_of[along_k] = across, warps // across
    return Blocked((1, 1), tuple(threads), tuple(warps_of), (along_n, along_k), loaded.cga_layout)
