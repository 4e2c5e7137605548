"""Rings of buffers in shared memory, and the counters that go round them.

    %ring = ttg.local_alloc : 3x128xf32           one buffer for each copy that may be under way
    scf.for ... iter_args(%fill = -1, %read = -1)
        %next = (%fill + 1) % 3                   the buffer that this iteration fills, and likewise the one it reads
        %view = ttg.memdesc_index %ring[%next]

Two counters go round each ring, so that neither has to be carried from stage to stage. A ring that the copy unit fills also has a
phase, which turns each time the reader has been round: an mbarrier tells one round from the next by its parity (PTX ISA,
"mbarrier").
"""

from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.dialects import arith, ttg, ttng
from minitriton.dialects.fast_paths.op_access import operand_values, set_type
from minitriton.layouts.encodings import SharedEncoding, SwizzledShared
from minitriton.passes.loop_rewriting import append_result
from minitriton.passes.pipelining.schedule import Cluster, Schedule, terminator_of, users_in_body
from minitriton.rewriting.constants import constant_op, int_attr
from minitriton.rewriting.rewriter import Inserter

SHARED_MEMORY = ttg.SharedMemorySpaceAttr()
_BARRIER_LAYOUT = ttg.encoding_attr(SwizzledShared(1, 1, 1, (0,)))


