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

from minitriton.dialects.encodings import SharedMemorySpaceAttr
from minitriton.dialects.facts import HandsOn, region_flow
from minitriton.dialects.facts.gpu_traits import MemDescView
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.ttg.types import MemDescType

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
    yield from region_flow.flows(op)
    if (chosen := HandsOn.of(op)) is not None:
        yield from chosen.flows(op)
    for successor, operands in _branch_targets(op):
        yield from zip(operands, successor.args, strict=False)


def _branch_targets(op: Operation) -> Iterator[tuple[Block, Sequence[SSAValue]]]:
    if op.name == "cf.br":
        yield op.successors[0], tuple(op.operands)
    elif op.name == "cf.cond_br":
        count = len(op.successors[0].args)
        yield op.successors[0], tuple(op.operands)[1 : 1 + count]
        yield op.successors[1], tuple(op.operands)[1 + count :]
