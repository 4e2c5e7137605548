"""Where every buffer is in shared memory.

In: a module with buffers (`ttg.local_alloc`) and ops that need scratch (layout conversions, reductions, ...), and a function
that says how many bytes of scratch an op needs. Out: an `Allocation` with the offset of every buffer.

    allocation = allocate(module, scratch_bytes)
    allocation.offset(op)      # bytes from the base of shared memory, for a local_alloc or an op with scratch
    allocation.total_bytes     # what the kernel needs

Buffers that are never alive at the same time share memory, unless the function is marked `allocation.separate`. A call counts as an op whose scratch is all that its callee needs;
the callee's offsets start where that scratch does. A buffer that a pass has placed before (`allocation.offset`) stays where it is.
`write_attributes` puts the result into the IR: `allocation.offset` on the
ops, `ttg.shared` on the module.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.shared_memory.liveness import (
    Aliases,
    Interval,
    Liveness,
    intersects,
    is_shared_memdesc,
    shared_memory_aliases,
)
from minitriton.analysis.shared_memory.offset_assignment import assign_offsets
from minitriton.analysis.shared_memory.scratch_size import bit_width
from minitriton.dialects import tt
from minitriton.dialects.attribute_values import i32_attr, integer
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET, ALLOCATION_SIZE, SHARED_BYTES
from minitriton.dialects.facts.pass_attributes import SEPARATE
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.locations import source_location
from minitriton.dialects.ttg.memory_ops import LocalAllocOp
from minitriton.dialects.ttg.types import MemDescType
from minitriton.dialects.ttg.warp_specialize import WarpSpecializeOp
from minitriton.errors import PassError
from minitriton.host.frozen import record
from minitriton.layouts.encodings import SharedEncoding
from minitriton.layouts.properties import buffer_bytes, shared_alignment

ScratchBytes = Callable[[Operation], int]
"""How many bytes of shared memory an op needs while it runs (0 for most)."""

SCRATCH_ALIGNMENT = 128


class BufferKind(Enum):
    """Who needs the memory."""

    EXPLICIT = "a local_alloc"
    SCRATCH = "an op while it runs"
    VIRTUAL = "the callee of a call"


@dataclass(eq=False)
class Buffer:
    """One part of shared memory of a function; `live` is in the function's op numbers."""

    kind: BufferKind
    owner: Operation
    size: int
    alignment: int
    live: Interval = (0, 0)
    offset: int = 0

    @property
    def bytes(self) -> Interval:
        """Where it is, as `(start, end)`."""
        return self.offset, self.offset + self.size


@record
class FunctionAllocation:
    """The buffers of one function."""

    function: Operation
    callees: dict[Operation, Operation] = field(default_factory=dict[Operation, Operation])
    """The function that each call in it calls."""
    total_bytes: int = 0
    of_value: dict[SSAValue, Buffer] = field(default_factory=dict[SSAValue, Buffer])
    """The buffer that a `local_alloc`'s result is."""
    of_op: dict[Operation, Buffer] = field(default_factory=dict[Operation, Buffer])
    """The scratch of an op, or what a call's callee needs."""
    aliases: Aliases = field(default_factory=Aliases)

    def buffers(self) -> list[Buffer]:
        """All buffers: explicit ones, scratch, callees, each in the order of the text."""
        scratch = [buffer for buffer in self.of_op.values() if buffer.kind is BufferKind.SCRATCH]
        virtual = [buffer for buffer in self.of_op.values() if buffer.kind is BufferKind.VIRTUAL]
        return [*self.of_value.values(), *scratch, *virtual]

    def buffers_of(self, value: SSAValue) -> list[Buffer]:
        """The buffers that `value` may be a view of."""
        return [self.of_value[alloc] for alloc in self.aliases.get(value, ()) if alloc in self.of_value]


@record
class Allocation:
    """The buffers of a module and their offsets."""

    total_bytes: int = 0
    functions: dict[Operation, FunctionAllocation] = field(default_factory=dict[Operation, FunctionAllocation])
    """By `tt.func`, callees before their callers."""
    offsets: dict[Operation, int] = field(default_factory=dict[Operation, int])

    def offset(self, op: Operation) -> int | None:
        """Where the buffer of a `local_alloc`, or the scratch of another op, begins; None if the op has none."""
        return self.offsets.get(op)


def allocate(module: ModuleOp, scratch_bytes: ScratchBytes) -> Allocation:
    """Place every buffer of `module`, buffers that never live at the same time sharing memory.

    Raises `PassError` where functions call each other in a circle.
    """
    allocation = Allocation()
    called: set[Operation] = set()
    for function, callees in callees_first(module):
        called.update(callees.values())
        placed = _allocate_function(function, scratch_bytes, callees, allocation)
        allocation.functions[function] = placed
        for value, buffer in placed.of_value.items():
            allocation.offsets[cast(Operation, value.owner)] = buffer.offset
        for op, buffer in placed.of_op.items():
            allocation.offsets[op] = buffer.offset
    allocation.total_bytes = max(
        (placed.total_bytes for function, placed in allocation.functions.items() if function not in called), default=0
    )
    return allocation


