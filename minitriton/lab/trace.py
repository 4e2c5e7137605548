"""What every op of an interpreted program gave, in an order that two versions of the program can be compared by.

In: a module and a launch. Out: a `Trace`: of each op, digests of its results (or, of a store, of what it wrote where) over all
programs and iterations. A digest does not see shapes and broadcasts:

    splat(addi a, b)  and  addi(splat a, splat b)      have the same digest
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.locations import source_location
from minitriton.dialects import tt
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.errors import SourceLocation
from minitriton.lab.execution import Launch, Outcome

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
