"""`tt.reduce`: within the thread, within the warp, then through shared memory once, that of the whole cluster if CTAs share the axis.

    tensor<64x128xf32> reduced along 1, 8 registers a thread, 32 lanes and 2 warps along the axis:
    7 additions of vectors (one lane per row the thread holds), 5 butterfly shuffles, a store of one partial result per warp,
    a barrier, and a load of the 2 partial results of each row

The order of combination is Triton's (ReduceOpToLLVM.cpp), so that floating-point sums agree bit for bit: registers in order,
then lanes, CTAs and warps as a butterfly from the highest bit down. One difference: where all lanes keep the result, none fuses its
own product into the sum of two lanes, so that they keep the same number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerType, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from minitriton.analysis.exchangeable import choice, exchangeable
from minitriton.codegen import registers
from minitriton.codegen.lowering.convert_layout import cluster_barrier, in_cta
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.partial_results import by_lanes, combine, scratch_offsets, sharing, single_combiner
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.lowering.shared import load_shared, memory_type, store_shared, to_memory
from minitriton.codegen.lowering.warp_shuffle import shuffle, shuffle_xor
from minitriton.codegen.registers import Constants, Range
from minitriton.codegen.scratch import needs_scratch
from minitriton.codegen.tensor_facts import LayoutFacts, layout_facts
from minitriton.codegen.types import BF16, F16, I1, I8, I32, bit_width, lane_type, scalar_type, vector_type
from minitriton.dialects import arith, tt
from minitriton.dialects.attribute_values import integer, integers
from minitriton.dialects.facts.pass_attributes import INCREASING
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.ttg import layout_of
from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import plan_access
from minitriton.rewriting.constants import constant_attr, number_of

_RANKS = 15
"""All bits that the rank of a CTA in its cluster can have."""


class ReductionPlan(NamedTuple):
    """Where the elements of one result are.

    `steps[j]` are the registers that enter in step j, one for each result the thread takes part in; `lane_bits` and `warp_bits`
    are the bits of the thread's number that run along the axis, `block_bits` those of the CTA's rank in its cluster; `redundant_bits` are
    the bits of a thread's number that must be 0 in the one that speaks for its warp.
    """

    axis: int
    steps: tuple[tuple[int, ...], ...]
    keys: tuple[tuple[int, ...], ...]
    lane_bits: tuple[int, ...]
    warp_bits: tuple[int, ...]
    block_bits: tuple[int, ...]
    redundant_bits: int

    @property
    def warps(self) -> int:
        """Number of partial results of each result in a CTA."""
        return 1 << len(self.warp_bits)

    @property
    def across_warps(self) -> bool:
        """Whether partial results go through shared memory."""
        return bool(self.warp_bits or self.block_bits)


def plan_reduction(facts: LayoutFacts, axis: int) -> ReductionPlan:
    """The plan of a reduction along `axis`."""
    free = facts.free_masks
    steps: dict[tuple[int, ...], list[int]] = {}
    for register, offset in enumerate(facts.offsets):
        if not register & free.get("register", 0):
            steps.setdefault((*offset[:axis], 0, *offset[axis + 1 :]), []).append(register)
    lane_free, warp_free = free.get("lane", 0), free.get("warp", 0)

    def along(dim: str, unused: int) -> tuple[int, ...]:
        bases = facts.layout.bases.get(dim, ())
        bits = [bit for bit, basis in enumerate(bases) if basis[axis] and not unused >> bit & 1]
        return tuple(sorted(bits, key=lambda bit: bases[bit][axis]))

    lane_bits, warp_bits = along("lane", lane_free), along("warp", warp_free)
    redundant_bits = lane_free | sum(1 << bit for bit in lane_bits) | warp_free << len(facts.layout.bases["lane"])
    entering = tuple(zip(*steps.values(), strict=True))
    blocks = along("block", free.get("block", 0))
    return ReductionPlan(axis, entering, tuple(steps), lane_bits, warp_bits, blocks, redundant_bits)


def _facts(type_: Attribute) -> tuple[LayoutFacts, tuple[int, ...]]:
    assert instance_of(type_, TensorType)
    encoding = layout_of(type_)
    assert encoding is not None
    return layout_facts(encoding, type_.get_shape()), type_.get_shape()


@needs_scratch(tt.ReduceOp)
def reduce_scratch(op: tt.ReduceOp) -> int:
    """One partial result per warp along the axis and result, for each operand."""
    facts, shape = _facts(op.operands[0].type)
    plan = plan_reduction(facts, integer(op.axis))
    if not plan.across_warps:
        return 0
    return scratch_offsets(op, _partials(plan, _shape_of_cta(facts, shape)))[-1]


def _shape_of_cta(facts: LayoutFacts, shape: Sequence[int]) -> tuple[int, ...]:
    """What the threads of one CTA reach from their CTA's first element: in their shared memory there is no room for more."""
    if not any(map(any, facts.block_bases)):
        return tuple(shape)
    reached = [0] * len(shape)
    for name in ("register", "lane", "warp"):
        for basis in facts.layout.bases.get(name, ()):
            reached = [a | b for a, b in zip(reached, basis, strict=True)]
    return tuple(1 << bits.bit_length() for bits in reached)


