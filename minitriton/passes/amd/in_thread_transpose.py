"""`tritonamdgpu-in-thread-transpose`: operands that are not contiguous along k in memory are transposed in registers before LDS.

    %a = tt.load ... : #blocked                               %a = tt.load ... : #wider
    ttg.local_store %a, %b                             =>     %t = amdg.in_thread_transpose %a : #wider -> #linear
    %o = ttg.local_load %b : -> #ttg.dot_op                   ttg.local_store %t, %b              buffer: #ttg.amd_rotating_shared
                                                              %o = ttg.local_load %b : -> #ttg.dot_op

A thread loads as many rows of k as a read of 64 bits has, keeps the runs that memory has, and writes runs along k: reads of the operand are then vectors.
The buffer is swizzled so that neither writes nor reads meet in banks. Loads, stores and buffers are found through loops and branches; where one of them is
of another kind, nothing is changed.

Counterpart of InThreadTranspose.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue, Use

from minitriton.dialects import amdg, tt, ttg
from minitriton.dialects.fast_paths.op_access import ops_of, set_type
from minitriton.layouts.builders import blocked_for_cga, swizzled_shared_for_dot
from minitriton.layouts.encodings import (
    AmdMfma,
    AmdRotatingShared,
    AmdWmma,
    Blocked,
    DotOperand,
    SwizzledShared,
)
from minitriton.layouts.inference import in_thread_transpose_dst
from minitriton.passes.coalesce import convert_to_layout
from minitriton.passes.tensor_layouts import convert_before, element_bits, layout_of_value, shape_of, with_layout
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.rewriter import Inserter

READ_BITS = 64
"""Bits that a read of an operand takes from LDS at once."""


class _Unknown(Exception):
    """A value comes from, or goes to, something else than the ops that are rewritten."""


@register_pass
class InThreadTranspose(Pass, stage="ttgir", origin="triton"):
    """Transposes operands in registers before they are stored to LDS."""

    name: ClassVar[str] = "tritonamdgpu-in-thread-transpose"
    acts_on = frozenset({ttg.LocalLoadOp, tt.LoadOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite what every read of an operand reads."""
        for read in ops_of(op, ttg.LocalLoadOp):
            operand = layout_of_value(read.result)
            if isinstance(operand, DotOperand) and isinstance(operand.parent, AmdMfma | AmdWmma):
                found = _matched(read, operand)
                if found is not None:
                    _rewrite(read, operand, *found)


# What flows where -----------------------------------------------------------------------------------------------------


def _sources(value: SSAValue, seen: set[SSAValue]) -> list[SSAValue]:
    """The values that `value` may be, through loops and branches, and the arguments and results on the way."""
    if value in seen:
        return []
    seen.add(value)
    owner = value.owner
    if isinstance(value, OpResult) and isinstance(owner, Operation):
        if not isinstance(owner, scf.ForOp | scf.IfOp | scf.WhileOp):
            return [value]
        ends = [region.block.last_op for region in owner.regions]
        yields = [end for end in ends if isinstance(end, scf.YieldOp)]
        return [*(each for end in yields for each in _sources(end.operands[value.index], seen)), value]
    assert isinstance(value, BlockArgument)
    around = value.block.parent_op()
    if isinstance(around, scf.ForOp) and value.index:
        last = cast(Operation, value.block.last_op)
        inner = _sources(last.operands[value.index - 1], seen)
        return [*inner, *_sources(around.operands[value.index + 2], seen), value]
    if isinstance(around, scf.WhileOp):
        last = cast(Operation, around.regions[1].block.last_op)
        return [*_sources(last.operands[value.index], seen), *_sources(around.operands[value.index], seen), value]
    raise _Unknown


def _users(value: SSAValue, seen: set[SSAValue], ops: list[Operation], passed: list[SSAValue]) -> None:
    """Adds the ops that use `value`, through loops and branches, to `ops`, and the arguments and results on the way to `passed`."""
    if value in seen:
        return
    seen.add(value)
    for use in value.uses:
        following = _following(use)
        if following is None:
            ops.append(use.operation)
            continue
        for each in following:
            _users(each, seen, ops, passed)
            passed.append(each)


def _following(use: Use) -> list[SSAValue] | None:
    """What a value is called after a use in control flow; None for other uses."""
    user, index = use.operation, use.index
    around = user.parent_op()
    if isinstance(user, scf.YieldOp):
        if isinstance(around, scf.ForOp):
            return [around.results[index], around.regions[0].block.args[index + 1]]
        if isinstance(around, scf.IfOp):
            return [around.results[index]]
        if isinstance(around, scf.WhileOp):
            return [around.regions[0].block.args[index]]
        raise _Unknown
    if isinstance(user, scf.ForOp):
        return [user.regions[0].block.args[index - 2]]
    if isinstance(user, scf.WhileOp):
        return [user.regions[0].block.args[index]]
    if isinstance(user, scf.ConditionOp) and isinstance(around, scf.WhileOp):
        return [around.regions[1].block.args[index - 1], around.results[index - 1]]
    if isinstance(user, tt.ReturnOp) or user.name.startswith("scf."):
        raise _Unknown
    return None


