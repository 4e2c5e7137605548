"""A loop's body, and when each op of it runs: its stage, and its cluster within an iteration of the pipelined loop.

An op of stage s runs s iterations of the pipelined loop after the iteration that it belongs to began. Within one iteration,
ops run cluster by cluster, those of one cluster in the order of the body. As attributes:

    %x = tt.load %p {loop.cluster = 2 : i32, loop.stage = 0 : i32}
    } {tt.scheduled_max_stage = 2 : i32}

Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/Schedule.cpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_values, ops_in, ops_in_inner_first

NUM_STAGES = "tt.num_stages"


def terminator_of(loop: scf.ForOp) -> Operation:
    """The `scf.yield` of a loop."""
    return last_op_of(loop.regions[0].block)


def body_ops(loop: scf.ForOp) -> list[Operation]:
    """The ops directly in a loop, without its yield."""
    block = loop.regions[0].block
    return [op for op in block.ops if op is not block.last_op]


def nested_operands(op: Operation) -> dict[SSAValue, None]:
    """The operands of `op` and of all ops in it, each once."""
    if not op.regions:
        return dict.fromkeys(operand_values(op))
    return dict.fromkeys(operand for inner in ops_in(op) for operand in operand_values(inner))


def num_stages(loop: scf.ForOp, default: int) -> int:
    """How many stages the loop is to have: what it says (`tl.range(num_stages=...)`), else the kernel's number."""
    given = loop.attributes.get(NUM_STAGES)
    return given.value.data if isinstance(given, IntegerAttr) else default


def is_outer_loop(loop: scf.ForOp) -> bool:
    """True if another loop stands directly in this one."""
    return any(isinstance(op, scf.ForOp | scf.WhileOp) for op in body_ops(loop))


def uses_values_of_older_iterations(loop: scf.ForOp) -> bool:
    """Whether an iteration yields one of its arguments, so that a value is used two or more iterations later."""
    return any(isinstance(value, BlockArgument) for value in operand_values(terminator_of(loop)))


def definition_and_distance(loop: scf.ForOp, value: SSAValue) -> tuple[Operation | None, int]:
    """What defines `value`, and how many iterations before the one that uses it; None for what no iteration defines."""
    distance = 0
    seen: set[SSAValue] = set()
    while isinstance(value, BlockArgument):
        if value.block is not loop.regions[0].block or value.index == 0:
            return None, 0
        distance += 1
        value = operand_values(terminator_of(loop))[value.index - 1]
        if value in seen:
            return None, 0
        seen.add(value)
    assert isinstance(value, OpResult)
    return value.op, distance


def ancestor_in_body(loop: scf.ForOp, op: Operation) -> Operation | None:
    """`op` or the op around it that stands directly in the body of `loop`; None if it is outside."""
    block = loop.regions[0].block
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def users_in_body(loop: scf.ForOp, op: Operation) -> list[Operation]:
    """The ops of the body that use results of `op`, in this iteration or the next, views of buffers seen through."""
    found: dict[Operation, None] = {}
    seen: set[tuple[Operation, int]] = set()
    pending = [use for result in op.results for use in result.uses]
    last = terminator_of(loop)
    while pending:
        use = pending.pop()
        user = use.operation
        if (user, use.index) in seen:
            continue
        seen.add((user, use.index))
        if user is last:
            pending.extend(loop.regions[0].block.args[use.index + 1].uses)
        elif isinstance(user, VIEWS):
            pending.extend(user.results[0].uses)
        else:
            ancestor = ancestor_in_body(loop, user)
            if ancestor is not None:
                found[ancestor] = None
    return list(found)


def loops_in(root: Operation) -> Iterator[scf.ForOp]:
    """All loops below `root`, inner before outer."""
    for op in ops_in_inner_first(root):
        if op.__class__ is scf.ForOp:
            yield op  # pyright: ignore[reportReturnType]


STAGE = "loop.stage"
CLUSTER = "loop.cluster"
MAX_STAGE = "tt.scheduled_max_stage"


class Cluster:
    """A position in the order of one iteration; only its position among the others counts."""


