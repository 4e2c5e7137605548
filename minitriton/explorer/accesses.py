"""Loads and stores of a state: how wide each is, what limits it, and what would widen it.

In: the `Facts` of a state of TTGIR. Out: an `AccessFact` for each `tt.load`, `tt.store` and asynchronous copy.

    load of f32: 1 element (4 bytes) at a time, of at most 4
    limited by the pointers: neighbouring elements are not known to be contiguous (contiguity 1, because of `stride`, an argument)
    pass 1 for `stride` or make it tl.constexpr, where it is always 1
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from minitriton.analysis.access_width import access_width
from minitriton.analysis.axis_info.explain import Claim
from minitriton.analysis.axis_info.types import access_shape, pointee_bytes
from minitriton.analysis.locations import user_location
from minitriton.dialects.facts.memory_access import DescriptorAccess, MemoryAccess
from minitriton.dialects.narrowing import instance_of
from minitriton.explorer.facts import Facts, ValueFact
from minitriton.explorer.wire import AccessJson, FileLine

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
        return AccessJson(
            op=self.op, name=self.name, line=line, pointer=self.pointer, mask=self.mask, bytes=self.bytes, width=self.width, most=self.most,
            of_thread=self.of_thread, limit=self.limit, reason=self.reason, claim=self.claim, axis=self.axis, chain=self.chain, hint=self.hint,
        )  # fmt: skip

    def text(self) -> str:
        """In a few lines."""
        what = f"{self.name} of {self.bytes}-byte elements: {self.width} ({self.width * self.bytes} bytes) at a time"
        lines = [what + (f", of at most {self.most}" if self.width < self.most else ", as wide as can be")]
        if self.reason:
            lines.append(f"limited by the {self.limit}: {self.reason}" if self.limit else self.reason)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def accesses(facts: Facts) -> list[AccessFact]:
    """Those of every access to global memory through a tensor of pointers."""
    return [
        _access(facts, number, op)
        for number, op in facts.kept.ops.items()
        if (access := vectorized(op)) is not None and instance_of(access.pointer_of(op).type, TensorType)
    ]


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
    if is_split:
        reason = "; ".join(filter(None, (reason, _SPLIT)))
    return AccessFact(
        number, op.name, (location.file, location.line) if location else None, facts.names[pointer],
        facts.names.get(mask) if mask is not None else None, size, width, most, shape.contiguous_per_thread, limit, reason, claim,
        axis, tuple(one.name for one in chain), hint,
    )  # fmt: skip


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
    why = f"{width} neighbouring element{'s' * (width != 1)} are known to be contiguous, because of {source}"
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
            return f"neighbours are `{name}` apart: where that is always 1, pass 1 (or make it tl.constexpr); else load along the axis whose stride is 1"
        return f"pass a `{name}` that is divisible by 16 (in a signature `:16`)"
    if "arith.muli" in ops:
        return "the index is multiplied: load along the axis whose stride is 1, or transpose after the load"
    if "arith.divsi" in ops or "arith.remsi" in ops:
        return "the index is divided by a number that is not a multiple of the width: take a power of two, or tl.multiple_of(divisor, 16)"
    return "where the pointers do run through memory, promise it by tl.max_contiguous(tl.multiple_of(offsets, 16), 16)"
