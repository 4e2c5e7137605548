"""Blocks that do the same become one, which takes as arguments what they differ in.

cf.cond_br %c, ^bb1, ^bb2              cf.cond_br %c, ^bb1(%x : i32), ^bb1(%y : i32)
^bb1: tt.store %p, %x; tt.return   =>  ^bb1(%v: i32): tt.store %p, %v
^bb2: tt.store %p, %y; tt.return       tt.return

MLIR's greedy driver does so after each round unless configured otherwise (`mergeIdenticalBlocks` and `dropRedundantArguments` of
its region utilities); the canonicaliser is the one pass that tells it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field

from xdsl.dialects import cf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from minitriton.dialects.fast_paths.op_access import block_successors, last_op_of, operand_at, operand_values
from minitriton.host.frozen import record
from minitriton.rewriting.equivalence import OperationKeys
from minitriton.rewriting.regions import drop_arguments, forwarded_operands, regions_inside

Position = tuple[int, int]
"""An operand: the number of its op in the block, and its number in the op."""


def merge_blocks(root: Operation) -> bool:
    """Merges equal blocks of every region below `root` and drops arguments that always have one value. True if it did."""
    changed = False
    for region in list(regions_inside(root)):
        first = region.first_block
        if first is not None and first.next_block is not None:
            changed |= _merge_in(region)
            changed |= _drop_steady_arguments(region)
    return changed


@record
class _Cluster:
    """Equal blocks: the first stays."""

    leader: Block
    others: list[Block] = field(default_factory=list[Block])
    positions: list[Position] = field(default_factory=list[Position])
    """Where operands differ."""


def _merge_in(region: Region) -> bool:
    groups: dict[tuple[int, ...], list[Block]] = {}
    for block in list(region.blocks)[1:]:
        last = block.last_op
        groups.setdefault(tuple(map(id, block_successors(last))) if last is not None else (), []).append(block)
    merged = False
    for blocks in groups.values():
        if len(blocks) == 1:
            continue
        keys = _ShapeKeys()
        clusters: dict[object, list[_Cluster]] = {}
        for block in blocks:
            if not _may_merge(block):
                continue
            same_shape = clusters.setdefault(keys.of_block(block), [])
            if not any(_joins(block, cluster) for cluster in same_shape):
                same_shape.append(_Cluster(block))
        for cluster in [c for same_shape in clusters.values() for c in same_shape]:
            merged |= _merge(cluster)
    return merged


class _ShapeKeys(OperationKeys):
    """Keys of blocks that are equal if the blocks are, their operands aside."""

    def of_block(self, block: Block) -> object:
        number = self.number
        ops = tuple(
            (
                op.__class__,
                len(operand_values(op)),
                tuple(number(r.type) for r in op.results),
                tuple(sorted((name, number(a)) for name, a in op.properties.items())),
                tuple(sorted((name, number(a)) for name, a in op.attributes.items())),
                tuple(map(id, block_successors(op))),
            )
            for op in block.ops
        )
        return tuple(number(argument.type) for argument in block.args), ops


def _may_merge(block: Block) -> bool:
    """Whether what `block` defines is used in it alone, and no op of it has a body."""
    if any(op.regions and any(r.first_block is not None for r in op.regions) for op in block.ops):
        return False
    defined: list[SSAValue] = [*block.args, *(result for op in block.ops for result in op.results)]
    return all(use.operation.parent is block for value in defined for use in value.uses)


def _joins(block: Block, cluster: _Cluster) -> bool:
    """Adds `block`, of the same shape, to `cluster` unless it computes something else."""
    leader = cluster.leader
    orders = _order(leader), _order(block)
    different: list[Position] = []
    for index, (ours, theirs) in enumerate(zip(leader.ops, block.ops, strict=True)):
        for number, (a, b) in enumerate(zip(operand_values(ours), operand_values(theirs), strict=True)):
            if a is b:
                continue
            if a.type != b.type:
                return False
            inside = a in orders[0], b in orders[1]
            if inside[0] != inside[1]:
                return False
            if not inside[0]:
                different.append((index, number))
            elif orders[0][a] != orders[1][b]:
                return False
    if different and not (_branches_pass_values(leader) and _branches_pass_values(block)):
        return False
    cluster.others.append(block)
    cluster.positions = sorted({*cluster.positions, *different})
    return True


def _order(block: Block) -> dict[SSAValue, int]:
    values: list[SSAValue] = [*block.args, *(result for op in block.ops for result in op.results)]
    return {value: index for index, value in enumerate(values)}


def _branches_pass_values(block: Block) -> bool:
    branches = [p.last_op for p in block.predecessors()]
    return all(isinstance(b, cf.BranchOp | cf.ConditionalBranchOp) for b in branches)


def _merge(cluster: _Cluster) -> bool:
    if not cluster.others:
        return False
    blocks = [cluster.leader, *cluster.others]
    passed: list[list[SSAValue]] = []
    for block in blocks:
        ops = list(block.ops)
        passed.append([operand_at(ops[index], number) for index, number in cluster.positions])
    leader_ops = list(cluster.leader.ops)
    first_new = len(cluster.leader.args)
    for (index, number), value in zip(cluster.positions, passed[0], strict=True):
        argument = cluster.leader.insert_arg(value.type, len(cluster.leader.args))
        argument.location = leader_ops[index].location
        leader_ops[index].operands[number] = argument
    assert first_new + len(cluster.positions) == len(cluster.leader.args)
    for block, values in zip(blocks, passed, strict=True):
        _redirect(block, cluster.leader, values)
    region = cluster.leader.parent
    assert region is not None
    for block in cluster.others:
        for op in block.ops:
            op.drop_all_references()
            op.parent = block
        region.detach_block(block)
    return True


def _redirect(block: Block, target: Block, values: Sequence[SSAValue]) -> None:
    """Every jump to `block` goes to `target`, which gets `values` after what `block` got."""
    for predecessor in dict.fromkeys(block.predecessors()):
        branch = last_op_of(predecessor)
        if isinstance(branch, cf.BranchOp):
            new: Operation = cf.BranchOp(target, *branch.arguments, *values)
        elif isinstance(branch, cf.ConditionalBranchOp):
            sides: list[tuple[Block, list[SSAValue]]] = []
            for to, given in forwarded_operands(branch):
                sides.append((target, [*given, *values]) if to is block else (to, given))
            new = cf.ConditionalBranchOp(branch.cond, *sides[0], *sides[1])
        else:
            branch.successors = [target if to is block else to for to in block_successors(branch)]
            continue
        new.location = branch.location
        new.attributes = dict(branch.attributes)
        predecessor.insert_op_before(new, branch)
        predecessor.erase_op(branch)


def _drop_steady_arguments(region: Region) -> bool:
    """Repositions arguments for which every jump passes the same value by that value."""
    changed = False
    for block in list(region.blocks)[1:]:
        steady = {arg.index: value for arg in block.args if (value := _steady_value(arg)) is not None}
        for index, value in steady.items():
            block.args[index].replace_all_uses_with(value)
        if steady:
            drop_arguments(block, list(steady))
            for index in sorted(steady, reverse=True):
                block.erase_arg(block.args[index])
            changed = True
    return changed


def _steady_value(argument: BlockArgument) -> SSAValue | None:
    found: SSAValue | None = None
    for value in _passed(argument):
        if value is None or (found is not None and value is not found):
            return None
        found = value
    return found if found is not argument else None


def _passed(argument: BlockArgument) -> Iterator[SSAValue | None]:
    """What each jump passes for `argument`; None for a terminator that is no branch."""
    block = argument.block
    for predecessor in dict.fromkeys(block.predecessors()):
        last = predecessor.last_op
        given = forwarded_operands(last) if last is not None else []
        if not given:
            yield None
        for to, values in given:
            if to is block:
                yield values[argument.index]
