"""How many copies may still be under way behind a wait: all that began after the one that is waited for.

    commit 0; commit 1; for: wait (0); ...; commit i + 2          =>          wait {num = 1}

Answers to updateWaits in lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp.
"""

from __future__ import annotations

import math

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.passes.pipelining.loops import terminator_of
from minitriton.rewriting.insertion import Inserter


def update_waits(module: ModuleOp) -> None:
    """Sets the numbers of all `ttg.async_wait` and joins those that follow each other."""
    waits = ops_of(module, ttg.AsyncWaitOp)
    for wait in waits:
        wait.properties["num"] = IntegerAttr(_commits_since(wait), i32)
    joined: set[Operation] = set()
    for wait in waits:
        if wait not in joined:
            joined.update(_join_following(wait))


def _commits_between(first: Operation | None, end: Operation) -> int:
    """The commits from `first` up to `end`, those in regions not counted."""
    count = 0
    while first is not None and first is not end:
        count += isinstance(first, ttg.AsyncCommitGroupOp)
        first = first.next_op
    return count


def _commits_since(wait: Operation) -> int:
    """The fewest commits between what `wait` waits for and `wait`, on any way to it; 0 if that is not known."""
    if len(operand_values(wait)) != 1:
        return 0
    token = operand_at(wait, 0)
    block = token.block if isinstance(token, BlockArgument) else token.owner.parent
    sink: Operation | None = wait
    while sink is not None and sink.parent is not block:
        sink = sink.parent_op()
    return 0 if sink is None else int(_Search().fewest(token, sink, 0))


class _Search:
    """Follows a token back through loops; stops on ways that are longer than the shortest found."""

    def __init__(self) -> None:
        self.least: float = math.inf

    def fewest(self, token: SSAValue, sink: Operation, count: int) -> float:
        if isinstance(token, OpResult):
            self.least = min(self.least, count + _commits_between(token.op.next_op, sink))
            return self.least
        assert isinstance(token, BlockArgument)
        loop = token.block.parent_op()
        if not isinstance(loop, scf.ForOp) or token.index == 0:
            return 0
        count += _commits_between(token.block.first_op, sink)
        if count >= self.least:
            return self.least
        last = terminator_of(loop)
        outside = self.fewest(operand_values(loop)[2 + token.index], loop, count)
        before = self.fewest(operand_values(last)[token.index - 1], last, count)
        return min(outside, before, self.least)


def _join_following(wait: ttg.AsyncWaitOp) -> list[Operation]:
    """Makes one wait of `wait` and those behind it that no commit or branch separates from it; those that are gone."""
    group: list[ttg.AsyncWaitOp] = [wait]
    following = wait.next_op
    while (
        following is not None and not isinstance(following, ttg.AsyncCommitGroupOp) and RegionFlow.of(following) is None
    ):
        if isinstance(following, ttg.AsyncWaitOp):
            group.append(following)
        following = following.next_op
    if len(group) == 1:
        return []
    tokens = [token for each in group for token in operand_values(each)]
    least = min(each.num.value.data for each in group)
    joined = Inserter.before(wait).insert(ttg.AsyncWaitOp(tokens, num=least))
    for each in group:
        each.results[0].replace_all_uses_with(joined.results[0])
        assert each.parent is not None
        each.parent.erase_op(each)
    return list(group)
