"""`tritonamdgpu-canonicalize-pointers`: a tensor of pointers becomes one base, a scalar, and a tensor of offsets, through loops and branches.

    %t = tt.addptr (tt.splat %p), (tt.splat %s + %i)             %q = tt.addptr %p, %s
    %v = tt.load %t                                       =>     %v = tt.load (tt.addptr (tt.splat %q), %i)

    scf.for ... iter_args(%t = %t0) {                            scf.for ... iter_args(%q = %p, %o = %o0) {
      %v = tt.load %t                                              %v = tt.load (tt.addptr (tt.splat %q), %o)
      yield tt.addptr %t, (tt.splat %s) }                 =>       yield tt.addptr %q, %s ; %o }

A buffer instruction takes a base in scalar registers and offsets of 32 bits. Of an argument that the launch promises to be small (`tt.pointer_range = 32`)
the base stays as it is, and offsets are added up in 32 bits. Of others only with `enable-large-tensor-ptr-canon`, with offsets of 64 bits.

Counterpart of CanonicalizePointers.cpp; pointers that go through `scf.while` or `cf` stay tensors of pointers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import scf, ub
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, TensorType, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.amdg_slices import ExtractSliceOp
from minitriton.dialects.attribute_values import elements
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import element_type, with_element
from minitriton.pipeline.choice import remark
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.rewriting import folds as folds  # registers the folders
from minitriton.rewriting.constants import constant_op, int_attr, int_constant, number_attr
from minitriton.rewriting.patterns import folder_of
from minitriton.rewriting.regions import erase_dead_ops
from minitriton.rewriting.rewriter import Inserter

_HINTS = ("tt.divisibility", "tt.contiguity", "tt.constancy")
_MOVES_ELEMENTS = (tt.SplatOp, tt.BroadcastOp, tt.ExpandDimsOp, ttg.ConvertLayoutOp, ExtractSliceOp)
_MOST_STEPS = 500
"""Ops of one offset that are taken apart; an expression may name the same value in many ways."""


@register_pass
class CanonicalizePointers(Pass, stage="ttgir", origin="triton"):
    """Makes tensors of pointers one base and offsets."""

    name: ClassVar[str] = "tritonamdgpu-canonicalize-pointers"
    acts_on = None
    requires = frozenset({Property.TENSOR_IR})
    beyond_triton: ClassVar[Mapping[str, object]] = {"enable_large_tensor_ptr_canon": False}
    enable_large_tensor_ptr_canon: bool = False
    """Whether pointers to arrays that may have 2 GiB and more are rewritten, too."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the pointers of every function."""
        for function in ops_of(op, tt.FuncOp):
            if not function.body.blocks:
                continue
            poison = next(iter(ops_of(function, ub.PoisonOp)), None)
            if poison is not None:
                remark(poison, "skipping canonicalize-pointers due to ub.poison")
                continue
            _Function(function, self.enable_large_tensor_ptr_canon).run()
            erase_dead_ops(function)


def is_small_argument(base: SSAValue) -> bool:
    """Whether a launch has promised that the argument has less than 2 GiB."""
    function = base.owner.parent_op() if isinstance(base, BlockArgument) else None
    if not isinstance(function, tt.FuncOp) or not isinstance(base, BlockArgument) or function.arg_attrs is None:
        return False
    range_ = function.arg_attrs.data[base.index].data.get("tt.pointer_range")
    return instance_of(range_, IntegerAttr) and range_.value.data <= 32


# Integers -------------------------------------------------------------------------------------------------------------


def _bits(value: SSAValue) -> int:
    element = element_type(value.type)
    assert instance_of(element, IntegerType)
    return element.width.data


def splat_number(value: SSAValue) -> int | float | None:
    """The number that all elements of a constant tensor are; None for other values."""
    found = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return elements(found)[0] if instance_of(found, DenseIntOrFPElementsAttr) and found.is_splat() else None


def _is_scalar_zero(value: SSAValue) -> bool:
    return not instance_of(value.type, TensorType) and int_constant(value) == 0


def _is_tensor_zero(value: SSAValue) -> bool:
    if isinstance(value.owner, tt.SplatOp):
        return _is_scalar_zero(value.owner.operands[0])
    return instance_of(value.type, TensorType) and splat_number(value) == 0


Splats = dict[tuple[SSAValue, Attribute], SSAValue]
"""Tensors that are known to hold one scalar in all elements, by that and their type."""


