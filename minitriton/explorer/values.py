"""What a tensor of TTIR or TTGIR holds while the kernel runs: the interpreter runs the state's module and its values are looked at.

values_of(kept, "12", launch, program=0, run=2)["data"]      the elements of %12 the third time that program 0 makes it
held_values(kept, launch)["values"]["12"]                    of all tensors, thinned: what a file holds
held_values(kept, launch)["arrays"]["x_ptr"]                 the kernel's arrays before the run and after it

A value that a block is given (what a loop carries) is looked at where an op first takes it. Pointers are shown as elements from the start of their array.
"""

from __future__ import annotations

from collections import Counter
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
from minitriton.explorer.execution import named_arrays
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.wire import HeldJson, ShownJson, ValuesJson
from minitriton.interpreter.values import decoder, is_float
from minitriton.interpreter.warps.warp_group_ops import Unfinished
from minitriton.lab.execution import Launch, Level, Outcome

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
    shown = shown_numbers(array, index, MOST_ELEMENTS)
    return {
        **shown,
        "name": name,
        "type": str(value.type),
        "array": text,
        "runs": len(seen),
        "run": run,
        "programs": programs,
    }


def shown_numbers(
    array: np.ndarray, index: tuple[int, ...], most: int, *, digits: int = 6, thins: bool = False
) -> ShownJson:
    """Numbers as a page shows them: of more than two axes a slice; of more than `most` elements the first, or with `thins` every few rows and columns."""
    shape = array.shape
    index = tuple(
        min(max(at, 0), size - 1) for at, size in zip((*index, *(0 for _ in shape)), shape[:-2], strict=False)
    )
    shown = np.atleast_1d(array[index])
    every = [1, 1]
    while thins and shown.size > most:
        axis = int(np.argmax(shown.shape))
        shown = shown[::2] if axis == 0 else shown[:, ::2]
        every[axis if shown.ndim > 1 else 1] *= 2
    if shown.size > most:
        shown = shown[: most // shown.shape[-1]] if shown.ndim > 1 else shown[:most]
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    return {
        "shape": list(shape), "index": list(index), "every": every,
        "rows": 1 if shown.ndim == 1 else shown.shape[0], "data": [_plain(one, digits) for one in shown.reshape(-1).tolist()],
        "least": float(finite.min()) if finite.size else 0.0, "most": float(finite.max()) if finite.size else 0.0,
        "mean": float(finite.mean(dtype=np.float64)) if finite.size else 0.0, "strange": int(array.size - finite.size),
    }  # fmt: skip


def held_values(kept: KeptModule, launch: Launch) -> HeldJson:
    """All tensors of a state as program 0 makes them first, and the kernel's arrays, by one run, thinned: a file holds them."""
    tensors = {value: name for name, value in kept.values.items() if instance_of(value.type, TensorType)}
    entry = next(one for one in kept.module.ops if isinstance(one, FuncOp) and one.sym_name.data == launch.name)
    first = entry.regions[0].blocks[0].first_op
    count, seen, runs = -1, dict[SSAValue, Any](), Counter[SSAValue]()

    def observe(op: Operation, operands: tuple[Any, ...], found: Any) -> Any:
        nonlocal count
        count += op is first
        if count == 0:
            for at, value in enumerate(op.operands):
                if value not in seen and value in tensors and not isinstance(value.owner, Operation):
                    seen[value] = _copy(operands[at])
            for at, value in enumerate(op.results):
                if value in tensors:
                    runs[value] += 1
                    if value not in seen:
                        seen[value] = _copy(found if len(op.results) == 1 else found[at])
        return found

    launch.arguments.fresh()
    before = named_arrays(launch, Outcome(Level.INTERPRETER, launch.arguments.contents()))
    outcome = launch.interpret(kept.module, observe)
    if not outcome.ran and not seen:
        raise outcome.why_not_run()
    after = named_arrays(launch, outcome) if outcome.ran else {}
    most = max(_LEAST_HELD, min(_MOST_HELD, _ALL_HELD // max(1, len(seen))))
    values: dict[str, ValuesJson] = {}
    for value, held in seen.items():
        array, text = _numbers(held, value, launch)
        shown = shown_numbers(array, (), most, digits=4, thins=True)
        values[tensors[value]] = {
            **shown, "name": tensors[value], "type": str(value.type), "array": text, "runs": 1, "run": 0, "programs": 1, "of": max(1, runs[value])
        }  # fmt: skip
    arrays: dict[str, list[ValuesJson]] = {}
    for name in after:
        found = [shown_numbers(one, (), _MOST_OF_ARRAY, digits=4, thins=True) for one in (before[name], after[name])]
        arrays[name] = [
            {**one, "name": name, "type": str(before[name].dtype), "array": "", "runs": 1, "run": 0, "programs": 1} for one in found
        ]  # fmt: skip
    return {"values": values, "arrays": arrays}


_LEAST_HELD, _MOST_HELD, _ALL_HELD, _MOST_OF_ARRAY = 64, 1024, 1 << 17, 1 << 12
"""Elements that a file holds of each tensor, at least and at most, of all together, and of an array."""


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
            seen.append(_copy(found if len(op.results) == 1 else found[_number(op, value)]))
        elif count == program and op is taker:
            seen.append(_copy(operands[next(at for at, one in enumerate(op.operands) if one is value)]))
        return found

    outcome = launch.interpret(kept.module, observe)
    if not seen and (outcome.gap or outcome.fault) and count <= program:
        raise outcome.why_not_run()
    return seen


def _copy(held: Any) -> np.ndarray:
    """What is held at this moment; of an asynchronous dot what it will have given when it is waited for."""
    return np.array(held.value if isinstance(held, Unfinished) else held)


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


def _plain(one: float | bool, digits: int) -> float | str:
    """So many digits of a number; what is no number as JSON has it, in words."""
    return one if isinstance(one, int) else float(f"{one:.{digits}g}") if np.isfinite(one) else str(one)
