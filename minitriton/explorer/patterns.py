"""Which elements of an array a load or store touches: by program, and by the warp that holds each.

In: a state of TTGIR, the number of an access in it, a launch. Out: offsets in elements from where the array begins.

    pattern_of(kept, 31, launch).programs[1].offsets      [1024, 1025, ...]     the second program, None where the mask is false
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects import ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.func import FuncOp
from minitriton.errors import MinitritonError
from minitriton.explorer.accesses import vectorized
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.wire import PatternJson, RunOfAccessJson
from minitriton.lab.arguments import array_of
from minitriton.lab.execution import Launch
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.to_linear import to_linear_layout

MOST_RUNS = 24
MOST_OFFSETS = 8192


@dataclass(frozen=True)
class RunOfAccess:
    """One run of the op: the program it ran for, an offset for each element (None where the mask is false), and its warp."""

    program: tuple[int, int, int]
    offsets: tuple[int | None, ...]
    warps: tuple[int, ...]


@dataclass(frozen=True)
class Pattern:
    """All runs that were looked at; `array` is the argument's name, of `elements` of `bytes`."""

    name: str
    array: str
    elements: int
    bytes: int
    programs: tuple[RunOfAccess, ...] = field(default=())

    def plain(self) -> PatternJson:
        """As JSON can hold it."""
        programs: list[RunOfAccessJson] = [
            {"program": one.program, "offsets": one.offsets, "warps": one.warps} for one in self.programs
        ]
        return {
            "name": self.name, "array": self.array, "elements": self.elements, "bytes": self.bytes, "programs": programs,
        }  # fmt: skip


def pattern_of(kept: KeptModule, number: int, launch: Launch) -> Pattern:
    """Runs the program on the interpreter and watches one access. Raises `MinitritonError` where it is none, or does not run."""
    op = kept.ops.get(number)
    access = None if op is None else vectorized(op)
    if op is None or access is None or not instance_of(access.pointer_of(op).type, TensorType):
        raise MinitritonError(f"op {number} is not a load or store through a tensor of pointers")
    entry = next(one for one in kept.module.ops if isinstance(one, FuncOp) and one.sym_name.data == launch.name)
    first = entry.regions[0].blocks[0].first_op
    seen: list[tuple[int, np.ndarray, np.ndarray | None]] = []
    count = 0
    mask, pointer = access.mask_of(op), access.pointer_of(op)
    mask_at = (
        next((at for at, operand in enumerate(op.operands) if operand is mask), None) if mask is not None else None
    )
    pointer_at = next(at for at, operand in enumerate(op.operands) if operand is pointer)

    def observe(one: Operation, operands: tuple[Any, ...], value: Any) -> Any:
        nonlocal count
        count += one is first
        if one is op and len(seen) < MOST_RUNS:
            masked = None if mask_at is None else np.array(operands[mask_at])
            seen.append((count - 1, np.array(operands[pointer_at]), masked))
        return value

    outcome = launch.interpret(kept.module, observe)
    if outcome.gap or (outcome.fault is not None and not seen):
        raise MinitritonError(f"the program cannot be run: {outcome.gap or outcome.fault}")
    return _pattern(op, pointer, launch, seen)


def _pattern(
    op: Operation, pointer: SSAValue, launch: Launch, seen: list[tuple[int, np.ndarray, np.ndarray | None]]
) -> Pattern:
    if not seen:
        raise MinitritonError(f"{op.name} did not run in any of the {int(np.prod(launch.grid))} programs")
    name, array = _array_at(launch, int(seen[0][1].reshape(-1)[0]))
    start, size = array.__array_interface__["data"][0], array.itemsize
    assert instance_of(pointer.type, TensorType)
    warps = _warps(pointer.type)
    each = max(1, MOST_OFFSETS * 4 // max(1, len(seen) * len(warps)))
    runs = [
        RunOfAccess(
            _program(launch, program),
            *_thinned((addresses.reshape(-1).astype(np.int64) - start) // size, masked, warps, each),
        )
        for program, addresses, masked in seen
    ]
    return Pattern(op.name, name, int(array.size), int(size), tuple(runs))


def _thinned(
    offsets: np.ndarray, mask: np.ndarray | None, warps: list[int], each: int
) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """As many of the offsets, evenly, as a page can hold: all of a small tile."""
    step = 1 if each * len(offsets) >= MOST_OFFSETS or len(offsets) <= MOST_OFFSETS else len(offsets) // MOST_OFFSETS
    kept = (
        np.ones(len(offsets), bool) if mask is None else np.broadcast_to(mask.reshape(-1), offsets.shape).astype(bool)
    )
    positions = range(0, len(offsets), step)
    return tuple(int(offsets[at]) if kept[at] else None for at in positions), tuple(warps[at] for at in positions)


def _program(launch: Launch, number: int) -> tuple[int, int, int]:
    x, y, _ = (*launch.grid, 1, 1)[:3]
    return number % x, number // x % y, number // (x * y)


def _array_at(launch: Launch, address: int) -> tuple[str, np.ndarray]:
    """The argument that `address` is in or after."""
    passed = launch.arguments
    found: list[tuple[int, str, np.ndarray]] = []
    for position, value in enumerate(passed.values):
        array = array_of(value)
        if array is not None:
            name = passed.passed[position].name if passed.passed else str(position)
            found.append((array.__array_interface__["data"][0], name, array))
    before = [one for one in found if one[0] <= address]
    if not before:
        raise MinitritonError("the access reaches no argument of the launch")
    _, name, array = max(before, key=lambda one: one[0])
    return name, array


def _warps(type_: TensorType) -> list[int]:
    """The warp that holds each element of a tensor, in row-major order; of copies the first."""
    shape = tuple(type_.get_shape())
    encoding = ttg.layout_of(type_)
    count = int(np.prod(shape))
    if not isinstance(encoding, DistributedEncoding):
        return [0] * count
    layout = to_linear_layout(encoding, shape)
    sizes = layout.in_dims
    indices = [np.arange(sizes[dim]) for dim in ("register", "lane", "warp")]
    grid = np.meshgrid(*indices, indexing="ij")
    at = np.zeros(grid[0].shape, np.int64)
    for dim, hardware in zip(("register", "lane", "warp"), grid, strict=True):
        for bit, base in enumerate(layout.bases[dim]):
            flat = int(np.ravel_multi_index(tuple(base), shape)) if any(base) else 0
            at ^= np.where(hardware >> bit & 1, flat, 0)
    warps = np.zeros(count, np.int64)
    order = np.argsort(-grid[2].reshape(-1), kind="stable")
    warps[at.reshape(-1)[order]] = grid[2].reshape(-1)[order]
    return warps.tolist()