def _partials(plan: ReductionPlan, shape: Sequence[int]) -> int:
    """How many partial results of one operand a CTA has."""
    return plan.warps * prod(size for dim, size in enumerate(shape) if dim != plan.axis)


@lowers(tt.ReduceOp)
def reduce(f: FunctionLowering, op: tt.ReduceOp) -> None:
    source = f.facts(op.operands[0].type)
    plan = plan_reduction(source.layout, integer(op.axis))
    if any(sum(map(bool, source.layout.block_bases[bit])) > 1 for bit in plan.block_bits):
        help = "give the operand a layout whose CTAs share one dimension with each bit of their number"
        raise f.unsupported(op, "CTAs that differ in one bit differ along the axis and another dimension", help=help)
    partial = _within_thread(f, op, plan)
    partial = _within_warp(f, op, plan, partial)
    if plan.across_warps:
        _across_warps(f, op, plan, partial, _shape_of_cta(source.layout, source.shape))
        return
    for result, value in zip(op.results, partial, strict=True):
        f.values[result] = _placed(f, result, value, plan)


def _within_thread(f: FunctionLowering, op: Operation, plan: ReductionPlan) -> list[SSAValue]:
    increasing = _increasing(f, op, plan)
    if increasing == (1,) and (chosen := _chosen(f, op, plan)) is not None:
        return chosen
    vectors = [f.vector(operand) for operand in op.operands]
    scalars = [known for vector in vectors if (known := f.b.scalars_of(vector)) is not None]
    if len(scalars) == len(vectors):
        return _of_scalars(f, op, plan, scalars, increasing)
    total = [f.b.permute(vector, plan.steps[0]) for vector in vectors]
    for step in plan.steps[1:]:
        total = combine(f, op, total, [f.b.permute(vector, step) for vector in vectors], increasing)
    return total


def _increasing(f: FunctionLowering, op: Operation, plan: ReductionPlan) -> tuple[int, ...]:
    """The operands where what was combined so far is less than the next element: `minitriton-ordered-indices` says that they increase
    along the axis, and the thread goes along it."""
    noted = op.attributes.get(INCREASING)
    if noted is None:
        return ()
    offsets = f.facts(op.operands[0].type).layout.offsets
    positions = [[offsets[register][plan.axis] for register in step] for step in plan.steps]
    goes_along = all(a < b for step, later in pairwise(positions) for a, b in zip(step, later, strict=True))
    return integers(noted) if goes_along else ()


# A number and its index, chosen by a comparison. The index of what was combined so far is lower, so that any grouping of neighbours chooses the same:
# four chains of neighbours do not wait for each other. Where NaN takes no part (`minitriton-nan-in-argmax`), only what a chain begins with is made a number:
# of later elements a comparison that is true of NaN leaves it out. 16 bits that become 32 do so after the choice, and an index is an offset, a constant.
#
#     m = maxnum(x0, -inf);  m >= maxnum(x1, -inf) ? (m, at) : (maxnum(x1, -inf), base | 1)      =>      m uge x1 ? (m, at) : (x1, 1)
#
# Register by register: numbers of 16 bits that are compared in pairs would have to be put together and taken apart for each choice.

CHAINS = 4
"""Of a thread. With 1 and 2 an argmax of 2 rows of 8192 took 106 and 104 registers, with 4 and 8 80; a choice waits for the one before 10 cycles or so."""
SHORTEST_CHAIN = 4