class _Offsets:
    """Arithmetic on offsets, before one op."""

    def __init__(self, anchor: Operation, splats: Splats | None = None) -> None:
        self.at = Inserter.before(anchor)
        self.splats = splats
        self.steps = 0

    def put(self, op: Operation) -> SSAValue:
        """The result of `op`, or what it folds to."""
        fold = folder_of(op.__class__)
        known = None if fold is None else fold(op)
        if not isinstance(known, SSAValue | Attribute):
            return self.at.value(op)
        op.drop_all_references()
        return known if isinstance(known, SSAValue) else self.at.constant(known)

    def zero(self, type_: Attribute) -> SSAValue:
        """A zero of that type, tensor or not."""
        return self.at.value(constant_op(number_attr(type_, 0)))

    def cast(self, value: SSAValue, element: IntegerType) -> SSAValue:
        """`value` with integers of another width."""
        before, after = _bits(value), element.width.data
        if before == after:
            return value
        type_ = with_element(value.type, element) if instance_of(value.type, TensorType) else element
        return self.put((arith.ExtSIOp if before < after else arith.TruncIOp)(value, type_))

    def plus(self, one: SSAValue, other: SSAValue) -> SSAValue:
        """The sum of two scalars or two tensors, as wide as the wider."""
        wide = cast(IntegerType, element_type((one if _bits(one) > _bits(other) else other).type))
        if _is_scalar_zero(one) or _is_tensor_zero(one):
            return self.cast(other, wide)
        if _is_scalar_zero(other) or _is_tensor_zero(other):
            return self.cast(one, wide)
        return self.put(arith.AddiOp(self.cast(one, wide), self.cast(other, wide)))

    def plus_shared(self, shared: SSAValue, own: SSAValue) -> SSAValue:
        """A scalar added to every element of a tensor."""
        wide = cast(IntegerType, element_type((shared if _bits(shared) > _bits(own) else own).type))
        if _is_scalar_zero(shared):
            return self.cast(own, wide)
        scalar, tensor = self.cast(shared, wide), self.cast(own, wide)
        splat = self.at.value(tt.SplatOp(scalar, tensor.type))
        return splat if _is_tensor_zero(own) else self.put(arith.AddiOp(splat, tensor))

    def scalar(self, value: SSAValue) -> SSAValue | None:
        """The scalar that all elements of `value` are."""
        op = value.owner
        if isinstance(op, tt.SplatOp):
            if self.splats is not None:
                self.splats[op.operands[0], value.type] = value
            return op.operands[0]
        number, element = splat_number(value), element_type(value.type)
        if isinstance(number, int) and instance_of(element, IntegerType):
            return self.at.value(constant_op(int_attr(element, number)))
        return None

    def parts(self, value: SSAValue) -> tuple[SSAValue, SSAValue]:
        """A scalar and a tensor whose sum is `value`: what all elements share, and the rest."""
        self.steps += 1
        scalar = self.scalar(value)
        if scalar is not None:
            return scalar, self.zero(value.type)
        op = value.owner
        if self.steps < _MOST_STEPS:
            if isinstance(op, tt.BroadcastOp | tt.ExpandDimsOp):
                shared, own = self.parts(op.operands[0])
                return shared, self.at.value(_moved(op, own))
            if isinstance(op, arith.AddiOp):
                (a, x), (b, y) = (self.parts(each) for each in op.operands)
                return self.plus(a, b), self.plus(x, y)
            if isinstance(op, arith.MuliOp):
                return self._multiplied(*(self.parts(each) for each in op.operands))
        element = element_type(value.type)
        return self.at.value(constant_op(int_attr(element, 0))), value

    def _multiplied(
        self, left: tuple[SSAValue, SSAValue], right: tuple[SSAValue, SSAValue]
    ) -> tuple[SSAValue, SSAValue]:
        """(a + x) (b + y) = a b + (x y + a y + x b)"""
        (a, x), (b, y) = left, right
        shared = self.at.value(arith.MuliOp(a, b))
        a_splat, b_splat = self.at.value(tt.SplatOp(a, x.type)), self.at.value(tt.SplatOp(b, y.type))
        xy, ay, xb = (self.at.value(arith.MuliOp(*pair)) for pair in ((x, y), (a_splat, y), (x, b_splat)))
        return shared, self.at.value(arith.AddiOp(self.at.value(arith.AddiOp(xy, ay)), xb))


