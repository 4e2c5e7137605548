"""`tritongpu-prefetch`: operands of a dot are read from shared memory one step of K ahead.

    scf.for ... iter_args(%bufA, %bufB)                         %a0 = local_load subslice(%bufA, first step of K), %b0 likewise
      %a = ttg.local_load %bufA                                 scf.for ... iter_args(%bufA, %bufB, %a0, %b0)
      %b = ttg.local_load %bufB                          =>       %d0 = tt.dot %a0, %b0, %acc
      %d = tt.dot %a, %b, %acc                                    %a1 = local_load subslice(%bufA, next step), %b1 likewise
      yield next buffers                                          %d = tt.dot %a1, %b1, %d0
                                                                  %a0' = local_load subslice(next buffer, first step), ...

Loads of the next step run while the tensor core multiplies. Loops with one dot of version 2 (`mma.sync`) whose operands come from
buffers that the loop carries, through ops of one operand only.

Counterpart of lib/Dialect/TritonGPU/Transforms/Prefetch.cpp.
"""

from typing import ClassVar, NamedTuple

from xdsl.context import Context
from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.traits import MemoryEffectKind

from minitriton.dialects import tt, ttg
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values, ops_in, set_type
from minitriton.dialects.narrowing import instance_of
from minitriton.host.frozen import frozen
from minitriton.layouts.encodings import DotOperand, NvidiaMma
from minitriton.passes.pipelining.schedule import body_ops, loops_in, terminator_of
from minitriton.passes.remove_layout_conversions.convert_patterns import CONVERT_PATTERNS
from minitriton.passes.tensor_layouts import element_bits, layout_of_value
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting.effects import own_effects
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.regions import clone_op
from minitriton.rewriting.rewriter import Inserter

_STEP_BITS = 256
"""Bits of K in a step where the layout does not say (`kWidth` 0)."""


@frozen
class _Operand:
    """How an operand comes out of a buffer that the loop carries."""

    index: int
    buffer: BlockArgument
    chain: tuple[SSAValue, ...]
    """What the load gives, then what follows it up to the operand."""

    def initial(self, loop: scf.ForOp) -> SSAValue:
        return operand_values(loop)[2 + self.buffer.index]

    def following(self, loop: scf.ForOp) -> SSAValue:
        return operand_values(terminator_of(loop))[self.buffer.index - 1]


class _Prefetched(NamedTuple):
    """A dot that is taken apart into steps of K."""

    dot: tt.DotOp
    step: int
    operands: tuple[_Operand, _Operand]

    @property
    def depth(self) -> int:
        """Elements along K."""
        type_ = self.dot.a.type
        assert instance_of(type_, TensorType)
        return type_.get_shape()[-1]


def _only_dot(loop: scf.ForOp) -> tt.DotOp | None:
    """The dot of `loop` if it has one only and that for `mma.sync`."""
    dots = [op for op in body_ops(loop) if isinstance(op, tt.DotOp)]
    layouts = [layout_of_value(dot.result) for dot in dots]
    is_for_mma = all(isinstance(found, NvidiaMma) and found.version_major == 2 for found in layouts)
    return dots[0] if len(dots) == 1 and is_for_mma else None


def _dot_of(loop: scf.ForOp) -> _Prefetched | None:
    """The dot of `loop` that can be taken apart; None if there is none."""
    dot = _only_dot(loop)
    if dot is None:
        return None
    a_layout, a_type = layout_of_value(dot.a), dot.a.type
    if not isinstance(a_layout, DotOperand) or not instance_of(a_type, TensorType):
        return None
    step = 8 * a_layout.k_width or _STEP_BITS // element_bits(a_type)
    operands = [_operand(loop, dot, index, value) for index, value in enumerate((dot.a, dot.b))]
    first, second = operands
    if a_type.get_shape()[-1] < step or first is None or second is None:
        return None
    return _Prefetched(dot, step, (first, second))


def _is_read_in_time(loop: scf.ForOp, load: Operation, dot: Operation) -> bool:
    """Whether the buffer of `load` holds the same in the iteration before, where the first step is read, and at `dot`, where the others are:
    nothing before `load` waits, nothing before `dot` writes a buffer."""
    is_loaded = False
    for op in body_ops(loop):
        if op is dot:
            return is_loaded
        is_loaded |= op is load
        for inner in ops_in(op):
            effects = own_effects(inner)
            if effects is None and not is_loaded and not isinstance(inner, ttg.AsyncCommitGroupOp):
                return False
            written = (e.value for e in effects or () if e.kind is not MemoryEffectKind.READ)
            if any(_is_buffer(value) and value not in inner.results for value in written):
                return False
    return False


def _is_buffer(value: SSAValue | SymbolRefAttr | None) -> bool:
    return isinstance(value, SSAValue) and isinstance(value.type, ttg.MemDescType)


def _operand(loop: scf.ForOp, dot: tt.DotOp, index: int, value: SSAValue) -> _Operand | None:
    chain = [value]
    while isinstance(value, OpResult):
        op = value.op
        if len(operand_values(op)) != 1 or not value.has_one_use():
            return None
        if isinstance(op, ttg.LocalLoadOp):
            buffer = operand_at(op, 0)
            if not isinstance(buffer, BlockArgument) or not isinstance(layout_of_value(value), DotOperand):
                return None
            if buffer.block is not loop.regions[0].block or buffer.index == 0 or not _is_read_in_time(loop, op, dot):
                return None
            return _Operand(index, buffer, tuple(reversed(chain)))
        value = operand_at(op, 0)
        chain.append(value)
    return None


