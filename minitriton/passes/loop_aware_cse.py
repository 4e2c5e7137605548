"""`triton-loop-aware-cse`: values carried twice by a loop are carried once.

    scf.for ... iter_args(%a = %x, %b = %x) {              scf.for ... iter_args(%a = %x) {
      %0 = arith.addi %a, %c                        =>       %0 = arith.addi %a, %c
      %1 = arith.addi %b, %c                                 scf.yield %0 }
      scf.yield %0, %1 }

Two arguments are equal if they start equal and, supposing that they are equal, are yielded equal.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.fast_paths.op_access import block_of, last_op_of, operand_values
from minitriton.dialects.fast_paths.operations import ops_in_inner_first
from minitriton.passes.cse import eliminate_common_subexpressions
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.effects import is_memory_effect_free
from minitriton.rewriting.equivalence import OperationKeys
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

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