def write_attributes(module: ModuleOp, allocation: Allocation) -> None:
    """Write `allocation.offset` on every op with a buffer and `ttg.shared` on the module."""
    for op, offset in allocation.offsets.items():
        op.attributes[ALLOCATION_OFFSET] = i32_attr(offset)
    given = module.attributes.get(SHARED_BYTES)
    least = given.value.data if isinstance(given, IntegerAttr) else 0
    module.attributes[SHARED_BYTES] = i32_attr(max(allocation.total_bytes, least))


def callees_first(module: ModuleOp) -> Iterator[tuple[Operation, dict[Operation, Operation]]]:
    """Every function of `module` after those that it calls, with its calls and their callees."""
    functions = list(_functions(module))
    by_name = {(function.parent, function.properties["sym_name"]): function for function in functions}
    done: set[Operation] = set()
    path: list[Operation] = []

    def visit(function: Operation) -> Iterator[tuple[Operation, dict[Operation, Operation]]]:
        if function in done:
            return
        if function in path:
            raise PassError("functions call each other in a circle", help="unroll the recursion by hand")
        path.append(function)
        callees: dict[Operation, Operation] = {}
        for op in ops_in(function):
            if isinstance(op, tt.CallOp):
                name = cast(SymbolRefAttr, op.properties["callee"]).root_reference
                callee = by_name.get((function.parent, name))
                if callee is not None:
                    callees[op] = callee
                    yield from visit(callee)
        path.pop()
        done.add(function)
        yield function, callees

    for function in functions:
        yield from visit(function)


def _functions(module: ModuleOp) -> Iterator[Operation]:
    """The functions of `module` and of modules inside it."""
    for op in module.ops:
        if isinstance(op, ModuleOp):
            yield from _functions(op)
        elif isinstance(op, tt.FuncOp):
            yield op


def _allocate_function(
    function: Operation,
    scratch_bytes: ScratchBytes,
    callees: dict[Operation, Operation],
    allocation: Allocation,
) -> FunctionAllocation:
    placed = FunctionAllocation(function, callees)
    for buffer in function_buffers(function, scratch_bytes, callees, allocation):
        if buffer.kind is BufferKind.EXPLICIT:
            placed.of_value[buffer.owner.results[0]] = buffer
        else:
            placed.of_op[buffer.owner] = buffer
    if placed.of_value or placed.of_op:
        _set_live_intervals(placed)
        placed.total_bytes = _assign_offsets(placed.buffers())
    return placed


