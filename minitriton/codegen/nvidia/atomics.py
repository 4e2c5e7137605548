"""Atomics on global memory.

    tt.atomic_rmw fadd, acq_rel, gpu, %p, %v, %m : tensor<1024xf32>   ->   nvvm.atom "add.v4.f32", 4 elements at a time (sm_90)

    tt.atomic_load acquire, gpu, %p   ->   nvvm.ld.global {order = "acquire.gpu"}, a barrier
    tt.atomic_poll acquire, gpu, %p, %x    ->    a loop around nvvm.ld.global {order = "relaxed.gpu"}, a fence, a barrier

One of the threads that hold an element does it. Where others need the old value too (scalars, copies of elements) it reaches them
through shared memory.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import TensorType, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.access_width import access_width, neighbours
from minitriton.codegen import registers
from minitriton.codegen.lowering.convert_layout import cluster_barrier
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.old_values import (
    ATOMICS,
    Accesses,
    atomic_scratch,
    finish,
    needs_exchange,
    predicates_of,
)
from minitriton.codegen.nvidia import lowers, needs_scratch
from minitriton.codegen.types import BF16, I1, I8, I16, I64, bit_width, vector_type
from minitriton.dialects import nvvm, tt
from minitriton.dialects.attribute_values import i32_array, integer_attr, string_attr, word
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.effects import recursive_effects

_Atomic: TypeAlias = tt.AtomicRMWOp | tt.AtomicCASOp

_SUFFIX = {"and": "b", "or": "b", "xor": "b", "add": "u", "max": "s", "min": "s", "umax": "u", "umin": "u", "exch": "b"}


def operation_text(kind: str, element: Attribute, width: int) -> str:
    """An operation as PTX spells it: `add.u32`, `add.noftz.f16x2`, `add.v4.f32`."""
    bits = bit_width(element)
    if kind != "fadd":
        return f"{kind.removeprefix('u') if kind.startswith('um') else kind}.{_SUFFIX[kind]}{bits}"
    name = "bf16" if element is BF16 else f"f{bits}"
    packed = 2 if bits == 16 and width > 1 else 1
    vector = f".v{width // packed}" if width > packed else ""
    return f"add{'.noftz' if bits == 16 else ''}{vector}.{name}{'x2' if packed == 2 else ''}"


needs_scratch(*ATOMICS)(atomic_scratch)


@lowers(tt.AtomicRMWOp)
def atomic_rmw(f: FunctionLowering, op: tt.AtomicRMWOp) -> None:
    pointer, value, mask = op.ptr, op.val, op.mask
    kind = str(op.atomic_rmw_op.data)
    element = f.element_type(value)
    accesses = Accesses(f, pointer, access_width(f.module.axis, op).width)
    if element is BF16 and not f.module.target.has_bf16_atomics:
        finish(f, op, accesses, [_by_compare_and_swap(f, op, n, mask) for n in accesses.starts])
        return
    _atomic(f, op, pointer, [value], mask, operation_text(kind, element, accesses.width), accesses)


@lowers(tt.AtomicCASOp)
def atomic_cas(f: FunctionLowering, op: tt.AtomicCASOp) -> None:
    pointer, compared, value = op.operands
    element = f.element_type(value)
    accesses = Accesses(f, pointer, access_width(f.module.axis, op).width)
    _atomic(f, op, pointer, [compared, value], None, f"cas.b{bit_width(element)}", accesses)


def _atomic(
    f: FunctionLowering,
    op: _Atomic,
    pointer: SSAValue,
    values: Sequence[SSAValue],
    mask: SSAValue | None,
    text: str,
    accesses: Accesses,
) -> None:
    b = f.b
    element = f.element_type(values[-1])
    type_ = vector_type(element, accesses.width)
    vectors = [f.vector(value) for value in values]
    predicates = predicates_of(f, pointer, mask, accesses)
    order = _order(op, text, len(accesses.starts))
    scope = {"scope": string_attr(_name(op.scope))}
    properties = {"operation": string_attr(text), "sem": string_attr(order.sem), **scope}
    old: list[SSAValue] = []
    if order.fence_before:
        b.operation(nvvm.FenceOp, (), (), scope)
    for start, predicate in zip(accesses.starts, predicates, strict=True):
        parts = [b.permute(vector, range(start, start + accesses.width)) for vector in vectors]
        operands = [registers.element(b, f.values[pointer], start), *parts]
        if predicate is not None:
            operands.append(predicate)
        if order.sem in nvvm.RedOp.WORDS["sem"] and _only_gathers(op, text):
            b.operation(nvvm.RedOp, operands, (), properties)
            continue
        groups = i32_array((1, len(values), int(predicates[0] is not None)))
        old.append(b.value(nvvm.AtomicOp, operands, type_, {**properties, "operandSegmentSizes": groups}))
    if order.fence_after:
        b.operation(nvvm.FenceOp, (), (), scope)
    finish(f, op, accesses, old)


class _Order(NamedTuple):
    """How the instructions of an atomic are ordered with other accesses: by what they say, or by fences around all of them."""

    sem: str
    fence_before: bool = False
    fence_after: bool = False


def _only_gathers(op: _Atomic, text: str) -> bool:
    """Whether `op` adds to elements of a tile, or puts their bits or extremes together, and nobody looks at what was there: a histogram,
    partial sums. Single numbers are counters and locks, and what is exchanged is a lock: they are ordered as the kernel says.
    A program may take a lock with a relaxed exchange and rely on the L1 cache that an earlier program's release, which acquires too,
    has emptied (Triton's `test_atomic_cas`)."""
    is_tile = instance_of(op.operands[0].type, TensorType)
    return is_tile and op.results[0].first_use is None and not text.startswith(("cas", "exch"))


def _order(op: _Atomic, text: str, count: int) -> _Order:
    """The elements of an atomic are in no order among themselves, so that one fence does for `count` instructions: an ordered
    one has its own, of some 500 cycles. A tile that is only gathered acquires nothing where nothing is read after it."""
    sem = _name(op.sem)
    releases = sem in ("release", "acq_rel")
    acquires = sem in ("acquire", "acq_rel") and (not _only_gathers(op, text) or _may_read_after(op))
    if count > 1:
        return _Order("relaxed", releases, acquires)
    return _Order(
        {(True, True): "acq_rel", (True, False): "release", (False, True): "acquire"}.get(
            (releases, acquires), "relaxed"
        )
    )


def _may_read_after(op: Operation) -> bool:
    """Whether the kernel may do anything with memory after `op`."""
    following = op.next_op
    while following is not None and not isinstance(following, tt.ReturnOp):
        effects = recursive_effects(following)
        if effects is None or effects:
            return True
        following = following.next_op
    return following is None


def _name(attr: Attribute) -> str:
    text = word(attr)
    return {"system": "sys"}.get(text, text)


def _by_compare_and_swap(f: FunctionLowering, op: _Atomic, register: int, mask: SSAValue | None) -> SSAValue:
    """A loop around `atom.cas.b16`, for additions that the GPU cannot do: no byte but the element's own is touched."""
    b = f.b
    pointer, value = op.operands[0], op.operands[1]
    element = f.element_type(value)
    facts = f.facts(pointer.type).layout if instance_of(pointer.type, TensorType) else None
    own = f.representative(facts)
    given = None if mask is None else registers.element(b, f.values[mask], register)
    terms = [term for term in (own, given) if term is not None]
    address = registers.element(b, f.values[pointer], register)
    operand = registers.element(b, f.values[value], register)
    inside, again, after = f.new_block(), f.new_block((I16,)), f.new_block((I16,))
    if terms:
        predicate = terms[0] if len(terms) == 1 else b.and_(terms[0], terms[1])
        b.cond_branch(predicate, inside, after, (), (b.poison(I16),))
    else:
        b.branch(inside)
    b.move_to(inside)
    b.branch(again, (b.constant(I16, 0),))  # a guess: the first `cas` says what is there, without a read next to it
    b.move_to(again)
    seen = again.args[0]
    total = b.bitcast(b.fadd(b.bitcast(seen, element), operand), I16)
    properties = {
        "operation": string_attr("cas.b16"),
        "sem": string_attr(_name(op.sem)),
        "scope": string_attr(_name(op.scope)),
        "is_retried": UnitAttr(),
        "operandSegmentSizes": i32_array((1, 2, 0)),
    }
    found = b.value(nvvm.AtomicOp, (address, seen, total), I16, properties)
    b.cond_branch(b.icmp("eq", found, seen), after, again, (found,), (found,))
    b.move_to(after)
    return b.bitcast(after.args[0], element)


# Loads, stores and waiting --------------------------------------------------------------------------------------------


class _Ordering(NamedTuple):
    """How loads or stores of a tile are ordered: each by itself, or by one fence for all. Barriers make it an order of all threads."""

    accesses: Accesses
    predicates: list[SSAValue]
    order: str
    is_strong: bool
    """Whether they acquire or release."""
    needs_fence: bool


def _ordering(f: FunctionLowering, op: tt.AtomicLoadOp | tt.AtomicStoreOp, element: Attribute) -> _Ordering:
    bits = bit_width(element)
    # A word of several elements would be one access of another size than others make.
    accesses = Accesses(f, op.ptr, 1 if bits < 32 else neighbours(f.module.axis, op.ptr, op.mask).width)
    predicates = [p for p in predicates_of(f, op.ptr, op.mask, accesses) if p is not None]
    sem = _name(op.sem)
    fenced = sem != "relaxed" and len(accesses.starts) > 1
    return _Ordering(
        accesses, predicates, f"{'relaxed' if fenced else sem}.{_name(op.scope)}", sem != "relaxed", fenced
    )


def _meet(f: FunctionLowering) -> None:
    """All threads of the program wait for each other."""
    if f.module.num_ctas > 1:
        cluster_barrier(f)
    else:
        f.barrier()


def _fence(f: FunctionLowering, op: tt.AtomicLoadOp | tt.AtomicStoreOp | tt.AtomicPollOp) -> None:
    f.b.operation(nvvm.FenceOp, (), (), {"scope": string_attr(_name(op.scope))})


@lowers(tt.AtomicLoadOp)
def atomic_load(f: FunctionLowering, op: tt.AtomicLoadOp) -> None:
    """What other threads do after it comes after it too: they wait for each other."""
    element = f.element_type(op.result)
    accesses, predicates, order, acquires, fenced = _ordering(f, op, element)
    addresses = [registers.element(f.b, f.values[op.ptr], start) for start in accesses.starts]
    properties = {
        "vector_width": integer_attr(accesses.width, i32),
        "order": string_attr(order),
        "operandSegmentSizes": i32_array((len(addresses), len(predicates), 0, 0)),
    }
    type_ = vector_type(element, accesses.loaded)
    loaded = f.b.value(nvvm.LoadGlobalOp, (*addresses, *predicates), type_, properties)
    if fenced:
        _fence(f, op)
    finish(f, op, accesses, [loaded])
    if acquires and not needs_exchange(op):
        _meet(f)


@lowers(tt.AtomicStoreOp)
def atomic_store(f: FunctionLowering, op: tt.AtomicStoreOp) -> None:
    """What other threads did before it comes before it too: they wait for each other."""
    accesses, predicates, order, releases, fenced = _ordering(f, op, f.element_type(op.value))
    data = f.vector(op.value)
    if accesses.replicated:
        data = f.b.permute(data, accesses.registers)
    addresses = [registers.element(f.b, f.values[op.ptr], start) for start in accesses.starts]
    if releases:
        _meet(f)
    if fenced:
        _fence(f, op)
    properties = {
        "vector_width": integer_attr(accesses.width, i32),
        "order": string_attr(order),
        "operandSegmentSizes": i32_array((1, len(addresses), len(predicates), 0)),
    }
    f.b.operation(nvvm.StoreGlobalOp, (data, *addresses, *predicates), (), properties)


@lowers(tt.AtomicPollOp)
def atomic_poll(f: FunctionLowering, op: tt.AtomicPollOp) -> None:
    """Each element by a loop of its own. Without a time limit all are found, so nothing is exchanged."""
    accesses = Accesses(f, op.ptr, 1)
    started = None if op.timeout is None else _global_time(f)
    predicates = predicates_of(f, op.ptr, None, accesses)
    found = [_polled(f, op, start, p, started) for start, p in zip(accesses.starts, predicates, strict=True)]
    if _name(op.sem) == "acquire":
        _fence(f, op)
    if op.timeout is None:
        f.values[op.result] = f.b.constant(f.lowered_type(op.result.type), -1)
    else:
        finish(f, op, accesses, found)
        f.values[op.result] = f.b.cast(L.TruncOp, f.vector(op.result), I1)
    if op.timeout is None or not needs_exchange(op):
        _meet(f)


def _polled(
    f: FunctionLowering, op: tt.AtomicPollOp, register: int, own: SSAValue | None, started: SSAValue | None
) -> SSAValue:
    """1, once memory holds what is expected of one element, or 0 if the time is over; 0 in threads other than the one that looks."""
    b = f.b
    expected = registers.element(b, f.values[op.expected], register)
    address = registers.element(b, f.values[op.ptr], register)
    again, after = f.new_block(), f.new_block((I8,))
    zero, one = b.constant(I8, 0), b.constant(I8, 1)
    if own is None:
        b.branch(again)
    else:
        b.cond_branch(own, again, after, (), (zero,))
    b.move_to(again)
    properties = {
        "vector_width": integer_attr(1, i32),
        "order": string_attr(f"relaxed.{_name(op.scope)}"),
        "operandSegmentSizes": i32_array((1, 0, 0, 0)),
    }
    seen = b.icmp("eq", b.value(nvvm.LoadGlobalOp, (address,), expected.type, properties), expected)
    if started is None or op.timeout is None:
        b.cond_branch(seen, after, again, (one,), ())
    else:
        late = f.new_block()
        b.cond_branch(seen, after, late, (one,), ())
        b.move_to(late)
        limit = registers.element(b, f.values[op.timeout], 0)
        b.cond_branch(b.icmp("ult", b.sub(_global_time(f), started), limit), again, after, (), (zero,))
    b.move_to(after)
    return after.args[0]


def _global_time(f: FunctionLowering) -> SSAValue:
    """The GPU's clock, in nanoseconds."""
    properties = {
        "asm_string": string_attr("mov.u64 $0, %globaltimer;"),
        "constraints": string_attr("=l"),
        "packed": integer_attr(1, i32),
    }
    return f.b.operation(nvvm.InlinePtxOp, (), (I64,), properties).results[0]
