"""Common subexpressions: what has certainly been computed before is not computed again.

    cse                       %0 = arith.addi %a, %b                                    %0 = arith.addi %a, %b
                              %1 = arith.addi %b, %a                              =>    use %0, %0
                              use %0, %1

    triton-loop-aware-cse     scf.for ... iter_args(%a = %x, %b = %x) {                 scf.for ... iter_args(%a = %x) {
                                %0 = arith.addi %a, %c                            =>      %0 = arith.addi %a, %c
                                %1 = arith.addi %b, %c                                    scf.yield %0 }
                                scf.yield %0, %1 }

`cse` merges ops without effects wherever the first dominates the second; ops that only read, in one block with no write in between. Ops that nothing
uses are erased, one level a run (what only they used is left for the next). The second pass also knows that two arguments of a loop are equal which start equal
and, supposing that they are equal, are yielded equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.dialects.fast_paths.op_access import block_of, last_op_of, next_use, operand_values, ops_in_inner_first
from minitriton.dialects.verification.dominance import immediate_dominators
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.constants import is_isolated
from minitriton.rewriting.effects import (
    EffectFreedom,
    EffectKind,
    effect_kind,
    is_memory_effect_free,
    may_write,
    own_effects,
    would_be_trivially_dead,
)
from minitriton.rewriting.equivalence import OperationKeys
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.scf_patterns import SCF_PATTERNS


class _Cse:
    """Known ops by key, with what each scope has overwritten, so that leaving the scope restores it."""

    def __init__(self) -> None:
        self.known: dict[Hashable, Operation] = {}
        self.undo: list[tuple[Hashable, Operation | None]] = []
        self.dead: list[Operation] = []
        self.keys = OperationKeys()
        self.freedom = EffectFreedom()
        self.writes = _WriteCounts()

    def run(self, root: Operation) -> bool:
        """Merges and erases below `root`; True if anything changed."""
        for region in root.regions:
            self._region(region)
        for op in self.dead:
            block = op.parent
            assert block is not None
            block.detach_op(op)
            op.drop_all_references()
        return bool(self.dead)

    def _region(self, region: Region) -> None:
        first = region.first_block
        if first is None:
            return
        if first.next_block is None:
            mark = len(self.undo)
            self._block(first)
            self._restore(mark)
            return
        children: dict[Block, list[Block]] = {}
        for block, dominator in immediate_dominators(region).items():
            if block is not dominator:
                children.setdefault(dominator, []).append(block)
        self._dominated(first, children)

    def _dominated(self, entry: Block, children: dict[Block, list[Block]]) -> None:
        """Visits the dominator tree from `entry`, each block within the scope of those that dominate it."""
        stack = [(entry, -1)]
        while stack:
            block, mark = stack.pop()
            if mark >= 0:
                self._restore(mark)
                continue
            stack.append((block, len(self.undo)))
            self._block(block)
            stack.extend((child, -1) for child in reversed(children.get(block, ())))

    def _restore(self, mark: int) -> None:
        undo, known = self.undo, self.known
        while len(undo) > mark:
            key, previous = undo.pop()
            if previous is None:
                del known[key]
            else:
                known[key] = previous

    def _remember(self, key: Hashable, op: Operation) -> None:
        self.undo.append((key, self.known.get(key)))
        self.known[key] = op

    def _block(self, block: Block) -> None:
        op = block.first_op
        while op is not None:
            if op.regions:
                self._nested(op)
            self._op(op)
            op = op.next_op

    def _nested(self, op: Operation) -> None:
        if is_isolated(op):
            known, undo = self.known, self.undo
            self.known, self.undo = {}, []
            for region in op.regions:
                self._region(region)
            self.known, self.undo = known, undo
        else:
            for region in op.regions:
                self._region(region)

    def _op(self, op: Operation) -> None:
        kind = effect_kind(op)
        if kind is EffectKind.PINNED:
            return
        for result in op.results:
            if result.first_use is not None:
                break
        else:
            if kind is EffectKind.FREE or would_be_trivially_dead(op):
                self.dead.append(op)
                return
        if op.regions and any(r.first_block is not None and r.first_block.next_block is not None for r in op.regions):
            return
        if kind is not EffectKind.FREE and not self.freedom.of(op):
            self._reading_op(op)
            return
        key = self.keys.of(op)
        existing = self.known.get(key)
        if existing is not None:
            self._replace(op, existing)
        else:
            self.undo.append((key, None))
            self.known[key] = op

    def _reading_op(self, op: Operation) -> None:
        effects = own_effects(op)
        if not effects or any(effect.kind is not MemoryEffectKind.READ for effect in effects):
            return
        key = self.keys.of(op)
        existing = self.known.get(key)
        if existing is not None and existing.parent is op.parent and not self.writes.between(existing, op):
            self._replace(op, existing)
        else:
            self._remember(key, op)

    def _replace(self, op: Operation, existing: Operation) -> None:
        for old, new in zip(op.results, existing.results, strict=True):
            use = old.first_use
            while use is not None:
                following = next_use(use)
                use.operation.operands[use.index] = new
                use = following
        if existing.location is UNKNOWN_LOC:
            existing.location = op.location
        self.dead.append(op)


class _WriteCounts:
    """How many ops before one of a block may write, counted once while a walk goes through the block."""

    def __init__(self) -> None:
        self._before: dict[Operation, int] = {}
        self._counted: dict[Block, Operation] = {}
        """The last op of each block up to which ops are counted."""

    def between(self, first: Operation, last: Operation) -> bool:
        """True if an op from `first`, which only reads, to `last`, of one block, may write."""
        return self._count(first) != self._count(last)

    def _count(self, op: Operation) -> int:
        found = self._before.get(op)
        if found is not None:
            return found
        block = op.parent
        assert block is not None
        last = self._counted.get(block)
        current, count = (block.first_op, 0) if last is None else (last, self._before[last])
        while current is not None and current is not op:
            self._before[current] = count
            count += may_write(current)
            current = current.next_op
        self._before[op] = count
        self._counted[block] = op
        return count


def eliminate_common_subexpressions(root: Operation) -> bool:
    """Merges repeated ops below `root`; True if anything changed."""
    return _Cse().run(root)


@register_pass
class Cse(Pass, origin="triton"):
    """Replaces ops that repeat an earlier one by its results."""

    name: ClassVar[str] = "cse"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return eliminate_common_subexpressions(op)


_LOOP_PATTERNS = SCF_PATTERNS.subset(scf.ForOp)


class _LoopEquality:
    """Which values carried by one loop are equal in every iteration.

    All that start equal are supposed to be equal; values of the body that compute the same from equal ones are equal then; carried
    values that are yielded different ones part, and so on until none part. Each round parts one at least, so that there
    are at most as many as carried values.
    """

    def __init__(self, loop: scf.ForOp) -> None:
        self.block = block_of(loop)
        self.inits = operand_values(loop)[3:]
        self.yielded = operand_values(last_op_of(self.block))
        self.keys = OperationKeys()

    def leaders(self) -> list[int]:
        """For each carried value the number of the first that equals it."""
        leaders = _firsts(map(id, self.inits))
        while any(leader != i for i, leader in enumerate(leaders)):
            stand_in = self._stand_ins(leaders)
            finer = _firsts((leader, stand_in(value)) for leader, value in zip(leaders, self.yielded, strict=True))
            if finer == leaders:
                break
            leaders = finer
        return leaders

    def _stand_ins(self, leaders: list[int]) -> Callable[[SSAValue], SSAValue]:
        """For each value the first of the body that equals it, or itself, if carried values equal their leaders."""
        arguments = self.block.args[1:]
        first: dict[SSAValue, SSAValue] = {arguments[j]: arguments[i] for j, i in enumerate(leaders) if i != j}
        known: dict[Hashable, Operation] = {}

        def stand_in(value: SSAValue) -> SSAValue:
            return first.get(value, value)

        for op in self.block.ops:
            if op.results and not op.regions and is_memory_effect_free(op):
                earlier = known.setdefault(self.keys.of(op, stand_in), op)
                if earlier is not op:
                    first.update(zip(op.results, earlier.results, strict=True))
        return stand_in


def _firsts(keys: Iterable[Hashable]) -> list[int]:
    """For each of `keys` the position of the first equal one."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(key, index) for index, key in enumerate(keys)]


