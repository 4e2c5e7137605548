"""Ops that address a tensor's elements by values: `tt.gather`, `tt.histogram`; and the registers of `ttg.fp4_to_fp`,
`tt.map_elementwise`.

    tt.gather %a[%i] along 0    within warps (`layouts.warp_shuffle`): shuffles for each register of %i
                                else the whole of %a to shared memory, a barrier, one load for each register of %i
"""

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.casts import resized
from minitriton.codegen.lowering.control_flow import lower_returning
from minitriton.codegen.lowering.function import FunctionLowering, bit_sum
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.lowering.shared import from_memory, load_shared, memory_type, store_shared, to_memory
from minitriton.codegen.lowering.warp_shuffle import shuffle
from minitriton.codegen.scratch import needs_scratch
from minitriton.codegen.tensor_facts import LayoutFacts, TensorFacts, flat_offsets
from minitriton.codegen.types import F16, I16, I32, bit_width, lanes, scalar_type, vector_type
from minitriton.dialects import llvm as ours
from minitriton.dialects import tt, ttg
from minitriton.dialects.attribute_values import string_attr
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.memory import plan_access
from minitriton.layouts.warp_shuffle import WarpGather, plan_warp_gather


def _elements(type_: object) -> int:
    assert isinstance(type_, TensorType)
    count = 1
    for size in type_.get_shape():
        count *= size
    return count


def _own_threads(f: FunctionLowering, facts: LayoutFacts) -> SSAValue | None:
    """True in one of the threads of a block that hold the same elements."""
    return f.zero_in(f.free_thread_mask(facts))


def _warp_gather(op: tt.GatherOp) -> WarpGather | None:
    source, indices = (
        TensorFacts(operand.type).layout.layout for operand in op.operands if instance_of(operand.type, TensorType)
    )
    return plan_warp_gather(source, indices, _axis(op))


def _axis(op: tt.GatherOp) -> int:
    assert isinstance(op.axis, IntegerAttr)
    return op.axis.value.data


@needs_scratch(tt.GatherOp)
def gather_scratch(op: tt.GatherOp) -> int:
    """The whole source, unless warps gather from their own lanes."""
    if _warp_gather(op) is not None:
        return 0
    type_ = op.operands[0].type
    return _elements(type_) * bit_width(memory_type(scalar_type(type_))) // 8


@lowers(tt.GatherOp)
def gather(f: FunctionLowering, op: tt.GatherOp) -> None:
    plan = _warp_gather(op)
    if plan is None:
        _gather_through_memory(f, op)
    else:
        f.values[op.results[0]] = f.b.pack(_gathered(f, op, plan))


def _words_of(f: FunctionLowering, indices: SSAValue) -> list[SSAValue]:
    """The registers of `indices` as 32-bit numbers."""
    return [
        index if (bits := bit_width(index.type)) == 32 else f.b.cast(L.TruncOp if bits > 32 else L.SExtOp, index, I32)
        for index in f.elements(indices)
    ]


def _gathered(f: FunctionLowering, op: tt.GatherOp, plan: WarpGather) -> list[SSAValue]:
    """Each register of the indices: the lane and, of several registers there, the one that its bits choose."""
    b, found = f.b, list[SSAValue]()
    source, indices = op.operands
    elements = f.elements(source)
    own_lane = f.linear_index(plan.thread_lanes, plan.block_lanes)[0]
    for register, index in enumerate(_words_of(f, indices)):
        lane = bit_sum(b, None, 0, index, plan.index_lanes)[0] or b.i32(0)
        for term in (own_lane, b.i32(mask) if (mask := plan.register_lanes[register]) else None):
            lane = lane if term is None else b.xor(lane, term)
        chosen = bit_sum(b, None, 0, index, plan.index_registers)[0]
        first, *others = (
            shuffle(f, elements[plan.first_registers[register] ^ choice], lane, "idx") for choice in plan.choices
        )
        for choice, value in zip(plan.choices[1:], others, strict=True):
            assert chosen is not None
            first = b.select(b.icmp("eq", chosen, b.i32(choice)), value, first)
        found.append(first)
    return found


def _gather_through_memory(f: FunctionLowering, op: tt.GatherOp) -> None:
    b = f.b
    source, indices = op.operands
    result = op.results[0]
    dim = _axis(op)
    facts = f.facts(source.type)
    f.require_one_cta(op, source.type, range(len(facts.shape)))
    f.require_one_cta(op, indices.type, range(len(facts.shape)))
    base = f.scratch(op)
    element = f.element_type(result)
    kept = memory_type(element)
    plan = plan_access(flat_offsets(facts.layout.layout, facts.shape), bit_width(kept))
    store_shared(f, plan, to_memory(f, f.vector(source)), base, mask=_own_threads(f, facts.layout))
    f.barrier()
    strides = _row_major(facts.shape)
    index_facts = f.facts(indices.type)
    coordinates = [f.indices(index_facts.layout, d) if d != dim else None for d in range(len(facts.shape))]
    size = bit_width(kept) // 8
    loaded: list[SSAValue] = []
    for register, index in enumerate(_words_of(f, indices)):
        offset = b.mul(index, b.i32(strides[dim]))
        for d, of_dim in enumerate(coordinates):
            if of_dim is not None:
                offset = b.add(offset, b.mul(registers.element(b, of_dim, register), b.i32(strides[d])))
        loaded.append(b.load(b.gep(base, offset, kept), kept, size))
    f.values[result] = from_memory(f, b.pack(loaded), element)