class _Choice(NamedTuple):
    """By what a reduction chooses: a comparison; the numbers, which may have fewer bits than its operand's; whether NaN among them is to be left out."""

    by: str
    numbers: SSAValue
    skips_nan: bool

    @classmethod
    def of(cls, f: FunctionLowering, op: Operation) -> _Choice | None:
        """None if `op` does not choose, or NaN would make the order matter."""
        by, numbers = choice(op), op.operands[0]
        made = numbers.op if isinstance(numbers, OpResult) else None
        if by is None:
            return None
        if isinstance(scalar_type(numbers.type), IntegerType) or isinstance(made, arith.SIToFPOp | arith.UIToFPOp):
            return cls(by, numbers, False)
        if not isinstance(made, arith.MaxnumfOp | arith.MinnumfOp):
            return None
        extreme = -math.inf if made.__class__ is arith.MaxnumfOp else math.inf
        if number_of(constant_attr(made.operands[1])) != extreme:
            return None
        if (by[1] == "g") != (extreme < 0) or by[2] != "e":
            return cls(by, numbers, False)
        numbers = made.operands[0]
        widened = numbers.op if isinstance(numbers, OpResult) else None
        if isinstance(widened, arith.ExtFOp):
            narrow = scalar_type(widened.operands[0].type)
            if narrow is F16 or (narrow is BF16 and f.module.target.has_bf16_arithmetic):
                numbers = widened.operands[0]
        return cls(by, numbers, True)

    def first(self, f: FunctionLowering, number: SSAValue) -> SSAValue:
        """What a chain begins with."""
        if not self.skips_nan:
            return number
        is_most = self.by[1] == "g"
        limit = f.b.constant(number.type, -math.inf if is_most else math.inf)
        return f.b.overloaded("llvm.maxnum" if is_most else "llvm.minnum", (number, limit))

    def taken(self, f: FunctionLowering, op: Operation, a: list[SSAValue], b: list[SSAValue]) -> list[SSAValue]:
        """Number and index of `a`, whose index is lower, or of `b`."""
        if isinstance(a[0].type, IntegerType):
            return combine(f, op, a, b, (1,))
        is_first = f.b.fcmp(("u" if self.skips_nan else "o") + self.by[1:], a[0], b[0])
        return [f.b.select(is_first, x, y) for x, y in zip(a, b, strict=True)]


