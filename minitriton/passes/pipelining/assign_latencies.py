"""`tritongpu-assign-latencies`: how many stages before its use a load starts.

    scf.for ... {                                           scf.for ... {
      %x = tt.load %p                                         %x = tt.load %p {tt.latency = 2 : i32}
      use %x                                       =>         use %x
    } {tt.num_stages = 3 : i32}                             } {tt.num_stages = 3 : i32}

Loads that feed dots count, and in loops that name a number of stages all loads that can be copied asynchronously. Loads that
other such loads wait for share the stages: with n stages and loads k deep each starts (n - 1) / k stages ahead.

Loads through descriptors always count: the copy unit moves any block. Loads of what the loop stores do not (`stored_arrays.py`).

Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/AssignLatencies.cpp.
"""

from math import prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, i32
from xdsl.ir import Operation, OpResult

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import pointee_bits
from minitriton.analysis.copy_remarks import remark_narrow_load
from minitriton.dialects import tt
from minitriton.dialects.facts import Contraction
from minitriton.dialects.fast_paths.op_access import operand_at
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.pipelining.buffers import (
    LOADS,
    SMALLEST_COPY,
    Incompatible,
    Load,
    allocated_buffers,
    buffer_for_dots,
    copied_bytes,
    is_wide_enough,
)
from minitriton.passes.pipelining.schedule import (
    NUM_STAGES,
    body_ops,
    is_outer_loop,
    loops_in,
    nested_operands,
    num_stages,
    uses_values_of_older_iterations,
)
from minitriton.passes.pipelining.stored_arrays import loads_of_stored_arrays
from minitriton.passes.tensor_layouts import element_bits
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

LATENCY = "tt.latency"


class LoadLevels:
    """How many other loads stand between each load worth pipelining and what uses it in the end."""

    def __init__(self, loop: scf.ForOp, facts: AxisInfoAnalysis, any_width: bool = False) -> None:
        """`any_width`: loads too narrow for an asynchronous copy count, too."""
        self.loop = loop
        self.facts = facts
        self.any_width = any_width
        self.levels: dict[Operation, int] = {}
        self.users: dict[Operation, Operation] = {}
        """The dot, or other load, that each of them is for."""
        self.excluded: set[Operation] = set()
        self.seen: set[Operation] = set()

    def find(self, which: str) -> dict[Operation, int]:
        """The loads by level, of those that `which` of `LOADS_PIPELINED` names."""
        ops = body_ops(self.loop)
        for op in ops:
            if which != "none" and Contraction.of(op):
                self.seen.clear()
                self._visit(op)
        if which == "all":
            for op in ops:
                if not isinstance(op, LOADS):
                    self._visit(op)
        return self.levels

    def _visit(self, root: Operation) -> None:
        """Depth first through what `root` uses, in the order of the operands."""
        pending = [(root, 0, root)]
        while pending:
            op, level, final = pending.pop()
            if op in self.seen or op in self.excluded:
                continue
            self.seen.add(op)
            if isinstance(op, LOADS):
                if not self._enter(op, level, final):
                    continue
                level, final = level + 1, op
            accumulator = operand_at(op, 2) if Contraction.of(op) else None
            used = [
                value.op
                for value in nested_operands(op)
                if value is not accumulator and isinstance(value, OpResult) and value.op.parent is op.parent
            ]
            pending.extend((producer, level, final) for producer in reversed(used))

    def _enter(self, load: Load, level: int, final: Operation) -> bool:
        """Notes the level of a load; False if what it uses does not matter."""
        if not _gains(load, self.facts, self.any_width):
            return False
        known = self.levels.get(load)
        if known is not None and known != level:
            del self.levels[load]
            self.excluded.add(load)
            return False
        self.levels[load] = level
        self.users.setdefault(load, final)
        return True


def _gains(load: Load, facts: AxisInfoAnalysis, any_width: bool) -> bool:
    if not isinstance(load, tt.LoadOp):
        return True
    if not any_width and not is_wide_enough(load, facts):
        remark_narrow_load(load, load.ptr, load.mask, pointee_bits(load.ptr.type), facts)
        return False
    try:
        buffer_for_dots(load.results[0])
    except Incompatible:
        return False
    buffers = allocated_buffers(load)
    if not all(buffer == buffers[0] for buffer in buffers):
        return False
    if not any_width and buffers and copied_bytes(load, buffers[0]) < SMALLEST_COPY:
        remark_narrow_load(load, load.ptr, load.mask, pointee_bits(load.ptr.type), facts)
        return False
    return True


