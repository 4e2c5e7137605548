"""`tritonamdgpu-canonicalize-pointers`: a tensor of pointers becomes one base, a scalar, and a tensor of offsets, through loops and branches.

    %t = tt.addptr (tt.splat %p), (tt.splat %s + %i)             %q = tt.addptr %p, %s
    %v = tt.load %t                                       =>     %v = tt.load (tt.addptr (tt.splat %q), %i)

    scf.for ... iter_args(%t = %t0) {                            scf.for ... iter_args(%q = %p, %o = %o0) {
      %v = tt.load %t                                              %v = tt.load (tt.addptr (tt.splat %q), %o)
      yield tt.addptr %t, (tt.splat %s) }                 =>       yield tt.addptr %q, %s ; %o }

A buffer instruction takes a base in scalar registers and offsets of 32 bits. Of an argument that the launch promises to be small (`tt.pointer_range = 32`)
the base stays as it is, and offsets are added up in 32 bits. Of others only with `enable-large-tensor-ptr-canon`, with offsets of 64 bits.

Counterpart of CanonicalizePointers.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects import cf, scf, ub
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, TensorType, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

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
    narrow_carried: bool = True
    """Whether offsets of 64 bits that loops and branches pass on are narrowed to 32 bits where they are used. What a loop adds up may not fit."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the pointers of every function."""
        for function in ops_of(op, tt.FuncOp):
            if not function.body.blocks:
                continue
            poison = next(iter(ops_of(function, ub.PoisonOp)), None)
            if poison is not None:
                remark(poison, "skipping canonicalize-pointers due to ub.poison")
                continue
            _Function(function, self.enable_large_tensor_ptr_canon, self.narrow_carried).run()
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

    def __init__(self, function: tt.FuncOp, with_large: bool, narrow_carried: bool) -> None:
        self.function = function
        self.with_large = with_large
        self.narrow_carried = narrow_carried
        self.kinds: dict[SSAValue, bool] = {}
        self.pointers: dict[SSAValue, FatPointer] = {}
        self.dead: list[Operation] = []
        self.dead_arguments: list[BlockArgument] = []
        self.split_arguments: set[SSAValue] = set()
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
        for block in list(self.function.body.blocks)[1:]:
            self._split_arguments(block)
        for block in list(self.function.body.blocks):
            self._block(block)
        for op in reversed(self.dead):
            op.detach()
            op.erase()
        for argument in self.dead_arguments:
            argument.block.erase_arg(argument)

    # Which pointers, before anything is changed

    def _finds_kept(self, arguments: Mapping[SSAValue, bool]) -> bool:
        """Looks for arguments of loops that begin as base and offset, and do not stay so; whether there are more than before."""
        kinds = dict(arguments)
        before = len(self.kept)
        for block in self.function.body.blocks:
            self._kinds(block, kinds)
        for block in self.function.body.blocks:
            for passed, targets in _jumps(block.last_op):
                for argument, value in zip(targets, passed, strict=True):
                    if argument in kinds and kinds.get(value) != kinds[argument]:
                        self.kept.add(argument)
        self.kinds = kinds
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
            if isinstance(op, scf.WhileOp):
                self._kinds_of_while(op, kinds)
                continue
            for passed, arguments in _jumps(op):
                self._pass_kinds(arguments, passed, kinds)
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

    def _kinds_of_while(self, op: scf.WhileOp, kinds: dict[SSAValue, bool]) -> None:
        before, after = (region.block for region in op.regions)
        self._pass_kinds(before.args, operand_values(op), kinds)
        self._kinds(before, kinds)
        passed = operand_values(cast(Operation, before.last_op))[1:]
        for values in (after.args, op.results):
            self._pass_kinds(values, passed, kinds)
        self._kinds(after, kinds)
        for argument, value in zip(before.args, operand_values(cast(Operation, after.last_op)), strict=True):
            if argument in kinds and kinds.get(value) != kinds[argument]:
                self.kept.add(argument)

    def _pass_kinds(
        self, arguments: Sequence[SSAValue], values: Sequence[SSAValue], kinds: dict[SSAValue, bool]
    ) -> None:
        for argument, value in zip(arguments, values, strict=True):
            if value in kinds and argument not in self.kept:
                kinds.setdefault(argument, kinds[value])

    # Rewriting

    def _block(self, block: Block) -> None:
        for op in list(block.ops):
            self._op(op)

    def _op(self, op: Operation) -> None:
        if isinstance(op, scf.ForOp):
            self._for(op)
            return
        if isinstance(op, scf.WhileOp):
            self._while(op)
            return
        for region in op.regions:
            for block in list(region.blocks):
                self._block(block)
        if isinstance(op, scf.IfOp):
            self._if(op)
        elif _ends_rebuilt(op) or not any(operand in self.pointers for operand in operand_values(op)):
            return
        elif isinstance(op, cf.BranchOp | cf.ConditionalBranchOp):
            self._jump(op)
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
        end = cast(Operation, body.last_op)
        if not any(init in self.pointers for init in inits):
            self._block(body)
            self._flatten(end, [None] * len(inits))
            return
        split = [
            self._carried(self.pointers[init], _adds_scalars(value, argument))
            if init in self.pointers and argument not in self.kept
            else None
            for argument, init, value in zip(body.args[1:], inits, operand_values(end), strict=True)
        ]
        values = self._flat(op, inits, split)
        new = scf.ForOp.create(
            operands=[*operand_values(op)[:3], *values],
            result_types=[value.type for value in values],
            regions=[op.detach_region(0)],
            attributes=dict(op.attributes),
        )
        Inserter.before(op).insert(new)
        self._split_values(op.results, new.results, split)
        self._split_in(body, split, 1)
        self._block(body)
        self._flatten(end, self._passed(end, split))
        self.dead.append(op)

    def _while(self, op: scf.WhileOp) -> None:
        before, after = (region.block for region in op.regions)
        inits = operand_values(op)
        split = [
            self._carried(self.pointers[init], is_uniform=False)
            if init in self.pointers and argument not in self.kept
            else None
            for argument, init in zip(before.args, inits, strict=True)
        ]
        values = self._flat(op, inits, split)
        self._split_in(before, split, 0)
        self._block(before)
        condition = cast(Operation, before.last_op)
        passed = [None, *(self.pointers.get(value) for value in operand_values(condition)[1:])]
        self._flatten(condition, passed)
        new = scf.WhileOp.create(
            operands=values,
            result_types=[value.type for value in operand_values(condition)[1:]],
            regions=[op.detach_region(0) for _ in range(2)],
            attributes=dict(op.attributes),
        )
        Inserter.before(op).insert(new)
        self._split_values(op.results, new.results, passed[1:])
        self._split_in(after, passed[1:], 0)
        self._block(after)
        end = cast(Operation, after.last_op)
        self._flatten(end, self._passed(end, split))
        self.dead.append(op)

    def _passed(self, end: Operation, split: Sequence[FatPointer | None]) -> list[FatPointer | None]:
        """What `end` passes for those that are split."""
        return [was and self.pointers[value] for value, was in zip(operand_values(end), split, strict=True)]

    def _carried(self, pointer: FatPointer, is_uniform: bool) -> FatPointer:
        return replace(pointer, can_narrow=pointer.can_narrow and (is_uniform or self.narrow_carried))

    def _flat(self, op: Operation, values: Sequence[SSAValue], split: Sequence[FatPointer | None]) -> list[SSAValue]:
        """What is passed on for `values` before `op`."""
        flat: list[SSAValue] = []
        for value, pointer in zip(values, split, strict=True):
            if pointer is not None:
                flat += [pointer.base, pointer.offset]
            else:
                flat.append(_materialized(self.pointers[value], op, value.type) if value in self.pointers else value)
        return flat

    def _split_values(
        self, old: Sequence[SSAValue], new: Sequence[SSAValue], split: Sequence[FatPointer | None]
    ) -> None:
        """Each of `old` is one or two of `new`."""
        position = 0
        for value, pointer in zip(old, split, strict=True):
            if pointer is None:
                value.replace_all_uses_with(new[position])
                position += 1
            else:
                base, offset = new[position : position + 2]
                self.pointers[value] = replace(pointer, base=base, offset=offset)
                position += 2

    def _split_in(self, block: Block, split: Sequence[FatPointer | None], first: int) -> None:
        """The arguments of `block` from `first` on that are pointers become two; the old ones go with what uses them."""
        position = first
        for pointer in split:
            old = block.args[position]
            if pointer is not None:
                base = block.insert_arg(pointer.base.type, position)
                offset = block.insert_arg(pointer.offset.type, position + 1)
                self.pointers[old] = replace(pointer, base=base, offset=offset)
                self.dead_arguments.append(old)
                position += 2
            position += 1

    # Branches

    def _split_arguments(self, block: Block) -> None:
        """Those of a block that others jump to."""
        for old in list(block.args):
            if old not in self.kinds:
                continue
            is_small = self.kinds[old]
            element = i32 if is_small else IntegerType(64)
            of_tensor = instance_of(old.type, TensorType)
            base = block.insert_arg(element_type(old.type) if of_tensor else old.type, old.index)
            offset = block.insert_arg(with_element(old.type, element) if of_tensor else element, old.index)
            self.pointers[old] = FatPointer(base, offset, is_small, self.narrow_carried)
            self.split_arguments |= {base, offset}
            self.dead_arguments.append(old)

    def _jump(self, op: cf.BranchOp | cf.ConditionalBranchOp) -> None:
        groups: list[list[SSAValue]] = []
        for passed, arguments in _jumps(op):
            before = [argument for argument in arguments if argument not in self.split_arguments]
            split = [self.pointers[v] if a in self.pointers else None for v, a in zip(passed, before, strict=True)]
            groups.append(self._flat(op, passed, split))
        if isinstance(op, cf.BranchOp):
            new: Operation = cf.BranchOp(op.successor, *groups[0])
        else:
            new = cf.ConditionalBranchOp(op.cond, op.then_block, groups[0], op.else_block, groups[1])
        Inserter.before(op).insert(new)
        op.detach()
        op.erase()


def _ends_rebuilt(op: Operation) -> bool:
    """Whether the op around is made anew with what `op` passes on."""
    around = op.parent_op()
    if isinstance(op, scf.YieldOp):
        return not isinstance(around, scf.IndexSwitchOp)
    return isinstance(op, scf.ConditionOp)


def _jumps(op: Operation | None) -> list[tuple[Sequence[SSAValue], Sequence[SSAValue]]]:
    """What a branch passes, and the arguments that it passes that for."""
    if isinstance(op, cf.BranchOp):
        return [(op.arguments, op.successor.args)]
    if isinstance(op, cf.ConditionalBranchOp):
        return [(op.then_arguments, op.then_block.args), (op.else_arguments, op.else_block.args)]
    return []


def _adds_scalars(value: SSAValue, start: SSAValue) -> bool:
    """Whether `value` is `start` plus what all elements share."""
    while value is not start:
        op = value.owner
        if not isinstance(op, tt.AddPtrOp):
            return False
        offset = op.offset
        if (
            instance_of(offset.type, TensorType)
            and not isinstance(offset.owner, tt.SplatOp)
            and splat_number(offset) is None
        ):
            return False
        value = op.ptr
    return True


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
