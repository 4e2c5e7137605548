"""When a value is alive, as an interval of op numbers.

In: a function, whose ops are numbered so that an op comes after everything inside it. Out: for a value, the half-open interval
from its definition to its last use, in every block where it is alive.

    0  %a = ttg.local_alloc
    1    ttg.local_load %a          (inside the loop)
    2  scf.for { ... }              %a lives in [0, 3): to the end of the loop that uses it

In a graph of blocks a value that is alive at the end of a block lives to the block's last op.

Which buffers a memory descriptor may belong to.

In: a function. Out: for every value of type `!ttg.memdesc` in shared memory, the `ttg.local_alloc` results it may be a view of.

    %a = ttg.local_alloc                       {%a}
    %b = ttg.memdesc_index %a[%i]              {%a}
    scf.for ... iter_args(%x = %b) { ...       {%a, %c}   if the loop yields a view of %c
      scf.yield %v }

A value gets the buffers of everything that may flow into it; `flows` lists the edges, one function walks them to the end.
"""

from collections.abc import Iterator, Sequence

from xdsl.dialects import cf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.encodings import SharedMemorySpaceAttr
from minitriton.dialects.facts import ForwardsOperands, region_flow
from minitriton.dialects.facts.gpu_traits import MemDescView
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.ttg.types import MemDescType
from minitriton.dialects.verification.dominance import successors_of

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
        if isinstance(op, ttg.LocalAllocOp) and is_shared_memdesc(op.results[0]):
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
    """The values that `op` forwards unchanged (or as views), as pairs (from, to)."""
    if op.has_trait(MemDescView, value_if_unregistered=False):
        yield op.operands[0], op.results[0]
        return
    yield from region_flow.flows(op)
    if (chosen := ForwardsOperands.of(op)) is not None:
        yield from chosen.flows(op)
    for successor, operands in _branch_targets(op):
        yield from zip(operands, successor.args, strict=False)


def _branch_targets(op: Operation) -> Iterator[tuple[Block, Sequence[SSAValue]]]:
    if isinstance(op, cf.BranchOp):
        yield op.successors[0], tuple(op.operands)
    elif isinstance(op, cf.ConditionalBranchOp):
        count = len(op.successors[0].args)
        yield op.successors[0], tuple(op.operands)[1 : 1 + count]
        yield op.successors[1], tuple(op.operands)[1 + count :]


Interval = tuple[int, int]
"""`(start, end)`, without the end."""


def intersects(a: Interval, b: Interval) -> bool:
    """Whether two intervals have a point in common."""
    return a[0] < b[1] and b[0] < a[1]


class Liveness:
    """Op numbers of `root` and the intervals of its values."""

    def __init__(self, root: Operation) -> None:
        self.number: dict[Operation, int] = {op: n for n, op in enumerate(_post_order(root))}
        """The number of each op: those inside an op come before it, the others in the order of the text."""

    def interval(self, value: SSAValue) -> Interval:
        """Where `value` is alive."""
        home = value.owner.parent if isinstance(value, OpResult) else value.owner
        assert isinstance(home, Block)
        used_in = self._blocks_of_uses(value, home)
        live_in, live_out = _propagate(home, used_in)
        pending = [home, *(use.operation.parent for use in value.uses)]
        seen: set[Block] = set()
        low, high = len(self.number), 0
        while pending:
            block = pending.pop()
            if block is None or block in seen:
                continue
            seen.add(block)
            start, end = self._part_in(value, block, block in live_in, block in live_out)
            low, high = min(low, start), max(high, end + 1)
            pending += [successor for successor in successors_of(block) if successor in live_in]
        return low, high

    def _part_in(self, value: SSAValue, block: Block, comes_in: bool, goes_out: bool) -> Interval:
        """The numbers of the first and last op of `block` at which `value` is alive."""
        assert block.first_op is not None and block.last_op is not None
        owner = value.owner
        from_start = comes_in or isinstance(value, BlockArgument) or not isinstance(owner, Operation)
        start = self.number[block.first_op if from_start else owner]  # pyright: ignore[reportArgumentType]
        if goes_out:
            return start, self.number[block.last_op]
        end = start
        for use in value.uses:
            ancestor = block.find_ancestor_op_in_block(use.operation)
            if ancestor is not None:
                end = max(end, self.number[ancestor])
        return start, end

    def _blocks_of_uses(self, value: SSAValue, home: Block) -> set[Block]:
        """Every block in which an op uses `value` itself or contains one that does, out to the block of its definition."""
        found: set[Block] = set()
        region = home.parent
        for use in value.uses:
            block = use.operation.parent
            while block is not None and block not in found:
                found.add(block)
                if block is home or block.parent is region:
                    break
                block = block.parent_block()
        return found


def _propagate(home: Block, used_in: set[Block]) -> tuple[set[Block], set[Block]]:
    """Blocks at whose start, and at whose end, a value defined in `home` and used in `used_in` is alive."""
    live_in = used_in - {home}
    live_out: set[Block] = set()
    pending = list(live_in)
    while pending:
        block = pending.pop()
        for before in block.predecessors():
            live_out.add(before)
            if before is not home and before not in live_in:
                live_in.add(before)
                pending.append(before)
    return live_in, live_out


def _post_order(root: Operation) -> Iterator[Operation]:
    for region in root.regions:
        block = region.first_block
        while block is not None:
            op = block.first_op
            while op is not None:
                if op.regions:
                    yield from _post_order(op)
                else:
                    yield op
                op = op.next_op
            block = block.next_block
    yield root
