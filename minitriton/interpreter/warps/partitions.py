"""Groups of warps that run different code at the same time: `ttg.warp_specialize`, its default region and its partitions.

Each runs until it waits for a memory barrier whose phase is not complete; then the next that can go on does. So a partition that
forgets to wait runs too early: it reads what nothing has written, or overwrites what nobody has read.

    default: wait %full      partition0: store %buffer, arrive %full     →   default, partition0, default
    every one of them waits for another                                  →   an `InterpreterError` that names each op

What one writes and another reads or writes must be ordered by memory barriers (`partition_order`).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation, Region

from minitriton.dialects.facts.launch import num_warps
from minitriton.dialects.locations import user_location
from minitriton.dialects.ttg.warp_specialize import WarpSpecializeOp
from minitriton.host.source_text import line_at
from minitriton.interpreter.control_flow import results_of
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import DotsInFlight, TileMachine
from minitriton.interpreter.memory.shared import Issued
from minitriton.interpreter.memory.shared_views import BufferView
from minitriton.interpreter.registry import STATEFUL_OPS, Meaning
from minitriton.interpreter.values import Array


class _Stopped(Exception):
    """Another partition has failed."""


@dataclass
class Task:
    """The default region or a partition: what its warps have issued, and what it waits for."""

    name: str
    issued: Issued
    dots: DotsInFlight = field(default_factory=DotsInFlight)
    stores: list[BufferView] = field(default_factory=list[BufferView])
    ready: Callable[[], bool] | None = None
    """Whether what it waits for has come; None if it does not wait."""
    waits_at: Operation | None = None
    waits_for: Callable[[], str] = str
    finished: bool = False


class Partitions:
    """The tasks of one `ttg.warp_specialize`, one running at any time, each in a thread of its own."""

    def __init__(self, machine: TileMachine, tasks: list[Task]) -> None:
        self.machine = machine
        self.tasks = tasks
        self.turn = 0
        self.error: BaseException | None = None
        self.condition = threading.Condition()

    def run(self, bodies: list[Callable[[], list[Array]]]) -> list[Array]:
        """Runs a body for each task; what the first one gives. Raises what any of them raises."""
        threads = [threading.Thread(target=self._body, args=(n, body)) for n, body in enumerate(bodies)]
        results: list[list[Array]] = []
        threads[0] = threading.Thread(target=self._body, args=(0, lambda: results.append(bodies[0]())))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.error is not None:
            raise self.error
        return results[0]

    def wait(self, op: Operation, ready: Callable[[], bool], what: Callable[[], str]) -> None:
        """The running task goes on once `ready`; until then others do."""
        number = self.turn
        task = self.tasks[number]
        task.ready, task.waits_at, task.waits_for = ready, op, what
        self._leave(task)
        self._pass_on()
        self._await_turn(number)
        task.ready = None

    def _body(self, number: int, body: Callable[[], list[Array]]) -> None:
        try:
            self._await_turn(number)
            with np.errstate(all="ignore"):
                body()
        except _Stopped:
            pass
        except BaseException as error:
            self.error = self.error or error
        self._leave(self.tasks[number])
        self.tasks[number].finished = True
        self._pass_on()

    def _await_turn(self, number: int) -> None:
        with self.condition:
            self.condition.wait_for(lambda: self.turn == number or self.error is not None)
        if self.error is not None:
            raise _Stopped
        task, machine = self.tasks[number], self.machine
        if machine.shared.order is not None:
            machine.shared.order.running = number
        machine.shared.issued, machine.dots, machine.tensor_copies.stores = task.issued, task.dots, task.stores

    def _leave(self, task: Task) -> None:
        machine = self.machine
        task.issued, task.dots, task.stores = machine.shared.issued, machine.dots, machine.tensor_copies.stores

    def _pass_on(self) -> None:
        """Gives the turn to the next task that can go on; where none can, that is the error."""
        with self.condition:
            count = len(self.tasks)
            order = [(self.turn + step) % count for step in range(1, count + 1)]
            waiting = [n for n in order if not self.tasks[n].finished]
            free = [n for n in waiting if (ready := self.tasks[n].ready) is None or ready()]
            if free:
                self.turn = free[0]
            elif waiting and self.error is None:
                self.error = self._deadlock([self.tasks[n] for n in sorted(waiting)])
            self.condition.notify_all()

    def _deadlock(self, tasks: list[Task]) -> InterpreterError:
        first = tasks[0].waits_at
        assert first is not None
        parts = [f"{t.name} waits in {t.waits_at.name}{_at(t.waits_at)}: {t.waits_for()}" for t in tasks if t.waits_at]
        location = user_location(first.location)
        return InterpreterError(
            "partitions wait for each other for ever: " + "; ".join(parts),
            location,
            help="check the counts, the bytes expected and the parities of the memory barriers between them",
            source_line=line_at(location.file, location.line) if location else None,
        )


def _at(op: Operation) -> str:
    location = user_location(op.location)
    return "" if location is None else f" ({location})"


@STATEFUL_OPS.add(WarpSpecializeOp)
def _warp_specialize(op: WarpSpecializeOp, machine: TileMachine) -> Meaning:
    assert isinstance(op, WarpSpecializeOp)
    counts = op.num_warps_of_partitions
    own = num_warps(op)
    given = op.warp_group_start_ids
    starts = list(given.get_values()) if given is not None else [own + sum(counts[:n]) for n in range(len(counts))]
    groups = [(0, own), *((int(start), count) for start, count in zip(starts, counts, strict=True))]
    names = ["the default region", *(f"partition {n}" for n in range(len(counts)))]
    regions: list[Region] = [op.default_region, *op.partition_regions]

    def run(*captures: Array) -> Array | tuple[Array, ...]:
        if not counts:
            return results_of(machine.run_region(regions[0], ()))
        shared, outer, outside, ordered = (
            machine.shared,
            machine.partitions,
            machine.shared.issued,
            machine.shared.order,
        )
        kept = machine.dots, machine.tensor_copies.stores
        first = Task(names[0], Issued.of_warps(0, own, outside), *kept)
        others = [
            Task(name, Issued.of_warps(start, count))
            for name, (start, count) in zip(names[1:], groups[1:], strict=True)
        ]
        machine.partitions = Partitions(machine, [first, *others])
        bodies = [
            lambda region=region, arguments=() if n == 0 else captures: machine.run_region(region, arguments)
            for n, region in enumerate(regions)
        ]
        shared.barrier()
        shared.begin_partitions(names)
        try:
            results = machine.partitions.run(bodies)
        finally:
            machine.partitions = outer
            machine.dots, machine.tensor_copies.stores = first.dots, first.stores
            shared.issued, shared.order = outside, ordered
            outside.open, outside.groups = first.issued.open, first.issued.groups
        shared.barrier()
        return results_of(results)

    return run
