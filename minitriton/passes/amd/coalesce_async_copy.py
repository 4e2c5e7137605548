"""`tritonamdgpu-coalesce-async-copy`: the lanes of a wave copy to neighbouring bytes of LDS, as the instructions do.

    sizePerThread = [1, 16], copies of 16 bytes of fp16      =>      sizePerThread = [1, 8]
    a padded buffer whose rows are reordered                 =>      a linear layout whose lanes follow the buffer

For swizzled buffers only a thread's runs are shortened: lanes ask each other for addresses. Counterpart of CoalesceAsyncCopy.cpp of AMD.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32

from minitriton.analysis.access_width import neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import pointee_bits
from minitriton.dialects import ttg
from minitriton.dialects.facts.launch import num_warps, threads_per_warp
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.layouts import f2
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import Blocked, DistributedEncoding, Linear, PaddedShared, SwizzledShared
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.properties import contig_per_thread
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.layouts.wave_copy import SIZES
from minitriton.passes.tensor_layouts import convert_before, layout_of_value, shape_of
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
class CoalesceAsyncCopyOnAMD(Pass, stage="ttgir", origin="triton"):
    """Gives copies to LDS layouts whose lanes write next to each other."""

    name: ClassVar[str] = "tritonamdgpu-coalesce-async-copy"
    acts_on = frozenset({ttg.AsyncCopyGlobalToLocalOp})
    requires = frozenset({Property.ENCODINGS})
    arch_generation_name: str = ""
    """LLVM's name of the GPU."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert the operands of all copies that need it."""
        sizes = SIZES.get(self.arch_generation_name)
        copies = list(ops_of(op, ttg.AsyncCopyGlobalToLocalOp)) if sizes else []
        facts = AxisInfoAnalysis(op) if copies else None
        for copy in copies:
            assert facts is not None and sizes is not None
            found = _layout_for(copy, facts, sizes)
            if found is None:
                continue
            layout, run = found
            for index, operand in enumerate(operand_values(copy)):
                if isinstance(operand.type, TensorType):
                    copy.operands[index] = convert_before(copy, operand, layout)
            copy.properties["contiguity"] = IntegerAttr(run, i32)


def _layout_for(
    copy: ttg.AsyncCopyGlobalToLocalOp, facts: AxisInfoAnalysis, sizes: tuple[int, ...]
) -> tuple[DistributedEncoding, int] | None:
    """The layout of the source, and how many elements a lane copies at once; None where the lanes write next to each other, or cannot."""
    layout, shape = layout_of_value(copy.src), shape_of(copy.src)
    assert isinstance(copy.destination.type, ttg.MemDescType)
    buffer, bits = ttg.layout_of(copy.destination.type), pointee_bits(copy.src.type)
    if not isinstance(layout, Blocked) or not isinstance(buffer, SwizzledShared | PaddedShared):
        return None
    map_ = to_linear_layout(layout, shape).invert_and_compose(to_linear_layout(buffer, shape))
    known = neighbours(facts, copy.src, copy.mask, most=1 << 20).width
    run = min(known, map_.get_num_consecutive_in_out())
    run = max((8 * size // bits for size in sizes if 0 < 8 * size // bits <= run), default=0)
    lanes = threads_per_warp(copy)
    if run == 0 or _is_coalesced(map_, lanes, run):
        return None
    if isinstance(buffer, PaddedShared):
        new: DistributedEncoding | None = _along_buffer(layout, buffer, shape, run, lanes, num_warps(copy))
    else:
        runs = list(contig_per_thread(layout, shape))
        runs[layout.order[0]] = run
        new = blocked_for_cga(shape, runs, layout.order, num_warps(copy), lanes, layout.cga)
    return None if new is None or new == layout else (new, run)


def _is_coalesced(map_: LinearLayout, lanes: int, run: int) -> bool:
    """Whether each lane writes the `run` elements after those of the lane before, and each wave whole blocks."""
    steps, warps = map_.flat_bases("lane"), map_.flat_bases("warp")
    return (
        map_.get_num_consecutive_in_out() == run
        and all(step == run << bit for bit, step in enumerate(steps))
        and not any(warp % (lanes * run) for warp in warps)
    )


def _along_buffer(
    layout: Blocked, buffer: PaddedShared, shape: tuple[int, ...], run: int, lanes: int, warps: int
) -> Linear | None:
    """The buffer's own order: runs, then lanes, then waves; what is left are more registers."""
    bases = list(buffer.offset)
    first, second, third = f2.log2(run), f2.log2(lanes), f2.log2(warps)
    if len(bases) < first + second:
        return None
    zero = (0,) * len(shape)
    of_warps = bases[first + second : first + second + third]
    registers = (*bases[:first], *bases[first + second + third :])
    new = Linear(
        registers,
        tuple(bases[first : first + second]),
        tuple(of_warps) + (zero,) * (third - len(of_warps)),
        tuple(layout.cga),
        shape=shape,
    )
    map_ = to_linear_layout(new, shape).invert_and_compose(to_linear_layout(buffer, shape))
    return new if map_.get_num_consecutive_in_out() >= run else None
