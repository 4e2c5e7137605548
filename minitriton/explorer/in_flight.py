"""What is in flight at each op of a kernel: rows of text for `minitriton explain FILE.py:LINE --in-flight`, and JSON for the explorer's page.

    13  %acc_9 = ttng.warp_group_dot %a[i mod 3], %b[i mod 3]       dots %acc_9; copies %a[i+1 mod 3] %b[i+1 mod 3]

In: the kept module of a state of TTGIR. Out: a row for each op that starts or ends something, branches, is a barrier, or comes from the line
asked for. `%a[i+1 mod 3]` is the slot of a ring in iteration i of the loop; `%acc(i-1)` is what the iteration before started.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.in_flight.outstanding import InFlight, Outstanding, Queue
from minitriton.analysis.in_flight.rings import ring_length, ring_position, ring_slot
from minitriton.dialects import ttg
from minitriton.dialects.facts.region_flow import Loop, RegionFlow
from minitriton.dialects.facts.synchronization import (
    Barrier,
    Commits,
    Kind,
    LoweringBarrier,
    Starts,
    Waits,
    meets_threads,
)
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.locations import user_location
from minitriton.dialects.printing.names import ValueNames
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.wire import InFlightJson
from minitriton.rewriting.constants import int_constant

_PLURAL = {Kind.DOT: "dots", Kind.COPY: "copies", Kind.TENSOR_COPY: "copies", Kind.TENSOR_STORE: "stores", Kind.ARRIVAL: "arrival at a barrier", Kind.TURN: "turn"}  # fmt: skip


class Row(NamedTuple):
    """An op: its line in the kernel, how deep it is nested, its text, and what is in flight after it."""

    line: int
    depth: int
    text: str
    in_flight: str
    is_asked: bool


class _Texts:
    """Names of values, slots and groups."""

    def __init__(self, kept: KeptModule) -> None:
        self.names = ValueNames(kept.module, name_locs=True)

    def value(self, value: SSAValue) -> str:
        return "%" + self.names.name_of(value)

    def queue(self, queue: Queue) -> tuple[str, str]:
        """How queues are sorted."""
        return queue.kind.value, "" if queue.barrier is None else self.value(queue.barrier)

    def slot(self, value: SSAValue, loop: Operation | None, ago: int = 0) -> str:
        """A buffer as `%ring[i+1 mod 3]`: what iteration i of `loop` calls so that `ago` iterations before it was `value`."""
        ring, index = ring_slot(value)
        if index is None:
            return self.value(ring)
        number, length = int_constant(index), ring_length(ring)
        if number is not None:
            return f"{self.value(ring)}[{number}]"
        position = ring_position(index, length, loop) if length is not None and isinstance(loop, scf.ForOp) else None
        if position is None or length is None:
            return self.value(ring)
        position = (position - ago) % length
        return f"{self.value(ring)}[i{f'+{position}' * bool(position)} mod {length}]"

    def op(self, op: Operation) -> str:
        """An op with its result and the buffers and registers of what it starts or waits for."""
        starts, waits = Starts.of(op), Waits.of(op)
        used = list(op.operands) if starts is None else [*starts.values_written(op), *starts.values_read(op)]
        used = [value for value in used if value not in op.results]
        if waits is not None:
            used = [] if waits.barrier is None else [getattr(op, waits.barrier)]
        if RegionFlow.of(op) is not None:
            used = []
        texts = [
            self.slot(value, op.parent_op()) if isinstance(value.type, ttg.MemDescType) else self.value(value)
            for value in used
        ]
        if waits is not None and waits.left is not None:
            texts.append(f"leaves {waits.number_left(op)}")
        is_named = op.results and waits is None and RegionFlow.of(op) is None
        made = f"{self.value(op.results[0])} = " if is_named else ""
        return f"{made}{op.name} {', '.join(texts)}".rstrip()

    def started(self, op: Operation, at: Operation, ago: int, *, is_slot_known: bool) -> str:
        """What `op` started so many iterations before `at`: a copy by the slot that it writes, a dot by its result."""
        starts = Starts.of(op)
        values = () if starts is None else starts.values_written(op) or starts.values_read(op)
        for value in values:
            loop = op.parent_op() if op.parent is at.parent else None
            if isinstance(value.type, ttg.MemDescType):
                return self.slot(value, loop, ago) if is_slot_known else self.value(ring_slot(value)[0])
            return self.value(value) + f"(i-{ago})" * bool(ago)
        return ""


def rows(kept: KeptModule, line: int) -> list[Row]:
    """The rows of all functions of a module."""
    texts, in_flight = _Texts(kept), InFlight(kept.module)
    found: list[Row] = []
    for op in ops_in(kept.module):
        location = user_location(op.location)
        is_asked = location is not None and location.line == line
        computes = is_asked and any(isinstance(result.type, TensorType) for result in op.results)
        if op not in in_flight.after or not (computes or _is_shown(op)):
            continue
        described = _described(texts, _around(in_flight, op), op)
        found.append(Row(location.line if location else 0, _depth(op), texts.op(op), described, is_asked))
    return found


def by_op(kept: KeptModule) -> dict[str, InFlightJson]:
    """The same for the explorer's page: of each op, by its number, after which something is in flight."""
    if not any(Starts.of(op) for op in kept.ops.values()):
        return {}
    texts, in_flight = _Texts(kept), InFlight(kept.module)
    found: dict[str, InFlightJson] = {}
    for number, op in kept.ops.items():
        outstanding = _around(in_flight, op) if op in in_flight.after else None
        if outstanding is not None and outstanding.ops():
            copies = outstanding.number(Kind.COPY) + outstanding.number(Kind.TENSOR_COPY) + bool(outstanding.open_group)
            text = _described(texts, outstanding, op)
            found[str(number)] = {"dots": outstanding.number(Kind.DOT), "copies": copies, "text": text}
    return found


