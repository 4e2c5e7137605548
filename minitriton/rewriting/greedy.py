"""The greedy driver: deletes, folds and rewrites until nothing changes.

In: a root op (usually the module) and a `PatternSet`. Out: True if the IR changed.

Each round shows the constants to the pool, puts all ops on a stack and takes them off one by one. An op that nothing uses
and that does nothing is erased; else its folder is tried, then its patterns. What a change may have made simplifiable goes
back on the stack (a bound on the visits of a round keeps patterns that undo each other from doing so for ever). A round that changed something ends with a sweep of dead ops, and of dead blocks and block arguments (and
merges equal blocks unless configured otherwise); rounds follow until one changes nothing, `max_rounds` at most. Order of visits, and with it the order of
what is created, is that of MLIR's `GreedyPatternRewriteDriver`, so that texts can be compared line by line.
"""

# This file is one of those that touch what xDSL keeps private (see `dialects.fast_paths.op_access`): reading a field costs a third of calling its property.
# pyright: reportPrivateUsage=false

from collections.abc import Iterator
from typing import NamedTuple

from xdsl.ir import Attribute, Operation, Region, SSAValue

from minitriton.dialects.fast_paths.op_access import next_use
from minitriton.pipeline.choice import remark
from minitriton.rewriting import folds as folds  # registers the folders
from minitriton.rewriting.block_merging import merge_blocks
from minitriton.rewriting.constants import CONSTANT_CLASSES, ConstantPool
from minitriton.rewriting.effects import would_be_trivially_dead
from minitriton.rewriting.patterns import MODIFIED, Folded, Folder, Pattern, PatternSet, folder_of
from minitriton.rewriting.regions import erase_dead_ops, simplify_regions
from minitriton.rewriting.rewriter import Rewriter
from minitriton.rewriting.settled import Settled

NO_PATTERNS = PatternSet()

VISITS_OF_AN_OP = 64
"""How often a round visits an op on average before it is broken off: patterns undo each other then. Kernels take 2.5 at most."""


class _Round(Rewriter):
    """One filling and emptying of the worklist."""

    def __init__(
        self, root: Operation, patterns: PatternSet, settled: Settled | None = None, share_constants: bool = True
    ) -> None:
        super().__init__(root, settled)
        self.patterns = patterns
        self.multi_block: list[Region] = []
        self.pool = ConstantPool(self._replace_constant, keep_most_used=settled is not None)
        self.pooled = CONSTANT_CLASSES if share_constants else frozenset[type[Operation]]()
        self.is_broken_off = False

    def _replace_constant(self, old: Operation, new: Operation) -> None:
        if self.settled is None:
            self.replace_op(old, new.results[0])
            return
        for user in self._users_replaced(old, new):
            if not self._is_settled(user):
                self.add(user)
        self.erase_op(old)

    def _users_replaced(self, old: Operation, new: Operation) -> Iterator[Operation]:
        value = new.results[0]
        use = old.results[0].first_use
        while use is not None:
            following = next_use(use)
            user = use.operation
            user.operands[use.index] = value
            yield user
            use = following

    def _is_settled(self, op: Operation) -> bool:
        """Whether `op` stands in a settled op, to which it makes no difference which of two equal constants it uses."""
        around = op.parent_op()
        return self.settled is not None and around is not None and around in self.settled

    def fill_top_down(self) -> None:
        """Stacks all ops so that the first op of the root comes off first."""
        self._fill_before(self.root)
        self.worklist.reverse()

    def _fill_before(self, op: Operation) -> None:
        worklist, queued, settled = self.worklist, self.queued, self.settled
        for region in op.regions:
            block = region._first_block
            if block is not None and block._next_block is not None:
                self.multi_block.append(region)
            while block is not None:
                inner = block._first_op
                while inner is not None:
                    following = inner._next_op
                    if inner.__class__ not in self.pooled or self.pool.insert(inner):
                        key = id(inner)
                        if key not in queued:
                            queued.add(key)
                            worklist.append(inner)
                        if inner.regions and (settled is None or inner not in settled):
                            self._fill_before(inner)
                    inner = following
                block = block._next_block

    def fill_bottom_up(self) -> None:
        """Stacks all ops so that the last op of the root comes off first, an op with regions after what is in it."""
        self._fill_after(self.root)

    def _fill_after(self, op: Operation) -> None:
        """Right above the first op inside `op` stand `op` and the ops around it."""
        worklist, queued = self.worklist, self.queued
        for region in op.regions:
            block = region._first_block
            if block is not None and block._next_block is not None:
                self.multi_block.append(region)
            while block is not None:
                inner = block._first_op
                while inner is not None:
                    following = inner._next_op
                    if inner.regions:
                        self._fill_after(inner)
                    if inner.__class__ not in self.pooled or self.pool.insert(inner):
                        key = id(inner)
                        if key not in queued:
                            queued.add(key)
                            worklist.append(inner)
                        if op is not self.root and id(op) not in queued:
                            self.add(op)
                    inner = following
                block = block._next_block

    def pass_by_what_rests(self) -> None:
        """Takes ops off the stack that are neither dead nor fold, until a pattern finds something to do."""
        worklist, queued, for_class = self.worklist, self.queued, self.patterns.for_class
        known: dict[type[Operation], tuple[Pattern, ...]] = {}
        while worklist and not self.changed:
            op = worklist.pop()
            queued.discard(id(op))
            cls = op.__class__
            patterns = known.get(cls)
            if patterns is None:
                patterns = known[cls] = for_class(cls)
            if not patterns:
                continue
            left = len(worklist)
            for pattern in patterns:
                self.insertion_point = op
                self.location = op.location
                if pattern(op, self):
                    self.changed = True
                    break
            if len(worklist) != left:
                return

    def empty(self) -> None:
        """Takes ops off the stack until it is empty, erasing, folding and rewriting."""
        worklist, queued = self.worklist, self.queued
        rules: dict[type[Operation], tuple[Folder | None, tuple[Pattern, ...]]] = {}
        left = VISITS_OF_AN_OP * (len(worklist) + 16)
        while worklist:
            op = worklist.pop()
            left -= 1
            if not left:
                remark(
                    op,
                    f"rewriting is broken off after {VISITS_OF_AN_OP} visits of an op on average: patterns undo each other",
                )
                self.is_broken_off = True
                return
            key = id(op)
            if key not in queued:
                continue
            queued.remove(key)
            for result in op.results:
                if result.first_use is not None:
                    break
            else:
                if would_be_trivially_dead(op):
                    self.erase_op(op)
                    continue
            cls = op.__class__
            rule = rules.get(cls)
            if rule is None:
                rule = rules[cls] = (folder_of(cls), self.patterns.for_class(cls))
            fold, patterns = rule
            if fold is not None:
                folded = fold(op)
                if folded is not None:
                    self._apply_fold(op, folded)
                    continue
            for pattern in patterns:
                self.insertion_point = op
                self.location = op.location
                if pattern(op, self):
                    self.changed = True
                    break

    def _apply_fold(self, op: Operation, folded: Folded) -> None:
        if folded is None or folded is MODIFIED:
            self.modified(op)
            return
        parts: tuple[SSAValue | Attribute, ...] = folded if isinstance(folded, tuple) else (folded,)
        self.insertion_point = op
        self.location = op.location
        self.replace_op(op, *(self.constant(part) if isinstance(part, Attribute) else part for part in parts))