class Placer:
    """Inserts ops where `at` stands, each with the same position in the schedule."""

    def __init__(self, schedule: Schedule, at: Inserter, position: tuple[int, Cluster]) -> None:
        self.schedule = schedule
        self.at = at
        self.position = position

    def insert(self, op: Operation) -> Operation:
        """Puts a new op here."""
        self.at.insert(op)
        self.schedule.insert(op, *self.position)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Puts a new op here; its first result."""
        return self.insert(op).results[0]

    def integer(self, type_: Attribute, number: int) -> SSAValue:
        """A new integer constant."""
        return self.value(constant_op(int_attr(type_, number)))


class Counters(NamedTuple):
    """What an iteration knows of the rings of one length."""

    fill: SSAValue
    read: SSAValue
    phase: SSAValue | None
    """The parity of the round that is read; None if no ring of this length has mbarriers."""


def ring_for(tensor: TensorType, layout: SharedEncoding, length: int, loop: scf.ForOp, source: Operation) -> SSAValue:
    """A ring of `length` buffers for values of type `tensor`, with the location of `source`; freed after the loop."""
    type_ = ttg.MemDescType(
        (length, *tensor.get_shape()), tensor.element_type, ttg.encoding_attr(layout), SHARED_MEMORY, mutable=True
    )
    at = Inserter.before(loop)
    at.location = source.location
    ring = at.value(ttg.LocalAllocOp(None, type_))
    Inserter.after(loop).insert(ttg.LocalDeallocOp(ring))
    return ring


def buffer_in(ring: SSAValue, index: SSAValue, *, mutable: bool = True) -> Operation:
    """Number `index` of a ring."""
    type_ = ring.type
    assert isinstance(type_, ttg.MemDescType)
    shape = type_.get_shape()[1:]
    single = ttg.MemDescType(shape, type_.element_type, type_.encoding, type_.memory_space, mutable=mutable)
    return ttg.MemDescIndexOp(ring, index, single)


def barrier_ring_type(length: int) -> ttg.MemDescType:
    """A ring of `length` mbarriers."""
    return ttg.MemDescType((length, 1), i64, _BARRIER_LAYOUT, SHARED_MEMORY, mutable=True)


def barrier_ring(at: Inserter, length: int) -> SSAValue:
    """A new ring of mbarriers that one arrival completes."""
    ring = at.value(ttg.LocalAllocOp(None, barrier_ring_type(length)))
    for number in range(length):
        at.insert(ttng.InitBarrierOp(at.value(buffer_in(ring, at.integer(i32, number))), count=1))
    return ring


def add_counters(loop: scf.ForOp, lengths: dict[int, bool]) -> dict[int, Counters]:
    """Counters for each length of a ring; `lengths` says which have a phase."""
    at = Inserter.before(loop)
    minus_one, zero, one = (at.integer(i32, number) for number in (-1, 0, 1))
    found: dict[int, Counters] = {}
    for length, has_phase in lengths.items():
        start = [minus_one, minus_one, zero] if has_phase else [minus_one, minus_one]
        fill, read, *phase = carry(loop, start)
        body = loop.regions[0].block
        inside = Inserter(body, body.first_op, loop.location)
        modulus = inside.integer(i32, length)
        filled, _ = next_of_ring(inside, fill, modulus, zero, one)
        following, is_over = next_of_ring(inside, read, modulus, zero, one)
        forwarded = [filled, following]
        if phase:
            flipped = inside.value(arith.XOrIOp(phase[0], one))
            forwarded.append(inside.value(arith.SelectOp(is_over, flipped, phase[0])))
        forward(loop, forwarded)
        found[length] = Counters(filled, following, forwarded[2] if phase else None)
    return found


def carry(loop: scf.ForOp, start: list[SSAValue]) -> list[SSAValue]:
    """New arguments of the loop with these values at first; `forward` has to say what comes after."""
    body = loop.regions[0].block
    found: list[SSAValue] = []
    for value in start:
        found.append(body.insert_arg(value.type, len(body.args)))
        append_result(loop, value.type)
    loop.operands = [*operand_values(loop), *start]
    return found


def forward(loop: scf.ForOp, values: list[SSAValue]) -> None:
    """More values for the next iteration."""
    last = terminator_of(loop)
    last.operands = [*operand_values(last), *values]


def next_of_ring(
    at: Inserter | Placer, number: SSAValue, size: SSAValue, zero: SSAValue, one: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """(number + 1) % size, and whether a new round begins."""
    following = at.value(arith.AddiOp(number, one))
    is_over = at.value(arith.CmpiOp(following, size, "sge"))
    return at.value(arith.SelectOp(is_over, zero, following)), is_over


def first_user(ops: list[Operation], loop: scf.ForOp, schedule: Schedule) -> Operation:
    """The first op, of one iteration of the original loop, that uses a result of one of `ops`."""
    first: Operation | None = None
    for op in ops:
        for user in users_in_body(loop, op):
            if first is None or schedule.runs_before(user, first):
                first = user
    assert first is not None
    return first


def read_from(filled: SSAValue, token: SSAValue | None, load: Operation, placer: Placer) -> None:
    """Users of what `load` reads use the buffer `filled`: those that put it into such a buffer directly, others by a load."""
    result = load.results[0]
    _take_over_buffers(result, filled, placer)
    if result.first_use is not None:
        result.replace_all_uses_with(placer.value(ttg.LocalLoadOp(filled, token, result.type)))


def _take_over_buffers(value: SSAValue, filled: SSAValue, placer: Placer) -> None:
    assert isinstance(filled.type, ttg.MemDescType)
    for use in tuple(value.uses):
        alloc = use.operation
        if isinstance(alloc, ttg.LocalAllocOp) and ttg.layout_of(alloc.results[0].type) == ttg.layout_of(filled.type):
            _make_views_mutable(alloc, placer)
            alloc.results[0].replace_all_uses_with(filled)
            placer.schedule.positions.pop(alloc, None)
            if placer.at.anchor is alloc:
                placer.at.anchor = alloc.next_op
            assert alloc.parent is not None
            alloc.parent.erase_op(alloc)


def _make_views_mutable(op: Operation, placer: Placer) -> None:
    """Views are as mutable as what they view, and run with the buffer's first user."""
    for use in op.results[0].uses:
        user = use.operation
        if isinstance(user, VIEWS):
            view = user.results[0]
            assert isinstance(view.type, ttg.MemDescType)
            set_type(view, view.type.with_(mutable=True))
            if user in placer.schedule:
                placer.schedule.insert(user, *placer.position)
            _make_views_mutable(user, placer)
