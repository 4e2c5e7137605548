"""`minitriton-split-chains`: dots split along K, the parts of their operands read between the parts of the dot.

    %a = local_load %x                 : 64x64xf16           %a0 = local_load (subslice %x[0, 0])         : 64x16xf16
    %b = local_load %y                 : 64x128xi8           %b0 = sitofp (local_load (subslice %y[0, 0]))
    %w = arith.sitofp %b                                =>   %a1, %b1: the next 16
    %d = tt.dot %a, %w, %c                                   %d0 = tt.dot %a0, %b0, %c
                                                             %a2, %b2
                                                             %d1 = tt.dot %a1, %b1, %d0, ...

In: TTGIR in the order in which it will be lowered. Out: the same, dots for `mma.sync` in parts. `read-ahead` also has each iteration read the first part of
the next one's operands under its last dot (`next_iteration`).

Legal: an operand comes from a buffer by views, casts and what else looks at each element alone, and nothing else needs it; or it is in registers
already and is taken apart there. No part is smaller than a step of the instruction, with the words of K that it pairs, so that each
element adds the same numbers in the same order. Loads move down to the last dot that they are for, past nothing that writes shared memory. Dots that
share an operand are split together.

Pays where a thread cannot hold what the dots of a block and the values that the loop carries need at once: `least-need` registers (`_need`); and for loops of
plain 16-bit dots everywhere (H100, 24 kernels: 0.996 to 1.288 times as fast), but where results alone take all registers of a thread: two dots of 64x128 by 2 warps
spill 504 bytes for 320 (0.59 times as fast, H200). Casts and unpacking take registers of their own: some of these lose.
docs/chains.md has figures.
"""

from collections.abc import Iterator
from math import ceil, prod
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import FixedBitwidthType, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from minitriton.analysis.in_flight.rings import VIEWS
from minitriton.analysis.register_demand import packed_registers
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.launch import features_of, module_of, num_threads, target_text
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import record
from minitriton.layouts.encodings import DotOperand, NvidiaMma
from minitriton.passes.chains.next_iteration import copies_to_shared_memory, read_ahead, writes_shared_memory
from minitriton.passes.chains.tensor_parts import TensorParts, sources
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import KEPT_BY_DEFAULT, POWERS_OF_TWO, Pass, Property, register_pass
from minitriton.rewriting.rewriter import Inserter
from minitriton.target.architectures import LIMITS, speeds_named


@record
class _Group:
    """Dots of one block that are split together: they share an operand, or are alone."""

    dots: list[tt.DotOp]
    operands: dict[SSAValue, TensorParts]

    @property
    def count(self) -> int:
        """Parts of each dot."""
        return next(iter(self.operands.values())).count


def is_needed_whole(parts: TensorParts, users: list[tt.DotOp]) -> bool:
    """Whether more than `users` needs what the parts are computed from, or the loads cannot be done at the last of them."""
    own = {*parts.chain, *users}
    for op, axis in parts.chain.items():
        is_repeated = not isinstance(op, ttg.LocalLoadOp) and not sources(op.results[0], axis, parts.count)
        if not is_repeated and any(use.operation not in own for result in op.results for use in result.uses):
            return True
        if isinstance(op, tt.LoadOp) or (isinstance(op, ttg.LocalLoadOp) and not _may_move_down(op, users[-1])):
            return True
    return False


def _parts_of(dot: tt.DotOp, users: list[tt.DotOp], count: int) -> dict[SSAValue, TensorParts] | None:
    """Both operands in `count` parts along K, of the layouts that a dot asks for."""
    found: dict[SSAValue, TensorParts] = {}
    for operand, axis in ((dot.a, 1), (dot.b, 0)):
        parts = TensorParts.of(operand, axis, count)
        if parts is None or is_needed_whole(parts, users):
            parts = TensorParts.of_registers(operand, axis, count)
        if parts is None or layout_of_value(operand) != getattr(parts.type_.encoding, "data", None):
            return None
        found[operand] = parts
    return found


