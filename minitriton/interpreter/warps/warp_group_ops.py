"""Dots by wgmma: `ttng.warp_group_dot`, asynchronous until a `ttng.warp_group_dot_wait` covers it.

%d = ttng.warp_group_dot %a, %b, %c {isAsync = true}       an `Unfinished` result, good only as accumulator or for a wait
%r = ttng.warp_group_dot_wait %d {pendings = 0 : i32}      the numbers

While a dot runs its buffers may not be written; `DotsInFlight` keeps count of what runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from minitriton.dialects import ttng
from minitriton.dialects.attribute_values import integer
from minitriton.dialects.ttng.dot import WarpGroupDotOp
from minitriton.interpreter.errors import InterpreterError
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
        result = multiply(load_or_self(op, machine, a), load_or_self(op, machine, b), accumulator)
        if not is_async:
            return result
        buffers = [operand for operand in (a, b) if isinstance(operand, BufferView)]
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
    return lambda: None
