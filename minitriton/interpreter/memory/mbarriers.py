"""Memory barriers (`mbarrier`) in shared memory: arrivals, bytes that are expected, phases.

ttng.init_barrier %bar, 1                     a phase is complete after one arrival and all bytes that it expects
ttng.barrier_expect %bar, 8192, %true         one arrival, which announces 8192 bytes
ttng.wait_barrier %bar, %phase                passes once the phase of that parity is complete

A program runs op by op, so that a wait for what no earlier op has completed would wait for ever: that is an `InterpreterError`,
unless another partition of a `ttg.warp_specialize` can still complete it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation

from minitriton.dialects import nvws, ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.facts.launch import num_threads
from minitriton.dialects.ttng.barriers import WaitBarrierOp
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.mbarrier import MbarrierState
from minitriton.interpreter.memory.shared_views import BufferView
from minitriton.interpreter.registry import STATEFUL_OPS
from minitriton.interpreter.values import Array
from minitriton.interpreter.warps.partition_order import Knowledge

ONE_WARP = 1
"""The op is done by one thread, which is one of the first warp."""


def barrier_at(op: Operation, machine: TileMachine, view: BufferView) -> MbarrierState:
    """The barrier in the buffer `view`. Raises `InterpreterError` if it has not been initialised."""
    found = machine.mbarriers.get(int(view.addresses.min()))
    if found is None:
        raise InterpreterError(
            f"{op.name} uses a barrier that is not initialised", help="ttng.init_barrier must come before it"
        )
    return found


def publish(machine: TileMachine, barrier: MbarrierState) -> None:
    """What the running partition has done is over for those that wait for the phase. To be called before it arrives."""
    if (order := machine.shared.order) is not None:
        barrier.arriving = order.publish().joined(barrier.arriving)


def publish_copy(machine: TileMachine, barrier: MbarrierState, copy: int, view: BufferView) -> None:
    """Likewise, and a copy into `view` has ended for them."""
    if (order := machine.shared.order) is not None:
        order.brings(view.byte_addresses(), copy)
        known = order.publish().joined(barrier.arriving)
        barrier.arriving = Knowledge(known.times, known.copies | {copy})


def learn(machine: TileMachine, barrier: MbarrierState) -> None:
    """The running partition has waited for a phase."""
    if (order := machine.shared.order) is not None and barrier.published is not None:
        order.learn(barrier.published)


@STATEFUL_OPS.add(ttng.InitBarrierOp)
def _init(op: ttng.InitBarrierOp, machine: TileMachine) -> Callable[[BufferView], None]:
    count = integer(op.count)

    def run(view: BufferView) -> None:
        machine.shared.store(op, view, view.dtype.type(0), ONE_WARP)
        machine.mbarriers[int(view.addresses.min())] = MbarrierState(count)

    return run


@STATEFUL_OPS.add(ttng.InvalBarrierOp)
def _invalidate(op: ttng.InvalBarrierOp, machine: TileMachine) -> Callable[[BufferView], None]:
    def run(view: BufferView) -> None:
        barrier_at(op, machine, view)
        machine.shared.store(op, view, view.dtype.type(0), ONE_WARP)
        del machine.mbarriers[int(view.addresses.min())]

    return run


@STATEFUL_OPS.add(ttng.BarrierExpectOp)
def _expect(op: ttng.BarrierExpectOp, machine: TileMachine) -> Callable[[BufferView, Array], None]:
    size = integer(op.size)

    def run(view: BufferView, predicate: Array) -> None:
        if predicate:
            barrier = barrier_at(op, machine, view)
            barrier.expect(size)
            publish(machine, barrier)
            barrier.arrive()

    return run


@STATEFUL_OPS.add(ttng.ArriveBarrierOp)
def _arrive(op: ttng.ArriveBarrierOp, machine: TileMachine) -> Callable[..., None]:
    count = integer(op.count)

    def run(view: BufferView, predicate: Array | None = None) -> None:
        if predicate is None or predicate:
            barrier = barrier_at(op, machine, view)
            publish(machine, barrier)
            barrier.arrive(count)

    return run


@STATEFUL_OPS.add(ttng.AsyncCopyMbarrierArriveOp)
def _arrive_after_copies(op: ttng.AsyncCopyMbarrierArriveOp, machine: TileMachine) -> Callable[[BufferView], None]:
    """The barrier learns of the end of the copies that the threads have issued; with `noIncrement` each thread arrives too."""
    threads = num_threads(op) if "noIncrement" in op.properties else 0

    def run(view: BufferView) -> None:
        barrier = barrier_at(op, machine, view)
        publish(machine, barrier)
        for copy in machine.shared.in_flight():
            barrier.receive(copy, 0)
        barrier.arrive(threads)

    return run


@STATEFUL_OPS.add(WaitBarrierOp)
def _wait(op: WaitBarrierOp, machine: TileMachine) -> Callable[..., None]:
    assert isinstance(op, WaitBarrierOp)
    has_predicate, shared, warps = op.pred is not None, machine.shared, machine.warps_of(op)

    def run(view: BufferView, parity: Array, *rest: Array) -> None:
        if has_predicate and not rest[0]:
            return
        barrier = barrier_at(op, machine, view)
        shared.load(op, view, warps)
        machine.wait_until(op, lambda: barrier.passed(int(parity)), barrier.missing)
        learn(machine, barrier)
        for copy in barrier.finished_copies():
            shared.finish_copy(copy)

    return run


# Tokens between a producer and a consumer of buffers, before they are lowered to memory barriers (`nvws`, Hopper).
#
# %t = nvws.create_token                         for each buffer a barrier "full" and a barrier "empty"
# nvws.producer_acquire %t, %i, %phase           waits until buffer %i is empty; the first time it is
# nvws.producer_commit %t, %i                    it is full
# nvws.consumer_wait %t, %i, %phase              waits until it is
# nvws.consumer_release %t, %i                   it is empty again


@dataclass(frozen=True, eq=False)
class BufferToken:
    """The barriers of each buffer."""

    full: tuple[MbarrierState, ...]
    empty: tuple[MbarrierState, ...]

    def at(self, op: Operation, index: Array) -> tuple[MbarrierState, MbarrierState]:
        """Full and empty of one buffer. Raises `InterpreterError` for a buffer that there is not."""
        if not 0 <= int(index) < len(self.full):
            raise InterpreterError(f"{op.name} names buffer {int(index)} of {len(self.full)}")
        return self.full[int(index)], self.empty[int(index)]


def _tokens_arrive(machine: TileMachine, barrier: MbarrierState) -> None:
    publish(machine, barrier)
    barrier.arrive()


@STATEFUL_OPS.add(nvws.CreateTokenOp)
def _create(op: nvws.CreateTokenOp, machine: TileMachine) -> Callable[[], BufferToken]:
    count = integer(op.properties["numBuffers"])
    return lambda: BufferToken(
        tuple(MbarrierState(1) for _ in range(count)), tuple(MbarrierState(1) for _ in range(count))
    )


@STATEFUL_OPS.add(nvws.ProducerAcquireOp)
def _acquire(op: nvws.ProducerAcquireOp, machine: TileMachine) -> Callable[[BufferToken, Array, Array], None]:
    def run(token: BufferToken, index: Array, phase: Array) -> None:
        _, empty = token.at(op, index)
        machine.wait_until(op, lambda: empty.passed(int(phase) ^ 1), lambda: "no consumer has released the buffer")
        learn(machine, empty)

    return run


@STATEFUL_OPS.add(nvws.ProducerCommitOp)
def _commit(op: nvws.ProducerCommitOp, machine: TileMachine) -> Callable[[BufferToken, Array], None]:
    return lambda token, index: _tokens_arrive(machine, token.at(op, index)[0])


@STATEFUL_OPS.add(nvws.ConsumerWaitOp)
def _tokens_wait(op: nvws.ConsumerWaitOp, machine: TileMachine) -> Callable[[BufferToken, Array, Array], None]:
    def run(token: BufferToken, index: Array, phase: Array) -> None:
        full, _ = token.at(op, index)
        machine.wait_until(op, lambda: full.passed(int(phase)), lambda: "no producer has filled the buffer")
        learn(machine, full)

    return run


@STATEFUL_OPS.add(nvws.ConsumerReleaseOp)
def _release(op: nvws.ConsumerReleaseOp, machine: TileMachine) -> Callable[[BufferToken, Array], None]:
    return lambda token, index: _tokens_arrive(machine, token.at(op, index)[1])
