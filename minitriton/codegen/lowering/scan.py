"""`tt.scan`: a running combination along an axis.

The axis is split into chunks that the block holds at once: within a chunk a thread has neighbours, lanes follow each other, then
warps; a thread's further registers belong to further chunks.

    thread    s[j] = s[j-1] . x[j]                               vectors: one lane for each row and chunk
    warp      t = s[last]; for step 1, 2, 4, ...: t = t(lane - step) . t
    block     each warp's last t through shared memory; every thread combines those of the warps before its own
    chunks    the warps of a chunk follow those of the chunk before in one sequence
    result    (warps before . lanes before) . s[j]; a thread's last: warps before . t

A reverse scan is the same with every index mirrored. Counterpart of Triton's ScanOpToLLVM.cpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.partial_results import combine
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.lowering.shared import load_shared, memory_type, store_shared, to_memory
from minitriton.codegen.lowering.warp_shuffle import shuffle
from minitriton.codegen.scratch import needs_scratch
from minitriton.codegen.tensor_facts import LayoutFacts, layout_facts
from minitriton.codegen.types import I1, bit_width, lane_type, scalar_type
from minitriton.dialects import tt
from minitriton.dialects.attribute_values import integer, is_true
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg import layout_of
from minitriton.errors import LoweringError
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import plan_access
from minitriton.target.architectures import WIDEST_ACCESS_BITS

Values = list[SSAValue]


class ScanPlan(NamedTuple):
    """Where the elements along the axis are.

    `rows[j][c * keys + k]` is the register of neighbour j in chunk c of row k. `lane_bits` and `warp_bits` are those along the
    axis, lowest first; `copies[r]` is the register that register r is a copy of.
    """

    rows: tuple[tuple[int, ...], ...]
    keys: int
    chunks: int
    lane_bits: tuple[int, ...]
    warp_bits: tuple[int, ...]
    copies: tuple[int, ...]

    @property
    def width(self) -> int:
        """Lanes of the vectors."""
        return self.keys * self.chunks

    @property
    def warps(self) -> int:
        """Warps along the axis."""
        return 1 << len(self.warp_bits)


def plan_scan(facts: LayoutFacts, axis: int, reverse: bool) -> ScanPlan:
    """The plan of a scan along `axis`. Raises `LoweringError` if registers, lanes and warps do not nest along it."""
    free = facts.free_masks
    bases = facts.layout.bases

    def along(dim: str) -> list[int]:
        bits = [i for i, b in enumerate(bases.get(dim, ())) if b[axis] and not free.get(dim, 0) >> i & 1]
        return sorted(bits, key=lambda i: bases[dim][i][axis])

    lane_bits, warp_bits = along("lane"), along("warp")
    steps = [bases["lane"][i][axis] for i in lane_bits] + [bases["warp"][i][axis] for i in warp_bits]
    limit = min(steps, default=1 << 30)
    nested = all(b == a << 1 for a, b in itertools.pairwise(steps))
    adjacent = all(b == a + 1 for a, b in itertools.pairwise(lane_bits))
    if not (nested and adjacent):
        raise LoweringError("a scan needs a layout whose registers, lanes and warps follow each other along the axis")
    rows: dict[int, dict[int, dict[tuple[int, ...], int]]] = {}
    free_registers = free.get("register", 0)
    for register, offset in enumerate(facts.offsets):
        if register & free_registers:
            continue
        key = (*offset[:axis], *offset[axis + 1 :])
        inner, chunk = offset[axis] & (limit - 1), offset[axis] & ~(limit - 1)
        rows.setdefault(inner, {}).setdefault(chunk, {})[key] = register
    inners = sorted(rows, reverse=reverse)
    chunks = sorted(rows[0], reverse=reverse)
    keys = list(rows[0][chunks[0]])
    table = tuple(tuple(rows[i][c][k] for c in chunks for k in keys) for i in inners)
    copies = tuple(register & ~free_registers for register in range(facts.count))
    return ScanPlan(table, len(keys), len(chunks), tuple(lane_bits), tuple(warp_bits), copies)


def _plan_of(op: tt.ScanOp) -> tuple[ScanPlan, LayoutFacts]:
    type_ = op.operands[0].type
    assert instance_of(type_, TensorType)
    encoding = layout_of(type_)
    assert encoding is not None
    facts = layout_facts(encoding, type_.get_shape())
    return plan_scan(facts, integer(op.axis), is_true(op.reverse)), facts


@needs_scratch(tt.ScanOp)
def scan_scratch(op: tt.ScanOp) -> int:
    plan, facts = _plan_of(op)
    return _scratch_offsets(op, plan, facts)[-1] if plan.warp_bits else 0


def _slots(plan: ScanPlan, facts: LayoutFacts) -> int:
    """Totals that one position along the axis has in a block."""
    other_lanes = sum(1 for i in range(len(facts.layout.bases["lane"])) if i not in plan.lane_bits)
    other_warps = sum(1 for i in range(len(facts.layout.bases["warp"])) if i not in plan.warp_bits)
    return plan.width << other_lanes << other_warps


def _scratch_offsets(op: Operation, plan: ScanPlan, facts: LayoutFacts) -> list[int]:
    offsets = [0]
    for operand in op.operands:
        size = _slots(plan, facts) * plan.warps * bit_width(memory_type(scalar_type(operand.type))) // 8
        offsets.append((offsets[-1] + size + 15) // 16 * 16)
    return offsets


@lowers(tt.ScanOp)
def scan(f: FunctionLowering, op: tt.ScanOp) -> None:
    plan, facts = _plan_of(op)
    f.require_one_cta(op, op.operands[0].type, (integer(op.axis),))
    vectors = [f.vector(operand) for operand in op.operands]
    sums = _within_thread(f, op, plan, vectors)
    state = _Scan(f, op, plan, facts, is_true(op.reverse))
    parts: list[list[Values]] = []
    for chunk, (before, somewhere, last) in enumerate(state.prefixes(sums[-1])):
        rows = [state.part(row, chunk) for row in sums]
        if before is not None:
            rows = [*(state.chosen(somewhere, combine(f, op, before, row), row) for row in rows[:-1]), last]
        parts.append(rows)
    order = {register: (j, at) for j, row in enumerate(plan.rows) for at, register in enumerate(row)}
    positions = [order[plan.copies[register]] for register in range(facts.count)]
    for number, result in enumerate(op.results):
        columns = [rows[j][number] for j in range(len(plan.rows)) for rows in parts]
        if f.b.scalars_of(vectors[number]) is not None:
            lanes_of = [lane for column in columns for lane in f.b.unpack(column)]
            f.values[result] = f.b.pack([lanes_of[j * plan.width + at] for j, at in positions])
            continue
        f.values[result] = f.b.permute(f.b.concat(columns), [j * plan.width + at for j, at in positions])


def _within_thread(f: FunctionLowering, op: Operation, plan: ScanPlan, vectors: Values) -> list[Values]:
    scalars = [known for vector in vectors if (known := f.b.scalars_of(vector)) is not None]
    if len(scalars) == len(vectors):
        return _of_scalars(f, op, plan, scalars)
    sums = [[f.b.permute(vector, plan.rows[0]) for vector in vectors]]
    for row in plan.rows[1:]:
        sums.append(combine(f, op, sums[-1], [f.b.permute(vector, row) for vector in vectors]))
    return sums


def _of_scalars(
    f: FunctionLowering, op: Operation, plan: ScanPlan, scalars: Sequence[Sequence[SSAValue]]
) -> list[Values]:
    """The same register by register, in the same order."""
    rows = [[[held[register] for held in scalars] for register in row] for row in plan.rows]
    for before, row in itertools.pairwise(rows):
        row[:] = [combine(f, op, total, each) for total, each in zip(before, row, strict=True)]
    return [[f.b.pack(column) for column in zip(*row, strict=True)] for row in rows]


class _Scan:
    """The part of a scan that involves other threads."""

    def __init__(self, f: FunctionLowering, op: Operation, plan: ScanPlan, facts: LayoutFacts, reverse: bool):
        self.f, self.op, self.plan, self.facts, self.reverse = f, op, plan, facts, reverse
        self.lane = self._position(plan.lane_bits, 0)
        self.warp = self._position(plan.warp_bits, f.module.lane_bits)

    def _position(self, bits: Sequence[int], first: int) -> SSAValue:
        """The position along the axis among lanes (or warps), counted in the direction of the scan."""
        columns = [0] * (self.f.module.lane_bits + len(self.facts.layout.bases["warp"]))
        for position, bit in enumerate(bits):
            columns[first + bit] = 1 << position
        number = self.f.shared_index(columns)
        if not self.reverse:
            return number
        with self.f.b.in_prologue():
            return self.f.b.xor(number, self.f.b.i32((1 << len(bits)) - 1))

    def chosen(self, condition: SSAValue | None, first: Values, second: Values) -> Values:
        """`condition ? first : second`; a missing condition is true."""
        if condition is None:
            return first
        return [self.f.b.select(condition, a, b) for a, b in zip(first, second, strict=True)]

    def _before(self, values: Values, step: int) -> Values:
        """The values of the lane `step` positions before."""
        distance = self.f.b.i32(step << self.plan.lane_bits[0])
        kind = "down" if self.reverse else "up"
        return [shuffle(self.f, value, distance, kind) for value in values]

    def prefixes(self, total: Values) -> Iterator[tuple[Values | None, SSAValue | None, Values]]:
        """For each chunk what comes before the thread's elements, where there is something (None for everywhere), and the thread's last results."""
        b, plan = self.f.b, self.plan
        before: Values | None = None
        valid: SSAValue | None = None
        if plan.lane_bits:
            for position in range(len(plan.lane_bits)):
                step = 1 << position
                has = b.icmp("uge", self.lane, b.i32(step))
                total = self.chosen(has, combine(self.f, self.op, self._before(total, step), total), total)
            before = self._before(total, 1)
            valid = b.icmp("ne", self.lane, b.i32(0))
        if plan.warp_bits:
            self._exchange(total)
        if plan.chunks > 1:
            yield from self._across_chunks(total, before, valid)
        elif plan.warp_bits:
            yield self._across_warps(total, before, valid)
        else:
            yield before, valid, total

    def _last_lane(self, total: Values) -> Values:
        """The total of the last lane along the axis, in all lanes."""
        if not self.plan.lane_bits:
            return total
        b = self.f.b
        mask = sum(1 << bit for bit in self.plan.lane_bits)
        lane = self.f.lane_id()
        last = (
            b.and_(lane, b.i32((1 << self.f.module.lane_bits) - 1 & ~mask))
            if self.reverse
            else b.or_(lane, b.i32(mask))
        )
        return [shuffle(self.f, value, last, "idx") for value in total]

    def _across_warps(
        self, total: Values, before: Values | None, valid: SSAValue | None
    ) -> tuple[Values, SSAValue, Values]:
        """What comes before the thread, where there is something, and the total up to the thread."""
        f, b = self.f, self.f.b
        totals = self._totals(0)
        ahead = everything = next(totals)
        for number in range(1, self.plan.warps - 1):
            inside = b.icmp("ugt", self.warp, b.i32(number))
            everything = combine(f, self.op, everything, next(totals))
            ahead = self.chosen(inside, everything, ahead)
        later = b.icmp("ne", self.warp, b.i32(0))
        up_to_here = self.chosen(later, combine(f, self.op, ahead, total), total)
        if before is None:
            return ahead, later, up_to_here
        assert valid is not None
        both = combine(f, self.op, ahead, before)
        mine = self.chosen(later, self.chosen(valid, both, ahead), before)
        return mine, b.or_(later, valid), up_to_here

    def _exchange(self, total: Values) -> None:
        """The totals of all warps along the axis go to shared memory."""
        f, plan = self.f, self.plan
        last = f.b.icmp("eq", self.lane, f.b.i32((1 << len(plan.lane_bits)) - 1)) if plan.lane_bits else None
        for value, at in zip(total, _scratch_offsets(self.op, plan, self.facts), strict=False):
            stored = to_memory(f, value)
            width = bit_width(lane_type(stored.type))
            store_shared(f, plan_access(self._where(width), width), stored, f.scratch(self.op), at, last)
        f.barrier()

    def _totals(self, chunk: int) -> Iterator[Values]:
        """A chunk's totals of the warps along the axis, in the order of the scan. They are loaded as they are asked for, those of several warps in one
        access: all at once would be more than a thread has registers for."""
        f, plan = self.f, self.plan
        offsets = _scratch_offsets(self.op, plan, self.facts)
        size = _slots(plan, self.facts) // plan.chunks * plan.warps
        most = max(bit_width(memory_type(scalar_type(operand.type))) for operand in self.op.operands)
        together = max(1, min(plan.warps, WIDEST_ACCESS_BITS // most // plan.keys))
        for first in range(0, plan.warps, together)[:: -1 if self.reverse else 1]:
            columns: list[SSAValue] = []
            for operand, at in zip(self.op.operands, offsets, strict=False):
                element = scalar_type(operand.type)
                kept = memory_type(element)
                width = bit_width(kept)
                where, stride = self._loaded(width, together)
                access = plan_access(where, width)
                loaded = load_shared(
                    f, access, kept, f.scratch(self.op), at + (chunk * size + first * stride) * width // 8
                )
                columns.append(f.b.cast(L.TruncOp, loaded, I1) if element is I1 else loaded)
            for warp in range(together)[:: -1 if self.reverse else 1]:
                rows = range(warp * plan.keys, (warp + 1) * plan.keys)
                yield [f.b.permute(column, rows) for column in columns]

    def _loaded(self, width: int, together: int) -> tuple[LinearLayout, int]:
        """Where a thread loads the totals of the first `together` warps from, a register for a row and warp, and how many totals on the next warp's are."""
        stored = self._where(width).bases
        rows = self.plan.keys.bit_length() - 1
        along = [stored["warp"][bit] for bit in self.plan.warp_bits]
        bases = {
            "register": [*stored["register"][:rows], *along[: together.bit_length() - 1]],
            "lane": stored["lane"],
            "warp": [(0,) if bit in self.plan.warp_bits else basis for bit, basis in enumerate(stored["warp"])],
        }
        return LinearLayout(bases, {"offset": self._where(width).get_out_dim_size("offset")}), along[0][0]

    def _where(self, width: int) -> LinearLayout:
        """Where totals of `width` bits are, lowest first: as many of a thread's rows as one access takes, those of other lanes, so that accesses
        have no bank conflicts, those of the warps along the axis, further rows, other warps, further chunks. A register is a row and chunk."""
        plan, warps = self.plan, len(self.facts.layout.bases["warp"])
        keys, chunks = plan.keys.bit_length() - 1, plan.chunks.bit_length() - 1
        together = min(keys, (WIDEST_ACCESS_BITS // width).bit_length() - 1)
        order = (
            *(("row", bit) for bit in range(together)),
            *(("lane", bit) for bit in range(self.f.module.lane_bits) if bit not in plan.lane_bits),
            *(("warp", bit) for bit in plan.warp_bits),
            *(("row", bit) for bit in range(together, keys)),
            *(("warp", bit) for bit in range(warps) if bit not in plan.warp_bits),
            *(("chunk", bit) for bit in range(chunks)),
        )
        basis = {what: (1 << position,) for position, what in enumerate(order)}
        bases = {
            "register": [*(basis["row", bit] for bit in range(keys)), *(basis["chunk", bit] for bit in range(chunks))],
            "lane": [basis.get(("lane", bit), (0,)) for bit in range(self.f.module.lane_bits)],
            "warp": [basis["warp", bit] for bit in range(warps)],
        }
        return LinearLayout(bases, {"offset": 1 << len(order)})

    def _across_chunks(
        self, total: Values, before: Values | None, valid: SSAValue | None
    ) -> Iterator[tuple[Values, SSAValue | None, Values]]:
        """The same for several chunks: a chunk's warps follow those of the chunk before, in one sequence of sums."""
        f, b, plan = self.f, self.f.b, self.plan
        whole = None if plan.warp_bits else self._last_lane(total)
        carry: Values | None = None
        for chunk in range(plan.chunks):
            ahead = carry
            for number, mine in enumerate([self.part(whole, chunk)] if whole is not None else self._totals(chunk)):
                if number and carry is not None:
                    inside = b.icmp("uge", self.warp, b.i32(number))
                    ahead = carry if ahead is None else self.chosen(inside, carry, ahead)
                carry = mine if carry is None else combine(f, self.op, carry, mine)
            here = self.part(total, chunk)
            earlier = None if before is None else self.part(before, chunk)
            if ahead is None:
                yield (here if earlier is None else earlier), (b.constant(I1, 0) if valid is None else valid), here
                continue
            last = combine(f, self.op, ahead, here)
            prefix = ahead
            if earlier is not None and valid is not None:
                prefix = self.chosen(valid, combine(f, self.op, ahead, earlier), ahead)
            if chunk:
                yield prefix, None, last
                continue
            later = b.icmp("ne", self.warp, b.i32(0))
            somewhere = later if valid is None else b.or_(later, valid)
            yield (
                prefix if earlier is None else self.chosen(later, prefix, earlier),
                somewhere,
                self.chosen(later, last, here),
            )

    def part(self, values: Values, chunk: int) -> Values:
        """The rows of one chunk."""
        keys = self.plan.keys
        return [self.f.b.permute(value, range(chunk * keys, (chunk + 1) * keys)) for value in values]
