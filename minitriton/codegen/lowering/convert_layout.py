"""`ttg.convert_layout`: follows the plan that the two layouts give.

Nothing, other registers, shuffles within the warp, or rounds through shared memory (`layouts.conversion`).

What crosses the CTAs of a cluster: follows a `ClusterExchange`, through the shared memory of other CTAs.

    stores to the own CTA's memory; barrier of the cluster; loads, each from where `mapa` finds the memory of a rank; barrier

The second barrier keeps a CTA from reusing its memory, or ending, while another one still reads it.
"""

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.lowering.shared import from_memory, load_accesses, memory_type, store_shared, to_memory
from minitriton.codegen.lowering.warp_shuffle import shuffled
from minitriton.codegen.scratch import needs_scratch
from minitriton.codegen.types import I8, bit_width, scalar_type, vector_type
from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.facts.launch import features_of
from minitriton.dialects.facts.pass_attributes import SCRATCH_LIMIT
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg import layout_of
from minitriton.layouts.cluster_exchange import ClusterAccess, ClusterExchange, crosses_ctas, plan_between_ctas
from minitriton.layouts.conversion import plan_conversion
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.plans import (
    ConversionPlan,
    NoConversion,
    RegisterPermutation,
    SharedMemoryRoundTrip,
    WarpShuffle,
)


def conversion_of(op: Operation) -> ConversionPlan | ClusterExchange:
    """The plan of a conversion; cached by the layouts."""
    source, result = op.operands[0].type, op.results[0].type
    assert instance_of(source, TensorType)
    before, after = layout_of(source), layout_of(result)
    assert isinstance(before, DistributedEncoding) and isinstance(after, DistributedEncoding)
    bits = bit_width(memory_type(scalar_type(source.element_type)))
    if crosses_ctas(before, after, source.get_shape()):
        return plan_between_ctas(before, after, source.get_shape(), bits, features_of(op))
    limit = op.attributes.get(SCRATCH_LIMIT)
    allowed = limit.value.data if instance_of(limit, IntegerAttr) else 0
    return plan_conversion(before, after, source.get_shape(), bits, features_of(op), allowed)


@needs_scratch(ttg.ConvertLayoutOp)
def conversion_scratch(op: ttg.ConvertLayoutOp) -> int:
    plan = conversion_of(op)
    return plan.scratch_bytes if isinstance(plan, SharedMemoryRoundTrip | ClusterExchange) else 0


@lowers(ttg.ConvertLayoutOp)
def convert_layout(f: FunctionLowering, op: ttg.ConvertLayoutOp) -> None:
    result = op.results[0]
    rep = f.values[op.operands[0]]
    if registers.is_splat(rep) and _is_uniform(op.operands[0]):
        f.values[result] = rep
        return
    plan = conversion_of(op)
    match plan:
        case NoConversion():
            f.values[result] = rep
        case RegisterPermutation(source):
            f.values[result] = registers.permuted(rep, source, f.element_type(result))
        case WarpShuffle():
            f.values[result] = shuffled(f, plan, f.vector(op.operands[0]))
        case SharedMemoryRoundTrip() | ClusterExchange():
            element = f.element_type(result)
            stored = to_memory(f, f.vector(op.operands[0]))
            kept, base = memory_type(element), f.scratch(op)
            if isinstance(plan, ClusterExchange):
                loaded = exchanged(f, plan, stored, kept, base)
            else:
                loaded = through_shared(f, plan, stored, kept, base)
            f.values[result] = from_memory(f, loaded, element)


def _is_uniform(value: SSAValue) -> bool:
    """Whether all elements are equal by construction. That those of each thread are (one register) does not say so."""
    op = value.owner
    while isinstance(op, tt.BroadcastOp | tt.ExpandDimsOp | tt.ReshapeOp | ttg.ConvertLayoutOp):
        op = op.operands[0].owner
    return isinstance(op, tt.SplatOp | arith.ConstantOp)


def through_shared(
    f: FunctionLowering, plan: SharedMemoryRoundTrip, value: SSAValue, element: Attribute, base: SSAValue
) -> SSAValue:
    """Round by round: store, wait, load."""
    loaded: list[SSAValue] = []
    for number, (stores, loads) in enumerate(zip(plan.stores, plan.loads, strict=True)):
        if number:
            _wait(f, plan)
        store_shared(f, stores, value, base)
        _wait(f, plan)
        loaded.append(load_accesses(f, loads, element, base))
    return f.b.permute(f.b.concat(loaded), plan.result)


def _wait(f: FunctionLowering, plan: SharedMemoryRoundTrip) -> None:
    if plan.warp_sync:
        f.module.info.warp_barrier(f.b)
    else:
        f.barrier()


def cluster_barrier(f: FunctionLowering) -> None:
    """All threads of the cluster wait for each other."""
    f.check_meets()
    f.module.info.cluster_barrier(f.b)


def in_cta(f: FunctionLowering, pointer: SSAValue, rank: SSAValue) -> SSAValue:
    """The same address in the shared memory of the CTA with number `rank`."""
    return f.module.info.in_cta(f.b, pointer, rank)


def exchanged(
    f: FunctionLowering, plan: ClusterExchange, value: SSAValue, element: Attribute, base: SSAValue
) -> SSAValue:
    """`value`, whose registers are those of the source, as the registers of the destination; `base` is the scratch memory."""
    b = f.b
    wait = (lambda: cluster_barrier(f)) if plan.crosses else f.barrier
    stores, loads = plan.stores.access, plan.loads.access
    for pointer, access in zip(_addresses(f, plan.stores, [base] * len(stores.accesses)), stores.accesses, strict=True):
        b.store(b.permute(value, access.registers), pointer, stores.vector_bytes)
    wait()
    bases = _bases(f, plan.loads, base) if plan.crosses else [base] * len(loads.accesses)
    type_ = vector_type(element, loads.vector)
    loaded = [b.load(pointer, type_, loads.vector_bytes) for pointer in _addresses(f, plan.loads, bases)]
    if plan.crosses:
        wait()
    return b.permute(b.concat(loaded), loads.result)


def _bases(f: FunctionLowering, plan: ClusterAccess, base: SSAValue) -> list[SSAValue]:
    """For each access the buffer in the CTA that it meets."""
    own, _ = f.linear_index((*plan.rank_lane, *plan.rank_warp), plan.rank_block)
    found: dict[int, SSAValue] = {}
    for rank in plan.ranks:
        if rank not in found:
            number = f.b.i32(rank)
            if own is not None:
                number = f.b.xor(own, number) if rank else own
            found[rank] = in_cta(f, base, number)
    return [found[rank] for rank in plan.ranks]


def _addresses(f: FunctionLowering, plan: ClusterAccess, bases: list[SSAValue]) -> list[SSAValue]:
    """The address of each access in its buffer."""
    b = f.b
    own, _ = f.linear_index((*plan.access.lane, *plan.access.warp), plan.block)
    start = b.i32(0) if own is None else own
    result: list[SSAValue] = []
    for base, access in zip(bases, plan.access.accesses, strict=True):
        offset = b.xor(start, b.i32(access.xor)) if access.xor else start
        result.append(b.gep(b.gep(base, offset, I8), access.add, I8))
    return result
