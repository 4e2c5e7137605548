"""Loads and stores of a state: how wide each is, what limits it, and what would widen it.

In: the `Facts` of a state of TTGIR. Out: an `AccessFact` for each `tt.load`, `tt.store` and asynchronous copy.

    load of f32: 1 element (4 bytes) at a time, of at most 4
    limited by the pointers: neighbouring elements are not known to be contiguous (contiguity 1, because of `stride`, an argument)
    pass 1 for `stride` or make it tl.constexpr, where it is always 1

And which elements of an array one touches, by program, and by the warp that holds each: offsets in elements from where the array begins.

    pattern_of(kept, 31, launch)["programs"][1]["offsets"]      [1024, 1025, ...]     the second program, None where the mask is false
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import BlockArgument, Operation, SSAValue

from minitriton.analysis.access_width import access_width
from minitriton.analysis.axis_info.explain import Claim
from minitriton.analysis.axis_info.lattice import access_shape, pointee_bytes
from minitriton.dialects import arith, ttg
from minitriton.dialects.facts.memory_access import DescriptorAccess, MemoryAccess
from minitriton.dialects.locations import user_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.func import FuncOp
from minitriton.errors import MinitritonError
from minitriton.explorer.facts import Facts, ValueFact, name_of_argument
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.wire import AccessJson, FileLine, PatternJson, RunOfAccessJson
from minitriton.lab.arguments import array_of
from minitriton.lab.execution import Launch, Outcome
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.layouts.to_linear import to_linear_layout

_SPLIT = "where the mask ends within one of these vectors, a branch moves its elements one by one"
_CLAIMS: dict[str, Claim] = {"pointers": "contiguity", "alignment": "divisibility", "mask": "constancy"}


def vectorized(op: Operation) -> MemoryAccess | None:
    """Which operands of a load, store or copy play which role, where a thread moves neighbours at once; None for other ops."""
    access = MemoryAccess.of(op)
    return None if access is None or access.atomic or isinstance(access, DescriptorAccess) else access


@dataclass(frozen=True)
class AccessFact:
    """One access: elements moved at a time, the most that 16 bytes hold, and why it is not more.

    `limit`: "pointers", "alignment", "mask", "layout", "buffer", or "" where it is as wide as can be. `chain`: the names of the values from the
    pointers (or the mask) to where the limit comes from. `hint`: what would widen it, "" where nothing would.
    """

    op: int
    name: str
    line: tuple[str, int] | None
    pointer: str
    array: str
    """The parameter that the pointers begin with, "" where that is not known."""
    mask: str | None
    bytes: int
    width: int
    most: int
    of_thread: int
    limit: str
    reason: str
    claim: Claim | None
    axis: int
    chain: tuple[str, ...]
    hint: str

    def plain(self, line: FileLine | None) -> AccessJson:
        """As JSON can hold it; `line` with the number of its file."""
        return {**asdict(self), "line": line}

    def text(self) -> str:
        """In a few lines."""
        what = f"{self.name} of {self.bytes}-byte elements: {self.width} ({self.width * self.bytes} bytes) at a time"
        lines = [what + (f", of at most {self.most}" if self.width < self.most else ", as wide as can be")]
        if self.reason:
            lines.append(f"limited by the {self.limit}: {self.reason}" if self.limit else self.reason)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def accesses(facts: Facts, is_gluon: bool = False) -> list[AccessFact]:
    """Those of every access to global memory through a tensor of pointers; hints are in the words of the kernel's language."""
    return [
        _in_gluon(_access(facts, number, op)) if is_gluon else _access(facts, number, op)
        for number, op in facts.kept.ops.items()
        if (access := vectorized(op)) is not None and instance_of(access.pointer_of(op).type, TensorType)
    ]


def _in_gluon(fact: AccessFact) -> AccessFact:
    if fact.limit == "layout":
        return replace(fact, hint="give a thread more neighbours along that axis: size_per_thread of its layout")
    return replace(fact, hint=re.sub(r"\btl\.", "gl.", fact.hint))