def _chosen(f: FunctionLowering, op: Operation, plan: ReductionPlan) -> list[SSAValue] | None:
    """Numbers and indices of a reduction that chooses, within the thread; None of another one."""
    found = _Choice.of(f, op)
    if found is None:
        return None
    numbers, indices = f.b.unpack(f.vector(found.numbers)), f.values[op.operands[1]]
    offsets = Constants(indices.offsets, indices.element_type) if isinstance(indices, Range) else indices
    length = max(len(plan.steps) // CHAINS, SHORTEST_CHAIN)

    def chain(row: Sequence[int]) -> list[SSAValue]:
        total = [found.first(f, numbers[row[0]]), registers.element(f.b, offsets, row[0])]
        for register in row[1:]:
            total = found.taken(f, op, total, [numbers[register], registers.element(f.b, offsets, register)])
        return total

    rows: list[list[SSAValue]] = []
    for row in zip(*plan.steps, strict=True):
        first, *others = [chain(row[start : start + length]) for start in range(0, len(row), length)]
        for other in others:
            first = found.taken(f, op, first, other)
        number, index = first
        if isinstance(indices, Range):
            index = indices.moved(f.b, index)
        wide = scalar_type(op.operands[0].type)
        rows.append([number if number.type is wide else f.b.cast(L.FPExtOp, number, wide), index])
    return [f.b.pack(column) for column in zip(*rows, strict=True)]


def _of_scalars(
    f: FunctionLowering,
    op: Operation,
    plan: ReductionPlan,
    scalars: Sequence[Sequence[SSAValue]],
    increasing: Sequence[int],
) -> list[SSAValue]:
    """The same register by register, in the same order."""
    totals = [[held[register] for held in scalars] for register in plan.steps[0]]
    for step in plan.steps[1:]:
        entering = [[held[register] for held in scalars] for register in step]
        totals = [combine(f, op, total, more, increasing) for total, more in zip(totals, entering, strict=True)]
    return [f.b.pack(column) for column in zip(*totals, strict=True)]


_REDUX: OpRules[str] = OpRules()
_REDUX.update(
    {
        arith.AddiOp: "add",
        arith.AndIOp: "and",
        arith.OrIOp: "or",
        arith.XOrIOp: "xor",
        arith.MinSIOp: "min",
        arith.MinUIOp: "umin",
        arith.MaxSIOp: "max",
        arith.MaxUIOp: "umax",
    }
)


def _within_warp(f: FunctionLowering, op: Operation, plan: ReductionPlan, values: list[SSAValue]) -> list[SSAValue]:
    if len(plan.lane_bits) == f.module.lane_bits:
        kind = _redux_kind(f, op)
        if kind is not None:
            return [_redux(f, values[0], kind)]
        if f.module.info.reduced_lanes == 1 << f.module.lane_bits and exchangeable(op):
            return f.module.info.reduce_warp(f.b, values, lambda first, second: combine(f, op, first, second))
    for bit in reversed(plan.lane_bits):
        others = [shuffle_xor(f, value, 1 << bit) for value in values]
        if plan.across_warps:
            # One lane speaks for its warp.
            values = combine(f, op, values, others)
            continue
        # All lanes keep the result, and must keep the same: fma(x, x, y*y) of one is not fma(y, y, x*x) of another.
        with f.b.never_fused():
            values = combine(f, op, values, others)
    if plan.lane_bits and not plan.across_warps and not exchangeable(op):
        # Lanes that combined the same two numbers in another order may have another one: the mean of Welford's algorithm rounds
        # differently, the index of equal numbers may be either's. The first lane's holds, as Triton has it in that lane.
        along = sum(1 << bit for bit in plan.lane_bits)
        first = f.b.and_(f.lane_id(), f.b.i32(~along & (1 << f.module.lane_bits) - 1))
        values = [shuffle(f, value, first, "idx") for value in values]
    return values


def _redux_kind(f: FunctionLowering, op: Operation) -> str | None:
    inner = single_combiner(op)
    if inner is None or not f.module.target.has_redux:
        return None
    type_ = inner.results[0].type
    return _REDUX.of(inner) if instance_of(type_, IntegerType) and type_.width.data <= 32 else None


def _redux(f: FunctionLowering, value: SSAValue, kind: str) -> SSAValue:
    results: list[SSAValue] = []
    for lane in f.b.unpack(value):
        narrow = lane.type is not I32
        word = f.b.cast(L.SExtOp if kind in ("min", "max") else L.ZExtOp, lane, I32) if narrow else lane
        reduced = f.module.info.warp_reduce(f.b, kind, word)
        results.append(f.b.cast(L.TruncOp, reduced, lane.type) if narrow else reduced)
    return f.b.pack(results)


def _placed(f: FunctionLowering, result: SSAValue, value: SSAValue, plan: ReductionPlan) -> registers.Registers:
    """One value per key, as the registers of the result."""
    if not instance_of(result.type, TensorType):
        return value
    facts = f.facts(result.type)
    positions = {key: position for position, key in enumerate(plan.keys)}
    axis = plan.axis
    indices = [positions[(*offset[:axis], 0, *offset[axis:])] for offset in facts.layout.offsets]
    return registers.permuted(value, indices, facts.element)


# Across warps ---------------------------------------------------------------------------------------------------------


def _across_warps(
    f: FunctionLowering, op: Operation, plan: ReductionPlan, partial: list[SSAValue], shape: Sequence[int]
) -> None:
    """Every warp stores its partial results; every thread combines those that it needs, or each lane some of them."""
    source = f.facts(op.operands[0].type).layout
    order = _memory_order(source, plan, shape)
    results = 1
    for dim in order:
        results *= shape[dim]
    offsets = scratch_offsets(op, _partials(plan, shape))
    base = f.scratch(op)
    is_writer = f.zero_in(plan.redundant_bits)
    for value, at in zip(partial, offsets, strict=False):
        stored = to_memory(f, value)
        access = plan_access(_write_layout(source, plan, order, shape, results), bit_width(lane_type(stored.type)))
        store_shared(f, access, stored, base, at, is_writer)
    bases = _bases_in_cluster(f, plan, base)
    shared = None
    if not plan.block_bits:
        shared = sharing(f.module.info, op, f.module.lane_bits, plan.redundant_bits, plan.warps, len(plan.keys))
    if shared is not None:
        written = _write_layout(source, plan, order, shape, results)
        values = by_lanes(f, op, shared, written, plan.warp_bits, base, offsets)
        for result, value in zip(op.results, values, strict=True):
            f.values[result] = _placed(f, result, value, plan)
        return
    loaded: list[list[SSAValue]] = []
    for operand, result, at in zip(op.operands, op.results, offsets, strict=False):
        partials = [_load_partials(f, operand, result, plan, order, shape, results, b, at) for b in bases]
        loaded.append([value for of_cta in partials for value in of_cta])
    if plan.block_bits:
        cluster_barrier(f)
    rows = list(zip(*loaded, strict=True))
    while len(rows) > 1:
        half = len(rows) // 2
        rows = [combine(f, op, first, second) for first, second in zip(rows[:half], rows[half:], strict=True)]
    for result, value in zip(op.results, rows[0], strict=True):
        f.values[result] = value


def _bases_in_cluster(f: FunctionLowering, plan: ReductionPlan, base: SSAValue) -> list[SSAValue]:
    """Waits for the partial results; where those of each CTA along the axis begin."""
    if not plan.block_bits:
        f.barrier()
        return [base]
    cluster_barrier(f)
    along = sum(1 << bit for bit in plan.block_bits)
    others = f.b.and_(f.cluster_rank(), f.b.i32(~along & _RANKS))
    return [in_cta(f, base, f.b.or_(others, f.b.i32(rank))) for rank in f2.span([1 << bit for bit in plan.block_bits])]


def _memory_order(facts: LayoutFacts, plan: ReductionPlan, shape: Sequence[int]) -> list[int]:
    """The dimensions of the results as they are in memory, fastest first: as the registers of a thread run."""
    order: list[int] = []
    for dim_name in ("register", "lane", "warp"):
        for basis in facts.layout.bases.get(dim_name, ()):
            order += [d for d, v in enumerate(basis) if v and d != plan.axis and d not in order]
    return order + [d for d in range(len(shape)) if d != plan.axis and d not in order]


def _flat(coordinates: Sequence[int], order: Sequence[int], shape: Sequence[int]) -> int:
    flat, stride = 0, 1
    for dim in order:
        flat += coordinates[dim] * stride
        stride *= shape[dim]
    return flat


def _write_layout(
    facts: LayoutFacts, plan: ReductionPlan, order: Sequence[int], shape: Sequence[int], results: int
) -> LinearLayout:
    """From the thread's partial results (`register` is the key), lane and warp to the offset in memory."""
    key_bits = len(plan.keys).bit_length() - 1
    bases: dict[str, list[tuple[int, ...]]] = {
        "register": [(_flat(plan.keys[1 << bit], order, shape),) for bit in range(key_bits)],
        "lane": [(_flat(basis, order, shape),) for basis in facts.layout.bases["lane"]],
        "warp": [],
    }
    for bit, basis in enumerate(facts.layout.bases["warp"]):
        position = results << plan.warp_bits.index(bit) if bit in plan.warp_bits else 0
        bases["warp"].append((position + _flat(basis, order, shape),))
    return LinearLayout(bases, {"offset": results * plan.warps})


def _load_partials(
    f: FunctionLowering,
    operand: SSAValue,
    result: SSAValue,
    plan: ReductionPlan,
    order: Sequence[int],
    shape: Sequence[int],
    results: int,
    base: SSAValue,
    at: int,
) -> list[SSAValue]:
    """For each warp along the axis its partial results for this thread's registers of the result."""
    element = scalar_type(operand.type)
    kept = memory_type(element)
    size = bit_width(kept) // 8
    if not instance_of(result.type, TensorType):
        values = _load_row(f, kept, plan.warps, base, at)
    else:
        facts = f.facts(result.type).layout
        bases = {
            dim: [(_flat((*b[: plan.axis], 0, *b[plan.axis :]), order, shape),) for b in facts.layout.bases[dim]]
            for dim in ("register", "lane", "warp")
        }
        access = plan_access(LinearLayout(bases, {"offset": results}), bit_width(kept))
        values = [load_shared(f, access, kept, base, at + w * results * size) for w in range(plan.warps)]
    return [f.b.cast(L.TruncOp, value, I1) if element is I1 else value for value in values]


def _load_row(f: FunctionLowering, element: Attribute, count: int, base: SSAValue, at: int) -> list[SSAValue]:
    """`count` neighbours, in loads as wide as can be."""
    size = bit_width(element) // 8
    width = min(count, 16 // size)
    values: list[SSAValue] = []
    for first in range(0, count, width):
        pointer = f.b.gep(base, at + first * size, I8, inbounds=True)
        values += f.b.unpack(f.b.load(pointer, vector_type(element, width), width * size))
    return values
