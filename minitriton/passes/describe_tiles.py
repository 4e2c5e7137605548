"""`minitriton-describe-tiles`: tiles that a loop's dots load through pointers are loaded through tensor descriptors.

    func(%a: ptr, %m, %k, %stride, ...)                 func(..., %tile: tensordesc<tensor<128x64xf16>>)
    scf.for %i iter_args(%p = %p0) {                    scf.for %i {
      %x = tt.load %p, %mask                     =>       %x = tt.descriptor_load %tile[%row, 64 * %i]
      %p1 = tt.addptr %p, 64

In: TTIR of a kernel whose parameters are pointers and numbers. Out: where every tile that a loop's dots read is a `Box`, descriptors as further
parameters, and in the module's attribute `minitriton.described_tiles` (JSON) how a launch makes them of the others: base, sizes and strides as polynomials of
the parameters, and what must hold of these. Where it does not (a size that the tile does not divide, for addresses `% size`; an address that is not aligned),
the launch takes the kernel without this pass.

A copy of a descriptor's box is one instruction of one thread, for which the others neither compute addresses nor wait at a barrier of the CTA: plain
attention of 128 features ran at 1.27 times its speed (8,192 keys), plain matmuls of 8192x8192x8192 at 1.05 (one H100, 2026-11-28).
Loops stay as they are where the program may have written something before, which copies see only after a proxy fence, and where a row of the box
may begin elsewhere than at a multiple of 16 bytes, which is an illegal instruction. A box that begins before its array reads zeros, so starts must not be negative: they are sums and products of program numbers, loop
variables and parameters (which the launch checks); a quotient is taken to have a positive divisor.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    i32,
)
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.integer_range.analysis import IntegerRangeAnalysis
from minitriton.analysis.tile_addresses import Atom, Box, Polynomial, Remainder, TileAddresses
from minitriton.dialects import arith, tt
from minitriton.dialects.facts import Division
from minitriton.dialects.facts.pass_attributes import DESCRIBED_TILES
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType, TensorDescType, element_type, shape_of, tensor_type
from minitriton.passes.fuse_nested_loops.speculation import WARP_SPECIALIZE
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.effects import own_effects
from minitriton.rewriting.regions import erase_dead_ops
from minitriton.rewriting.rewriter import Inserter
from minitriton.target.architectures import WARP_SIZE
from minitriton.target.tensor_map import GRAIN, MOST_DIMS

_OF_DESCRIPTORS = frozenset({Property.NO_DESCRIPTORS, Property.DESCRIPTOR_LAYOUTS, Property.DESCRIPTORS_LOWERED})
"""What new descriptors end."""
MOST_TILES = 8
"""Descriptors of a kernel."""
LEAST_ROWS = 64
"""Of a dot by `wgmma`, which four warps share."""
MOST_RESULTS = 128
"""Elements of a dot's result a thread."""
SWIZZLED_ROW = 128
"""Bytes of the longest row that a copy swizzles."""