@dataclass
class _Network:
    """All that a buffer in LDS goes through."""

    stores: dict[Operation, None] = field(default_factory=dict[Operation, None])
    """What fills it: `ttg.local_alloc`, `ttg.local_store`."""
    values: list[SSAValue] = field(default_factory=list[SSAValue])
    """The names that it has."""


def _network(read: ttg.LocalLoadOp) -> _Network:
    found = _Network()
    visited: set[Operation] = set()
    backward: set[SSAValue] = set()
    forward: set[SSAValue] = set()
    pending: list[Operation] = [read]
    while pending:
        op = pending.pop(0)
        if op in visited:
            continue
        visited.add(op)
        taken = given = None
        if isinstance(op, ttg.LocalAllocOp):
            found.stores[op] = None
            given = op.result
        elif isinstance(op, ttg.LocalStoreOp):
            found.stores[op] = None
            taken = op.dst
        elif isinstance(op, ttg.MemDescIndexOp):
            taken, given = op.operands[0], op.results[0]
        elif isinstance(op, ttg.LocalLoadOp | ttg.LocalDeallocOp):
            taken = op.operands[0]
        else:
            raise _Unknown
        for value in () if taken is None else _sources(taken, backward):
            found.values.append(value)
            if isinstance(value.owner, ttg.MemDescIndexOp | ttg.LocalAllocOp):
                pending.append(value.owner)
        if given is not None:
            _users(given, forward, pending, found.values)
    return found


# The rewrite ----------------------------------------------------------------------------------------------------------


def _matched(read: ttg.LocalLoadOp, operand: DotOperand) -> tuple[_Network, list[tt.LoadOp]] | None:
    """What is to be rewritten for a read of an operand."""
    along_k = 1 if operand.op_idx == 0 else 0
    loads: dict[tt.LoadOp, None] = {}
    try:
        network = _network(read)
        for store in network.stores:
            if not store.operands:
                continue
            layout = layout_of_value(store.operands[0])
            if not isinstance(layout, Blocked) or layout.order[0] == along_k:
                return None
            sources = _sources(store.operands[0], set())
            loads.update((each.owner, None) for each in sources if isinstance(each.owner, tt.LoadOp))
    except _Unknown:
        return None
    types = {load.results[0].type for load in loads}
    first = next(iter(loads), None)
    if first is None or len(types) > 1 or len(shape_of(first.results[0])) != 2:
        return None
    return (network, list(loads)) if _most_along(first.results[0], along_k) >= 2 else None


def _most_along(value: SSAValue, dim: int) -> int:
    """How many neighbours along a dimension a thread can hold."""
    layout = layout_of_value(value)
    if not isinstance(layout, Blocked):
        return 0
    return max(1, shape_of(value)[dim] // (layout.threads_per_warp[dim] * layout.warps_per_cta[dim]))


def _rewrite(read: ttg.LocalLoadOp, operand: DotOperand, network: _Network, loads: list[tt.LoadOp]) -> None:
    value = loads[0].results[0]
    layout, shape, bits = layout_of_value(value), shape_of(value), element_bits(cast(TensorType, value.type))
    assert isinstance(layout, Blocked)
    along_k = 1 if operand.op_idx == 0 else 0
    sizes = list(layout.size_per_thread)
    sizes[along_k] = min(_most_along(value, along_k), READ_BITS // bits)
    threads, warps = prod(layout.threads_per_warp), prod(layout.warps_per_cta)
    wide = blocked_for_cga(shape, sizes, layout.order, warps, threads, layout.cga)
    for load in loads:
        convert_to_layout(load, wide)
    transposed = in_thread_transpose_dst(wide, shape)
    for store in network.stores:
        if store.operands:
            data = convert_before(store, store.operands[0], wide)
            transposing = amdg.InThreadTransposeOp(data, with_layout(data.type, transposed))
            store.operands[0] = Inserter.before(store).value(transposing)
    buffer = ttg.encoding_attr(_rotating(read, operand))
    for each in network.values:
        type_ = each.type
        assert isinstance(type_, ttg.MemDescType)
        if type(ttg.layout_of(type_)) is SwizzledShared:
            set_type(each, type_.with_(encoding=buffer))


def _rotating(read: ttg.LocalLoadOp, operand: DotOperand) -> AmdRotatingShared:
    order = (1, 0) if operand.op_idx == 0 else (0, 1)
    bits = element_bits(read.result.type)
    plain = swizzled_shared_for_dot(operand, shape_of(read.result), order, operand.cga, bits)
    return AmdRotatingShared(plain.vec, plain.per_phase, plain.max_phase, order, operand.cga)