def _moved(op: Operation, value: SSAValue) -> Operation:
    """`op`, which moves elements, applied to `value`."""
    type_ = with_element(op.results[0].type, element_type(value.type))
    return type(op).create(operands=[value], result_types=[type_], properties=dict(op.properties))


# Pointers -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FatPointer:
    """`base + offset`; both scalars, or the offset a tensor."""

    base: SSAValue
    offset: SSAValue
    is_small: bool
    """Whether the launch promises that offsets from `base` have 32 bits."""
    can_narrow: bool
    """Whether an offset of 64 bits was made of one of 32."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict[str, Attribute])
    """What is known of the pointers."""


class _Function:
    """One function while its pointers are rewritten."""

    def __init__(self, function: tt.FuncOp, with_large: bool) -> None:
        self.function = function
        self.with_large = with_large
        self.pointers: dict[SSAValue, FatPointer] = {}
        self.dead: list[Operation] = []
        self.kept: set[SSAValue] = set()
        """Arguments of loops whose pointers stay as they are."""

    def run(self) -> None:
        """Rewrite all accesses."""
        entry = self.function.body.blocks[0]
        small: dict[SSAValue, bool] = {
            arg: is_small_argument(arg) for arg in entry.args if isinstance(arg.type, tt.PointerType)
        }
        rewritten = {arg: is_small for arg, is_small in small.items() if is_small or self.with_large}
        if not rewritten or entry.first_op is None:
            return
        while self._finds_kept(rewritten):
            pass
        at = Inserter.before(entry.first_op)
        for arg, is_small in rewritten.items():
            zero = at.integer(i32 if is_small else IntegerType(64), 0)
            self.pointers[arg] = FatPointer(arg, zero, is_small, can_narrow=True)
        for block in list(self.function.body.blocks):
            self._block(block)
        for op in reversed(self.dead):
            op.detach()
            op.erase()

    # Which pointers, before anything is changed

    def _finds_kept(self, arguments: Mapping[SSAValue, bool]) -> bool:
        """Looks for arguments of loops that begin as base and offset, and do not stay so; whether there are more than before."""
        kinds = dict(arguments)
        before = len(self.kept)
        for block in self.function.body.blocks:
            self._kinds(block, kinds)
        return len(self.kept) > before

    def _kinds(self, block: Block, kinds: dict[SSAValue, bool]) -> None:
        """By pointer that is to be rewritten, whether it is small."""
        for op in block.ops:
            if isinstance(op, scf.ForOp):
                body = op.regions[0].block
                for argument, init in zip(body.args[1:], operand_values(op)[3:], strict=True):
                    if init in kinds and argument not in self.kept:
                        kinds[argument] = kinds[init]
                self._kinds(body, kinds)
                assert body.last_op is not None
                for argument, result, value in zip(
                    body.args[1:], op.results, operand_values(body.last_op), strict=True
                ):
                    if argument in kinds and kinds.get(value) != kinds[argument]:
                        self.kept.add(argument)
                    elif argument in kinds:
                        kinds[result] = kinds[argument]
                continue
            for region in op.regions:
                for inner in region.blocks:
                    self._kinds(inner, kinds)
            if isinstance(op, scf.IfOp) and op.results:
                ends = [cast(Operation, region.block.last_op) for region in op.regions]
                for result, *values in zip(op.results, *(operand_values(end) for end in ends), strict=True):
                    kind = kinds.get(values[0])
                    if kind is not None and all(kinds.get(value) == kind for value in values):
                        kinds[result] = kind
            elif isinstance(op, arith.SelectOp):
                if op.lhs in kinds and kinds[op.lhs] == kinds.get(op.rhs):
                    kinds[op.result] = kinds[op.lhs]
            elif isinstance(op, (tt.AddPtrOp, *_MOVES_ELEMENTS)) and op.operands[0] in kinds:
                kinds[op.results[0]] = kinds[op.operands[0]]

    # Rewriting

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            self._op(op)

    def _op(self, op: Operation) -> None:
        if isinstance(op, scf.ForOp):
            self._for(op)
            return
        for region in op.regions:
            for block in list(region.blocks):
                self._block(block)
        if isinstance(op, scf.IfOp):
            self._if(op)
        elif (isinstance(op, scf.YieldOp) and isinstance(op.parent_op(), scf.ForOp | scf.IfOp)) or not any(
            operand in self.pointers for operand in operand_values(op)
        ):
            return
        elif isinstance(op, tt.AddPtrOp):
            self._add(op)
        elif isinstance(op, _MOVES_ELEMENTS):
            self._move(op)
        elif isinstance(op, arith.SelectOp) and op.lhs in self.pointers and op.rhs in self.pointers:
            self._select(op)
        else:
            for index, operand in enumerate(operand_values(op)):
                if operand in self.pointers:
                    op.operands[index] = _materialized(self.pointers[operand], op, operand.type)

    def _replaced(self, op: Operation, result: SSAValue, pointer: FatPointer) -> None:
        self.pointers[result] = pointer
        if op not in self.dead:
            self.dead.append(op)

    def _move(self, op: Operation) -> None:
        pointer = self.pointers[op.operands[0]]
        offset = Inserter.before(op).value(_moved(op, pointer.offset))
        self._replaced(op, op.results[0], replace(pointer, offset=offset))

    def _add(self, op: tt.AddPtrOp) -> None:
        pointer = self.pointers[op.ptr]
        if pointer.is_small:
            offset = _small_offset(op, pointer.offset)
            self._replaced(op, op.result, replace(pointer, offset=offset, can_narrow=False))
            return
        is_tensor = instance_of(op.result.type, TensorType)
        offsets = _Offsets(op)
        scalar = offsets.scalar(op.offset) if is_tensor else op.offset
        own: SSAValue | None = None
        if scalar is None:
            scalar, own = offsets.parts(op.offset)
        base = offsets.at.insert(tt.AddPtrOp(pointer.base, scalar))
        hints = {name: op.attributes[name] for name in _HINTS if name in op.attributes}
        rank = len(op.result.type.get_shape()) if instance_of(op.result.type, TensorType) else 1
        if rank == 1:
            base.attributes.update(hints)
        if own is None or _is_tensor_zero(own):
            self._replaced(op, op.result, replace(pointer, base=base.result))
            return
        narrow = pointer.can_narrow and isinstance(pointer.offset.owner, tt.SplatOp) and _bits(own) == i32.width.data
        own = offsets.cast(own, cast(IntegerType, element_type(pointer.offset.type)))
        offset = offsets.plus(own, pointer.offset)
        self._replaced(op, op.result, FatPointer(base.result, offset, False, narrow, dict(base.attributes)))

    def _select(self, op: arith.SelectOp) -> None:
        left, right = self.pointers[op.lhs], self.pointers[op.rhs]
        at = Inserter.before(op)
        base = at.value(arith.SelectOp(op.cond, left.base, right.base))
        offset = at.value(arith.SelectOp(op.cond, left.offset, right.offset))
        self._replaced(op, op.result, _either(left, right, base, offset))

    def _if(self, op: scf.IfOp) -> None:
        ends = [cast(Operation, region.block.last_op) for region in op.regions if region.blocks]
        both = len(ends) == 2
        split = [
            all(end.operands[index] in self.pointers for end in ends)
            and len({self.pointers[end.operands[index]].offset.type for end in ends}) == 1
            for index in range(len(op.results))
        ]
        found = [[self.pointers.get(value) for value in operand_values(end)] for end in ends]
        for end, pointers in zip(ends, found, strict=True):
            self._flatten(
                end, [pointer if is_split else None for pointer, is_split in zip(pointers, split, strict=True)]
            )
        if not both or not any(split):
            return
        regions = [op.detach_region(0) for _ in range(2)]
        types = [value.type for value in operand_values(ends[0])]
        new = Inserter.before(op).insert(scf.IfOp(op.cond, types, *regions, attr_dict=dict(op.attributes)))
        position = 0
        for index, (result, is_split) in enumerate(zip(op.results, split, strict=True)):
            one, other = found[0][index], found[1][index]
            if is_split and one is not None and other is not None:
                base, offset = new.results[position : position + 2]
                self._replaced(op, result, _either(one, other, base, offset))
            else:
                result.replace_all_uses_with(new.results[position])
            position += 2 if is_split else 1

    def _flatten(self, op: Operation, pointers: Sequence[FatPointer | None]) -> None:
        """Pointers among the operands become base and offset; those that are not to be split, tensors of pointers again."""
        operands: list[SSAValue] = []
        for value, pointer in zip(operand_values(op), pointers, strict=True):
            if pointer is not None:
                operands += [pointer.base, pointer.offset]
            elif value in self.pointers:
                operands.append(_materialized(self.pointers[value], op, value.type))
            else:
                operands.append(value)
        op.operands = operands

    def _for(self, op: scf.ForOp) -> None:
        body = op.regions[0].block
        inits = operand_values(op)[3:]
        split = [
            self.pointers[init] if init in self.pointers and argument not in self.kept else None
            for argument, init in zip(body.args[1:], inits, strict=True)
        ]
        if not any(init in self.pointers for init in inits):
            self._block(body)
            return
        at = Inserter.before(op)
        values: list[SSAValue] = []
        for init, pointer in zip(inits, split, strict=True):
            if pointer is not None:
                values += [pointer.base, pointer.offset]
            else:
                values.append(_materialized(self.pointers[init], op, init.type) if init in self.pointers else init)
        block = Block(arg_types=[body.args[0].type, *(value.type for value in values)])
        new = scf.ForOp.create(
            operands=[*operand_values(op)[:3], *values],
            result_types=[value.type for value in values],
            regions=[Region(block)],
            attributes=dict(op.attributes),
        )
        at.insert(new)
        body.args[0].replace_all_uses_with(block.args[0])
        position = 0
        for argument, result, pointer in zip(body.args[1:], op.results, split, strict=True):
            if pointer is None:
                argument.replace_all_uses_with(block.args[position + 1])
                result.replace_all_uses_with(new.results[position])
                position += 1
                continue
            base, offset = block.args[position + 1 : position + 3]
            self.pointers[argument] = replace(pointer, base=base, offset=offset)
            base, offset = new.results[position : position + 2]
            self.pointers[result] = replace(pointer, base=base, offset=offset)
            position += 2
        for inner in list(body.ops):
            inner.detach()
            block.add_op(inner)
        self._block(block)
        end = cast(Operation, block.last_op)
        passed = [self.pointers.get(value) for value in operand_values(end)]
        self._flatten(end, [p if was is not None else None for p, was in zip(passed, split, strict=True)])
        self.dead.append(op)


def _either(one: FatPointer, other: FatPointer, base: SSAValue, offset: SSAValue) -> FatPointer:
    """A pointer that is one of two."""
    known = one.attributes if one.attributes == other.attributes else dict[str, Attribute]()
    return FatPointer(base, offset, one.is_small, one.can_narrow and other.can_narrow, known)


def _materialized(pointer: FatPointer, op: Operation, type_: Attribute) -> SSAValue:
    """The pointer or tensor of pointers, before `op`."""
    offsets = _Offsets(op)
    base, offset = pointer.base, pointer.offset
    if instance_of(offset.type, TensorType):
        if pointer.can_narrow:
            offset = offsets.cast(offset, i32)
        base = offsets.at.value(tt.SplatOp(base, type_))
    added = offsets.at.insert(tt.AddPtrOp(base, offset))
    added.attributes.update(pointer.attributes)
    return added.result


def _small_offset(op: tt.AddPtrOp, before: SSAValue) -> SSAValue:
    """`before + op.offset` in 32 bits. Scalars are added up apart from tensors, constants of either kind where they cost least."""
    splats: Splats = {}
    offsets = _Offsets(op, splats)
    shared: list[SSAValue] = []
    own: list[SSAValue] = []
    constants: list[tuple[SSAValue, SSAValue]] = []
    for value in (before, op.offset):
        if not instance_of(value.type, TensorType):
            shared.append(value)
            continue
        scalar = offsets.scalar(value)
        if scalar is not None:
            constants.append((value, scalar))
        else:
            each_shared, each_own = offsets.parts(value)
            shared.append(each_shared)
            own.append(each_own)
    scalar, tensor = _sum(offsets, shared), _sum(offsets, own)
    as_scalars = scalar is not None and tensor is not None and int_constant(scalar) not in (None, 0)
    for value, each in constants:
        if as_scalars and scalar is not None:
            scalar = offsets.plus(scalar, each)
        else:
            tensor = value if tensor is None else offsets.plus(tensor, value)
    if tensor is None:
        assert scalar is not None
        return offsets.cast(scalar, i32)
    if scalar is None:
        return offsets.cast(tensor, i32)
    splat = splats.get((scalar, tensor.type))
    return offsets.cast(offsets.plus_shared(scalar, tensor) if splat is None else offsets.plus(splat, tensor), i32)


def _sum(offsets: _Offsets, values: Sequence[SSAValue]) -> SSAValue | None:
    found: SSAValue | None = None
    for value in values:
        found = value if found is None else offsets.plus(found, value)
    return found
