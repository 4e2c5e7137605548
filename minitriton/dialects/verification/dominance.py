"""Which value is certainly defined before which op.

In one block order decides; across blocks of a region the dominator tree does, built once per region (Cooper, Harvey and
Kennedy, "A Simple, Fast Dominance Algorithm"); across regions the enclosing op stands for what is inside it.
"""

from __future__ import annotations

from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.dialects.fast_paths.op_access import block_successors


def immediate_dominators(region: Region) -> dict[Block, Block]:
    """The immediate dominator of every reachable block; the entry is its own."""
    entry = region.first_block
    if entry is None:
        return {}
    order = _reverse_postorder(entry)
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


def _reverse_postorder(entry: Block) -> list[Block]:
    seen = {entry}
    done: list[Block] = []
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, targets = stack[-1]
        for target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(_successors(target))))
                break
        else:
            done.append(block)
            stack.pop()
    return done[::-1]


def _successors(block: Block) -> tuple[Block, ...]:
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