def apply_patterns_greedily(
    root: Operation,
    patterns: PatternSet = NO_PATTERNS,
    *,
    top_down: bool = False,
    merge_equal_blocks: bool = True,
    settled: Settled | None = None,
    is_simplified: bool = False,
    share_constants: bool = True,
) -> bool:
    """Simplifies everything inside `root` (not `root` itself). Returns whether anything changed, locations of constants included.

    `top_down` says which op is visited first (canonicalisation: the first of the function; else the last). What is in an op of
    `settled` is only looked at if it changes, after which the op is not settled any more (for `top_down`). `is_simplified`: this has been
    done with other patterns and nothing has changed since, so that patterns alone may find something to do. `share_constants`: equal ones
    become one at the start of the function; else all stay where they are.
    """
    return rewrite_greedily(
        root,
        patterns,
        top_down=top_down,
        merge_equal_blocks=merge_equal_blocks,
        settled=settled,
        is_simplified=is_simplified,
        share_constants=share_constants,
    ).changed


class Rewritten(NamedTuple):
    """What a greedy rewrite did."""

    changed: bool
    is_at_rest: bool
    """Whether its last round found nothing to do with constants where they are now, as another one would."""


def rewrite_greedily(
    root: Operation,
    patterns: PatternSet,
    *,
    top_down: bool = False,
    max_rounds: int = 10,
    simplify_cfg: bool = True,
    merge_equal_blocks: bool = True,
    settled: Settled | None = None,
    is_simplified: bool = False,
    share_constants: bool = True,
) -> Rewritten:
    """As `apply_patterns_greedily`, and says whether more rounds would do more."""
    changed = is_at_rest = False
    for _ in range(max_rounds):
        this = _Round(root, patterns, settled, share_constants)
        if top_down:
            this.fill_top_down()
        else:
            this.fill_bottom_up()
        changed |= this.changed or this.pool.has_moved
        this.is_filling = this.changed = False
        if is_simplified and not changed:
            this.pass_by_what_rests()
        this.empty()
        again = this.changed and not this.is_broken_off
        if simplify_cfg:
            if again:
                erase_dead_ops(root, settled)
            if this.multi_block:
                again |= simplify_regions(root)
                if merge_equal_blocks:
                    again |= merge_blocks(root)
        changed |= again or this.is_broken_off
        is_at_rest = not again and not this.is_broken_off
        if not again:
            break
    return Rewritten(changed, is_at_rest)
