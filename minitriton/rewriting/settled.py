"""Parts of a function in which nothing is left to simplify, so that a greedy rewrite of the whole passes them by.

    scf.for { A }            simplified, then settled
    ...
    %y = arith.addi %x, %c   a new operand for an op in A    =>  `disturb(%y's user)`: A and all around it are looked at again

Inlining simplifies every function after its calls have become bodies that were simplified before. Without this, what is `n` calls deep
is looked at `n` times.
"""

from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from minitriton.dialects.fast_paths.op_access import next_op, next_use

REACH = 3
"""How far from a changed operand an op may be for which a fold or pattern looks at it: those here look at what computed an operand and
at what computed an operand of that."""


class Settled:
    """Ops with regions, each settled as a whole: all such ops inside a settled op are settled too."""

    def __init__(self) -> None:
        self._ops: dict[int, Operation] = {}
        """By identity; the ops are kept so that no other gets their identity."""

    def __contains__(self, op: Operation) -> bool:
        return id(op) in self._ops

    def __bool__(self) -> bool:
        return bool(self._ops)

    def add(self, op: Operation) -> None:
        """Says that nothing is to be done inside `op`, inside which everything is settled."""
        self._ops[id(op)] = op

    def disturb(self, op: Operation | None) -> None:
        """What changed at `op` may have something to do for the ops in it and around it."""
        settled = self._ops
        first = op
        while op is not None:
            if settled.pop(id(op), None) is None and op.regions and op is not first:
                return
            block = op.parent
            op = None if block is None else block.parent_op()

    def disturb_users(self, value: SSAValue, reach: int = REACH) -> None:
        """The users of `value` will have another operand in its place."""
        use = value.first_use
        while use is not None:
            user = use.operation
            self.disturb(user)
            if reach:
                results = user.results
                if next_op(user) is None and user.has_trait(IsTerminator):
                    around = user.parent_op()
                    results = () if around is None else around.results
                for result in results:
                    self.disturb_users(result, reach - 1)
            use = next_use(use)


def is_used_less(value: SSAValue, other: SSAValue) -> bool:
    """Whether `value` has fewer uses than `other`; takes as long as there are of these."""
    first, second = value.first_use, other.first_use
    while first is not None and second is not None:
        first, second = next_use(first), next_use(second)
    return first is None and second is not None
