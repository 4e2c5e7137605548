"""`optimize-amd-lds-usage`: where a kernel needs more LDS than there is, conversions of layouts go by way of a layout between.

    %1 = ttg.convert_layout %0 : #mma -> #blocked          128x128 elements of LDS
becomes
    %2 = ttg.convert_layout %0 : #mma -> #between          32x128
    %1 = ttg.convert_layout %2 : #between -> #blocked      128x32

A conversion needs as much LDS as both layouts hold at once. The layout between is that of the source, of the result or a plain one, with the waves
arranged otherwise. Triton can also pad a conversion's scratch in place of swizzling it, and marks conversions for that; this compiler's lowering does not.
Counterpart of OptimizeLDSUsage.cpp and OptimizeLDSUtility.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import ClassVar, NamedTuple, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, UnitAttr

from minitriton.analysis.shared_memory.allocation import FunctionAllocation, allocate
from minitriton.analysis.shared_memory.liveness import intersects
from minitriton.analysis.shared_memory.scratch_size import triton_scratch_bytes
from minitriton.dialects import ttg
from minitriton.dialects.facts.launch import num_warps, threads_per_warp
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.layouts import properties
from minitriton.layouts.conversion import conversion_scratch_bytes
from minitriton.layouts.encodings import AmdMfma, AmdWmma, Blocked, DistributedEncoding, DotOperand, Slice
from minitriton.layouts.to_linear import linear_encoding_of, to_linear_layout
from minitriton.passes.tensor_layouts import element_bits, layout_of_tensor, with_layout
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.rewriter import Inserter
from minitriton.target.amd import ARCHITECTURES

_PADDED = "amdg.use_padded_scratch_shmem"
_WIDEST_BITS = 128


@register_pass
class OptimizeLdsUsage(Pass, stage="ttgir", origin="triton"):
    """Splits conversions that do not fit into LDS."""

    name: ClassVar[str] = "optimize-amd-lds-usage"
    acts_on = frozenset({ttg.ConvertLayoutOp})
    requires = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE
    target_arch: str = ""
    """LLVM's name of the GPU."""
    lds_limit: int = 0
    """Bytes of LDS; 0: what the GPU has."""
    padding: bool = True
    """Whether scratch may be padded, as Triton's lowering can; Triton also wants a byte to be left."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the conversions that are live when the most LDS is in use."""
        limit = self.lds_limit or ARCHITECTURES[self.target_arch].shared_memory_kib << 10
        found = allocate(op, triton_scratch_bytes)
        if found.total_bytes <= limit:
            return
        for placed in found.functions.values():
            for conversion, room in list(_too_large(placed, limit)):
                _split(conversion, room, limit, self.padding)


def _too_large(placed: FunctionAllocation, limit: int) -> Iterator[tuple[ttg.ConvertLayoutOp, int]]:
    """Conversions with more scratch than there is room for, were all buffers after it moved down, and that room."""
    for conversion in ops_of(placed.function, ttg.ConvertLayoutOp):
        scratch = placed.of_op.get(conversion)
        if scratch is None:
            continue
        used = max(buffer.bytes[1] for buffer in placed.buffers() if intersects(buffer.live, scratch.live))
        room = max(0, scratch.size - (used - limit))
        if scratch.size > room:
            yield conversion, room


class _Way(NamedTuple):
    """A layout between, and the bytes of LDS of the larger conversion with swizzled and with padded scratch."""

    layout: DistributedEncoding
    swizzled: int
    padded: int


def _split(conversion: ttg.ConvertLayoutOp, room: int, limit: int, may_pad: bool) -> None:
    type_ = cast(TensorType, conversion.src.type)
    source, result = layout_of_tensor(conversion.src), layout_of_tensor(conversion.result)
    chosen: _Way | None = None
    least, is_padded = 2 * limit, True
    for way in _ways(conversion, type_, source, result):
        swizzles = not may_pad or way.swizzled < room or way.swizzled < way.padded
        size = way.swizzled if swizzles else way.padded
        fits = size < room or (size == room and not may_pad)
        if fits and ((is_padded != swizzles and size < least) or (is_padded and swizzles)):
            chosen, least, is_padded = way, size, not swizzles
    if chosen is None:
        return
    marked = _PADDED in conversion.attributes
    if is_padded and not marked:
        conversion.attributes[_PADDED] = UnitAttr()
        if _padded_bytes(type_, source, result) <= room:
            return
    elif not is_padded and marked:
        del conversion.attributes[_PADDED]
    at = Inserter.before(conversion)
    between = ttg.ConvertLayoutOp(conversion.src, with_layout(type_, chosen.layout))
    second = ttg.ConvertLayoutOp(at.value(between), conversion.result.type)
    at.insert(second)
    for new in (between, second):
        new.attributes.update(conversion.attributes)
    conversion.result.replace_all_uses_with(second.result)
    conversion.detach()
    conversion.erase()


