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
from typing import TYPE_CHECKING, Any

from xdsl.ir import Operation

from minitriton.interpreter.errors import InterpreterError
from minitriton.interpreter.memory.mbarriers import Mbarrier, learn, publish
from minitriton.interpreter.tensors.shapes import integer
from minitriton.interpreter.values import Array

if TYPE_CHECKING:
    from minitriton.interpreter.machine import Machine


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


def _create(op: Operation, machine: Machine) -> Callable[[], Token]:
    count = integer(op.properties["numBuffers"])
    return lambda: Token(tuple(Mbarrier(1) for _ in range(count)), tuple(Mbarrier(1) for _ in range(count)))


def _acquire(op: Operation, machine: Machine) -> Callable[[Token, Array, Array], None]:
    def run(token: Token, index: Array, phase: Array) -> None:
        _, empty = token.at(op, index)
        machine.wait_until(op, lambda: empty.passed(int(phase) ^ 1), lambda: "no consumer has released the buffer")
        learn(machine, empty)

    return run


def _commit(op: Operation, machine: Machine) -> Callable[[Token, Array], None]:
    return lambda token, index: _arrive(machine, token.at(op, index)[0])


def _wait(op: Operation, machine: Machine) -> Callable[[Token, Array, Array], None]:
    def run(token: Token, index: Array, phase: Array) -> None:
        full, _ = token.at(op, index)
        machine.wait_until(op, lambda: full.passed(int(phase)), lambda: "no producer has filled the buffer")
        learn(machine, full)

    return run


def _release(op: Operation, machine: Machine) -> Callable[[Token, Array], None]:
    return lambda token, index: _arrive(machine, token.at(op, index)[1])


WITH_MACHINE: dict[str, Callable[[Operation, Machine], Callable[..., Any]]] = {
    "nvws.create_token": _create,
    "nvws.producer_acquire": _acquire,
    "nvws.producer_commit": _commit,
    "nvws.consumer_wait": _wait,
    "nvws.consumer_release": _release,
}