def _access(facts: Facts, number: int, op: Operation) -> AccessFact:
    access = MemoryAccess.of(op)
    assert access is not None
    pointer = access.pointer_of(op)
    type_ = pointer.type
    assert instance_of(type_, TensorType)
    mask = access.mask_of(op)
    size, shape = max(1, pointee_bytes(type_)), access_shape(type_)
    axis = shape.fastest_dim
    width, most, limit, is_split = access_width(facts.axis, op)
    claim = _CLAIMS.get(limit)
    limited = mask if limit == "mask" else pointer
    chain: list[ValueFact] = []
    if claim is not None and limited is not None:
        chain = facts.chain(facts.names[limited], claim, axis)
    location = user_location(op.location)
    reason, hint = _said(limit, width, size, chain, claim, axis)
    stride = _stride(facts, chain[-1]) if claim == "contiguity" and chain else ""
    hint = _stride_hint(stride) if stride else hint
    if is_split:
        reason = "; ".join(filter(None, (reason, _SPLIT)))
    return AccessFact(
        number, op.name, (location.file, location.line) if location else None, facts.names[pointer], array_reached(pointer),
        facts.names.get(mask) if mask is not None else None, size, width, most, shape.contiguous_per_thread, limit, reason, claim,
        axis, tuple(one.name for one in chain), hint,
    )  # fmt: skip


def array_reached(pointer: SSAValue) -> str:
    """The name of the kernel's parameter that `pointer` is computed from: through arithmetic, loops and changes of layout."""
    while True:
        owner = pointer.owner
        if not isinstance(pointer, BlockArgument) and isinstance(owner, Operation):
            # Of a loop the pointers begin with what it is given of their type.
            before = next((one for one in owner.operands if not owner.regions or one.type == pointer.type), None)
        elif not isinstance(pointer, BlockArgument):
            return ""
        elif isinstance(function := pointer.owner.parent_op(), FuncOp):
            return name_of_argument(pointer)
        else:
            # What a loop carries is given last, as it is taken.
            given = () if function is None else function.operands
            from_last = len(pointer.owner.args) - pointer.index
            before = given[-from_last] if from_last <= len(given) else None
        if before is None:
            return ""
        pointer = before


def _said(limit: str, width: int, size: int, chain: list[ValueFact], claim: Claim | None, axis: int) -> tuple[str, str]:
    if not limit:
        return "", ""
    if limit == "layout":
        return (
            f"a thread holds {width} element{'s' * (width != 1)} in a row along the fastest axis",
            "larger blocks along that axis, or fewer warps (num_warps), give each thread more in a row",
        )
    if limit == "buffer":
        return (
            f"its buffer in shared memory has {width} of them in a row",
            "load the tile in the order that it has in memory, and transpose it after the load",
        )
    last = chain[-1]
    where = f", line {last.line[1]}" if last.line else ""
    source = f"{last.origin}{where}"
    if limit == "mask":
        return (
            f"it may change after {width} element{'s' * (width != 1)}, because of {source}",
            _promise(
                last,
                "compare with a bound that is a multiple of 16: pass one that is divisible by 16, or tl.multiple_of(bound, 16)",
            ),
        )
    if limit == "alignment":
        return (
            f"addresses are known to be multiples of {width * size} bytes only, because of {source}",
            _promise(last, "let it be a multiple of 16: tl.multiple_of(value, 16)"),
        )
    why = f"{f'only {width}' if width > 1 else 'no'} neighbouring elements are known to be contiguous, because of {source}"
    return why, _contiguity_hint(chain, last)


def _promise(last: ValueFact, otherwise: str) -> str:
    if last.origin.startswith("argument "):
        name = last.origin.removeprefix("argument ")
        if "!tt.ptr" in last.type:
            return f"pass a `{name}` that begins at a multiple of 16 bytes (in a signature `:16`), or write tl.multiple_of({name}, 16) where it always does"
        return f"pass a `{name}` that is divisible by 16 (in a signature `:16`), or write tl.assume({name} % 16 == 0) where it always is"
    return otherwise


def _contiguity_hint(chain: list[ValueFact], last: ValueFact) -> str:
    ops = [one.origin for one in chain]
    if last.origin == "tt.load" or "tt.gather" in ops:
        return "the addresses are loaded: where they are contiguous, promise it by tl.max_contiguous(tl.multiple_of(index, 16), 16)"
    if last.origin.startswith("argument "):
        name = last.origin.removeprefix("argument ")
        if "arith.muli" in ops:
            return _stride_hint(name)
        return f"pass a `{name}` that is divisible by 16 (in a signature `:16`)"
    if "arith.muli" in ops:
        return "the index is multiplied: load along the axis whose stride is 1, or transpose after the load"
    if "arith.divsi" in ops or "arith.remsi" in ops:
        return "the index is divided by a number that is not a multiple of the width: take a power of two, or tl.multiple_of(divisor, 16)"
    return "where the pointers do run through memory, promise it by tl.max_contiguous(tl.multiple_of(offsets, 16), 16)"


def _stride_hint(name: str) -> str:
    return f"neighbours are `{name}` apart: where that is always 1, pass 1 (in a signature `{name}=1`) or make it tl.constexpr; else load along the axis whose stride is 1"


