"""Which op of a broken pass's output is wrong.

In: the module before the pass and the module after it. Out: a `Culprit`. Ops correspond by their place in the kernel; where an op
gives what its place never gave before, it is put back to the old values and the program runs again: the first op whose
old values make the outputs right is the culprit.

    %d = arith.subi %a, %b  →  %d = arith.subi %b, %a      at kernel.py:7:14: arith.subi gives other values than before
"""

from __future__ import annotations

import linecache
import time
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.locations import source_location
from minitriton.lab.comparison import Verdict, compare, differing
from minitriton.lab.execution import Launch, Outcome
from minitriton.lab.report import Culprit
from minitriton.lab.trace import Key, OpTrace, Trace, trace, written

MOST_SECONDS = 10.0
"""Spent on putting old values back."""


def locate(launch: Launch, before: ModuleOp, after: ModuleOp) -> Culprit | None:
    """The op that makes `after` give other numbers than `before`; None where no op differs."""
    old, new = trace(launch, before), trace(launch, after)
    assert old.outcome is not None and new.outcome is not None
    suspects = _suspects(old, new)
    repaired = _first_repair(launch, old, after, suspects)
    if repaired is not None:
        return _culprit(repaired.op, "gives other values than before the pass; with the old ones the outputs are right")
    known = {d for entry in old.ops.values() for d in entry.digests}
    known.update(d for entry in old.ops.values() for operands in entry.operands for d in operands)
    for entry in suspects:
        if all(d in known for operands in entry.operands for d in operands):
            return _culprit(entry.op, "does something else than before the pass, from operands that are right")
    if new.outcome.fault is not None and new.outcome.fault.location is not None:
        place = new.outcome.fault.location
        line = linecache.getline(place.file, place.line) or None
        return Culprit("faulting access", new.outcome.fault.message, place, line)
    lost = _first_lost_store(old, new)
    if lost is not None:
        return _culprit(lost, "is missing after the pass")
    return _culprit(suspects[0].op, "gives other values than before the pass") if suspects else None


def _suspects(old: Trace, new: Trace) -> list[OpTrace]:
    """The ops of `new` that give what no op of their place gave in `old`, in the order they ran."""
    at_place: dict[Any, set[int]] = {}
    everywhere: set[int] = set()
    for entry in old.ops.values():
        at_place.setdefault(entry.key[0], set()).update(entry.digests)
        everywhere.update(entry.digests)
    suspects = []
    for entry in new.ops.values():
        place = entry.key[0]
        expected = at_place.get(place, everywhere) if place is not None else everywhere
        if not expected.issuperset(entry.digests):
            suspects.append(entry)
    return suspects


def _first_repair(launch: Launch, old: Trace, after: ModuleOp, suspects: list[OpTrace]) -> OpTrace | None:
    by_key: dict[Key, list[OpTrace]] = {}
    for entry in old.ops.values():
        by_key.setdefault(entry.key, []).append(entry)
    assert old.outcome is not None
    wanted, elements = old.outcome.arrays, launch.arguments.array_elements()
    end = time.perf_counter() + MOST_SECONDS
    for suspect in suspects:
        if not suspect.op.results or time.perf_counter() > end:
            continue
        for counterpart in by_key.get(suspect.key, ()):
            outcome = _run_with(launch, after, suspect.op, counterpart.values)
            if outcome.ran and compare(outcome.arrays, wanted, elements) is not Verdict.WRONG:
                return suspect
    return None


def _run_with(launch: Launch, module: ModuleOp, chosen: Operation, values: list[Any]) -> Outcome:
    """Runs `module` with the results of `chosen` taken from `values`, one each time it runs."""
    remaining = iter(values)

    def replace(op: Operation, operands: tuple[Any, ...], value: Any) -> Any:
        if op is not chosen:
            return value
        old = next(remaining, value)
        return old if _same_form(old, value) else value

    return launch.interpret(module, replace)


def _same_form(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same_form(x, y) for x, y in zip(a, b, strict=True))
    return np.shape(a) == np.shape(b) and getattr(a, "dtype", None) == getattr(b, "dtype", None)


def _first_lost_store(old: Trace, new: Trace) -> Operation | None:
    present = {entry.key for entry in new.ops.values()}
    return next((e.op for e in old.ops.values() if not e.op.results and e.key not in present), None)


def locate_store(launch: Launch, module: ModuleOp, wrong: Outcome, right: Outcome) -> Culprit | None:
    """The store of `module` (the last version that the interpreter runs) that wrote the first element which differs."""
    address = _first_differing_address(launch, wrong, right)
    if address is None:
        return None
    found: list[Operation] = []

    def watch(op: Operation, operands: tuple[Any, ...], value: Any) -> Any:
        through_pointers = op.name == "tt.store" and isinstance(operands[0], np.ndarray | np.generic)
        if through_pointers and (written(operands)[0] == address).any():
            found.append(op)
        return value

    launch.interpret(module, watch)
    return _culprit(found[-1], "the first element that differs is the one it stores") if found else None


def _first_differing_address(launch: Launch, wrong: Outcome, right: Outcome) -> int | None:
    arguments = launch.arguments
    for position, ours, theirs in zip(arguments.array_positions(), wrong.arrays, right.arrays, strict=False):
        different = np.argwhere(differing(ours, theirs, arguments.elements[position]))
        if len(different):
            array = arguments.values[position]
            offset = sum(int(i) * stride for i, stride in zip(different[0], array.strides, strict=True))
            return array.__array_interface__["data"][0] + offset
    return None


def _culprit(op: Operation, what: str) -> Culprit:
    place = source_location(op.location)
    line = (linecache.getline(place.file, place.line) or None) if place else None
    return Culprit(op.name, what, place, line)
