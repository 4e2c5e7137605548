"""`tritonamdgpu-canonicalize-pointers`: what all elements of a tensor of pointers have in common goes into its base.

    %i = arith.addi (tt.splat %n), %r                            %q = tt.addptr %p, %n
    %t = tt.addptr (tt.splat %p), %i                      =>     %t = tt.addptr (tt.splat %q), %r
    tt.load %t                                                   tt.load %t

An offset is a sum of a number and a tensor: p + (n + r) = (p + n) + r, (n + r) s = n s + r s. Small offsets from one base are what buffer
instructions take. An argument of less than 2 GiB (`tt.pointer_range`) is a base as it is: all its offsets are small. Counterpart of CanonicalizePointers.cpp for the pointers of straight-line code: what a loop or a branch carries stays as it is.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, IntegerType, ModuleOp, TensorType
from xdsl.ir import Attribute, BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.attribute_values import elements
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import element_type, with_element
from minitriton.pipeline.pass_registry import Pass, Property, register_pass

_RESHAPED = (tt.BroadcastOp, tt.ExpandDimsOp, ttg.ConvertLayoutOp)
"""Ops that move elements as they are."""


class Parts(NamedTuple):
    """A sum: a number that all elements share, and a tensor; None for zero."""

    shared: SSAValue | None
    own: SSAValue | None


@register_pass
class CanonicalizePointers(Pass, stage="ttgir", origin="triton"):
    """Makes tensors of pointers one base and offsets."""

    name: ClassVar[str] = "tritonamdgpu-canonicalize-pointers"
    acts_on = frozenset({tt.LoadOp, tt.StoreOp, tt.AtomicRMWOp, tt.AtomicCASOp})
    requires = frozenset({Property.ENCODINGS})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the pointers of every access."""
        for access in list(ops_in(op)):
            pointer = access.operands[0] if MemoryAccess.of(access) is not None else None
            if pointer is None or not instance_of(pointer.type, TensorType) or not isinstance(pointer, OpResult):
                continue
            at = _At(pointer.op)
            found = at.pointer(pointer)
            if found is None or found.own is None or found.shared is None:
                continue
            base = at.put(tt.SplatOp, [found.shared], pointer.type)
            access.operands[0] = at.put(tt.AddPtrOp, [base, found.own], pointer.type)


def splat_number(value: SSAValue) -> int | float | None:
    """The number that all elements of a constant tensor are; None for other values."""
    found = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    return elements(found)[0] if instance_of(found, DenseIntOrFPElementsAttr) and found.is_splat() else None


def is_small_argument(base: SSAValue) -> bool:
    """Whether a launch has promised that the argument has less than 2 GiB."""
    function = base.owner.parent_op() if isinstance(base, BlockArgument) else None
    if not isinstance(function, tt.FuncOp) or not isinstance(base, BlockArgument) or function.arg_attrs is None:
        return False
    range_ = function.arg_attrs.data[base.index].data.get("tt.pointer_range")
    return instance_of(range_, IntegerAttr) and range_.value.data <= 32


class _At:
    """Ops that are put before one."""

    def __init__(self, anchor: Operation) -> None:
        self.anchor = anchor

    def put(
        self, kind: type[Operation], operands: list[SSAValue], type_: Attribute, like: Operation | None = None
    ) -> SSAValue:
        """The result of a new op, with the properties of `like`."""
        properties = {} if like is None else dict(like.properties)
        new = kind.create(operands=operands, result_types=[type_], properties=properties)
        new.location = self.anchor.location
        assert self.anchor.parent is not None
        self.anchor.parent.insert_op_before(new, self.anchor)
        return new.results[0]

    def pointer(self, value: SSAValue) -> Parts | None:
        """Base and offsets of a tensor of pointers; None where it has no one base."""
        op = value.owner
        if isinstance(op, tt.SplatOp):
            return Parts(op.operands[0], None)
        if isinstance(op, tt.AddPtrOp):
            before = self.pointer(op.ptr)
            if before is None or before.shared is None:
                return None
            offset = Parts(None, op.offset) if is_small_argument(before.shared) else self.offset(op.offset)
            base = before.shared
            if offset.shared is not None:
                base = self.put(tt.AddPtrOp, [base, offset.shared], base.type)
            own = self.plus(before.own, offset.own)
            return None if own is None and before.own is not None and offset.own is not None else Parts(base, own)
        if isinstance(op, _RESHAPED):
            before = self.pointer(op.operands[0])
            return None if before is None else Parts(before.shared, self.moved(before.own, op))
        return None

    def offset(self, value: SSAValue) -> Parts:
        """The two parts of a tensor of integers."""
        op = value.owner
        if isinstance(op, tt.SplatOp):
            return Parts(op.operands[0], None)
        if isinstance(op, arith.ConstantOp):
            number, element = splat_number(value), element_type(value.type)
            if isinstance(number, int) and instance_of(element, IntegerType):
                return Parts(self.constant(number, element), None)
        if isinstance(op, arith.AddiOp):
            one, other = (self.offset(each) for each in op.operands)
            return Parts(self.plus(one.shared, other.shared), self.plus(one.own, other.own))
        if isinstance(op, arith.MuliOp):
            for one, other in (op.operands, (op.operands[1], op.operands[0])):
                factor = self.offset(other)
                if factor.own is None and factor.shared is not None:
                    parts = self.offset(one)
                    if parts.shared is None:
                        break
                    shared = self.put(arith.MuliOp, [parts.shared, factor.shared], factor.shared.type)
                    if parts.own is None:
                        return Parts(shared, None)
                    splat = self.put(tt.SplatOp, [factor.shared], value.type)
                    return Parts(shared, self.put(arith.MuliOp, [parts.own, splat], value.type))
        if isinstance(op, _RESHAPED):
            parts = self.offset(op.operands[0])
            return Parts(parts.shared, self.moved(parts.own, op))
        return Parts(None, value)

    def constant(self, number: int, element: IntegerType) -> SSAValue:
        """A number."""
        new = arith.ConstantOp(IntegerAttr(number, element))
        assert self.anchor.parent is not None
        self.anchor.parent.insert_op_before(new, self.anchor)
        return new.results[0]

    def plus(self, one: SSAValue | None, other: SSAValue | None) -> SSAValue | None:
        """A sum; the narrower of two integers is extended."""
        if one is None or other is None:
            return other if one is None else one
        if _bits(one) != _bits(other):
            wide = (one if _bits(one) > _bits(other) else other).type
            one, other = (
                each
                if each.type == wide
                else self.put(arith.ExtSIOp, [each], with_element(each.type, element_type(wide)))
                for each in (one, other)
            )
        return self.put(arith.AddiOp, [one, other], one.type)

    def moved(self, value: SSAValue | None, op: Operation) -> SSAValue | None:
        """`value` as `op` moves what it takes."""
        if value is None:
            return None
        return self.put(type(op), [value], with_element(op.results[0].type, element_type(value.type)), op)


def _bits(value: SSAValue) -> int:
    element = element_type(value.type)
    assert instance_of(element, IntegerType)
    return element.width.data
