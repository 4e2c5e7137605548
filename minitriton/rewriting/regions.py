"""Regions and their blocks: unreachable blocks, dead block arguments, moving and copying bodies.

^bb0: cf.br ^bb2(%a, %b)            ^bb0: cf.br ^bb2(%a)
^bb1: ...  (nobody jumps here)  =>  ^bb2(%x): tt.return %x
^bb2(%x, %unused): tt.return %x
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from xdsl.dialects import cf
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsTerminator

from minitriton.dialects.fast_paths.op_access import (
    OpT,
    block_successors,
    forward_name,
    last_op_of,
    next_op,
    next_use,
    operand_values,
)
from minitriton.rewriting.effects import would_be_trivially_dead
from minitriton.rewriting.settled import Settled


def regions_inside(root: Operation) -> Iterator[Region]:
    """All regions below `root`, outer before inner."""
    for region in root.regions:
        yield region
        block = region.first_block
        while block is not None:
            op = block.first_op
            while op is not None:
                if op.regions:
                    yield from regions_inside(op)
                op = op.next_op
            block = block.next_block


def simplify_regions(root: Operation) -> bool:
    """Erases unreachable blocks, and block arguments and pure ops that only feed themselves. True if it did."""
    changed = False
    for region in list(regions_inside(root)):
        first = region.first_block
        if first is not None and first.next_block is not None:
            changed |= erase_unreachable_blocks(region)
            changed |= erase_dead_arguments(region)
    return changed


def erase_dead_ops(root: Operation, settled: Settled | None = None) -> None:
    """Erases all ops below `root` that nothing uses and that do nothing, and what only they used; there are none in what is `settled`."""
    for region in root.regions:
        block = region.last_block
        while block is not None:
            op = block.last_op
            while op is not None:
                previous = op.prev_op
                for result in op.results:
                    if result.first_use is not None:
                        break
                else:
                    if (op.results or op.regions) and would_be_trivially_dead(op):
                        block.detach_op(op)
                        op.drop_all_references()
                        op = previous
                        continue
                if op.regions and (settled is None or op not in settled):
                    erase_dead_ops(op, settled)
                op = previous
            block = block.prev_block


def reachable_blocks(region: Region) -> dict[Block, None]:
    """The blocks that control flow can reach from the entry, in depth-first order."""
    entry = region.first_block
    seen: dict[Block, None] = {}
    pending = [entry] if entry is not None else []
    while pending:
        block = pending.pop()
        if block in seen:
            continue
        seen[block] = None
        last = block.last_op
        if last is not None:
            pending.extend(reversed(block_successors(last)))
    return seen


def erase_unreachable_blocks(region: Region) -> bool:
    """Erases the blocks of `region` that nothing jumps to."""
    reachable = reachable_blocks(region)
    dead = [block for block in region.blocks if block not in reachable]
    for block in dead:
        for op in block.ops:
            op.drop_all_references()
            op.parent = block
    for block in dead:
        region.detach_block(block)
    return bool(dead)


def forwarded_operands(branch: Operation) -> list[tuple[Block, list[SSAValue]]]:
    """For a `cf` branch: each successor with the values passed to it."""
    kind = type(branch)
    if kind is cf.BranchOp:
        return [(block_successors(branch)[0], list(operand_values(branch)))]
    if kind is cf.ConditionalBranchOp:
        then, other = block_successors(branch)
        values = operand_values(branch)
        if len(values) == 1:
            return [(then, []), (other, [])]
        taken = len(cast(cf.ConditionalBranchOp, branch).then_arguments)
        return [(then, list(values[1 : 1 + taken])), (other, list(values[1 + taken :]))]
    return []


def erase_dead_arguments(region: Region) -> bool:
    """Erases non-entry block arguments that no op with an effect depends on, with what is passed for them."""
    arguments = [argument for block in list(region.blocks)[1:] for argument in block.args]
    if all(map(_is_needed, arguments)):
        return False
    live = _live_values(region)
    changed = False
    for block in region.blocks:
        if block is region.first_block:
            continue
        dead = [arg.index for arg in block.args if arg not in live]
        if dead:
            drop_arguments(block, dead)
            changed = True
    if changed:
        for block in region.blocks:
            _erase_dead_ops(block, live)
    for block in region.blocks:
        for arg in [arg for arg in block.args if arg not in live and block is not region.first_block]:
            block.erase_arg(arg)
    return changed


def _is_needed(argument: BlockArgument) -> bool:
    """Whether an op with an effect depends on `argument`: what `_live_values` says of it, at the price of the way to the first such op."""
    seen: set[SSAValue] = {argument}
    pending: list[SSAValue] = [argument]
    while pending:
        use = pending.pop().first_use
        while use is not None:
            user = use.operation
            if next_op(user) is None and user.has_trait(IsTerminator):
                reached = _received(user, use.index)
            elif would_be_trivially_dead(user):
                reached = user.results
            else:
                return True
            if reached is None:
                return True
            for value in reached:
                if value not in seen:
                    seen.add(value)
                    pending.append(value)
            use = next_use(use)
    return False


def _received(branch: Operation, index: int) -> Sequence[SSAValue] | None:
    """The block argument that operand `index` of a `cf` branch becomes; None if the branch itself depends on it."""
    first = 0 if type(branch) is cf.BranchOp else 1
    for block, values in forwarded_operands(branch):
        if first <= index < first + len(values):
            return (block.args[index - first],)
        first += len(values)
    return None


def _live_values(region: Region) -> set[SSAValue]:
    live: set[SSAValue] = set()
    pending: list[SSAValue] = []
    for op in _all_ops(region):
        if next_op(op) is None and op.has_trait(IsTerminator):
            forwarded = {id(value) for _, values in forwarded_operands(op) for value in values}
            kept = op.operands[:1] if isinstance(op, cf.ConditionalBranchOp) else op.operands
            pending.extend(kept if not forwarded or isinstance(op, cf.ConditionalBranchOp) else ())
        elif not would_be_trivially_dead(op):
            pending.extend(op.operands)
    while pending:
        value = pending.pop()
        if value in live:
            continue
        live.add(value)
        if isinstance(value, OpResult):
            pending.extend(value.op.operands)
        elif isinstance(value, BlockArgument) and value.block is not _entry_of(value.block):
            for predecessor in value.block.predecessors():
                last = last_op_of(predecessor)
                pending.extend(v[value.index] for block, v in forwarded_operands(last) if block is value.block)
    return live


def _entry_of(block: Block) -> Block | None:
    return block.parent.first_block if block.parent is not None else None


def _all_ops(region: Region) -> list[Operation]:
    found: list[Operation] = []
    pending = [region]
    while pending:
        block = pending.pop().first_block
        while block is not None:
            op = block.first_op
            while op is not None:
                found.append(op)
                pending.extend(op.regions)
                op = next_op(op)
            block = block.next_block
    return found


def drop_arguments(block: Block, dead: list[int]) -> None:
    """No branch passes a value for the arguments at `dead` any more (the arguments themselves stay)."""
    for predecessor in dict.fromkeys(block.predecessors()):
        branch = predecessor.last_op
        if isinstance(branch, cf.BranchOp):
            new: Operation = cf.BranchOp(block, *_without(branch.arguments, dead))
        elif isinstance(branch, cf.ConditionalBranchOp):
            then, other = branch.then_arguments, branch.else_arguments
            new = cf.ConditionalBranchOp(
                branch.cond,
                branch.then_block,
                _without(then, dead) if branch.then_block is block else list(then),
                branch.else_block,
                _without(other, dead) if branch.else_block is block else list(other),
            )
        else:
            continue
        new.location = branch.location
        new.attributes = dict(branch.attributes)
        predecessor.insert_op_before(new, branch)
        predecessor.erase_op(branch)


def _without(values: Iterable[SSAValue], dead: list[int]) -> list[SSAValue]:
    return [value for index, value in enumerate(values) if index not in dead]


def _erase_dead_ops(block: Block, live: set[SSAValue]) -> None:
    dead = [
        op for op in block.ops if op.results and not any(r in live for r in op.results) and would_be_trivially_dead(op)
    ]
    for op in reversed(dead):
        block.detach_op(op)
        op.drop_all_references()


def clone_op(op: OpT, values: dict[SSAValue, SSAValue]) -> OpT:
    """A copy of `op` (regions included) whose operands are looked up in `values`; its results are added to `values`."""
    get = values.get
    copy = op.__class__.create(
        operands=[get(operand, operand) for operand in operand_values(op)],
        result_types=[result.type for result in op.results],
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
        successors=block_successors(op),
        regions=[clone_region(region, values) for region in op.regions],
    )
    for old, new in zip(op.results, copy.results, strict=True):
        values[old] = new
        forward_name(old, new)
    return copy


def clone_region(region: Region, values: dict[SSAValue, SSAValue]) -> Region:
    """A copy of `region`; block arguments and results inside are added to `values`."""
    copies: dict[Block, Block] = {}
    for block in region.blocks:
        copy = copies[block] = Block(arg_types=[arg.type for arg in block.args])
        for old, new in zip(block.args, copy.args, strict=True):
            values[old] = new
            new.location = old.location
            forward_name(old, new)
    for block, copy in copies.items():
        for op in block.ops:
            clone = clone_op(op, values)
            copy.add_op(clone)
            if block_successors(clone):
                clone.successors = [copies.get(target, target) for target in block_successors(clone)]
    new_region = Region(copies.values())
    _map_forward_uses(new_region, values)
    return new_region


def _map_forward_uses(region: Region, values: Mapping[SSAValue, SSAValue]) -> None:
    """With several blocks an op may be copied before what it uses: replace what still refers to the original."""
    first = region.first_block
    if first is None or first.next_block is None:
        return
    for op in _all_ops(region):
        for index, operand in enumerate(operand_values(op)):
            mapped = values.get(operand)
            if mapped is not None and mapped is not operand:
                op.operands[index] = mapped


def is_defined_outside(value: SSAValue, op: Operation) -> bool:
    """True if `value` is defined neither by a block argument nor by an op inside the regions of `op`."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    while block is not None:
        region = block.parent
        parent = region.parent if region is not None else None
        if parent is op:
            return False
        block = parent.parent if parent is not None else None
    return True


def is_inside(op: Operation, region: Region) -> bool:
    """True if `op` stands in `region`, however deep."""
    block = op.parent
    while block is not None:
        if block.parent is region:
            return True
        owner = block.parent_op()
        block = None if owner is None else owner.parent
    return False
