"""Which op of a broken pass's output is wrong.

In: the module before the pass and the module after it. Out: a `Culprit`. Ops correspond by their location in the kernel; where an op
gives what its location never gave before, it is put back to the old values and the program runs again: the first op whose
old values make the outputs right is the culprit.

    %d = arith.subi %a, %b  →  %d = arith.subi %b, %a      at kernel.py:7:14: arith.subi gives other values than before

Two versions of a program are compared by a `Trace` of each: of every op, digests of its results (or, of a store, of what it wrote
where) over all programs and iterations. A digest does not see shapes and broadcasts:

    splat(addi a, b)  and  addi(splat a, splat b)      have the same digest
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import CallSiteLoc, ModuleOp, NameLoc
from xdsl.ir import Attribute, Operation

from minitriton.dialects import tt
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.errors import SourceLocation
from minitriton.host.source_text import line_at
from minitriton.lab.arguments import array_of
from minitriton.lab.comparison import Verdict, compare, differing
from minitriton.lab.execution import Launch, Outcome
from minitriton.lab.report import Culprit

MOST_SECONDS = 10.0
"""Spent on putting old values back."""


def locate(launch: Launch, before: ModuleOp, after: ModuleOp) -> Culprit | None:
    """The op that makes `after` give other numbers than `before`; None where no op differs."""
    old, new = trace(launch, before), trace(launch, after)
    assert old.outcome is not None and new.outcome is not None
    suspects = _suspects(old, new)
    known = {d for entry in old.ops.values() for d in entry.digests}
    known.update(d for entry in old.ops.values() for operands in entry.operands for d in operands)
    repaired = _first_repair(launch, old, after, suspects)
    if repaired is not None:
        op = _outer_if_fed_wrongly(repaired, new, known)
        return _culprit(op, "gives other values than before the pass; with the old ones the outputs are right")
    for entry in suspects:
        if all(d in known for operands in entry.operands for d in operands):
            return _culprit(entry.op, "does something else than before the pass, from operands that are right")
    if new.outcome.fault is not None and new.outcome.fault.location is not None:
        location = new.outcome.fault.location
        line = line_at(location.file, location.line)
        return Culprit("faulting access", new.outcome.fault.message, location, line)
    lost = _first_lost_store(old, new)
    if lost is not None:
        return _culprit(lost, "is missing after the pass")
    return _culprit(suspects[0].op, "gives other values than before the pass") if suspects else None


def _suspects(old: Trace, new: Trace) -> list[OpTrace]:
    """The ops of `new` that give what no op of their location gave in `old`, in the order they ran."""
    by_key: dict[Key, list[OpTrace]] = {}
    at_location: dict[SourceLocation | None, set[int]] = {}
    everywhere: set[int] = set()
    for entry in old.ops.values():
        by_key.setdefault(entry.key, []).append(entry)
        at_location.setdefault(entry.key[0], set()).update(entry.digests)
        everywhere.update(entry.digests)
    suspects: list[OpTrace] = []
    for entry in new.ops.values():
        location = entry.key[0]
        expected = at_location.get(location, everywhere) if location is not None else everywhere
        same_length = [e.digests for e in by_key.get(entry.key, ()) if len(e.digests) == len(entry.digests)]
        in_order = location is None or not same_length or entry.digests in same_length
        if not in_order or not expected.issuperset(entry.digests):
            suspects.append(entry)
    return suspects


def _first_repair(launch: Launch, old: Trace, after: ModuleOp, suspects: list[OpTrace]) -> OpTrace | None:
    """The first suspect that, with the values of an op of its location in `old`, lets the program give the right outputs."""
    at_location: dict[SourceLocation | None, list[OpTrace]] = {}
    for entry in old.ops.values():
        at_location.setdefault(entry.key[0], []).append(entry)
    assert old.outcome is not None
    wanted, elements = old.outcome.arrays, launch.arguments.array_elements()
    end = time.perf_counter() + MOST_SECONDS
    for suspect in suspects:
        if not suspect.op.results or time.perf_counter() > end:
            continue
        types = [result.type for result in suspect.op.results]
        counterparts = [e for e in at_location.get(suspect.key[0], ()) if [r.type for r in e.op.results] == types]
        for counterpart in sorted(counterparts, key=lambda e: e.key != suspect.key):
            outcome = _run_with(launch, after, suspect.op, counterpart.values)
            if outcome.ran and compare(outcome.arrays, wanted, elements, launch.tolerance) is not Verdict.WRONG:
                return suspect
    return None


def _outer_if_fed_wrongly(entry: OpTrace, new: Trace, known: set[int]) -> Operation:
    """The op around `entry`, such as a reduction, if that is what gives `entry` operands that never occurred before."""
    outer = new.ops.get(entry.op.parent_op() or entry.op, entry)
    if all(d in known for d in entry.operands[0]) or not all(d in known for d in outer.operands[0]):
        return entry.op
    return outer.op


def _run_with(launch: Launch, module: ModuleOp, chosen: Operation, values: list[object]) -> Outcome:
    """Runs `module` with the results of `chosen` taken from `values`, one each time it runs."""
    remaining = iter(values)

    def replace(op: Operation, operands: tuple[object, ...], value: object) -> object:
        if op is not chosen:
            return value
        old = next(remaining, value)
        return old if _same_form(old, value) else value

    return launch.interpret(module, replace)


def _same_form(a: object, b: object) -> bool:
    if instance_of(a, TUPLE) and instance_of(b, TUPLE):
        return len(a) == len(b) and all(_same_form(x, y) for x, y in zip(a, b, strict=True))
    return np.asarray(a).shape == np.asarray(b).shape and getattr(a, "dtype", None) == getattr(b, "dtype", None)


def _first_lost_store(old: Trace, new: Trace) -> Operation | None:
    present = {entry.key for entry in new.ops.values()}
    return next((e.op for e in old.ops.values() if not e.op.results and e.key not in present), None)


def locate_store(launch: Launch, module: ModuleOp, wrong: Outcome, right: Outcome) -> Culprit | None:
    """The store of `module` (the last version that the interpreter runs) that wrote the first element which differs."""
    address = _first_differing_address(launch, wrong, right)
    if address is None:
        return None
    found: list[Operation] = []

    def watch(op: Operation, operands: tuple[object, ...], value: object) -> object:
        through_pointers = isinstance(op, tt.StoreOp) and isinstance(operands[0], np.ndarray | np.generic)
        if through_pointers and (written(operands)[0] == address).any():
            found.append(op)
        return value

    launch.interpret(module, watch)
    return _culprit(found[-1], "the first element that differs is the one it stores") if found else None


def _first_differing_address(launch: Launch, wrong: Outcome, right: Outcome) -> int | None:
    arguments = launch.arguments
    for position, ours, theirs in zip(arguments.array_positions(), wrong.arrays, right.arrays, strict=False):
        different = np.argwhere(differing(ours, theirs, arguments.elements[position], launch.tolerance))
        if len(different):
            array = array_of(arguments.values[position])
            assert array is not None
            offset = sum(int(i) * stride for i, stride in zip(different[0], array.strides, strict=True))
            return array.__array_interface__["data"][0] + offset
    return None


def kernel_location(location: Attribute) -> SourceLocation | None:
    """The location in the kernel itself: of what was inlined, where it was called."""
    while isinstance(location, NameLoc | CallSiteLoc):
        location = location.caller if isinstance(location, CallSiteLoc) else location.location
    return source_location(location)


def _culprit(op: Operation, what: str) -> Culprit:
    """`op` with its location; a constant that passes share between locations has that of its first use."""
    users = [use.operation for result in op.results for use in result.uses]
    location = next((p for o in [op, *users] if (p := kernel_location(o.location)) is not None), None)
    inside = source_location(op.location)
    if inside is not None and inside != location:
        what += f" (inlined from {inside})"
    line = line_at(location.file, location.line) if location else None
    return Culprit(op.name, what, location, line)


Key = tuple[SourceLocation | None, str]


@dataclass
class OpTrace:
    """One op: digests of its operands and of what it gave, each time it ran."""

    op: Operation
    operands: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    digests: list[int] = field(default_factory=list[int])
    values: list[object] = field(default_factory=list[object])

    @property
    def key(self) -> Key:
        """What an op keeps from one version of a program to the next: its location and its name."""
        return source_location(self.op.location), self.op.name


@dataclass
class Trace:
    """All ops that ran, in the order they first did."""

    ops: dict[Operation, OpTrace] = field(default_factory=dict[Operation, OpTrace])
    outcome: Outcome | None = None

    def observe(self, op: Operation, operands: Sequence[object], value: object) -> object:
        """The interpreter's observer."""
        entry = self.ops.get(op)
        if entry is None:
            entry = self.ops[op] = OpTrace(op)
        inputs = tuple(digest(operand) for operand in operands)
        entry.operands.append(inputs)
        entry.digests.append(digest(value) if op.results else effect(op, operands, inputs))
        entry.values.append(value)
        return value


