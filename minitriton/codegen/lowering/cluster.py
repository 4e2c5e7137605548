"""What crosses the CTAs of a cluster: follows a `ClusterExchange`, through the shared memory of other CTAs.

    stores to the own CTA's memory; barrier of the cluster; loads, each from where `mapa` finds the memory of a rank; barrier

The second barrier keeps a CTA from reusing its memory, or ending, while another one still reads it.
"""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import I8, vector_type
from minitriton.layouts.cluster_exchange import ClusterAccess, ClusterExchange


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