def _ways(
    conversion: ttg.ConvertLayoutOp, type_: TensorType, source: DistributedEncoding, result: DistributedEncoding
) -> Iterator[_Way]:
    shape, bits = type_.get_shape(), element_bits(type_)
    rank, lanes = len(shape), threads_per_warp(conversion)
    threads = (lanes,) if rank == 1 else (*(1,) * (rank - 2), 8, lanes // 8)
    plain = Blocked((1,) * rank, threads, (1,) * rank, properties.get_order(source, shape), source.cga)
    for warps in _factorizations(num_warps(conversion), rank):
        for layout in (source, result, plain):
            between = with_warps(layout, warps)
            if between is not None:
                pairs = ((source, between), (between, result))
                swizzled = max(conversion_scratch_bytes(*pair, shape, bits) for pair in pairs)
                yield _Way(between, swizzled, max(_padded_bytes(type_, *pair) for pair in pairs))


def _factorizations(number: int, rank: int) -> Iterator[tuple[int, ...]]:
    """A power of two as products of powers of two, the first factors least first."""
    if rank == 1:
        yield (number,)
        return
    first = 1
    while first <= number:
        for rest in _factorizations(number // first, rank - 1):
            yield (first, *rest)
        first *= 2


def with_warps(layout: DistributedEncoding, warps: tuple[int, ...]) -> DistributedEncoding | None:
    """A layout with its waves arranged otherwise; None for a linear one."""
    if isinstance(layout, AmdMfma | AmdWmma | Blocked):
        return replace(layout, warps_per_cta=warps)
    if isinstance(layout, DotOperand):
        parent = with_warps(layout.parent, warps)
        return None if parent is None else replace(layout, parent=parent)
    if isinstance(layout, Slice):
        parent = with_warps(layout.parent, (*warps[: layout.dim], 1, *warps[layout.dim :]))
        return None if parent is None else replace(layout, parent=parent)
    return None


def _padded_bytes(type_: TensorType, source: DistributedEncoding, result: DistributedEncoding) -> int:
    """The scratch of a conversion in rounds, each of what one repetition of both layouts holds, with padded rows."""
    shape, bits = type_.get_shape(), element_bits(type_)
    if conversion_scratch_bytes(source, result, shape, bits) == 0:
        return 0
    tiles = [_tile(layout, shape) for layout in (source, result)]
    rows = [max(min(size, tile[dim]) for tile in tiles) for dim, size in enumerate(shape)]
    elements = prod(rows)
    layouts = [_linear(layout, shape) for layout in (source, result)]
    orders = [properties.get_order(layout, shape) for layout in layouts]
    first, last = orders[1][0], len(rows) - 1
    if len(rows) > 1 and elements != rows[first]:
        held = [
            properties.contig_per_thread(layout, shape)[order[0]] for layout, order in zip(layouts, orders, strict=True)
        ]
        written = held[0] if first == last and orders[0][0] == last else 1
        read = held[1] if first == last else 1
        pad = max(min(width, rows[first], _WIDEST_BITS // bits) for width in (written, read))
        elements = elements // rows[first] * (rows[first] + pad)
    return elements * bits // 8


def _linear(layout: DistributedEncoding, shape: tuple[int, ...]) -> DistributedEncoding:
    return linear_encoding_of(to_linear_layout(layout, shape))


def _tile(layout: DistributedEncoding, shape: tuple[int, ...]) -> list[int]:
    """What one repetition of a layout holds."""
    linear = _linear(layout, shape)
    parts = (properties.size_per_thread, properties.threads_per_warp, properties.warps_per_cta)
    return [prod(part(linear, shape)[dim] for part in parts) for dim in range(len(shape))]