def _around(in_flight: InFlight, op: Operation) -> Outstanding:
    """What is in flight after `op`, or before it where it is a loop or branch."""
    return in_flight.after[op] if RegionFlow.of(op) is None else in_flight.before[op]


def _is_shown(op: Operation) -> bool:
    kinds = (Starts, Waits, Commits, Barrier, RegionFlow)
    return any(kind.of(op) for kind in kinds) or (LoweringBarrier.of(op) is not None and meets_threads(op))


def _depth(op: Operation) -> int:
    depth, around = 0, op.parent_op()
    while around is not None and RegionFlow.of(around) is not None:
        depth, around = depth + 1, around.parent_op()
    return depth


def _described(texts: _Texts, outstanding: Outstanding, at: Operation) -> str:
    """What is in flight at a point of the program, the oldest of each kind first."""
    parts: dict[str, list[str]] = {}
    for queue in sorted(outstanding.queues, key=texts.queue):
        named = [_group(texts, group, at) for group in outstanding.iterations(queue, at)]
        parts.setdefault(_PLURAL[queue.kind], []).extend(reversed(named))
    if outstanding.open_group:
        named = _group(texts, outstanding.iterations_of_open_group(at), at)
        parts.setdefault("copies", []).append(named + " (no group yet)")
    return "; ".join(f"{kind} {', '.join(filter(None, parts[kind]))}".rstrip() for kind in sorted(parts))


def _group(texts: _Texts, group: list[tuple[Operation, int]], at: Operation) -> str:
    """One group. In a loop, what an iteration started stands for what was started before the loop instead of it."""
    around = at.parent_op()
    is_in_loop = around is not None and Loop.of(around) is not None
    own = [each for each in group if is_in_loop and each[0].parent is at.parent]
    is_slot_known = bool(own) or len({op.parent for op, _ in group}) == 1
    return " ".join(sorted({texts.started(op, at, ago, is_slot_known=is_slot_known) for op, ago in own or group}))


def text_of_rows(found: list[Row]) -> list[str]:
    """Lines of a table."""
    texts = [f"{row.line:4} {'>' if row.is_asked else ' '} {'  ' * row.depth}{row.text}" for row in found]
    width = min(max(map(len, texts), default=0), 90)
    return [f"{text:{width}}  | {row.in_flight}".rstrip(" |") for text, row in zip(texts, found, strict=True)]
