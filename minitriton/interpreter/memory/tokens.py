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
from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.machine import Machine
from minitriton.interpreter.memory.mbarrier import Mbarrier
from minitriton.interpreter.memory.mbarriers import learn, publish
from minitriton.interpreter.registry import WITH_MACHINE
from minitriton.interpreter.tensors.shapes import integer
from minitriton.interpreter.values import Array


@dataclass(frozen=True, eq=False)
class Token:
    """The barriers of each buffer."""

    full: tuple[Mbarrier, ...]
    empty: tuple[Mbarrier, ...]

    def at(self, op: Operation, index: Array) -> tuple[Mbarrier, Mbarrier]:
        """Full and empty of one buffer. Raises `InterpreterError` for a buffer that there is not."""
        if not 0 <= int(index) < len(self.full):
            raise InterpreterError(f"{op.name} names buffer {int(index)} of {len(self.full)}")
        return self.full[int(index)], self.empty[int(index)]


def _arrive(machine: Machine, barrier: Mbarrier) -> None:
    publish(machine, barrier)
    barrier.arrive()


@WITH_MACHINE.add(nvws.CreateTokenOp)
def _create(op: nvws.CreateTokenOp, machine: Machine) -> Callable[[], Token]:
    count = integer(op.properties["numBuffers"])
    return lambda: Token(tuple(Mbarrier(1) for _ in range(count)), tuple(Mbarrier(1) for _ in range(count)))


@WITH_MACHINE.add(nvws.ProducerAcquireOp)
def _acquire(op: nvws.ProducerAcquireOp, machine: Machine) -> Callable[[Token, Array, Array], None]:
    def run(token: Token, index: Array, phase: Array) -> None:
        _, empty = token.at(op, index)
        machine.wait_until(op, lambda: empty.passed(int(phase) ^ 1), lambda: "no consumer has released the buffer")
        learn(machine, empty)

    return run


@WITH_MACHINE.add(nvws.ProducerCommitOp)
def _commit(op: nvws.ProducerCommitOp, machine: Machine) -> Callable[[Token, Array], None]:
    return lambda token, index: _arrive(machine, token.at(op, index)[0])


@WITH_MACHINE.add(nvws.ConsumerWaitOp)
def _wait(op: nvws.ConsumerWaitOp, machine: Machine) -> Callable[[Token, Array, Array], None]:
    def run(token: Token, index: Array, phase: Array) -> None:
        full, _ = token.at(op, index)
        machine.wait_until(op, lambda: full.passed(int(phase)), lambda: "no producer has filled the buffer")
        learn(machine, full)

    return run


@WITH_MACHINE.add(nvws.ConsumerReleaseOp)
def _release(op: nvws.ConsumerReleaseOp, machine: Machine) -> Callable[[Token, Array], None]:
    return lambda token, index: _arrive(machine, token.at(op, index)[1])
