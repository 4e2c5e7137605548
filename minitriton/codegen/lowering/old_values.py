"""Which registers of a tensor of pointers are accessed together, and by which threads; what atomics return: the old values reach the threads that
need them, through shared memory if another thread got them.
"""

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.lowering.convert_layout import cluster_barrier, in_cta
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.shared import load_shared, store_shared
from minitriton.codegen.tensor_facts import TensorFacts, flat_offsets
from minitriton.codegen.types import bit_width, lane_type, scalar_type
from minitriton.dialects import tt
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.memory import plan_access
from minitriton.pipeline.choice import remark


class Accesses:
    """Which registers a load or store moves together: `starts` are the first registers of vectors of `width`. Registers whose number has a bit
    of `replicated` hold copies; `members` are, of each vector, the starts of all that have its addresses, where `once` asks for one access of each."""

    __slots__ = ("count", "members", "replicated", "starts", "width")

    def __init__(self, f: FunctionLowering, pointer: SSAValue, width: int, *, once: bool = False):
        self.count = f.count(pointer)
        self.replicated = 0
        self.width = min(width, self.count)
        if instance_of(pointer.type, TensorType):
            self.replicated = f.facts(pointer.type).layout.free_masks.get("register", 0)
        starts = [s for s in range(0, self.count, self.width) if not s & self.replicated]
        equal = f.equal_registers(pointer) if once else None
        groups: dict[tuple[int, ...], list[int]] = {}
        for start in starts:
            vector = range(start, start + self.width)
            groups.setdefault(tuple(vector if equal is None else (equal[1][each] for each in vector)), []).append(start)
        self.members = list(groups.values())
        self.starts = [members[0] for members in self.members]

    @property
    def registers(self) -> list[int]:
        """The registers that are moved, in the order of what is moved."""
        return [start + i for start in self.starts for i in range(self.width)]

    @property
    def loaded(self) -> int:
        """Registers that are moved, without copies."""
        return len(self.starts) * self.width

    def expanded(self) -> list[int] | None:
        """For each register its index among the moved ones; None if it is the same."""
        if self.loaded == self.count:
            return None
        index = {
            start + i: n * self.width + i
            for n, members in enumerate(self.members)
            for start in members
            for i in range(self.width)
        }
        return [index[register & ~self.replicated] for register in range(self.count)]


def remark_single_elements(op: Operation, accesses: Accesses) -> None:
    """Says that a load or store moves the elements of a thread one by one, in Triton's words, which programs look for."""
    if accesses.width == 1 and accesses.count > 1:
        remark(op, f"Warning: vectorization fails vec = 1 numElems = {accesses.count}")


def store_masks(
    f: FunctionLowering, accesses: Accesses, mask: registers.Registers | None, representative: SSAValue | None
) -> list[SSAValue]:
    """Of each access where it is done: where `mask` is true, by the threads in which `representative` is. Empty if all do all."""
    if mask is None:
        return [] if representative is None else [representative] * len(accesses.starts)
    given = [registers.element(f.b, mask, start) for start in accesses.starts]
    return given if representative is None else [f.b.and_(representative, each) for each in given]


ATOMICS = (tt.AtomicRMWOp, tt.AtomicCASOp, tt.AtomicLoadOp, tt.AtomicPollOp)
"""The ops that `atomic_scratch` is for."""


def needs_exchange(op: Operation) -> bool:
    """Whether threads need the old value that another thread got."""
    result = op.results[0]
    if result.first_use is None:
        return False
    if not instance_of(result.type, TensorType):
        return True
    masks = TensorFacts(result.type).layout.free_masks
    return any(masks.get(dim, 0) for dim in ("lane", "warp", "block"))


def atomic_scratch(op: Operation) -> int:
    """The whole result, if it must be exchanged."""
    if not needs_exchange(op) or (isinstance(op, tt.AtomicPollOp) and op.timeout is None):
        return 0
    type_ = op.results[0].type
    count = 1
    for size in type_.get_shape() if instance_of(type_, TensorType) else ():
        count *= size
    return count * max(8, bit_width(scalar_type(type_))) // 8


def predicates_of(
    f: FunctionLowering, pointer: SSAValue, mask: SSAValue | None, accesses: Accesses
) -> list[SSAValue | None]:
    """Of each access of an atomic where it is done: once for each element, where `mask` is true."""
    facts = f.facts(pointer.type).layout if instance_of(pointer.type, TensorType) else None
    own = f.representative(facts)
    if mask is None:
        return [own] * len(accesses.starts)
    given = [registers.element(f.b, f.values[mask], start) for start in accesses.starts]
    return [each if own is None else f.b.and_(own, each) for each in given]


def finish(f: FunctionLowering, op: Operation, accesses: Accesses, old: list[SSAValue]) -> None:
    """The result: the old values, exchanged between threads if need be."""
    result = op.results[0]
    if result.first_use is None:
        f.values[result] = f.b.poison(f.lowered_type(result.type))
        return
    value = f.b.concat(old)
    indices = accesses.expanded()
    if indices is not None:
        value = f.b.permute(value, indices)
    if needs_exchange(op):
        value = _exchanged(f, op, value)
    f.values[result] = value


def _exchanged(f: FunctionLowering, op: Operation, value: SSAValue) -> SSAValue:
    """The old values from shared memory, where the threads that got them put them: of CTAs with copies the first one."""
    base = f.scratch(op)
    type_ = op.results[0].type
    if not instance_of(type_, TensorType):
        own = f.representative(None)
        assert own is not None
        f.module.info.store_shared(f.b, value, base, own)
        size = bit_width(value.type) // 8
        return _from_first_copy(f, f.module.num_ctas - 1, base, lambda at: f.b.load(at, value.type, size))
    facts = f.facts(type_).layout
    layout = flat_offsets(facts.layout, type_.get_shape())
    plan = plan_access(layout, max(8, bit_width(lane_type(value.type))))
    own = f.zero_in(f.free_thread_mask(facts))
    store_shared(f, plan, value, base, mask=own)
    copies = facts.free_masks.get("block", 0)
    return _from_first_copy(f, copies, base, lambda at: load_shared(f, plan, lane_type(value.type), at))


def _from_first_copy(
    f: FunctionLowering, copies: int, base: SSAValue, load: Callable[[SSAValue], SSAValue]
) -> SSAValue:
    """What `load` finds at `base` in the CTA whose rank has 0 for the bits `copies`, once it is there."""
    if not copies:
        f.barrier()
        return load(base)
    cluster_barrier(f)
    rank = f.b.and_(f.cluster_rank(), f.b.i32(f.module.num_ctas - 1 & ~copies))
    value = load(in_cta(f, base, rank))
    cluster_barrier(f)
    return value
