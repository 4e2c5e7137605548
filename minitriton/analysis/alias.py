"""Which buffers a memory descriptor may belong to.

In: a function. Out: for every value of type `!ttg.memdesc` in shared memory, the `ttg.local_alloc` results it may be a view of.

    %a = ttg.local_alloc                       {%a}
    %b = ttg.memdesc_index %a[%i]              {%a}
    scf.for ... iter_args(%x = %b) { ...       {%a, %c}   if the loop yields a view of %c
      scf.yield %v }

A value gets the buffers of everything that may flow into it; `flows` lists the edges, one function walks them to the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.operations import ops_in
from minitriton.dialects.ttg_attributes import SharedMemorySpaceAttr
from minitriton.dialects.ttg_traits import MemDescView
from minitriton.dialects.ttg_types import MemDescType

Aliases = dict[SSAValue, tuple[SSAValue, ...]]
"""The buffers of a value, in the order in which they were found."""


def is_shared_memdesc(value: SSAValue) -> bool:
    """Whether `value` describes a buffer in shared memory."""
    type_ = value.type
    return isinstance(type_, MemDescType) and isinstance(type_.memory_space, SharedMemorySpaceAttr)


def shared_memory_aliases(root: Operation) -> Aliases:
    """The buffers of every memory descriptor inside `root`; values that belong to no known buffer are left out."""
    aliases: Aliases = {}
    targets: dict[SSAValue, list[SSAValue]] = {}
    pending: list[SSAValue] = []
    for op in ops_in(root):
        if op.name == "ttg.local_alloc" and is_shared_memdesc(op.results[0]):
            aliases[op.results[0]] = (op.results[0],)
            pending.append(op.results[0])
        for source, target in flows(op):
            if is_shared_memdesc(target):
                targets.setdefault(source, []).append(target)
    while pending:
        source = pending.pop()
        for target in targets.get(source, ()):
            known = aliases.get(target, ())
            new = tuple(buffer for buffer in aliases[source] if buffer not in known)
            if new:
                aliases[target] = known + new
                pending.append(target)
    return aliases


def flows(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The values that `op` hands on unchanged (or as views), as pairs (from, to)."""
    if op.has_trait(MemDescView, value_if_unregistered=False):
        yield op.operands[0], op.results[0]
        return
    rule = _FLOWS.get(op.name)
    if rule is not None:
        yield from rule(op)
    for successor, operands in _branch_targets(op):
        yield from zip(operands, successor.args, strict=False)


def _terminator_operands(block: Block) -> Sequence[SSAValue]:
    return block.last_op.operands if block.last_op is not None else ()


def _for(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    body = op.regions[0].block
    yielded = _terminator_operands(body)
    for init, argument, again, result in zip(op.operands[3:], body.args[1:], yielded, op.results, strict=True):
        yield init, argument
        yield again, argument
        yield init, result
        yield again, result


def _while(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    before, after = op.regions[0].block, op.regions[1].block
    yield from zip(op.operands, before.args, strict=True)
    yield from zip(_terminator_operands(after), before.args, strict=True)
    passed = _terminator_operands(before)[1:]
    yield from zip(passed, after.args, strict=True)
    yield from zip(passed, op.results, strict=True)


def _if(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    for region in op.regions:
        if region.first_block is not None:
            yield from zip(_terminator_operands(region.block), op.results, strict=False)


def _select(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    yield op.operands[1], op.results[0]
    yield op.operands[2], op.results[0]


def _pass_through(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    yield from zip(op.operands, op.results, strict=True)


def _partitions(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    parent = op.parent_op()
    for region in op.regions:
        if parent is not None and region.first_block is not None:
            yield from zip(parent.operands, region.first_block.args, strict=True)


def _warp_yield(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    parent = op.parent_op()
    if parent is not None:
        yield from zip(op.operands, parent.results, strict=True)


_FLOWS = {
    "scf.for": _for,
    "scf.while": _while,
    "scf.if": _if,
    "arith.select": _select,
    "ttng.warp_group_dot_wait": _pass_through,
    "ttg.warp_specialize.partitions": _partitions,
    "ttg.warp_yield": _warp_yield,
}


def _branch_targets(op: Operation) -> Iterator[tuple[Block, Sequence[SSAValue]]]:
    if op.name == "cf.br":
        yield op.successors[0], tuple(op.operands)
    elif op.name == "cf.cond_br":
        count = len(op.successors[0].args)
        yield op.successors[0], tuple(op.operands)[1 : 1 + count]
        yield op.successors[1], tuple(op.operands)[1 + count :]