@register_pass
class DescribeTiles(Pass, stage="ttgir"):
    """Loads the operands of dots in loops through descriptors that the launch makes.

    `num_warps`: of a CTA, by which results of dots are shared.
    """

    name: ClassVar[str] = "minitriton-describe-tiles"
    acts_on = frozenset({tt.DotOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE - _OF_DESCRIPTORS
    num_warps: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module's only function."""
        functions = ops_of(op, tt.FuncOp)
        if len(functions) != 1 or len(functions[0].body.blocks) != 1:
            return
        arguments = functions[0].body.block.args
        if all(instance_of(each.type, IntegerType | AnyFloat | PointerType) for each in arguments):
            _Rewriting(op, functions[0], self.num_warps).run()


class _Rewriting:
    def __init__(self, module: ModuleOp, function: tt.FuncOp, num_warps: int) -> None:
        self.module, self.function, self.num_warps = module, function, num_warps
        self.parameters: dict[SSAValue, int] = {value: index for index, value in enumerate(function.body.block.args)}
        self.addresses = TileAddresses(frozenset(self.parameters))
        self.ranges, self.axes = IntegerRangeAnalysis(module), AxisInfoAnalysis(module)
        self.least: set[SSAValue] = set()
        """Parameters that must not be negative."""
        self.descriptors: dict[str, BlockArgument] = {}
        """By recipe."""

    def run(self) -> None:
        found: dict[tt.LoadOp, Box] = {}
        for loop in ops_of(self.function, scf.ForOp):
            summed = _operand_loads(loop)
            boxes = {load: box for load, axis in summed.items() if (box := self._described(load, axis)) is not None}
            is_whole = len(boxes) == len(summed) and not self._may_write_before(loop)
            if is_whole and not (_fills_registers(loop, self.num_warps) and _has_short_rows(boxes, summed)):
                found |= boxes
        recipes = {json.dumps(self._recipe(box)): None for box in found.values()}
        if not 0 < len(recipes) <= MOST_TILES:
            return
        for load, box in found.items():
            self._replace(load, box)
        remainders = {each for box in found.values() for each in _remainders(box)}
        conditions = {
            "multiples": sorted({(self.parameters[each.divisor], each.size) for each in remainders}),
            "least": sorted(self.parameters[each] for each in self.least),
        }
        tiles = [json.loads(recipe) for recipe in self.descriptors]
        self.module.attributes[DESCRIBED_TILES] = StringAttr(json.dumps({"tiles": tiles, **conditions}))
        erase_dead_ops(self.function)

    def _described(self, load: tt.LoadOp, summed: int) -> Box | None:
        """The load's box, if a tensor map can describe it and its start is not negative. `summed`: the axis that the dot sums over, along which
        `wgmma` wants all operands but those of 16 bits."""
        width = _element_bytes(load)
        if load.is_volatile.value.data or width is None:
            return None
        box = self.addresses.box(load, lambda value: self._is_aligned(value, 1, width))
        if box is None or len(box.dims) > MOST_DIMS or not self._is_aligned(box.base, 1, 1):
            return None
        shape = shape_of(load.result.type)
        for dim in box.dims[:-1]:
            ((factors, scale),) = dim.stride.items()
            if not all(isinstance(f, SSAValue) and f in self.parameters for f in factors):
                return None
            if scale * width % GRAIN and not any(self._is_aligned(f, scale, width) for f in factors):
                return None
        inner = box.dims[-1].axis
        assert inner is not None
        if (
            shape[inner] * width < GRAIN
            or (width != 2 and inner != summed)
            or not self._begins_at_grain(box.dims[-1].start, width)
            or not all(self._is_start(dim.start) for dim in box.dims)
        ):
            return None
        return box

    def _is_aligned(self, value: Atom, scale: int, width: int) -> bool:
        """Whether `scale * value` elements are a whole number of the copies' grains, by the parameter's promise."""
        attributes = self.function.arg_attrs
        if attributes is None or not isinstance(value, SSAValue) or value not in self.parameters:
            return False
        divisor = attributes.data[self.parameters[value]].data.get("tt.divisibility")
        return instance_of(divisor, IntegerAttr) and divisor.value.data * scale * width % GRAIN == 0

    def _begins_at_grain(self, start: Polynomial, width: int) -> bool:
        """Whether a box's first element along a row is at a multiple of 16 bytes, without which the copy is an illegal instruction."""

        def divisor(factor: Atom) -> int:
            return factor.size if isinstance(factor, Remainder) else self.axes.get(factor).divisibility[0]

        return all(c * prod(map(divisor, product)) * width % GRAIN == 0 for product, c in start.items())

    def _is_start(self, start: Polynomial) -> bool:
        return all(c > 0 and all(self._is_non_negative(factor) for factor in product) for product, c in start.items())

    def _is_non_negative(self, value: Atom, depth: int = 24) -> bool:
        if isinstance(value, Remainder):
            return self._is_start(value.dividend)
        if value in self.parameters:
            self.least.add(value)
            return True
        if self.ranges.get(value).is_non_negative:
            return True
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            return isinstance(loop, scf.ForOp) and value.index == 0 and self._is_non_negative(loop.operands[0])
        op = value.op if isinstance(value, OpResult) else None
        if op is None or not depth:
            return False
        known = (self._is_non_negative(operand, depth - 1) for operand in op.operands)
        if isinstance(op, arith.AddiOp | arith.MuliOp | arith.MinSIOp | arith.ExtSIOp):
            return all(known)
        if isinstance(op, arith.MaxSIOp):
            return any(known)
        return Division.of(op) is not None and next(known)

    def _may_write_before(self, loop: scf.ForOp) -> bool:
        """Whether the program may have written what the loop loads: copies through tensor maps see that only after a proxy fence."""
        block, outermost = self.function.body.block, loop
        while outermost.parent is not block:
            outermost = outermost.parent_op()
            assert outermost is not None
        for op in block.ops:
            if any(_may_write(each) for each in ops_in(op)):
                return True
            if op is outermost:
                return False
        return False

    # Rewriting

    def _replace(self, load: tt.LoadOp, box: Box) -> None:
        """Has `load` go through a descriptor."""
        tile, element = shape_of(load.result.type), element_type(load.result.type)
        axes = [dim.axis for dim in box.dims if dim.axis is not None]
        order = [axis for axis in range(len(tile)) if axis not in axes] + axes
        at = Inserter.before(load)
        starts = [self._number(at, dim.start) for dim in box.dims]
        type_ = tensor_type(tuple(tile[axis] for axis in order), element)
        loaded = at.value(tt.DescriptorLoadOp(self._descriptor(load, box), starts, type_, evict=load.evict.data))
        if order != sorted(order):
            loaded = at.value(tt.TransOp(loaded, order=[order.index(axis) for axis in range(len(tile))]))
        load.result.replace_all_uses_with(loaded)
        load.detach()
        load.erase()

    def _descriptor(self, load: tt.LoadOp, box: Box) -> BlockArgument:
        """The parameter for a box, a new one unless there is one already."""
        recipe = json.dumps(self._recipe(box))
        if recipe in self.descriptors:
            return self.descriptors[recipe]
        block_type = tensor_type(tuple(box.block), element_type(load.result.type))
        type_ = TensorDescType.of_block(block_type, is_signed=True)
        block, function = self.function.body.block, self.function
        added = self.descriptors[recipe] = block.insert_arg(type_, len(block.args))
        added.name_hint = f"tile_{len(self.descriptors) - 1}"
        types = function.function_type
        function.function_type = FunctionType.from_lists([*types.inputs, type_], [*types.outputs])
        if function.arg_attrs is not None:
            function.arg_attrs = ArrayAttr([*function.arg_attrs, DictionaryAttr({})])
        return added

    def _recipe(self, box: Box) -> dict[str, object]:
        """How a launch makes the descriptor of a box."""
        return {
            "base": self.parameters[box.base],
            "sizes": [None if dim.size is None else self._sum(dim.size) for dim in box.dims],
            "strides": [self._sum(dim.stride) for dim in box.dims],
            "block": list(box.block),
        }

    def _sum(self, value: Polynomial) -> list[tuple[int, list[int]]]:
        return [(c, [self.parameters[f] for f in product if isinstance(f, SSAValue)]) for product, c in value.items()]

    def _number(self, at: Inserter, value: Polynomial) -> SSAValue:
        """Ops that compute `value` in 32 bits."""
        total: SSAValue | None = None
        for product, coefficient in value.items():
            term: SSAValue | None = None if coefficient != 1 or not product else self._factor(at, product[0])
            for factor in product[term is not None :]:
                number = self._factor(at, factor)
                term = number if term is None else at.value(arith.MuliOp(term, number))
            if coefficient != 1 or term is None:
                scale = at.integer(i32, coefficient)
                term = scale if term is None else at.value(arith.MuliOp(term, scale))
            total = term if total is None else at.value(arith.AddiOp(total, term))
        return at.integer(i32, 0) if total is None else total

    def _factor(self, at: Inserter, factor: Atom) -> SSAValue:
        if isinstance(factor, Remainder):
            return at.value(arith.RemSIOp(self._number(at, factor.dividend), factor.divisor))
        return factor if factor.type == i32 else at.value(arith.TruncIOp(factor, i32))


def _operand_loads(loop: scf.ForOp) -> dict[tt.LoadOp, int]:
    """The loads in the loop's body whose tiles its dots read as they are, or transposed, each with the axis that is summed over. None where a
    dot is too small for `wgmma`, where another tile is loaded too, and where the loop's warps share its work otherwise."""
    found: dict[tt.LoadOp, int] = {}
    if WARP_SPECIALIZE in loop.attributes:
        return {}
    ops = list(loop.body.block.ops)
    for dot in (op for op in ops if isinstance(op, tt.DotOp)):
        if len(shape := shape_of(dot.result.type)) != 2 or shape[0] < LEAST_ROWS:
            return {}
        for operand, summed in ((dot.a, 1), (dot.b, 0)):
            op = operand.op if isinstance(operand, OpResult) else None
            if isinstance(op, tt.TransOp):
                op, summed = op.src.op if isinstance(op.src, OpResult) else None, 1 - summed
            if isinstance(op, tt.LoadOp) and op.parent is loop.body.block and isinstance(op.result.type, TensorType):
                found[op] = summed
    tiles = (op for op in ops if isinstance(op, tt.LoadOp) and isinstance(op.result.type, TensorType))
    return found if all(load in found or _is_vector(load) for load in tiles) else {}


def _fills_registers(loop: scf.ForOp, num_warps: int) -> bool:
    """Whether a dot's result takes half of a thread's registers: few CTAs are on an SM then, and hide little of the time of a copy."""
    results = (op.result.type for op in loop.body.block.ops if isinstance(op, tt.DotOp))
    return any(prod(shape_of(each)) >= MOST_RESULTS * WARP_SIZE * num_warps for each in results)


def _has_short_rows(boxes: Mapping[tt.LoadOp, Box], summed: Mapping[tt.LoadOp, int]) -> bool:
    """Whether one operand's rows along K have less than 128 bytes, and those of another are across K.

    Copies of such tiles are slower than `cp.async`: bf16 matmuls in steps of 32, tiles of 256x128 and 128x256 by 8 warps, 0.92 to 0.96 of the speed
    by pointers in 12 of 15 (with both along K 1.01 to 1.12; with steps of 64 0.96 to 1.06; one H200, 2026-11-28).
    """
    along = [load for load, box in boxes.items() if box.dims[-1].axis == summed[load]]
    short = (load for load in along if boxes[load].block[-1] * (_element_bytes(load) or 0) < SWIZZLED_ROW)
    return len(along) < len(boxes) and any(short)


def _may_write(op: Operation) -> bool:
    effects = own_effects(op)
    return effects is None or any(effect.kind is MemoryEffectKind.WRITE for effect in effects)


def _is_vector(load: tt.LoadOp) -> bool:
    return sum(size > 1 for size in shape_of(load.result.type)) < 2


def _remainders(box: Box) -> Iterator[Remainder]:
    for dim in box.dims:
        yield from _remainders_in(dim.start)


def _remainders_in(value: Polynomial) -> Iterator[Remainder]:
    for product in value:
        for factor in product:
            if isinstance(factor, Remainder):
                yield factor
                yield from _remainders_in(factor.dividend)


def _element_bytes(load: tt.LoadOp) -> int | None:
    """None for elements that no tensor map has."""
    element = element_type(load.result.type)
    width = element.width.data if instance_of(element, IntegerType) else getattr(element, "bitwidth", 0)
    return width // 8 if width in (8, 16, 32) and prod(shape_of(load.result.type)) > 1 else None
