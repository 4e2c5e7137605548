"""Lowers one function: the state that the rules share, and the walk.

In: a function of the TTGIR level. Out: an `llvm.func`. Every op is replaced by its rule from the table, in order; a rule finds
what its operands became in `values` and puts there what its results become.

    %3 = tt.addptr %1, %2    with values[%1] = a scalar, values[%2] = Range(...)
                             makes values[%3] = Pointwise(getelementptr, ...), and no op yet
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from xdsl.dialects.builtin import TensorType, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.registry import where_to_add
from minitriton.codegen.registers import Registers, SharedView
from minitriton.codegen.tensor_facts import LayoutFacts, TensorFacts
from minitriton.codegen.types import I8, scalar_type
from minitriton.dialects.facts.synchronization import meets_threads
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttng.tensor_memory import TMEM
from minitriton.errors import LoweringError, MinitritonError
from minitriton.host.frozen import record

if TYPE_CHECKING:
    from minitriton.codegen.lowering.module import ModuleLowering


class BlockArguments(Protocol):
    """The arguments of a block that is being made, and the tensor-level values that they carry."""

    block: Block

    def send(self, f: FunctionLowering, values: Sequence[Registers | SharedView | None]) -> list[SSAValue]: ...

    def bind(self, f: FunctionLowering, values: Sequence[SSAValue]) -> None: ...


class FunctionLowering:
    """The state of lowering one function. `b` appends to the block that is being made."""

    def __init__(self, module: ModuleLowering, prologue: Block, body: Block, *, num_warps: int):
        self.module = module
        self.b = Builder(prologue, body, module.info.lanes_at_once)
        self.body_region: Region = body.parent_region() or Region()
        self.num_warps = num_warps
        self.values: dict[SSAValue, Any] = {}
        self.crossings: dict[Block, BlockArguments] = {}
        self.shared_base_value: SSAValue | None = None
        self.global_scratch: SSAValue | None = None
        self.unknown_zero: SSAValue | None = None
        self.is_kernel = True
        self.workers: WorkerWarps | None = None
        self.own_barrier: tuple[int, int] | None = None
        """The barrier of the warps that run this code and how many threads these are; None if it is all threads of the block."""
        self.op: Operation | None = None
        """The op that is being lowered."""
        self._facts: dict[int, TensorFacts] = {}
        self._indices: dict[tuple[int, int], tuple[SSAValue | None, int]] = {}
        self._equal: dict[tuple[int, ...], tuple[list[int], list[int]] | None] = {}
        self._sums: dict[tuple[int, ...], SSAValue] = {}
        self._representatives: dict[int, SSAValue | None] = {}
        self._thread: SSAValue | None = None

    # What values are --------------------------------------------------------------------------------------------------

    def facts(self, type_: Attribute) -> TensorFacts:
        """The facts of a tensor type."""
        found = self._facts.get(id(type_))
        if found is None:
            assert instance_of(type_, TensorType)
            found = self._facts[id(type_)] = TensorFacts(type_)
        return found

    def count(self, value: SSAValue) -> int:
        """Registers per thread of a tensor-level value."""
        return self.facts(value.type).count if instance_of(value.type, TensorType) else 1

    def vector(self, value: SSAValue) -> SSAValue:
        """All registers of a tensor-level value as one vector (scalar if there is one)."""
        return registers.vector(self.b, self.values[value], self.count(value))

    def elements(self, value: SSAValue) -> list[SSAValue]:
        """All registers of a tensor-level value as scalars."""
        return registers.elements(self.b, self.values[value], self.count(value))

    def scalar(self, value: SSAValue) -> SSAValue:
        """The register of a scalar."""
        found = self.values[value]
        assert instance_of(found, SSAValue)
        return found

    def lowered_type(self, type_: Attribute) -> Attribute:
        """The LLVM type of a value: a number, a pointer, the vector of a tensor's registers."""
        if instance_of(type_, TensorType):
            return self.facts(type_).vector
        return scalar_type(type_)

    def element_type(self, value: SSAValue) -> Attribute:
        """The LLVM type of one element."""
        return scalar_type(value.type)

    # Where the thread is ----------------------------------------------------------------------------------------------

    def thread_id(self) -> SSAValue:
        """The number of the thread among those that run this function."""
        if self._thread is None:
            self._thread = self.module.info.thread_id(self.b)
        return self._thread

    def start_at(self, warp: int) -> None:
        """Threads count from 0 at this warp of the block. Called once, in the prologue, before anything asks for a thread."""
        self._thread = self.b.sub(self.thread_id(), self.b.i32(warp << self.module.lane_bits))

    def is_first_thread(self) -> SSAValue:
        """Whether this is the first thread of those that run this function.

        Among other warps by the bits of the number alone: ptxas then predicates what the thread does, and branches around each op otherwise.
        """
        thread, threads = self.thread_id(), self.num_warps << self.module.lane_bits
        if self.own_barrier is not None and threads & threads - 1 == 0:
            thread = self.b.and_(thread, self.b.i32(threads - 1))
        return self.b.icmp("eq", thread, self.b.i32(0))

    def lane_id(self) -> SSAValue:
        """The thread's number in its warp."""
        return self.shared_index([1 << i for i in range(self.module.lane_bits)])

    def shared_index(self, thread: Sequence[int]) -> SSAValue:
        """`linear_index` of the thread's number, made once for the whole function."""
        key = tuple(thread)
        found = self._sums.get(key)
        if found is None:
            with self.b.in_prologue():
                found = self.linear_index(thread)[0]
                if found is None:
                    found = self.b.i32(0)
            self._sums[key] = found
        return found

    def cluster_rank(self) -> SSAValue:
        """The number of the block in its cluster."""
        return self.module.info.cluster_rank(self.b)

    def first_index(self, facts: LayoutFacts, dim: int) -> tuple[SSAValue | None, int]:
        """The coordinate along `dim` of the thread's first register (None for 0), and the bits that it can have."""
        key = (id(facts), dim)
        found = self._indices.get(key)
        if found is None:
            with self.b.in_prologue():
                found = self.linear_index(
                    [basis[dim] for basis in facts.thread_bases], [basis[dim] for basis in facts.block_bases]
                )
            self._indices[key] = found
        return found

    def linear_index(self, thread: Sequence[int], block: Sequence[int] = ()) -> tuple[SSAValue | None, int]:
        """The sum over F2 of `thread[k]` for each set bit k of the thread's number, and so for the block's number.

        Returns None for 0, and the bits that the sum can have.
        """
        value, used = bit_sum(self.b, None, 0, self.thread_id(), thread) if any(thread) else (None, 0)
        if any(block):
            value, used = bit_sum(self.b, value, used, self.cluster_rank(), block)
        return value, used

    def indices(self, facts: LayoutFacts, dim: int) -> Registers:
        """The coordinate along `dim` of every register."""
        base, used = self.first_index(facts, dim)
        offsets = [offset[dim] for offset in facts.offsets]
        if base is not None and any(offset & used for offset in offsets):
            return registers.Elements([self.b.xor(base, self.b.i32(o)) if o else base for o in offsets])
        return registers.range_of(base, offsets, self.b, used)

    def equal_registers(self, value: SSAValue) -> tuple[list[int], list[int]] | None:
        """Registers of a tensor that are known to be equal: those that differ, and for each register its index among them.

        None if nothing is known. Runs of equal elements (constancy) are aligned, so registers of one run have offsets that
        differ in the low bits only.
        """
        if not instance_of(value.type, TensorType):
            return None
        constancy = self.module.axis.get(value).constancy
        if all(run == 1 for run in constancy):
            return None
        facts = self.facts(value.type).layout
        key = (id(facts), *constancy)
        if key not in self._equal:
            self._equal[key] = _runs(facts, constancy)
        return self._equal[key]

    def representative(self, facts: LayoutFacts | None) -> SSAValue | None:
        """True in one of the threads that hold the same elements; None if all differ. A scalar (no `facts`) is in all."""
        key = id(facts)
        if key not in self._representatives:
            if facts is None:
                thread_mask = (self.num_warps << self.module.lane_bits) - 1
                block_mask = self.module.num_ctas - 1
            else:
                thread_mask = self.free_thread_mask(facts)
                block_mask = facts.free_masks.get("block", 0)
            self._representatives[key] = self.zero_in(thread_mask, block_mask)
        return self._representatives[key]

    def free_thread_mask(self, facts: LayoutFacts) -> int:
        """The bits of a thread's number that do not tell which elements it holds."""
        return facts.free_masks.get("lane", 0) | facts.free_masks.get("warp", 0) << self.module.lane_bits

    def zero_in(self, thread_mask: int, block_mask: int = 0) -> SSAValue | None:
        """Whether these bits of the thread's number (and the block's) are 0; None if there are none."""
        b = self.b
        predicate: SSAValue | None = None
        with b.in_prologue():
            for mask, number in ((thread_mask, self.thread_id), (block_mask, self.cluster_rank)):
                if mask:
                    term = b.icmp("eq", b.and_(number(), b.i32(mask)), b.i32(0))
                    predicate = term if predicate is None else b.and_(predicate, term)
        return predicate

    # Shared memory ----------------------------------------------------------------------------------------------------

    def shared_base(self) -> SSAValue:
        """The start of this function's shared memory."""
        if self.shared_base_value is None:
            self.shared_base_value = self.module.address_of_shared(self.b)
        return self.shared_base_value

    def scratch(self, op: Operation) -> SSAValue:
        """The start of the shared memory that `op` was given."""
        return self.shared_at(self.module.shared_offset(op))

    def shared_at(self, offset: int) -> SSAValue:
        """Shared memory `offset` bytes from the base."""
        return self.b.gep(self.shared_base(), offset, I8)

    def barrier(self) -> None:
        """All threads that run this code wait for each other: those of the block, or of a partition of specialized warps. The class of the op
        that is being lowered must say so (`LoweringBarrier`)."""
        self.check_meets()
        if self.own_barrier is not None and self.num_warps == 1:
            self.module.info.warp_barrier(self.b)
        else:
            self.module.info.barrier(self.b, self.own_barrier)

    def check_meets(self) -> None:
        """Raises `LoweringError` if the op that is being lowered does not say that threads meet there: passes rely on it."""
        op = self.op
        if op is not None and not meets_threads(op):
            help = "give its class the fact LoweringBarrier (dialects/facts/synchronization.py)"
            raise self.unsupported(op, "its lowering has a barrier, and the class of the op does not say so", help)

    def mark_loop(self, op: Operation) -> None:
        """Hands the loop annotations of `op` to the branch just made."""
        last = self.b.block.last_op
        if last is not None and "llvm.loop_annotation" in op.attributes:
            last.attributes["loop_annotation"] = op.attributes["llvm.loop_annotation"]

    # The walk ---------------------------------------------------------------------------------------------------------

    def new_block(self, argument_types: Sequence[Attribute] = ()) -> Block:
        """A new block after those made so far."""
        block = Block(arg_types=argument_types)
        self.body_region.add_block(block)
        return block

    def lower_ops(self, ops: Sequence[Operation]) -> None:
        """Replaces each op by its rule."""
        for op in ops:
            self.lower_op(op)

    def lower_op(self, op: Operation) -> None:
        """Replaces one op by its rule. Raises `LoweringError` at the op's location if it has none."""
        self.b.location = location = op.location
        around, self.op = self.op, op
        rule = self.module.lowerings.of(op)
        if rule is None:
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            if any(getattr(value.type, "memory_space", None) == TMEM for value in (*op.operands, *op.results)):
                raise LoweringError(
                    f"{name}: tensor memory is not lowered yet, it becomes IR but no PTX",
                    source_location(location),
                    help="dots by mma_v2 or tl.dot run on sm_100a too",
                )
            raise LoweringError(
                f"no lowering to LLVM for {name!r} on {self.module.backend}",
                source_location(location),
                help=f"a pass that replaces it has not run; a new op gets its rule in {where_to_add(name)}",
            )
        try:
            rule(self, op)
        except MinitritonError as error:
            if error.location is None:
                error.location = source_location(location)
            raise
        self.op = around

    def require_one_cta(self, op: Operation, type_: Attribute, dims: Sequence[int]) -> None:
        """Raises `LoweringError` if the blocks of a cluster share a tensor of `type_` along one of `dims`."""
        if any(basis[dim] for basis in self.facts(type_).layout.block_bases for dim in dims):
            raise self.unsupported(
                op,
                "its axis is spread over several CTAs",
                help="use num_ctas=1, or a tensor whose other axis is long enough",
            )

    def unsupported(self, op: Operation, what: str, help: str | None = None) -> LoweringError:
        """An error at the location of `op`."""
        return LoweringError(f"{op.name}: {what}", source_location(op.location), help=help)


