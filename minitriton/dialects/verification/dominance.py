"""Which value is certainly defined before which op, and the check that every value is defined before it is used, as MLIR's verifier does.

    %1 = arith.addi %0, %0 : i32
    %0 = arith.constant 1 : i32       →   k.ttir:3:5: error: operand #0 does not dominate this use

In one block order decides; across blocks of a region the dominator tree does, built once per region (Cooper, Harvey and
Kennedy, "A Simple, Fast Dominance Algorithm"); across regions the enclosing op stands for what is inside it.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from minitriton.dialects.fast_paths.op_access import block_successors, operand_values
from minitriton.errors import IRError


def immediate_dominators(region: Region) -> dict[Block, Block]:
    """The immediate dominator of every reachable block; the entry is its own."""
    entry = region.first_block
    if entry is None:
        return {}
    order = reverse_postorder(entry)
    number = {block: index for index, block in enumerate(order)}
    dominator: dict[Block, Block] = {entry: entry}

    def common(a: Block, b: Block) -> Block:
        while a is not b:
            while number[a] > number[b]:
                a = dominator[a]
            while number[b] > number[a]:
                b = dominator[b]
        return a

    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in block.predecessors() if p in dominator]
            new = known[0]
            for predecessor in known[1:]:
                new = common(new, predecessor)
            if dominator.get(block) is not new:
                dominator[block] = new
                changed = True
    return dominator


def reverse_postorder(entry: Block) -> list[Block]:
    """Blocks reachable from `entry`, each before those it dominates."""
    seen = {entry}
    done: list[Block] = []
    stack = [(entry, iter(successors_of(entry)))]
    while stack:
        block, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors_of(target))))
                break
        else:
            done.append(block)
            stack.pop()
    return done[::-1]


def successors_of(block: Block) -> tuple[Block, ...]:
    """Where a block may go on."""
    last = block.last_op
    return () if last is None else block_successors(last)


class Dominance:
    """Dominance in one function; valid while blocks and branches stay as they are (ops may come and go)."""

    def __init__(self) -> None:
        self._trees: dict[Region, dict[Block, Block]] = {}

    def block_dominates(self, a: Block, b: Block) -> bool:
        """True if every path to `b` (in the same region) goes through `a`."""
        if a is b:
            return True
        region = a.parent
        assert region is not None and b.parent is region
        tree = self._trees.get(region)
        if tree is None:
            tree = self._trees[region] = immediate_dominators(region)
        current = b
        while current in tree and tree[current] is not current:
            current = tree[current]
            if current is a:
                return True
        return False

    def properly_dominates(self, value: SSAValue, op: Operation) -> bool:
        """True if `value` is defined whenever `op` is about to run."""
        if isinstance(value, OpResult):
            return self.op_properly_dominates(value.op, op)
        assert isinstance(value, BlockArgument)
        ancestor = _ancestor_in(value.block.parent, op)
        return (
            ancestor is not None and ancestor.parent is not None and self.block_dominates(value.block, ancestor.parent)
        )

    def op_properly_dominates(self, a: Operation, b: Operation) -> bool:
        """True if `a` has run whenever `b` is about to run. An op does not dominate what is inside it."""
        block = a.parent
        if block is None:
            return False
        ancestor = _ancestor_in(block.parent, b)
        if ancestor is None or ancestor is a or ancestor.parent is None:
            return False
        if ancestor.parent is block:
            return a.is_before_in_block(ancestor)
        return self.block_dominates(block, ancestor.parent)


def _ancestor_in(region: Region | None, op: Operation) -> Operation | None:
    """`op` or the op around it that stands directly in `region`."""
    current: Operation | None = op
    while current is not None and current.parent is not None and current.parent.parent is not region:
        current = current.parent_op()
    return current if current is not None and current.parent is not None else None


Refuse = Callable[[Operation, str], IRError]


def verify_dominance(root: Operation, refuse: Refuse) -> None:
    """Raises what `refuse(op, message)` makes for the first op under `root` that uses a value not defined yet."""
    for region in root.regions:
        _check_region(region, set(), refuse)


def _check_region(region: Region, visible: set[SSAValue], refuse: Refuse) -> None:
    first = region.first_block
    if first is None:
        return
    if first is region.last_block:
        visible.difference_update(_check_block(first, visible, refuse))
        return
    dominators = immediate_dominators(region)
    below: dict[Block, list[Block]] = {}
    for block, above in dominators.items():
        if block is not above:
            below.setdefault(above, []).append(block)
    # What a block defines is seen by the blocks it dominates: down the tree and back up, without recursion.
    pending: list[tuple[Block, list[SSAValue] | None]] = [(first, None)]
    while pending:
        block, defined = pending.pop()
        if defined is not None:
            visible.difference_update(defined)
            continue
        pending.append((block, _check_block(block, visible, refuse)))
        pending += [(inner, None) for inner in below.get(block, ())]


def _check_block(block: Block, visible: set[SSAValue], refuse: Refuse) -> list[SSAValue]:
    """Checks the ops of a block and adds what it defines to `visible`; returns that."""
    defined: list[SSAValue] = list(block.args)
    visible.update(defined)
    for op in block.ops:
        for number, operand in enumerate(operand_values(op)):
            if operand not in visible:
                raise refuse(op, f"operand #{number} does not dominate this use")
        for region in op.regions:
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            _check_region(region, set() if isolated else visible, refuse)
        results = op.results
        visible.update(results)
        defined += results
    return defined