class _Taking:
    """One loop while its dot is taken apart."""

    def __init__(self, loop: scf.ForOp, found: _Prefetched) -> None:
        self.loop = loop
        self.found = found
        self.encoding = layout_of_value(found.dot.result)

    def run(self) -> None:
        loop, found = self.loop, self.found
        at = Inserter.before(loop)
        first = [self._read(at, operand, operand.initial(loop), 0) for operand in found.operands]
        initial = [*operand_values(loop)[3:], *first]
        block = Block(arg_types=[operand_at(loop, 0).type, *(value.type for value in initial)])
        for new, old in zip(block.args, loop.regions[0].block.args, strict=False):
            new.location, new.name_hint = old.location, old.name_hint
        new_loop = scf.ForOp.create(
            operands=[*operand_values(loop)[:3], *initial],
            result_types=[value.type for value in initial],
            regions=[Region(block)],
            attributes=dict(loop.attributes),
        )
        at.insert(new_loop)
        self._fill(block, list(block.args[-2:]))
        for old, new in zip(loop.results, new_loop.results, strict=False):
            old.replace_all_uses_with(new)
        assert loop.parent is not None
        loop.parent.erase_op(loop)

    def _fill(self, block: Block, ahead: list[SSAValue]) -> None:
        """The body: as before, but the last part of the dot stands as late as what depends on it allows."""
        loop, found = self.loop, self.found
        values: dict[SSAValue, SSAValue] = dict(zip(loop.regions[0].block.args, block.args, strict=False))
        at = Inserter(block, None, loop.location)
        for op in body_ops(loop):
            if op.regions or found.dot.result in operand_values(op):
                at.anchor = None
            copy = clone_op(op, values)
            at.place(copy)
            if op is found.dot:
                last = self._steps(at, copy, values, ahead)
                values[found.dot.result] = last.results[0]
                at.anchor = last
        yielded = [values.get(value, value) for value in operand_values(terminator_of(loop))]
        at.location = loop.location
        for operand in found.operands:
            following = operand.following(loop)
            yielded.append(self._read(at, operand, values.get(following, following), 0))
        end = Inserter(block, None, terminator_of(loop).location)
        end.insert(scf.YieldOp.create(operands=yielded))

    def _steps(
        self, at: Inserter, whole: Operation, values: dict[SSAValue, SSAValue], ahead: list[SSAValue]
    ) -> Operation:
        """The dots for all steps in place of `whole`; the last of them."""
        found = self.found
        previous = self._part(at, whole, [*ahead, operand_at(whole, 2)])
        for offset in range(found.step, found.depth, found.step):
            before = at.at(previous)
            read = [self._read(before, operand, values[operand.buffer], offset) for operand in found.operands]
            previous = self._part(at, whole, [*read, previous.results[0]])
        assert whole.parent is not None
        whole.parent.erase_op(whole)
        return previous

    def _part(self, at: Inserter, whole: Operation, operands: list[SSAValue]) -> Operation:
        part = whole.clone()
        part.operands = operands
        part.location = whole.location
        at.place(part)
        return part

    def _read(self, at: Inserter, operand: _Operand, buffer: SSAValue, offset: int) -> SSAValue:
        """One step of an operand out of `buffer`, and what was done with the whole operand done with it."""
        type_ = buffer.type
        assert isinstance(type_, ttg.MemDescType) and isinstance(self.encoding, NvidiaMma)
        shape, offsets = list(type_.get_shape()), [0] * len(type_.get_shape())
        k = len(shape) - 1 - operand.index
        shape[k], offsets[k] = self.found.step, offset
        view = at.value(ttg.MemDescSubsliceOp(buffer, type_.with_(shape=tuple(shape)), offsets=offsets))
        layout = ttg.encoding_attr(DotOperand(operand.index, self.encoding, self.found.step // 8))
        value = at.value(ttg.LocalLoadOp(view, None, TensorType(type_.element_type, shape, layout)))
        values: dict[SSAValue, SSAValue] = {operand.chain[0]: value}
        for old in operand.chain[1:]:
            assert isinstance(old, OpResult)
            copy = clone_op(old.op, values)
            result = copy.results[0]
            set_type(result, _narrowed(result.type, value.type, operand_at(copy, 0).type))
            at.place(copy)
            values[old] = value = result
        return value


def _narrowed(type_: Attribute, first: Attribute, source: Attribute) -> TensorType:
    """`type_` in the shape of a step, in the layout of what it is made from."""
    assert instance_of(type_, TensorType) and instance_of(first, TensorType) and instance_of(source, TensorType)
    return TensorType(type_.element_type, first.get_shape(), source.encoding)


@register_pass
class Prefetch(Pass, stage="ttgir", origin="triton"):
    """Reads the operands of dots from shared memory a step ahead."""

    name: ClassVar[str] = "tritongpu-prefetch"
    folds_everything = True
    acts_on = CONVERT_PATTERNS.classes | {scf.ForOp, cf.BranchOp, cf.ConditionalBranchOp, cf.SwitchOp}
    """Of functions of several blocks it merges the equal ones, too."""
    requires = frozenset({Property.ENCODINGS, Property.STRUCTURED})
    keep_loop_attributes: bool = True
    """False: loops with one dot for `mma.sync` lose their attributes, as in Triton's pass, and with them what the kernel says of
    the alignment of what they carry."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Take apart the dots of all loops."""
        apply_patterns_greedily(op, CONVERT_PATTERNS)
        for loop in list(loops_in(op)):
            if not self.keep_loop_attributes and _only_dot(loop) is not None:
                loop.attributes.clear()
            found = _dot_of(loop)
            if found is not None:
                _Taking(loop, found).run()
