"""The barrier of a cluster, which all its threads arrive at and later wait for: `ttng.cluster_arrive`, `ttng.cluster_wait`.

ttng.cluster_arrive {relaxed = false}      what came before it is over for all threads ...
ttng.local_store ...                       (this is not)
ttng.cluster_wait                          ... after the wait; after a relaxed arrival nothing is

A program is a whole cluster here, whose threads run in step: the wait finds that all have arrived if the program has. One that
waits without having arrived waits for ever; one that arrives twice is undefined (PTX ISA, `barrier.cluster`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from minitriton.dialects import ttng
from minitriton.dialects.attribute_values import integer
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.registry import STATEFUL_OPS


def _refuse_in_partitions(op: Operation, machine: TileMachine) -> None:
    if machine.partitions is not None:
        raise UnsupportedOpError(
            f"the interpreter does not support {op.name} in a partition: all threads of the cluster must take part",
            help="order partitions by memory barriers, and CTAs before or after ttg.warp_specialize",
        )


@STATEFUL_OPS.add(ttng.ClusterArriveOp)
def _arrive(op: ttng.ClusterArriveOp, machine: TileMachine) -> Callable[[], None]:
    relaxed = bool(integer(op.relaxed))

    def run() -> None:
        _refuse_in_partitions(op, machine)
        if machine.cluster_arrival is not None:
            raise InterpreterError(
                f"{op.name} comes a second time before the wait for the first", help="put a ttng.cluster_wait between"
            )
        machine.cluster_arrival = "relaxed" if relaxed else "release"
        machine.shared.arrive()

    return run


@STATEFUL_OPS.add(ttng.ClusterWaitOp)
def _wait(op: ttng.ClusterWaitOp, machine: TileMachine) -> Callable[[], None]:
    def run() -> None:
        _refuse_in_partitions(op, machine)
        arrival = machine.cluster_arrival
        machine.wait_until(op, lambda: arrival is not None, lambda: "no thread has arrived at the cluster's barrier")
        machine.cluster_arrival = None
        machine.shared.wait_for_cluster(released=arrival == "release")

    return run
