"""The partial results of a reduction shared by the lanes of a warp that need the same results: each loads and combines some of them.

    16 warps, one result    lane l loads partial result l & 15; butterfly shuffles by 8, 4, 2 and 1 combine them in all lanes
    8 warps, 4 results      lane l loads that of warp l >> 2 of result l & 3; shuffles by 16, 8 and 4; result r comes from lane r
    8 warps, 8 results      lane l loads all 8 of result l & 7 and combines them; result r comes from lane r

Else each thread loads all partial results of all its results and combines them for itself: sooner done where they are few, more registers
and more instructions where they are many (4 rows of an argmax at 8 warps: 28 combinations a thread for 3). Partial results are combined in
the same order, from the highest bit of the warp's number down.

`combine` applies the region of a reduction or a scan to registers, all lanes of a vector at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from minitriton.analysis.exchangeable import exchangeable
from minitriton.codegen import registers
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.shared import load_shared, memory_type
from minitriton.codegen.lowering.warp_shuffle import shuffle, shuffle_xor
from minitriton.codegen.target_interface import TargetInfo
from minitriton.codegen.types import I1, bit_width, lanes, scalar_type, vector_type
from minitriton.dialects import arith, tt
from minitriton.dialects.arith.compare import EQ, MIRRORED, NE, SGE, SGT, SLE, SLT, predicate_of
from minitriton.dialects.fast_paths.op_access import last_op_of
from minitriton.layouts import f2
from minitriton.layouts.linear_layout import LinearLayout
from minitriton.layouts.memory import plan_access


def scratch_offsets(op: Operation, count: int) -> list[int]:
    """Where `count` numbers of each operand's type begin in shared memory, at multiples of 16 bytes, and the end."""
    starts: list[int] = []
    end = 0
    for operand in op.operands:
        starts.append((end + 15) // 16 * 16)
        end = starts[-1] + count * bit_width(memory_type(scalar_type(operand.type))) // 8
    return [*starts, end]


def combine(
    f: FunctionLowering,
    op: Operation,
    first: Sequence[SSAValue],
    second: Sequence[SSAValue],
    increasing: Sequence[int] = (),
) -> list[SSAValue]:
    """The results of the region for operands `first` and `second`: one vector (or scalar) for each operand of `op`. Of the operands in
    `increasing`, integers, each element of `first` is known to be less than that of `second`."""
    block = op.regions[0].block
    count = lanes(first[0].type)
    if count > 1 and any(inner.regions for inner in block.ops):
        # A branch must go one way in all lanes, so each lane is on its own.
        per_lane = [
            _inlined(f, block, [f.b.extract(v, i) for v in first], [f.b.extract(v, i) for v in second], increasing)
            for i in range(count)
        ]
        return [f.b.pack(column) for column in zip(*per_lane, strict=True)]
    return _inlined(f, block, first, second, increasing)


def _inlined(
    f: FunctionLowering,
    block: Block,
    first: Sequence[SSAValue],
    second: Sequence[SSAValue],
    increasing: Sequence[int],
) -> list[SSAValue]:
    location = f.b.location
    for argument, value in zip(block.args, (*first, *second), strict=True):
        f.values[argument] = value
    last = last_op_of(block)
    pairs: set[tuple[SSAValue, SSAValue]] = {
        (block.args[number], block.args[number + len(first)]) for number in increasing
    }
    known = {inner: holds for inner in block.ops if pairs and (holds := _known(inner, pairs)) is not None}
    count = lanes(first[0].type)
    for inner, holds in known.items():
        f.values[inner.results[0]] = f.b.constant(vector_type(I1, count), holds)
    f.lower_ops([inner for inner in block.ops if inner is not last and inner not in known])
    f.b.location = location
    return [registers.vector(f.b, f.values[value], count) for value in last.operands]


def _known(op: Operation, pairs: set[tuple[SSAValue, SSAValue]]) -> bool | None:
    """What a comparison of two elements says, where the first is less than the second."""
    if not isinstance(op, arith.CmpiOp):
        return None
    predicate = predicate_of(op)
    if (op.rhs, op.lhs) in pairs:
        predicate = MIRRORED[predicate]
    elif (op.lhs, op.rhs) not in pairs:
        return None
    return {EQ: False, NE: True, SLT: True, SLE: True, SGT: False, SGE: False}.get(predicate)


def single_combiner(op: Operation) -> Operation | None:
    """The one op of the region, if it has one that combines its two arguments."""
    block = op.regions[0].block
    inner, last = block.first_op, block.last_op
    if inner is None or inner.next_op is not last or len(block.args) != 2 or len(inner.results) != 1:
        return None
    return inner if set(inner.operands) == set(block.args) else None


class Sharing(NamedTuple):
    """Bits of a lane's number, of those that lanes with the same results differ in: the lowest `results` of them choose a result, the
    next `warps` a warp."""

    lanes: tuple[int, ...]
    results: int
    warps: int

    @property
    def of_results(self) -> tuple[int, ...]:
        return self.lanes[: self.results]

    @property
    def of_warps(self) -> tuple[int, ...]:
        return self.lanes[self.results : self.results + self.warps]


def sharing(
    info: TargetInfo, op: Operation, lane_bits: int, redundant_bits: int, warps: int, results: int
) -> Sharing | None:
    """How lanes share `warps` partial results of each of a thread's `results` (both powers of two) with the fewest instructions; None where
    a thread alone needs hardly more. `redundant_bits` has the bits of a lane's number that do not choose other results; `info` knows what loads
    and shuffles cost.
    """
    lanes_ = tuple(bit for bit in range(lane_bits) if redundant_bits >> bit & 1)
    operands = len(op.operands)
    combination = sum(1 for _ in op.regions[0].block.ops) - 1
    one_number = exchangeable(op)
    warp_bits, result_bits = warps.bit_length() - 1, results.bit_length() - 1

    def cost(by_result: int, by_warp: int) -> int:
        held, rows = results >> by_result, warps >> by_warp
        found = held * (
            operands * rows + (rows - 1) * combination + by_warp * (info.shuffle_cost * operands + combination)
        )
        return found + (2 * results * operands if by_result or (by_warp and not one_number) else 0)

    choices = [
        (cost(by_result, by_warp), -by_warp, by_result)
        for by_result in range(min(result_bits, len(lanes_)) + 1)
        for by_warp in range(min(warp_bits, len(lanes_) - by_result) + 1)
    ]
    least, by_warp, by_result = min(choices)
    widest = max(bit_width(memory_type(scalar_type(operand.type))) for operand in op.operands)
    at_once = _ALONE if _is_for_one_thread(op) else info.broadcast_elements(widest)
    alone = operands * results * warps / at_once + results * (warps - 1) * combination
    return Sharing(lanes_, by_result, -by_warp) if alone >= info.sharing_gain * least else None


def _is_for_one_thread(op: Operation) -> bool:
    """Whether the results are numbers that are only stored: LLVM moves what makes them to the one thread that does."""
    found = list(op.results)
    for value in found:
        for user in (use.operation for use in value.uses):
            if len(found) > _MOST_USERS or user.regions or any(isinstance(o.type, TensorType) for o in user.operands):
                return False
            if not isinstance(user, tt.StoreOp):
                if not user.results or not is_side_effect_free(user):
                    return False
                found += user.results
    return not any(isinstance(value.type, TensorType) for value in found)


_ALONE = 4
"""Elements that one lane loads in the time of one."""
_MOST_USERS = 16


def by_lanes(
    f: FunctionLowering,
    op: Operation,
    shared: Sharing,
    written: LinearLayout,
    warp_bits: Sequence[int],
    base: SSAValue,
    offsets: Sequence[int],
) -> list[SSAValue]:
    """For each operand its results, one for each key, in every lane. `written` says where the partial results are: from key
    (`register`), lane and warp, where the bits `warp_bits` run along the axis."""
    keys, warps = written.bases["register"], written.bases["warp"]
    along = [warps[bit] for bit in warp_bits]
    chosen = dict(zip(shared.of_results, keys, strict=False)) | dict(zip(shared.of_warps, along, strict=False))
    own = [(0,) if bit in shared.lanes else basis for bit, basis in enumerate(written.bases["lane"])]
    layout = LinearLayout(
        {
            "register": [*keys[shared.results :], *along[shared.warps :]],
            "lane": [chosen.get(bit, basis) for bit, basis in enumerate(own)],
            "warp": [(0,) if bit in warp_bits else basis for bit, basis in enumerate(warps)],
        },
        {"offset": written.get_out_dim_size("offset")},
    )
    held = 1 << (len(keys) - shared.results)
    columns: list[list[SSAValue]] = []
    for operand, at in zip(op.operands, offsets, strict=False):
        element = scalar_type(operand.type)
        kept = memory_type(element)
        loaded = load_shared(f, plan_access(layout, bit_width(kept)), kept, base, at)
        loaded = f.b.cast(L.TruncOp, loaded, I1) if element is I1 else loaded
        rows = range(0, lanes(loaded.type), held)
        columns.append([f.b.permute(loaded, range(first, first + held)) for first in rows])
    rows = [list(row) for row in zip(*columns, strict=True)]
    while len(rows) > 1:
        half = len(rows) // 2
        rows = [combine(f, op, first, second) for first, second in zip(rows[:half], rows[half:], strict=True)]
    values = rows[0]
    for bit in reversed(shared.of_warps):
        others = [shuffle_xor(f, value, 1 << bit) for value in values]
        with f.b.never_fused():
            values = combine(f, op, values, others)
    if not shared.results and (not shared.warps or exchangeable(op)):
        return values
    return _from_lanes(f, values, shared)


def _from_lanes(f: FunctionLowering, values: list[SSAValue], shared: Sharing) -> list[SSAValue]:
    """All results: of each the lane's that chose it and combined in the right order, with its bits for warps 0."""
    kept = ~sum(1 << bit for bit in (*shared.of_results, *shared.of_warps)) & ((1 << f.module.lane_bits) - 1)
    idle = all(bit in shared.lanes for bit in range(f.module.lane_bits))
    like = f.b.i32(0) if idle else f.b.and_(f.lane_id(), f.b.i32(kept))
    indices = f2.span([1 << bit for bit in shared.of_results])
    sources = [f.b.or_(like, f.b.i32(bits)) if bits else like for bits in indices]
    found: list[SSAValue] = []
    for value in values:
        shuffled = [shuffle(f, value, source, "idx") for source in sources]
        held, count = lanes(value.type), len(shuffled)
        order = [part * held + n for n in range(held) for part in range(count)]
        found.append(shuffled[0] if count == 1 else f.b.permute(f.b.concat(shuffled), order))
    return found