def _groups(block: Block) -> Iterator[list[tt.DotOp]]:
    """The dots of `block` on tensor cores of version 2 whose result nothing uses before the last of them, by the operands that they share."""
    dots = [op for op in block.ops if isinstance(op, tt.DotOp) and _is_mma_sync(op)]
    while dots:
        group = [dots.pop(0)]
        shared = {group[0].a, group[0].b}
        for dot in list(dots):
            if not shared.isdisjoint((dot.a, dot.b)) and dot.c not in [each.result for each in group]:
                group.append(dot)
                shared |= {dot.a, dot.b}
                dots.remove(dot)
        yield group


def _is_mma_sync(dot: tt.DotOp) -> bool:
    layout = layout_of_value(dot.result)
    is_narrow = instance_of(dot.a.type, TensorType) and 0 < element_bits(dot.a.type) <= 32
    return is_narrow and isinstance(layout, NvidiaMma) and layout.version_major == 2 and len(shape_of(dot.result)) == 2


_STEP_BITS = 256
"""Bits of K in one `mma.sync`."""


def _least_part(dot: tt.DotOp) -> int:
    """Elements of K in the smallest part: a step of the instruction, of two runs of `kWidth` elements of each of four threads."""
    layout, type_ = layout_of_value(dot.a), dot.a.type
    assert instance_of(type_, TensorType)
    k_width = layout.k_width if isinstance(layout, DotOperand) else 0
    return max(_STEP_BITS // element_bits(type_), 8 * k_width)


def _split_together(dots: list[tt.DotOp], most: int) -> _Group | None:
    """`dots` with their operands in as many parts as there can be, up to `most`; None if they cannot be split."""
    count = min(most, *(shape_of(dot.a)[-1] // _least_part(dot) for dot in dots))
    while count > 1:
        operands: dict[SSAValue, TensorParts] = {}
        for dot in dots:
            found = _parts_of(dot, dots, count)
            if found is None:
                break
            operands |= found
        else:
            if _is_legal(dots, operands):
                return _Group(dots, operands)
        count //= 2
    return None


def _is_legal(dots: list[tt.DotOp], operands: dict[SSAValue, TensorParts]) -> bool:
    """Whether each op is split along one axis, loads among them, and nothing needs the result of a dot before the last one."""
    axes: dict[Operation, int] = {}
    for parts in operands.values():
        for op, axis in parts.chain.items():
            if axes.setdefault(op, axis) != axis:
                return False
    last = dots[-1]
    for dot in dots[:-1]:
        following = dot.next_op
        while following is not None and following is not last:
            if any(value is dot.result for inner in following.walk() for value in operand_values(inner)):
                return False
            following = following.next_op
    return any(isinstance(op, ttg.LocalLoadOp) for op in axes)


def _may_move_down(load: Operation, end: Operation) -> bool:
    """Whether nothing between `load` and `end` writes shared memory."""
    following = load.next_op
    while following is not None and following is not end:
        is_write = writes_shared_memory(following) or copies_to_shared_memory(following)
        if is_write and not isinstance(following, ttg.AsyncWaitOp):
            return False
        following = following.next_op
    return following is end


def _split(group: _Group) -> list[SSAValue]:
    """Puts the parts in place of the dots. The operands of the first part."""
    at = Inserter.before(group.dots[-1])
    made: list[dict[SSAValue, SSAValue]] = []
    accumulators = [dot.c for dot in group.dots]
    for number in range(group.count):
        while len(made) < min(group.count, number + 2):
            values: dict[SSAValue, SSAValue] = {}
            for operand, parts in group.operands.items():
                values[operand] = parts.part(at, len(made), values)
            made.append(values)
        for index, dot in enumerate(group.dots):
            part = dot.clone()
            part.operands = [made[number][dot.a], made[number][dot.b], accumulators[index]]
            part.location = dot.location
            at.place(part)
            accumulators[index] = part.result
    for dot, accumulator in zip(group.dots, accumulators, strict=True):
        accumulator.name_hint = dot.result.name_hint
        dot.result.replace_all_uses_with(accumulator)
        at.block.erase_op(dot)
    _erase({op: None for parts in group.operands.values() for op in parts.chain})
    return [made[0][operand] for operand in group.operands]


def _erase(chain: dict[Operation, None]) -> None:
    """Erases those of `chain` that nothing uses any more."""
    pending = list(chain)
    while pending:
        op = pending.pop()
        if op.parent is not None and all(result.first_use is None for result in op.results):
            owners = [value.owner for value in operand_values(op)]
            op.parent.erase_op(op)
            pending += [owner for owner in owners if isinstance(owner, Operation) and owner in chain]


def _need(block: Block, group: _Group) -> int:
    """Registers of a thread that the dots of `group` need at once where their operands are read as a whole: these, the results, and what else the
    loop carries. Addresses, which come on top, are not counted."""
    loop = block.parent_op()
    carried = set(block.args[1:]) if isinstance(loop, scf.ForOp) else set[SSAValue]()
    own = {dot.result for dot in group.dots} | {dot.c for dot in group.dots if dot.c not in carried}
    accumulators = sum(packed_registers(dot.result) for dot in group.dots)
    others = {value for value in carried if isinstance(value.type, TensorType)} - {dot.c for dot in group.dots} - own
    return accumulators + sum(map(packed_registers, group.operands)) + sum(map(packed_registers, others))


def _ctas(block: Block, registers: int) -> int:
    """How many CTAs an SM holds, as far as registers of a thread and the buffers of the kernel say."""
    dot = block.last_op
    assert dot is not None
    buffers = (op.results[0].type for op in ops_of(module_of(dot), ttg.LocalAllocOp))
    shared = sum(
        prod(type_.get_shape()) * type_.element_type.bitwidth // 8
        for type_ in buffers
        if isinstance(type_, ttg.MemDescType) and isinstance(type_.element_type, FixedBitwidthType)
    )
    taken = min(registers + _OTHER_REGISTERS, LIMITS.registers_per_thread)
    return features_of(dot).ctas_on_sm(taken, num_threads(dot), shared)


def _makes_room(block: Block, group: _Group, need: int) -> bool:
    """Whether an SM holds more CTAs if only two parts of the operands, all of them from buffers, are in registers at once."""
    if not all(parts.chain for parts in group.operands.values()):
        return False
    operands = sum(map(packed_registers, group.operands))
    return _ctas(block, need) < _ctas(block, need - operands + 2 * operands // group.count)


def _registers_ahead(block: Block, group: _Group) -> int:
    """Registers of a thread where an iteration copies with two parts of its operands read: the last of its own, and the first of the next."""
    results, operands = (
        sum(map(packed_registers, each)) for each in ([dot.result for dot in group.dots], group.operands)
    )
    copies = (op for op in block.ops if isinstance(op, ttg.AsyncCopyGlobalToLocalOp))
    accesses = sum(prod(shape_of(copy.src)) // (num_threads(copy) * copy.contiguity.value.data) for copy in copies)
    return results + 2 * operands // group.count + accesses * _ADDRESS + _OTHER_REGISTERS


_ADDRESS = 2
"""Registers of an address."""


def _iterations_of_a_load(block: Block, registers: int) -> int:
    """How many iterations of all CTAs of an SM take as long as a load from memory, if only the dots of `block` take time."""
    dots = [op for op in block.ops if isinstance(op, tt.DotOp)]
    speeds = speeds_named(target_text(dots[0]) or "")
    flops = sum(2 * prod(shape_of(dot.result)) * shape_of(dot.a)[-1] for dot in dots) * max(_ctas(block, registers), 1)
    return ceil(speeds.memory_latency * speeds.tensor_flops("mma.sync", 16) / flops)


def _is_plain(block: Block, group: _Group) -> bool:
    """Whether the dots are in a loop and multiply numbers of 16 bits, read without casts from buffers that the iteration does not fill from
    registers, or in registers already."""
    return isinstance(block.parent_op(), scf.ForOp) and all(
        element_bits(parts.type_) == 16
        and all(isinstance(op, ttg.LocalLoadOp) and not _is_filled_in(block, op.src) for op in parts.chain)
        for parts in group.operands.values()
    )


def _is_filled_in(block: Block, buffer: SSAValue) -> bool:
    """Whether `buffer` is allocated in `block`, with what it holds."""
    while isinstance(buffer.owner, VIEWS):
        buffer = operand_values(buffer.owner)[0]
    return isinstance(buffer.owner, ttg.LocalAllocOp) and buffer.owner.parent is block


_OTHER_REGISTERS = 16
"""Addresses and counters of a loop: with these the estimate is within 16 registers of what ptxas takes for whole operands of 6 of 10 GEMM tiles (2026-11-28)."""


@register_pass
class SplitChains(Pass, stage="ttgir"):
    """Splits the chains of loads, casts and dots along K, and reads the parts between the parts of the dots."""

    name: ClassVar[str] = "minitriton-split-chains"
    acts_on = frozenset({tt.DotOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keeps: ClassVar[frozenset[Property]] = KEPT_BY_DEFAULT | {Property.DOT_OPERANDS_FENCED}
    values: ClassVar = {"parts": POWERS_OF_TWO, "read_ahead": ("", "always", "never")}
    parts: int = 0
    """The most parts of a dot; 0: as many as the instruction has steps."""
    least_need: int = 288
    """Only where whole operands need at least as many registers of a thread; loops of plain 16-bit dots are split whatever they need."""
    plain: bool = True
    """Whether plain dots are split whatever they need."""
    read_ahead: str = ""
    """Whether an iteration reads the first parts of the next one's operands; empty: where it begins with a plain dot, and copies can follow the reads."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        """Split the dots of each block."""
        changed = False
        for block in dict.fromkeys(dot.parent for dot in ops_of(op, tt.DotOp)):
            assert block is not None
            firsts: list[list[SSAValue]] = []
            goes_ahead, in_flight = self.read_ahead == "always", 0
            for dots in list(_groups(block)):
                group = _split_together(dots, self.parts or _ALL)
                if group is None:
                    remark(dots[0], "the chain of this dot is not split: its operands cannot be read in parts along K")
                    continue
                if (results := sum(packed_registers(dot.result) for dot in dots)) >= LIMITS.registers_per_thread:
                    said = f"its results take {results} registers, all that a thread has"
                    remark(dots[0], f"the chain of this dot is not split: {said}")
                    continue
                need, is_plain = _need(block, group), self.plain and _is_plain(block, group)
                if need < self.least_need and not is_plain:
                    said = f"whole operands need {need} registers, fewer than {self.least_need}"
                    remark(dots[0], f"the chain of this dot is not split: {said}")
                    continue
                remark(
                    dots[0],
                    f"the chain of this dot is split into {group.count} parts along K, whole operands need {need} registers",
                )
                if self.read_ahead == "" and not firsts:
                    goes_ahead = (
                        is_plain
                        and len(dots) == 1
                        and not _makes_room(block, group, need)
                        and _registers_ahead(block, group) <= LIMITS.registers_per_thread
                    )
                    in_flight = _iterations_of_a_load(block, need)
                firsts.append(_split(group))
            loop = block.parent_op()
            if firsts and goes_ahead and isinstance(loop, scf.ForOp):
                last = [each for each in block.ops if isinstance(each, tt.DotOp)][-1]
                kept = read_ahead(loop, firsts[0], last, in_flight if self.read_ahead == "" else None)
                if kept is not None:
                    remark(loop, f"the first reads of this loop stay in their iteration: {kept}")
            changed |= bool(firsts)
        return changed


_ALL = 1 << 10
