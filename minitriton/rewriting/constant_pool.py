"""One op for each constant, at the top of the function.

At the start of each round the greedy driver shows every constant to the pool. The first op of a value is moved to the
start of the entry block of the innermost isolated op (the function), unless the constants before it are already the
pool's; later ops of the same value are replaced by it. So constants that were at the top keep their order, and those found
further down end up before them, in reverse order. The location of a constant is forgotten when it comes from another block, or
stands for several.

    tt.func @f() {                      tt.func @f() {
      %x = ...                            %c2 = arith.constant 2
      %c1 = arith.constant 1      =>      %c1 = arith.constant 1
      %c2 = arith.constant 2              %x = ...
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from xdsl.dialects import ub
from xdsl.dialects.builtin import UNKNOWN_LOC
from xdsl.ir import Block, Operation
from xdsl.traits import IsolatedFromAbove

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.fast_paths.op_access import forward_name
from minitriton.rewriting.constants import constant_key
from minitriton.rewriting.settled import is_used_less

CONSTANT_CLASSES: frozenset[type[Operation]] = frozenset({ConstantOp, ub.PoisonOp})
"""Classes of the ops that the pool keeps: each gives a value that depends on nothing."""

_isolated: dict[type[Operation], bool] = {}


def is_isolated(op: Operation) -> bool:
    """True if ops inside `op` cannot use values from outside it (a function); unknown ops count as isolated."""
    cls = op.__class__
    known = _isolated.get(cls)
    if known is None:
        known = _isolated[cls] = op.has_trait(IsolatedFromAbove, value_if_unregistered=True)
    return known


class HomeBlocks:
    """Where the constants of a block are placed; each block is asked for once, as long as no region moves."""

    def __init__(self) -> None:
        self._known: dict[Block, Block] = {}

    def of(self, block: Block) -> Block:
        """The entry block of the innermost isolated op around `block`."""
        passed: list[Block] = []
        home = self._known.get(block)
        while home is None:
            passed.append(block)
            region = block.parent
            owner = None if region is None else region.parent
            if region is None:
                home = block
            elif owner is None or owner.parent is None or is_isolated(owner):
                home = region.first_block
                assert home is not None
            else:
                block = owner.parent
                home = self._known.get(block)
        for each in passed:
            self._known[each] = home
        return home


class ConstantPool:
    """The constants of one round, by home block and value."""

    def __init__(self, replace: Callable[[Operation, Operation], None], keep_most_used: bool = False) -> None:
        """`replace(old, new)` must replace the results of `old` by those of `new` and delete `old`. `keep_most_used`: of two equal
        constants the one with more uses replaces the other, so that as few operands as possible are changed."""
        self._replace = replace
        self._keep_most_used = keep_most_used
        self._scopes: dict[Block, dict[Hashable, Operation]] = {}
        self._owned: set[int] = set()
        self._homes = HomeBlocks()
        self.has_moved = False
        """Whether a constant stands elsewhere than before."""

    def insert(self, op: Operation) -> bool:
        """Makes `op` the constant of its value; False if there was one already, which has replaced it."""
        block = op.parent
        assert block is not None
        home = self._homes.of(block)
        scope = self._scopes.get(home)
        if scope is None:
            scope = self._scopes[home] = {}
        key = constant_key(op.properties["value"]) if op.__class__ is ConstantOp else (op.__class__, op.results[0].type)
        existing = scope.setdefault(key, op)
        if existing is not op:
            existing.location = UNKNOWN_LOC
            if not (self._keep_most_used and is_used_less(existing.results[0], op.results[0])):
                self._replace(op, existing)
                return False
            self._replace_first(op, existing)
            scope[key] = op
            return True
        before = op.prev_op
        if block is not home or (before is not None and id(before) not in self._owned):
            self.has_moved = True
            block.detach_op(op)
            first = home.first_op
            assert first is not None
            home.insert_op_before(op, first)
            if block is not home:
                op.location = UNKNOWN_LOC
        self._owned.add(id(op))
        return True

    def _replace_first(self, op: Operation, existing: Operation) -> None:
        """Puts `op` where `existing` stands, which is deleted."""
        assert op.parent is not None and existing.parent is not None
        op.parent.detach_op(op)
        existing.parent.insert_op_before(op, existing)
        op.location = existing.location
        forward_name(existing.results[0], op.results[0])
        self._replace(existing, op)
        self._owned.add(id(op))
        self.has_moved = True
