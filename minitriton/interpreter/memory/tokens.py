"""Tokens between a producer and a consumer of buffers, before they are lowered to memory barriers (`nvws`, Hopper).

%t = nvws.create_token                         for each buffer a barrier "full" and a barrier "empty"
nvws.producer_acquire %t, %i, %phase           waits until buffer %i is empty; the first time it is
nvws.producer_commit %t, %i                    it is full
nvws.consumer_wait %t, %i, %phase              waits until it is
nvws.consumer_release %t, %i                   it is empty again
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation

from minitriton.dialects import nvws
from minitriton.dialects.attribute_values import integer
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.mbarrier import MbarrierState
from minitriton.interpreter.memory.mbarriers import learn, publish
from minitriton.interpreter.registry import STATEFUL_OPS
from minitriton.interpreter.values import Array


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


def _arrive(machine: TileMachine, barrier: MbarrierState) -> None:
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
    return lambda token, index: _arrive(machine, token.at(op, index)[0])


@STATEFUL_OPS.add(nvws.ConsumerWaitOp)
def _wait(op: nvws.ConsumerWaitOp, machine: TileMachine) -> Callable[[BufferToken, Array, Array], None]:
    def run(token: BufferToken, index: Array, phase: Array) -> None:
        full, _ = token.at(op, index)
        machine.wait_until(op, lambda: full.passed(int(phase)), lambda: "no producer has filled the buffer")
        learn(machine, full)

    return run


@STATEFUL_OPS.add(nvws.ConsumerReleaseOp)
def _release(op: nvws.ConsumerReleaseOp, machine: TileMachine) -> Callable[[BufferToken, Array], None]:
    return lambda token, index: _arrive(machine, token.at(op, index)[1])