def bit_sum(
    b: Builder, total: SSAValue | None, used: int, number: SSAValue, bases: Sequence[int]
) -> tuple[SSAValue | None, int]:
    """`total` (None: 0) plus, over F2, `bases[k]` for each set bit k of `number`; and the bits that the sum can have."""
    position = 0
    while position < len(bases):
        basis = bases[position]
        if basis == 0:
            position += 1
            continue
        length = 1
        power = basis & (basis - 1) == 0
        while power and position + length < len(bases) and bases[position + length] == basis << length:
            length += 1
        term = b.and_(number, b.i32(((1 << length) - 1) << position))
        if power:
            shift = basis.bit_length() - 1 - position
            term = b.shl(term, shift) if shift >= 0 else b.lshr(term, -shift)
            bits = ((1 << length) - 1) * basis
        else:
            term = b.mul(b.lshr(term, position), b.i32(basis))
            bits = basis
        if total is None:
            total = term
        else:
            total = b.xor(total, term) if used & bits else b.or_disjoint(total, term)
        used |= bits
        position += length
    return total, used


def _runs(facts: LayoutFacts, constancy: Sequence[int]) -> tuple[list[int], list[int]] | None:
    first: dict[tuple[int, ...], int] = {}
    distinct: list[int] = []
    indices: list[int] = []
    for register, offset in enumerate(facts.offsets):
        run = tuple(o // (c & -c) for o, c in zip(offset, constancy, strict=True))
        if run not in first:
            first[run] = len(distinct)
            distinct.append(register)
        indices.append(first[run])
    return None if len(distinct) == facts.count else (distinct, indices)


# The warps of a kernel that wait for work: what its lowering keeps of them.


@record
class WorkerWarps:
    """What one kernel's warps beyond the default ones need to know."""

    kernel: Operation
    default_warps: int
    total_warps: int
    registers: tuple[int, int, int] | None
    """At launch; of default warps while others wait; of those that wait. None if nobody gives up registers."""
    entries: list[Block] = field(default_factory=list[Block])
    """Where each partition begins, by its number."""
    returns: list[Block] = field(default_factory=list[Block])
    """Blocks that end where a partition ends; they go back to waiting."""

    @property
    def waiting(self) -> int:
        """Warps beyond the default ones."""
        return self.total_warps - self.default_warps