def merge_equal_arguments(loop: scf.ForOp) -> bool:
    """Uses of carried values that equal an earlier one become uses of that one; they themselves are yielded unchanged.

    True if there were any.
    """
    count = len(loop.results)
    if count < 2:
        return False
    equality = _LoopEquality(loop)
    leader = equality.leaders()
    arguments = equality.block.args[1:]
    terminator = last_op_of(equality.block)
    for j, i in enumerate(leader):
        if i != j:
            arguments[j].replace_all_uses_with(arguments[i])
            terminator.operands[j] = arguments[j]
            loop.results[j].replace_all_uses_with(loop.results[i])
    return leader != list(range(count))


@register_pass
class LoopAwareCse(Pass, origin="triton"):
    """Merges equal values carried by loops, and common subexpressions."""

    name: ClassVar[str] = "triton-loop-aware-cse"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE
    visits_every_op: ClassVar[bool] = True
    folds_everything: ClassVar[bool] = True

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return self._rewrite(op, is_simplified=False)

    def apply_to_folded(self, ctx: Context, op: ModuleOp) -> bool:
        return self._rewrite(op, is_simplified=True)

    def _rewrite(self, op: ModuleOp, *, is_simplified: bool) -> bool:
        changed = eliminate_common_subexpressions(op)
        for loop in ops_in_inner_first(op):
            if loop.__class__ is scf.ForOp and isinstance(loop, scf.ForOp):
                changed |= merge_equal_arguments(loop)
        if changed:
            eliminate_common_subexpressions(op)
        return apply_patterns_greedily(op, _LOOP_PATTERNS, is_simplified=is_simplified and not changed) or changed
