"""Dots by wgmma: `ttng.warp_group_dot`, asynchronous until a `ttng.warp_group_dot_wait` covers it.

%d = ttng.warp_group_dot %a, %b, %c {isAsync = true}       an `Unfinished` result, good only as accumulator or for a wait
%r = ttng.warp_group_dot_wait %d {pendings = 0 : i32}      the numbers

While a dot runs its buffers may not be written; `DotsInFlight` keeps count of what runs.
"""

from collections.abc import Callable
from typing import NoReturn

from xdsl.ir import Operation

from minitriton.dialects import ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.ttng.dot import WarpGroupDotOp
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.interpreter.machine import TileMachine
from minitriton.interpreter.memory.shared_ops import load_or_self
from minitriton.interpreter.memory.shared_views import BufferView
from minitriton.interpreter.registry import STATEFUL_OPS, Meaning
from minitriton.interpreter.tensors.dots import matmul
from minitriton.interpreter.values import Array, zero


class Unfinished:
    """The result of a dot that may still run: whatever looks at it fails."""

    __slots__ = ("number", "value")

    def __init__(self, value: Array, number: int) -> None:
        self.value = value
        self.number = number

    def __repr__(self) -> str:
        return f"<unfinished matmul {hash(self.value.tobytes()):#x}>"

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise _too_early()

    def __getattr__(self, name: str) -> NoReturn:
        raise _too_early()


def _too_early() -> InterpreterError:
    return InterpreterError(
        "the result of ttng.warp_group_dot is read before a ttng.warp_group_dot_wait that covers it",
        help="wait for the dot (with fewer pending ones) before its result is used",
    )


@STATEFUL_OPS.add(WarpGroupDotOp)
def _warp_group_dot(op: WarpGroupDotOp, machine: TileMachine) -> Meaning:
    assert isinstance(op, WarpGroupDotOp)
    multiply = matmul(*(getattr(operand.type, "element_type", operand.type) for operand in (op.a, op.b, op.c)))
    is_async, nothing, shared = bool(integer(op.is_async)), zero(op.c.type), machine.shared

    def run(
        a: Array | BufferView, b: BufferView, c: Array | Unfinished, use_c: Array | None = None
    ) -> Array | Unfinished:
        accumulator = c.value if isinstance(c, Unfinished) else c
        if use_c is not None and not use_c:
            accumulator = nothing
        buffers = [operand for operand in (a, b) if isinstance(operand, BufferView)]
        for view in buffers:
            shared.check_fenced(op, view)
        result = multiply(load_or_self(op, machine, a), load_or_self(op, machine, b), accumulator)
        if not is_async:
            return result
        for view in buffers:
            shared.begin_async_read(op, view)
        return Unfinished(result, machine.dots.start(buffers))

    return run


@STATEFUL_OPS.add(ttng.WarpGroupDotWaitOp)
def _wait(op: ttng.WarpGroupDotWaitOp, machine: TileMachine) -> Meaning:
    pending = integer(op.pendings)

    def run(*values: Array | Unfinished) -> Array | Unfinished | tuple[Array | Unfinished, ...]:
        dots = machine.dots
        for view in dots.wait(pending):
            machine.shared.end_async_read(view)
        ready = tuple(
            value.value if isinstance(value, Unfinished) and value.number <= dots.finished else value
            for value in values
        )
        return ready[0] if len(ready) == 1 else ready

    return run


@STATEFUL_OPS.add(ttng.FenceAsyncSharedOp)
def _fence(op: ttng.FenceAsyncSharedOp, machine: TileMachine) -> Callable[[], None]:
    return machine.shared.fence


# The barrier of a cluster, which all its threads arrive at and later wait for: `ttng.cluster_arrive`, `ttng.cluster_wait`.
#
# ttng.cluster_arrive {relaxed = false}      what came before it is over for all threads ...
# ttng.local_store ...                       (this is not)
# ttng.cluster_wait                          ... after the wait; after a relaxed arrival nothing is
#
# A program is a whole cluster here, whose threads run in step: the wait finds that all have arrived if the program has. One that
# waits without having arrived waits for ever; one that arrives twice is undefined (PTX ISA, `barrier.cluster`).


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
def _clusters_wait(op: ttng.ClusterWaitOp, machine: TileMachine) -> Callable[[], None]:
    def run() -> None:
        _refuse_in_partitions(op, machine)
        arrival = machine.cluster_arrival
        machine.wait_until(op, lambda: arrival is not None, lambda: "no thread has arrived at the cluster's barrier")
        machine.cluster_arrival = None
        machine.shared.wait_for_cluster(released=arrival == "release")

    return run
