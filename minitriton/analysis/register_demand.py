"""What a kernel must hold in the registers of a thread, whatever the assembler does: known of the TTGIR, before code is generated.

    scf.for ... iter_args(%acc) {           %acc: 16 f32 a thread        RegisterDemand(accumulators=0, carried=16, loaded=8, reading_loops=1, ...)
      %x = tt.load ...                      %x: 16 f16 a thread
      scf.yield %acc + %x
    }

Addresses, masks and counters come on top: an assembler can compute them again. Counterpart of the register-pressure estimates of a
scheduler, but for whole tensors.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from math import prod
from typing import Self

from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.traits import IsTerminator

from minitriton.analysis.axis_info.lattice import axis_lengths
from minitriton.dialects import tt, ttng
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import Contraction, KeepsData, ViewOfTensor
from minitriton.dialects.facts.launch import NUM_WARPS, shared_bytes
from minitriton.dialects.facts.layout import Elementwise
from minitriton.dialects.facts.memory_access import DescriptorAccess, MemoryAccess
from minitriton.dialects.facts.region_flow import Loop
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.layouts.encodings import DistributedEncoding, NvidiaMma
from minitriton.layouts.to_linear import to_linear_layout

DEMAND = "minitriton.demand"
"""Attribute of a kernel at the LLVM level that holds its demand as text."""


@frozen
class RegisterDemand:
    """Registers of 32 bits of a thread, and what else a limit of registers depends on."""

    accumulators: int = 0
    """Of all asynchronous dots: they take these whatever the limit."""
    register_operands: int = 0
    """The least that an asynchronous dot reads from registers next to its accumulators; 0 where one reads shared memory alone."""
    carried: int = 0
    """Of the reading loop that needs most: what an iteration takes over and returns, made of what is loaded."""
    loaded: int = 0
    """Of that loop: what its loads fill."""
    reading_loops: int = 0
    """Loops that load from global memory themselves; of nested ones the innermost."""
    filled: int = 0
    """What the loads outside loops fill."""
    held: int = 0
    """The most that was loaded, or computed from that, and is alive across an op over whole tensors (a scan, a store, a reduction whose
    operand is read again), outside loops."""
    dots: int = 0
    """How many dots there are, of any kind."""
    mma_sync: int = 0
    """Of these, by `mma.sync`."""
    prints: int = 0
    """How many ops print."""
    shared_bytes: int = 0
    """Of dynamic shared memory, of a CTA."""

    @property
    def iteration(self) -> int:
        """What an iteration needs to start all its loads before it uses the first."""
        return self.carried + self.loaded

    def __str__(self) -> str:
        """`accumulators=64 loaded=8`, without zeros: what the PTX says in a comment above the kernel."""
        return " ".join(f"{name}={value}" for name, value in asdict(self).items() if value)

    @classmethod
    def parse(cls, text: str) -> Self:
        """What `str` gave; words that are none of its fields are left out."""
        words = (word.partition("=") for word in text.split())
        known = {field.name for field in fields(cls)}
        return cls(**{name: int(value) for name, _, value in words if name in known and value.isdigit()})


def register_demand(module: ModuleOp) -> RegisterDemand:
    """The demand of the kernel in a TTGIR module and of the functions that it calls."""
    ops = ops_in(module)
    outside, loads_in = _by_loop(ops)
    iterations = [(_carried(loop), sum(map(_loaded, loads))) for loop, loads in loads_in.items()]
    carried, loaded = max(iterations, key=sum, default=(0, 0))
    dots = [op for op in ops if isinstance(op, ttng.WarpGroupDotOp)]
    return RegisterDemand(
        accumulators=sum(registers(chain) for chain in _accumulators(dots)),
        register_operands=min((registers(dot.a) for dot in dots), default=0),
        carried=carried,
        loaded=loaded,
        reading_loops=len(loads_in),
        filled=sum(map(_loaded, _loads(outside))),
        held=_held(outside, registers),
        dots=len(dots) + sum(isinstance(op, tt.DotOp) for op in ops),
        mma_sync=sum(isinstance(op, tt.DotOp) and isinstance(layout_of(op.result.type), NvidiaMma) for op in ops),
        prints=sum(isinstance(op, tt.PrintOp) for op in ops),
        shared_bytes=shared_bytes(module),
    )


MOST_HELD = 128
"""Registers of a thread that tiles may hold while a reduction needs them whole, where the number of warps is not given."""


def fitting_warps(module: ModuleOp, num_warps: int, most: int, warp_size: int) -> int:
    """The least number of warps, a power of two from `num_warps` to `most`, by which the tiles of a TTIR module stay in registers: what is alive across an op
    that needs it whole (a reduction after which it is read again, a store) is at most `MOST_HELD` registers of a thread. Kernels with dots keep `num_warps`: the dot's instruction decides.
    So do those that know it: they ask for it (the frontend says so by the module's `ttg.num-warps`), or inline PTX reads the number of its thread or has a barrier.

    Group norm of 65,536 elements on an H200: 1,085 µs by 4 warps, 362 by 8, 95 by 16; Jensen-Shannon divergence of two such rows: 18 ms by 4, 11 by 16, 6.5 by 32
    (2026-11-28).
    """
    ops = ops_in(module)
    if NUM_WARPS in module.attributes or any(Contraction.of(op) or _counts_threads(op) for op in ops):
        return num_warps
    held = _held_tiles(ops)
    while 2 * num_warps <= most and held > MOST_HELD * warp_size * num_warps:
        num_warps *= 2
    return num_warps


def _counts_threads(op: Operation) -> bool:
    return isinstance(op, tt.ElementwiseInlineAsmOp) and _OF_THREADS.search(op.asm_string.data) is not None


_OF_THREADS = re.compile(r"%n?(tid|warpid)\b|\bbar(rier)?\.")


def _held_tiles(ops: list[Operation]) -> int:
    """Registers of all threads that hold the tiles of TTIR across an op that needs them whole, of the loop that needs most."""
    around = _innermost_loops(ops)
    parts: dict[Operation | None, list[Operation]] = defaultdict(list)
    for op in ops:
        parts[around.get(op)].append(op)
    return max((_held(part, _tile_registers) for part in parts.values()), default=0)


def _tile_registers(value: SSAValue) -> int:
    return prod(axis_lengths(value.type)) * max(1, _bits(value) // 32) if _bits(value) else 0


def registers(value: SSAValue) -> int:
    """Registers that hold `value` in a thread, one for each number of up to 32 bits; 0 for pointers and what is not in registers."""
    return _different_elements(value) * max(1, _bits(value) // 32) if _bits(value) else 0


def packed_registers(value: SSAValue) -> int:
    """Registers that hold `value` in a thread, several small numbers in one, as a load or a dot has them."""
    return -(-_different_elements(value) * _bits(value) // 32)


def _loaded(load: Operation) -> int:
    """Registers that a load fills."""
    return packed_registers(load.results[0])


def _different_elements(value: SSAValue) -> int:
    layout = layout_of(value.type)
    if not isinstance(layout, DistributedEncoding):
        return 1
    bases = to_linear_layout(layout, axis_lengths(value.type)).bases["register"]
    return 1 << sum(any(base) for base in bases)


def _bits(value: SSAValue) -> int:
    type_ = value.type
    element = type_.get_element_type() if instance_of(type_, TensorType) else type_
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 0


def _by_loop(ops: list[Operation]) -> tuple[list[Operation], dict[Operation, list[Operation]]]:
    """Of `ops` in their order those outside of loops, and for each loop that loads itself, of nested ones the innermost, its loads."""
    around = _innermost_loops(ops)
    loads_in: dict[Operation, list[Operation]] = defaultdict(list)
    for load in _loads(op for op in ops if op in around):
        loads_in[around[load]].append(load)
    enclosing: set[Operation] = set()
    for loop in loads_in:
        while (loop := around.get(loop)) is not None and loop not in enclosing:
            enclosing.add(loop)
    return [op for op in ops if op not in around], {o: found for o, found in loads_in.items() if o not in enclosing}


def _innermost_loops(ops: Iterable[Operation]) -> dict[Operation, Operation]:
    """The innermost loop around each op that is in one."""
    around: dict[Operation, Operation] = {}
    for op in ops:
        parent = op.parent_op()
        loop = parent if parent is not None and Loop.of(parent) is not None else around.get(parent) if parent else None
        if loop is not None:
            around[op] = loop
    return around


def _loads(ops: Iterable[Operation]) -> list[Operation]:
    """Those that load from global memory into registers."""
    accesses = ((op, MemoryAccess.of(op)) for op in ops)
    return [
        op
        for op, access in accesses
        if access and access.is_load and not isinstance(access, DescriptorAccess) and not access.atomic
    ]


def _carried(loop: Operation) -> int:
    """Registers of what an iteration of `loop` takes over from the one before and computes from loads."""
    flow = Loop.of(loop)
    assert flow is not None
    branches = flow.branches(loop)
    first = next(branch.target for branch in branches if branch.origin is None and branch.target is not None)
    derived = _derived_from_loads(ops_in(loop))
    passed = {
        received: value
        for branch in branches
        if branch.origin is not None and branch.target is first
        for value, received in zip(branch.passed, branch.received, strict=True)
    }
    return sum(registers(received) for received, value in passed.items() if value in derived)


def _derived_from_loads(ops: Iterable[Operation]) -> set[SSAValue]:
    """The values that were loaded or computed from such, of `ops` in their order."""
    derived: set[SSAValue] = set()
    for op in ops:
        if not _loads([op]) and derived.isdisjoint(op.operands):
            continue
        derived.update(op.results)
        holder = op.parent_op()
        while holder is not None and holder.results and derived.isdisjoint(holder.results):
            derived.update(holder.results)
            holder = holder.parent_op()
    return derived


def _accumulators(dots: list[ttng.WarpGroupDotOp]) -> Iterator[SSAValue]:
    """One value of each chain of dots that add to the same registers."""
    seen: set[SSAValue] = set()
    for dot in dots:
        if dot.result in seen:
            continue
        yield dot.result
        pending = [dot.result, dot.c]
        while pending:
            value = pending.pop()
            if value not in seen and _holds_accumulator(value):
                seen.add(value)
                pending += _same_registers(value)


def _holds_accumulator(value: SSAValue) -> bool:
    """Whether a dot, a wait or a loop gives `value`: what accumulators begin with, a constant as a rule, many chains share."""
    holder = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    if holder is None:
        return False
    return isinstance(holder, ttng.WarpGroupDotOp | ttng.WarpGroupDotWaitOp) or Loop.of(holder) is not None


def _same_registers(value: SSAValue) -> Iterator[SSAValue]:
    """Values that `value` becomes, or was, without being computed anew: accumulated to, waited for, passed to the next iteration."""
    owner = value.owner
    holders = [use.operation for use in value.uses]
    holders += (
        [owner] if isinstance(owner, Operation) else [parent] if (parent := owner.parent_op()) is not None else []
    )
    for op in holders:
        if isinstance(op, ttng.WarpGroupDotOp) and value in (op.c, op.result):
            yield from (op.c, op.result)
        elif isinstance(op, ttng.WarpGroupDotWaitOp):
            yield from (other for pair in zip(op.operands, op.results, strict=True) if value in pair for other in pair)
        parent = op.parent_op()
        for holder in (op, parent) if parent is not None and op.has_trait(IsTerminator) else (op,):
            flow = Loop.of(holder)
            if flow is not None:
                yield from (
                    other
                    for branch in flow.branches(holder)
                    for pair in zip(branch.passed, branch.received, strict=True)
                    if value in pair
                    for other in pair
                )


def _held(ops: list[Operation], registers: Callable[[SSAValue], int]) -> int:
    """The most registers alive across an op that needs whole tensors: numbered in their order, a value lives from its own to its last use's."""
    derived = _derived_from_loads(ops)
    step: dict[SSAValue, int] = defaultdict(int)
    """After how many such ops a value can be there."""
    last: dict[SSAValue, int] = {}
    for op in ops:
        at = max((step[operand] for operand in op.operands), default=0)
        streams = isinstance(op, tt.ReduceOp) or any(fact.of(op) for fact in (Elementwise, ViewOfTensor, KeepsData))
        used = at if streams else at + 1
        for operand in op.operands:
            last[operand] = max(last.get(operand, 0), used)
        for result in op.results:
            step[result] = at + 1 if isinstance(op, tt.ReduceOp) else used
    alive = [0] * (max(last.values(), default=0) + 1)
    for value, end in last.items():
        if value in derived and isinstance(value.type, TensorType):
            for boundary in range(step[value], end):
                alive[boundary] += registers(value)
    return max(alive, default=0)