def _assign_offsets(buffers: list[Buffer]) -> int:
    """Gives each buffer its offset; those that have one (`allocation.offset`) keep it, the others come after. The bytes they take.

    Raises `PassError` where given offsets make buffers overlap that are alive together.
    """
    given = [buffer for buffer in buffers if ALLOCATION_OFFSET in buffer.owner.attributes]
    if not given:
        return assign_offsets(buffers)
    for buffer in given:
        buffer.offset = cast(IntegerAttr, buffer.owner.attributes[ALLOCATION_OFFSET]).value.data
    for index, buffer in enumerate(given):
        for other in given[:index]:
            if intersects(buffer.live, other.live) and intersects(buffer.bytes, other.bytes):
                raise PassError(
                    f"the buffer of {buffer.owner.name} at {buffer.offset} overlaps that of {other.owner.name} at {other.offset}",
                    source_location(buffer.owner.location),
                    help="give them other offsets, or none: attribute allocation.offset",
                )
    end = max(buffer.bytes[1] for buffer in given)
    others = [buffer for buffer in buffers if ALLOCATION_OFFSET not in buffer.owner.attributes]
    if not others:
        return end
    alignment = max(SCRATCH_ALIGNMENT, *(buffer.alignment for buffer in others))
    start = -(-end // alignment) * alignment
    total = assign_offsets(others)
    for buffer in others:
        buffer.offset += start
    return start + total


def read_offsets(module: ModuleOp) -> Allocation:
    """An allocation with nothing known but the offsets, as an earlier pass has written them."""
    offsets = ((op, op.attributes[ALLOCATION_OFFSET]) for op in ops_in(module) if ALLOCATION_OFFSET in op.attributes)
    return Allocation(offsets={op: at.value.data for op, at in offsets if isinstance(at, IntegerAttr)})


def read_allocation(module: ModuleOp, scratch_bytes: ScratchBytes) -> Allocation:
    """The offsets that an earlier pass has written (`write_attributes`); when buffers are alive is left open."""
    allocation = Allocation()
    for function, callees in callees_first(module):
        placed = allocation.functions[function] = FunctionAllocation(function, callees)
        for op in ops_in(function):
            offset = op.attributes.get(ALLOCATION_OFFSET)
            if not isinstance(offset, IntegerAttr):
                continue
            is_explicit, size = isinstance(op, LocalAllocOp), op.attributes.get(ALLOCATION_SIZE)
            if is_explicit:
                buffer = _explicit_buffer(op)
            elif isinstance(size, IntegerAttr):
                kind = BufferKind.VIRTUAL if op in callees else BufferKind.SCRATCH
                buffer = Buffer(kind, op, size.value.data, SCRATCH_ALIGNMENT)
            else:
                kind, bytes_, alignment = _scratch(op, scratch_bytes, callees, allocation)
                buffer = Buffer(kind, op, bytes_, alignment)
            buffer.offset = allocation.offsets[op] = offset.value.data
            placed.total_bytes = max(placed.total_bytes, buffer.bytes[1])
            if is_explicit:
                placed.of_value[op.results[0]] = buffer
            else:
                placed.of_op[op] = buffer
        if placed.of_value:
            placed.aliases = shared_memory_aliases(function)
    shared = module.attributes.get(SHARED_BYTES)
    allocation.total_bytes = shared.value.data if isinstance(shared, IntegerAttr) else 0
    return allocation


def function_buffers(
    function: Operation,
    scratch_bytes: ScratchBytes,
    callees: dict[Operation, Operation] | None = None,
    allocation: Allocation | None = None,
) -> list[Buffer]:
    """The buffers of a function in the order of the text, not placed yet. `allocation` has those of its callees."""
    found: list[Buffer] = []
    callees, allocation = callees or {}, allocation or Allocation()
    for op in ops_in(function):
        if op.__class__ is LocalAllocOp:
            if is_shared_memdesc(op.results[0]):
                found.append(_explicit_buffer(op))
            continue
        kind, size, alignment = _scratch(op, scratch_bytes, callees, allocation)
        if size > 0:
            found.append(Buffer(kind, op, size, alignment))
    return found


def _explicit_buffer(op: Operation) -> Buffer:
    type_ = cast(MemDescType, op.results[0].type)
    layout = cast(SharedEncoding, layout_of(type_))
    given = op.properties.get("alignment")
    alignment = shared_alignment(layout) if given is None else integer(given)
    size = buffer_bytes(layout, type_.get_alloc_shape(), bit_width(type_.element_type))
    return Buffer(BufferKind.EXPLICIT, op, size, alignment)


def _scratch(
    op: Operation, scratch_bytes: ScratchBytes, callees: dict[Operation, Operation], allocation: Allocation
) -> tuple[BufferKind, int, int]:
    """Kind, bytes and alignment of what `op` needs while it runs; most ops need nothing."""
    if op in callees:
        return BufferKind.VIRTUAL, allocation.functions[callees[op]].total_bytes, SCRATCH_ALIGNMENT
    if op.__class__ is WarpSpecializeOp:
        specialized = cast(WarpSpecializeOp, op)
        return BufferKind.SCRATCH, *specialized.capture_size_and_alignment()
    if isinstance(op, tt.FuncOp):
        return BufferKind.SCRATCH, _most_partition_warps(op), 4
    return BufferKind.SCRATCH, scratch_bytes(op), SCRATCH_ALIGNMENT


def _most_partition_warps(function: Operation) -> int:
    """One byte for each warp that waits for work of a `ttg.warp_specialize`."""
    return max((sum(op.num_warps_of_partitions) for op in ops_of(function, WarpSpecializeOp)), default=0)


def _set_live_intervals(placed: FunctionAllocation) -> None:
    """A buffer lives as long as any view of it, scratch for its op alone, what belongs to the function always."""
    if not placed.of_value and not placed.of_op:
        return
    liveness = Liveness(placed.function)
    number = liveness.number
    if placed.of_value:
        placed.aliases = shared_memory_aliases(placed.function)
    for alloc, buffer in placed.of_value.items():
        buffer.live = liveness.interval(alloc)
    for value, allocs in placed.aliases.items():
        start, end = liveness.interval(value)
        for alloc in allocs:
            buffer = placed.of_value[alloc]
            buffer.live = min(buffer.live[0], start), max(buffer.live[1], end)
    if SEPARATE in placed.function.attributes:
        for buffer in placed.buffers():
            buffer.live = (0, len(number))
        return
    for op, buffer in placed.of_op.items():
        buffer.live = (0, len(number)) if op is placed.function else (number[op], number[op] + 1)