class Schedule:
    """Stage and cluster of the ops of one loop body; ops may be missing while it is made."""

    def __init__(self, stages: int = 0) -> None:
        self.stages = stages
        self.clusters: list[Cluster] = []
        self.positions: dict[Operation, tuple[int, Cluster]] = {}

    def __contains__(self, op: Operation) -> bool:
        return op in self.positions

    def stage(self, op: Operation) -> int:
        """The stage of an op in the schedule."""
        return self.positions[op][0]

    def cluster(self, op: Operation) -> Cluster:
        """The cluster of an op in the schedule."""
        return self.positions[op][1]

    def position(self, cluster: Cluster) -> int:
        """How many clusters are before this one."""
        return self.clusters.index(cluster)

    # Clusters

    def new_cluster(self, position: int | None = None) -> Cluster:
        """A new cluster before the one at `position`, by default after all."""
        cluster = Cluster()
        self.clusters.insert(len(self.clusters) if position is None else position, cluster)
        return cluster

    # Ops

    def insert(self, op: Operation, stage: int, cluster: Cluster) -> None:
        """Places an op, wherever it was."""
        self.positions[op] = (stage, cluster)

    def insert_if_absent(self, op: Operation, stage: int, cluster: Cluster) -> bool:
        """Places an op that is not in the schedule yet; whether it had none."""
        if op in self.positions:
            return False
        self.positions[op] = (stage, cluster)
        return True

    def insert_earliest(self, op: Operation, stage: int, cluster: Cluster) -> bool:
        """Places an op here unless it is earlier already; whether its position changed."""
        position = self.positions.get(op)
        if position is not None:
            if stage > position[0]:
                return False
            if stage == position[0] and self.position(cluster) >= self.position(position[1]):
                return False
        self.positions[op] = (stage, cluster)
        return True

    def insert_dependencies(
        self, op: Operation, stage: int, cluster: Cluster, *, through_arguments: bool, earliest: bool
    ) -> None:
        """Schedules what `op` needs, and what that needs, with `op`.

        `through_arguments`: also what the previous iteration forwards. `earliest`: also ops that have a later location.
        """
        insert = self.insert_earliest if earliest else self.insert_if_absent
        pending = [op]
        while pending:
            current = pending.pop()
            for producer in producers(current, through_arguments):
                if insert(producer, stage, cluster):
                    pending.append(producer)

    def in_order(self, loop: scf.ForOp) -> list[Operation]:
        """The ops of the body that are scheduled, in the order in which one iteration runs them."""
        buckets: dict[Cluster, list[Operation]] = {cluster: [] for cluster in self.clusters}
        for op in body_ops(loop):
            position = self.positions.get(op)
            if position is not None:
                buckets[position[1]].append(op)
        return [op for bucket in buckets.values() for op in bucket]

    def runs_before(self, a: Operation, b: Operation) -> bool:
        """Whether `a` runs before `b`, of one iteration of the original loop."""
        (stage_a, cluster_a), (stage_b, cluster_b) = self.positions[a], self.positions[b]
        if stage_a != stage_b:
            return stage_a < stage_b
        if cluster_a is not cluster_b:
            return self.position(cluster_a) < self.position(cluster_b)
        return a.is_before_in_block(b)

    # Attributes

    def write(self, loop: scf.ForOp) -> None:
        """Puts the schedule on the ops of `loop`."""
        for number, cluster in enumerate(self.clusters):
            for op, (stage, placed) in self.positions.items():
                if placed is cluster:
                    op.attributes[CLUSTER] = IntegerAttr(number, i32)
                    op.attributes[STAGE] = IntegerAttr(stage, i32)
        before = loop.attributes.get(MAX_STAGE)
        most = before.value.data if isinstance(before, IntegerAttr) else 0
        loop.attributes[MAX_STAGE] = IntegerAttr(max(self.stages - 1, most), i32)

    @classmethod
    def read(cls, loop: scf.ForOp) -> Schedule | None:
        """The schedule that the ops of `loop` carry; None if it has none."""
        most = loop.attributes.get(MAX_STAGE)
        if not isinstance(most, IntegerAttr):
            return None
        schedule = cls(most.value.data + 1)
        placed: list[tuple[Operation, int, int]] = []
        for op in body_ops(loop):
            stage, cluster = op.attributes.get(STAGE), op.attributes.get(CLUSTER)
            if isinstance(stage, IntegerAttr) and isinstance(cluster, IntegerAttr):
                placed.append((op, stage.value.data, cluster.value.data))
        schedule.stages = max([schedule.stages, *(stage + 1 for _, stage, _ in placed)])
        first = min((number for _, _, number in placed), default=0)
        for _ in range(first, max((number for _, _, number in placed), default=-1) + 1):
            schedule.new_cluster()
        for op, stage, number in placed:
            schedule.insert(op, stage, schedule.clusters[number - first])
        return schedule


def producers(op: Operation, through_arguments: bool) -> Iterator[Operation]:
    """The ops in the block of `op` that define what it and the ops in it use."""
    block = op.parent
    assert block is not None
    for operand in nested_operands(op):
        value = operand
        seen: set[BlockArgument] = set()
        while through_arguments and isinstance(value, BlockArgument) and value not in seen:
            seen.add(value)
            if value.index == 0 or value.block is not block or block.last_op is None:
                break
            value = operand_values(block.last_op)[value.index - 1]
        if isinstance(value, OpResult) and value.op.parent is block:
            yield value.op


def schedule_dependencies(loop: scf.ForOp, schedule: Schedule) -> None:
    """Everything that a placed op needs is placed with it, or earlier."""
    order = schedule.in_order(loop)
    positions = {op: schedule.positions[op] for op in order}
    for stage in range(schedule.stages):
        for op in order:
            at, cluster = positions[op]
            if at == stage:
                schedule.insert_dependencies(op, at, cluster, through_arguments=False, earliest=True)
