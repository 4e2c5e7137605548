"""`triton-loop-aware-cse`: values carried twice by a loop are carried once.

    scf.for ... iter_args(%a = %x, %b = %x) {              scf.for ... iter_args(%a = %x) {
      %0 = arith.addi %a, %c                        =>       %0 = arith.addi %a, %c
      %1 = arith.addi %b, %c                                 scf.yield %0 }
      scf.yield %0, %1 }

Two arguments are equal if they start equal and, supposing that they are equal, are yielded equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, OpResult, SSAValue

from minitriton.analysis.operations import ops_in_inner_first
from minitriton.pass_registry import Pass, register_pass
from minitriton.passes.cse import eliminate_common_subexpressions
from minitriton.rewriting.constants import constant_attr, constant_key
from minitriton.rewriting.effects import is_memory_effect_free
from minitriton.rewriting.equivalence import is_commutative
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

_LOOP_PATTERNS = SCF_PATTERNS.subset(scf.ForOp)


class _LoopEquality:
    """Which values of one loop body are equal in every iteration."""

    def __init__(self, loop: scf.ForOp) -> None:
        block = loop.regions[0].first_block
        assert block is not None and block.last_op is not None
        self.block: Block = block
        self.inits = loop._operands[3:]
        self.yielded = block.last_op._operands
        self.assumed: list[tuple[int, int]] = []

    def arguments_equal(self, i: int, j: int) -> bool:
        """True if carried values `i` and `j` are always equal."""
        if i == j:
            return True
        if self.inits[i] is not self.inits[j]:
            return False
        if (i, j) in self.assumed:
            return True
        self.assumed.append((i, j))
        equal = self.values_equal(self.yielded[i], self.yielded[j])
        self.assumed.pop()
        return equal

    def values_equal(self, a: SSAValue, b: SSAValue) -> bool:
        """True if `a` and `b` are equal in every iteration, by their definitions in the body."""
        if a is b:
            return True
        if a.type != b.type or a.__class__ is not b.__class__:
            return False
        if isinstance(a, BlockArgument) and isinstance(b, BlockArgument):
            if a.block is not self.block or b.block is not self.block or a.index == 0 or b.index == 0:
                return False
            return self.arguments_equal(a.index - 1, b.index - 1)
        assert isinstance(a, OpResult) and isinstance(b, OpResult)
        return self._results_equal(a, b)

    def _results_equal(self, a: OpResult, b: OpResult) -> bool:
        first, second = a.op, b.op
        if first.parent is not self.block or second.parent is not self.block or a.index != b.index:
            return False
        if first.__class__ is not second.__class__ or first.regions or second.regions:
            return False
        if not is_memory_effect_free(first) or not is_memory_effect_free(second):
            return False
        constants = constant_attr(a), constant_attr(b)
        if constants[0] is not None and constants[1] is not None:
            return constant_key(constants[0]) == constant_key(constants[1])
        if first.properties != second.properties or first.attributes != second.attributes:
            return False
        if [r.type for r in first.results] != [r.type for r in second.results]:
            return False
        if len(first._operands) != len(second._operands):
            return False
        pairs = list(zip(first._operands, second._operands, strict=True))
        if all(self.values_equal(x, y) for x, y in pairs):
            return True
        if len(pairs) != 2 or not is_commutative(first.__class__):
            return False
        (w, x), (y, z) = pairs
        return self.values_equal(w, z) and self.values_equal(y, x)


def merge_equal_arguments(loop: scf.ForOp) -> bool:
    """Uses of carried values that equal an earlier one become uses of that one; they themselves are yielded unchanged.

    True if there were any.
    """
    count = len(loop.results)
    if count < 2:
        return False
    equality = _LoopEquality(loop)
    leader = list(range(count))
    for i in range(count):
        for j in range(i + 1, count):
            if equality.arguments_equal(i, j):
                low, high = sorted((leader[i], leader[j]))
                leader = [low if x == high else x for x in leader]
    arguments = equality.block.args[1:]
    terminator = equality.block.last_op
    assert terminator is not None
    for j, i in enumerate(leader):
        if i != j:
            arguments[j].replace_all_uses_with(arguments[i])
            terminator.operands[j] = arguments[j]
            loop.results[j].replace_all_uses_with(loop.results[i])
    return leader != list(range(count))


@register_pass
@dataclass(frozen=True)
class LoopAwareCse(Pass):
    """Merges equal values carried by loops, and common subexpressions."""

    name: ClassVar[str] = "triton-loop-aware-cse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = eliminate_common_subexpressions(op)
        for loop in [inner for inner in ops_in_inner_first(op) if inner.__class__ is scf.ForOp]:
            changed |= merge_equal_arguments(loop)  # pyright: ignore[reportArgumentType]
        if changed:
            eliminate_common_subexpressions(op)
        apply_patterns_greedily(op, _LOOP_PATTERNS)