def trace(launch: Launch, module: ModuleOp) -> Trace:
    """Runs `module` and records it, up to a fault if there is one."""
    found = Trace()
    found.outcome = launch.interpret(module, found.observe)
    return found


def digest(value: object) -> int:
    """A number that equal values share. One number broadcast and that number alone are equal."""
    if instance_of(value, TUPLE):
        return hash(tuple(digest(part) for part in value))
    try:
        array = np.asarray(value)
    except Exception:
        return hash(repr(value))
    if array.dtype == object:
        return hash(repr(value))
    flat = np.ascontiguousarray(array).reshape(-1)
    data = flat.tobytes()
    first = data[: flat.itemsize]
    if data == first * flat.size:
        data = first
    return hash((array.dtype.kind, data))


def effect(op: Operation, operands: Sequence[object], inputs: tuple[int, ...]) -> int:
    """A digest of what an op without results did: of a store, the elements it wrote and where."""
    if not isinstance(op, tt.StoreOp) or not isinstance(operands[0], np.ndarray | np.generic):
        return hash(inputs)
    addresses, values = written(operands)
    return hash((digest(addresses), digest(values)))


def written(operands: Sequence[object]) -> tuple[np.ndarray, np.ndarray]:
    """Addresses and values of the elements that a store through a tensor of pointers writes."""
    addresses = np.asarray(operands[0])
    values = np.broadcast_to(np.asarray(operands[1]), addresses.shape)
    if len(operands) < 3:
        return addresses.reshape(-1), values.reshape(-1)
    mask = np.broadcast_to(np.asarray(operands[2]), addresses.shape)
    return addresses[mask], values[mask]