def _row_major(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for dim in reversed(range(len(shape) - 1)):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return strides


@needs_scratch(tt.HistogramOp)
def histogram_scratch(op: tt.HistogramOp) -> int:
    """A 32-bit counter for each bin."""
    return _elements(op.results[0].type) * 4


@lowers(tt.HistogramOp)
def histogram(f: FunctionLowering, op: tt.HistogramOp) -> None:
    """Counters in shared memory; an element that does not count adds 0."""
    b = f.b
    source, mask = op.operands[0], op.operands[1] if len(op.operands) > 1 else None
    result = op.results[0]
    f.require_one_cta(op, source.type, (0,))
    bins = f.facts(result.type)
    base = f.scratch(op)
    plan = plan_access(flat_offsets(bins.layout.layout, bins.shape), 32)
    zeros = b.constant(vector_type(I32, bins.count), 0)
    store_shared(f, plan, zeros, base, mask=_own_threads(f, bins.layout))
    f.barrier()
    facts = f.facts(source.type)
    own = _own_threads(f, facts.layout)
    copies = facts.layout.free_masks.get("register", 0)
    one, zero = b.i32(1), b.i32(0)
    properties = {
        "bin_op": string_attr("add"),
        "ordering": string_attr("monotonic"),
        "syncscope": string_attr(f.module.info.cta_scope),
    }
    masks = None if mask is None else f.elements(mask)
    for register, value in enumerate(f.elements(source)):
        if register & copies:
            continue
        terms = [term for term in (own, None if masks is None else masks[register]) if term is not None]
        amount = one
        if terms:
            counts = terms[0] if len(terms) == 1 else b.and_(terms[0], terms[1])
            amount = b.select(counts, one, zero)
        bits = bit_width(value.type)
        number = value if bits == 32 else b.cast(L.TruncOp if bits > 32 else L.ZExtOp, value, I32)
        bin_pointer = b.gep(base, b.and_(number, b.i32(bins.shape[0] - 1)), I32)
        b.value(ours.AtomicRMWOp, (bin_pointer, amount), I32, properties)
    f.barrier()
    loaded = load_shared(f, plan, I32, base)
    element = f.element_type(result)
    bits = bit_width(element)
    f.values[result] = loaded if bits == 32 else b.cast(L.ZExtOp if bits > 32 else L.TruncOp, loaded, element)


@lowers(ttg.Fp4ToFpOp)
def fp4_to_fp(f: FunctionLowering, op: ttg.Fp4ToFpOp) -> None:
    """Widened to the result's type."""
    result = op.results[0]
    axis = op.axis
    assert isinstance(axis, IntegerAttr)
    numbers = fp4_numbers(f, op.operands[0], result, axis.value.data)
    f.values[result] = resized(f.b, numbers, f.facts(result.type).element)


def fp4_numbers(f: FunctionLowering, source: SSAValue, result: SSAValue, dim: int) -> SSAValue:
    """Two e2m1 floats a byte, the lower half first: as the bits of a small f16, times 2^14. Registers are those of `result`."""
    b = f.b
    facts = f.facts(result.type)
    register_of = f.facts(source.type).layout.register_of
    count = f.count(source)
    packed = f.vector(source)
    halves = [b.and_(packed, b.constant(packed.type, 15)), b.lshr(packed, 4)]
    words = b.cast(L.ZExtOp, b.concat(halves), I16)
    sign = b.shl(b.and_(words, b.constant(words.type, 8)), 12)
    rest = b.shl(b.and_(words, b.constant(words.type, 7)), 9)
    numbers = b.bitcast(b.or_disjoint(sign, rest), vector_type(F16, lanes(words.type)))
    values = b.fmul(numbers, b.constant(numbers.type, 16384.0))
    indices = [register_of[(*o[:dim], o[dim] // 2, *o[dim + 1 :])] + count * (o[dim] & 1) for o in facts.layout.offsets]
    return b.permute(values, indices)


@lowers(tt.MapElementwiseOp)
def map_elementwise(f: FunctionLowering, op: tt.MapElementwiseOp) -> None:
    """The region for every `pack` registers."""
    pack = op.pack
    assert isinstance(pack, IntegerAttr)
    step = pack.value.data
    region = op.regions[0]
    entry = region.first_block
    assert entry is not None
    inputs = [f.elements(operand) for operand in op.operands]
    count = len(inputs[0])
    outputs: list[list[SSAValue]] = [[] for _ in op.results]
    for first in range(0, count, step):
        given = [values[first + i] for values in inputs for i in range(step)]
        for argument, value in zip(entry.args, given, strict=True):
            f.values[argument] = value
        returned = lower_returning(f, region)
        for number, into in enumerate(outputs):
            into += returned[number * step : (number + 1) * step]
    for result, values in zip(op.results, outputs, strict=True):
        f.values[result] = f.b.pack(values)