LOADS_PIPELINED = ("", "dots", "all", "none")
"""Which loads start ahead: those that feed dots, and in loops that name a number of stages all; or as the word says in every loop."""


def _assign(loop: scf.ForOp, stages: int, facts: AxisInfoAnalysis, which: str) -> None:
    if any(LATENCY in op.attributes for op in body_ops(loop)):
        return
    which = which or ("all" if NUM_STAGES in loop.attributes else "dots")
    found = LoadLevels(loop, facts).find(which)
    note(loop, lambda: _loads_choice(loop, facts, which))
    if found:
        note(loop, lambda: _stages_choice(loop, found, stages))
    stored = loads_of_stored_arrays(loop, list(found)) if found else ()
    levels = {load: level for load, level in found.items() if level < stages - 1 and load not in stored}
    if levels:
        latency = (stages - 1) // (max(levels.values()) + 1)
        for load in levels:
            load.attributes[LATENCY] = IntegerAttr(latency, i32)


def _loads_choice(loop: scf.ForOp, facts: AxisInfoAnalysis, taken: str) -> Choice | None:
    count = sum(isinstance(op, LOADS) for op in body_ops(loop))
    ahead = {which: len(LoadLevels(loop, facts).find(which)) for which in LOADS_PIPELINED[1:]}
    found = [Candidate(which, count - number, f"{number} of {count} start ahead") for which, number in ahead.items()]
    option = "tritongpu-assign-latencies{loads=@}"
    return (
        Choice.of("pipelined loads of scf.for", "loads that an iteration waits for", option, found, taken)
        if count
        else None
    )


def _bits(load: Operation) -> int:
    type_ = load.results[0].type
    return prod(type_.get_shape()) * element_bits(type_) if instance_of(type_, TensorType) else 0


def _stages_choice(loop: scf.ForOp, levels: dict[Operation, int], taken: int) -> Choice:
    """The latency of a load is divided among the iterations that it starts ahead of its own; the buffers must fit the shared memory of an SM."""
    deepest = max(levels.values()) + 1
    size = sum(_bits(load) for load in levels) // 8
    found: list[Candidate] = []
    for stages in sorted({1, 2, 3, 4, 5, taken}):
        ahead = (stages - 1) // deepest
        reason = f"{ahead} iterations ahead, {ahead * size} bytes in rings, or more where dots still read"
        found.append(Candidate(str(stages), 1 / (1 + ahead), reason if ahead else "each load is waited for"))
    is_given = NUM_STAGES in loop.attributes
    option = "tl.range(num_stages=@)" if is_given else "tritongpu-assign-latencies{num-stages=@}"
    return Choice.of("stages of scf.for", "of a load's latency for each iteration", option, found, str(taken))


@register_pass
class AssignLatencies(Pass, stage="ttgir", origin="triton"):
    """Says how many stages before its use each load of a pipelined loop starts."""

    name: ClassVar[str] = "tritongpu-assign-latencies"
    acts_on = frozenset({scf.ForOp})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LATENCIES})
    requires: ClassVar[frozenset[Property]] = frozenset(
        {Property.ENCODINGS, Property.STRUCTURED, Property.BLOCK_POINTERS_REWRITTEN}
    )
    num_stages: int = 3
    """The number of stages of loops that name none."""
    loads: str = ""
    """`dots`, `all` or `none`: which loads start ahead in every loop; those of dots, and all in loops that name stages, if it is empty."""

    values = {"loads": LOADS_PIPELINED}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Mark the loads of all loops."""
        facts: AxisInfoAnalysis | None = None
        for loop in loops_in(op):
            stages = num_stages(loop, self.num_stages)
            if stages > 1 and not is_outer_loop(loop) and not uses_values_of_older_iterations(loop):
                facts = facts or AxisInfoAnalysis(op)
                _assign(loop, stages, facts, self.loads)
