"""Atomics: threads act one after the other, in order of their number, where several hit one address.

threads 0 and 1 add 5.0 to a word that holds 1.0   →   they see 1.0 and 6.0; 11.0 remains
"""

from collections.abc import Callable

import numpy as np

from minitriton.emulator.arithmetic import small_floats as sf
from minitriton.emulator.arithmetic.floats import flush32
from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.operations import proxy_fences
from minitriton.emulator.operations.memory import by_space, check_global_write, locate_to_write, measure, pass_order
from minitriton.emulator.threads import Mask, Threads
from minitriton.interpreter.numbers.formats import extreme

Combine = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of what is in memory and what a thread brings, in this order."""


def _increment(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where(old >= limit, np.zeros_like(old), old + np.ones_like(old))


def _decrement(old: np.ndarray, limit: np.ndarray) -> np.ndarray:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _extreme(largest: bool) -> Combine:
    def choose(old: np.ndarray, new: np.ndarray) -> np.ndarray:
        if old.dtype == np.float32:
            return extreme(old, new, largest)
        return np.maximum(old, new) if largest else np.minimum(old, new)

    return choose


OPERATIONS: dict[str, Combine] = {
    "add": lambda old, new: old + new,
    "add.ftz": lambda old, new: flush32(flush32(old) + flush32(new)),
    "add.ieee": lambda old, new: old + new,
    "sub": lambda old, new: old - new,
    "and": lambda old, new: old & new,
    "or": lambda old, new: old | new,
    "xor": lambda old, new: old ^ new,
    "exch": lambda old, new: new,
    "min": _extreme(False),
    "max": _extreme(True),
    "inc": _increment,
    "dec": _decrement,
}


def atomic(
    x: Threads,
    site: int,
    space: str,
    operation: str,
    packed: str,
    address: Lanes,
    mask: Mask,
    values: list[Lanes],
    dtype: np.dtype,
) -> list[np.ndarray]:
    """One atomic per thread and vector element; returns the old values. `packed` names f16/bf16 element formats."""
    mask = x.mask(mask)
    if space == "generic" and isinstance(x, Machine):
        found = [np.zeros(x.count, dtype) for _ in range(len(values) // (2 if operation == "cas" else 1))]
        for s, a, m in by_space(x, address, mask):
            some = atomic(x, site, s, operation, packed, a, m, values, dtype)
            found = [f | o if dtype.kind in "ui" else f + o for f, o in zip(found, some, strict=True)]
        return found
    compare = values[: len(values) // 2] if operation == "cas" else None
    operands = values[len(values) // 2 :] if operation == "cas" else values
    width = dtype.itemsize
    offset, mask = locate_to_write(x, site, space, address, mask, width * len(operands))
    lanes = x.index if mask is None else np.nonzero(mask)[0]
    results = [np.zeros(x.count, dtype) for _ in operands]
    if not lanes.size:
        return results
    if x.memory.trace is not None and space == "global":
        x.memory.trace.note(site, "what is stored", [x.numbers, offset, *map(x.spread, values)], mask)
    if x.check:
        measure(x, site, space, offset, lanes, width * len(operands))
        if space == "shared" and x.shared.shadowed:
            granules = x.shared.granules(offset[lanes], width * len(operands))
            x.shared.initialised[granules] = True
            proxy_fences.note_store(x, site, granules, lanes)
        if space == "global":
            no = np.zeros(len(lanes), np.bool_)
            check_global_write(x, site, offset[lanes], width * len(operands), lanes, no, None)
            pass_order(x, site, offset, lanes, acquire=True, release=True)
    memory = (x.memory.views if space == "global" else x.shared.views)[width].view(dtype)
    changed = False
    for k, value in enumerate(operands):
        index = offset[lanes] // width + k
        new = x.spread(value)[lanes]
        expected = None if compare is None else x.spread(compare[k])[lanes]
        named = _named(operation, space, dtype)
        old = results[k][lanes] = _in_order(memory, index, new, expected, named, packed)
        changed = changed or not np.array_equal(old, memory[index])
    x.polls = 0 if changed or operation in ("min", "max") else x.polls + 1
    x.changes += 1
    x.spins += operation == "cas"
    return results


def _named(operation: str, space: str, dtype: np.dtype) -> str:
    """Sums of float32 in global memory flush subnormals (PTX ISA, `atom`)."""
    return "add.ftz" if operation == "add" and space == "global" and dtype == np.float32 else operation


def _in_order(
    memory: np.ndarray, index: np.ndarray, new: np.ndarray, expected: np.ndarray | None, operation: str, packed: str
) -> np.ndarray:
    """Rounds: in each, the first remaining thread of every address acts."""
    old = np.empty(len(index), memory.dtype)
    remaining = np.arange(len(index))
    while remaining.size:
        _, first = np.unique(index[remaining], return_index=True)
        chosen = remaining[first]
        where = index[chosen]
        before = memory[where]
        if expected is not None:
            after = np.where(before == expected[chosen], new[chosen], before)
        elif packed:
            function, format = packed.split(":")
            act = sf.pairs if function == "pairs" else sf.narrow
            after = new[chosen] if operation == "exch" else act(operation, format, before, new[chosen])
        else:
            after = OPERATIONS[operation](before, new[chosen])
        old[chosen] = before
        memory[where] = after
        remaining = np.delete(remaining, first)
    return old