def _stride(facts: Facts, last: ValueFact) -> str:
    """The kernel's argument that is multiplied by, as `stride` in `tl.arange(0, N) * stride`; "" where there is none."""
    value = facts.kept.values[last.name]
    for factor in value.owner.operands if isinstance(value.owner, arith.MuliOp) else ():
        while isinstance(factor.owner, Operation) and len(factor.owner.operands) == 1 and not factor.owner.regions:
            factor = factor.owner.operands[0]
        if isinstance(factor, BlockArgument) and isinstance(factor.owner.parent_op(), FuncOp):
            return name_of_argument(factor)
    return ""


MOST_RUNS = 24
MOST_OFFSETS = 8192


def pattern_of(kept: KeptModule, number: int, launch: Launch) -> PatternJson:
    """Runs the program on the interpreter and watches one access. Raises `MinitritonError` where it is none, or does not run."""
    found = patterns_of(kept, [number], launch)[number]
    if isinstance(found, MinitritonError):
        raise found
    return found


def patterns_of(kept: KeptModule, numbers: Iterable[int], launch: Launch) -> dict[int, PatternJson | MinitritonError]:
    """The same of several accesses by one run; an error in place of what cannot be watched."""
    watched = {number: _Watched.of(kept, number) for number in numbers}
    entry = next(one for one in kept.module.ops if isinstance(one, FuncOp) and one.sym_name.data == launch.name)
    first = entry.regions[0].blocks[0].first_op
    by_op = {one.op: one for one in watched.values() if isinstance(one, _Watched)}
    count = 0

    def observe(op: Operation, operands: tuple[Any, ...], value: Any) -> Any:
        nonlocal count
        count += op is first
        found = by_op.get(op)
        if found is not None and len(found.seen) < MOST_RUNS:
            masked = None if found.mask_at is None else np.array(operands[found.mask_at])
            found.seen.append((count - 1, np.array(operands[found.pointer_at]), masked))
        return value

    outcome = launch.interpret(kept.module, observe) if by_op else None
    return {
        number: one if isinstance(one, MinitritonError) else one.pattern(launch, outcome)
        for number, one in watched.items()
    }


@dataclass
class _Watched:
    """An access, and what it was seen to do: the program's number, addresses and mask of each run."""

    op: Operation
    pointer_at: int
    mask_at: int | None
    seen: list[tuple[int, np.ndarray, np.ndarray | None]] = field(
        default_factory=list[tuple[int, np.ndarray, np.ndarray | None]]
    )

    @staticmethod
    def of(kept: KeptModule, number: int) -> _Watched | MinitritonError:
        op = kept.ops.get(number)
        access = None if op is None else vectorized(op)
        if op is None or access is None or not instance_of(access.pointer_of(op).type, TensorType):
            return MinitritonError(f"op {number} is not a load or store through a tensor of pointers")
        mask, pointer = access.mask_of(op), access.pointer_of(op)
        indices = {id(operand): at for at, operand in reversed(list(enumerate(op.operands)))}
        return _Watched(op, indices[id(pointer)], None if mask is None else indices[id(mask)])

    def pattern(self, launch: Launch, outcome: Outcome | None) -> PatternJson | MinitritonError:
        """What a page shows of it."""
        if outcome is not None and (outcome.gap or (outcome.fault is not None and not self.seen)):
            return outcome.why_not_run()
        try:
            return _pattern(self.op, self.op.operands[self.pointer_at], launch, self.seen)
        except MinitritonError as error:
            return error


def _pattern(
    op: Operation, pointer: SSAValue, launch: Launch, seen: list[tuple[int, np.ndarray, np.ndarray | None]]
) -> PatternJson:
    if not seen:
        raise MinitritonError(f"{op.name} did not run in any of the {int(np.prod(launch.grid))} programs")
    name, array = array_at(launch, int(seen[0][1].reshape(-1)[0]))
    start, size = array.__array_interface__["data"][0], array.itemsize
    assert instance_of(pointer.type, TensorType)
    warps = _warps(pointer.type)
    each = max(1, MOST_OFFSETS * 4 // max(1, len(seen) * len(warps)))
    runs: list[RunOfAccessJson] = []
    for program, addresses, masked in seen:
        offsets, of_warps = _thinned((addresses.reshape(-1).astype(np.int64) - start) // size, masked, warps, each)
        runs.append({"program": _program(launch, program), "offsets": offsets, "warps": of_warps})
    return {"name": op.name, "array": name, "elements": int(array.size), "bytes": int(size), "programs": runs}


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


def array_at(launch: Launch, address: int) -> tuple[str, np.ndarray]:
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
