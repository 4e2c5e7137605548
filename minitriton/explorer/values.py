"""What a tensor of TTIR or TTGIR holds while the kernel runs: the interpreter runs the state's module and its values are looked at.

values_of(kept, "12", launch, program=0, run=2)["data"]      the elements of %12 the third time that program 0 makes it

A value that a block is given (what a loop carries) is looked at where an op first takes it. Pointers are shown as elements from the start of their array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt import FuncOp
from minitriton.dialects.tt.types import PointerType
from minitriton.dialects.ttg.types import MemDescType
from minitriton.errors import MinitritonError
from minitriton.explorer.accesses import array_at
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.wire import ValuesJson
from minitriton.interpreter.values import decoder, is_float
from minitriton.lab.execution import Launch

MOST_ELEMENTS = 1 << 16
"""Of the slice that is shown."""


class _Seen(Exception):
    """The program that is looked at has ended."""


def values_of(
    kept: KeptModule, name: str, launch: Launch, program: int = 0, run: int = 0, index: tuple[int, ...] = ()
) -> ValuesJson:
    """The elements of `%name` in its run number `run` by a program; of a tensor of more than two axes the slice at `index` of the first ones."""
    value = kept.values.get(name)
    if value is None:
        raise MinitritonError(f"this state lacks a value %{name}")
    if isinstance(value.type, MemDescType):
        raise MinitritonError(
            f"%{name} is a buffer in shared memory",
            help="its elements are seen where they are loaded: choose what a local_load gives",
        )
    programs = int(np.prod(launch.grid))
    if not 0 <= program < programs:
        raise MinitritonError(f"unknown program {program}", help=f"the grid has {programs}")
    seen = _seen(kept, value, launch, program)
    if not seen:
        raise MinitritonError(
            f"program {program} does not make %{name}",
            help="it is in a branch that is not taken, or in a loop without iterations",
        )
    run = min(max(run, 0), len(seen) - 1)
    array, text = _numbers(seen[run], value, launch)
    shape = array.shape
    index = tuple(
        min(max(at, 0), size - 1) for at, size in zip((*index, *(0 for _ in shape)), shape[:-2], strict=False)
    )
    shown = np.atleast_1d(array[index])
    if shown.size > MOST_ELEMENTS:
        shown = shown[: MOST_ELEMENTS // shown.shape[-1]] if shown.ndim > 1 else shown[:MOST_ELEMENTS]
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    return {
        "name": name, "type": str(value.type), "array": text, "shape": list(shape), "index": list(index), "runs": len(seen), "run": run, "programs": programs,
        "rows": 1 if shown.ndim == 1 else shown.shape[0], "data": [_plain(one) for one in shown.reshape(-1).tolist()],
        "least": float(finite.min()) if finite.size else 0.0, "most": float(finite.max()) if finite.size else 0.0,
        "mean": float(finite.mean(dtype=np.float64)) if finite.size else 0.0, "strange": int(array.size - finite.size),
    }  # fmt: skip


def _seen(kept: KeptModule, value: SSAValue, launch: Launch, program: int) -> list[Any]:
    """The value each time that the program makes it."""
    entry = next(one for one in kept.module.ops if isinstance(one, FuncOp) and one.sym_name.data == launch.name)
    first = entry.regions[0].blocks[0].first_op
    maker = value.owner if isinstance(value.owner, Operation) else None
    taker = None if maker is not None else next((use.operation for use in _uses(value)), None)
    count, seen = -1, list[Any]()

    def observe(op: Operation, operands: tuple[Any, ...], found: Any) -> Any:
        nonlocal count
        count += op is first
        if count > program:
            raise _Seen
        if count == program and op is maker:
            seen.append(np.array(found if len(op.results) == 1 else found[_number(op, value)]))
        elif count == program and op is taker:
            seen.append(np.array(operands[next(at for at, one in enumerate(op.operands) if one is value)]))
        return found

    outcome = launch.interpret(kept.module, observe)
    if not seen and (outcome.gap or outcome.fault) and count <= program:
        raise MinitritonError(f"the program cannot be run: {outcome.gap or outcome.fault}")
    return seen


def _number(op: Operation, value: SSAValue) -> int:
    return next(at for at, one in enumerate(op.results) if one is value)


def _uses(value: SSAValue) -> list[Any]:
    """Those in the blocks that the interpreter calls: not by terminators, which it only forwards."""
    return [use for use in value.uses if use.operation.results or use.operation.next_op is not None]


def _numbers(held: np.ndarray, value: SSAValue, launch: Launch) -> tuple[np.ndarray, str]:
    """What is held as numbers, and the array that pointers are into."""
    type_ = value.type
    element = type_.element_type if instance_of(type_, TensorType) else type_
    if isinstance(element, PointerType):
        name, array = array_at(launch, int(held.reshape(-1)[0]))
        return (held.astype(np.int64) - array.__array_interface__["data"][0]) // array.itemsize, name
    return np.asarray(decoder(type_)(held) if is_float(type_) else held), ""


def _plain(one: float | bool) -> float | str:
    """Six digits of a number; what is no number as JSON has it, in words."""
    return one if isinstance(one, int) else float(f"{one:.6g}") if np.isfinite(one) else str(one)
