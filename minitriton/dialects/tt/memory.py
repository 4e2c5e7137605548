"""Ops of `tt` on device memory: loads, stores, atomics, block pointers.

%3 = tt.load %0, %1, %2 cacheModifier = cg {isVolatile = true} : tensor<64x!tt.ptr<f32>>
tt.store %0, %3, %1 evictionPolicy = evict_first : tensor<64x!tt.ptr<f32>>
"""

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from minitriton.dialects.attribute_values import FALSE, i32_array
from minitriton.dialects.facts.gpu_traits import GLOBAL, OperandEffects
from minitriton.dialects.facts.layout import LayoutAnchor, NeverRematerialized, NoLayoutRule, SameLayout
from minitriton.dialects.facts.memory_access import AnchorIfWide, MemoryAccess, NeverRematerializedIfWide
from minitriton.dialects.facts.synchronization import LoweringBarrier, ScratchBarrier
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import (
    CacheModifier,
    CacheModifierAttr,
    EvictionPolicy,
    EvictionPolicyAttr,
    MemSemantic,
    MemSemanticAttr,
    MemSyncScope,
    MemSyncScopeAttr,
    PaddingOption,
    PaddingOptionAttr,
    RMWOp,
    RMWOpAttr,
)
from minitriton.dialects.tt.format import CacheClauses, Pointer
from minitriton.dialects.tt.traits import (
    ANY_TT,
    BOOL_LIKE,
    PTR_LIKE,
    TENSOR_PTR,
    LoadEffects,
    TensorLayouts,
    encoding_complaint,
    follows,
    types_of,
    var,
)
from minitriton.dialects.tt.types import (
    PointerType,
    element_type,
    i1_same_shape,
    pointee_type,
    pointer_same_shape,
    pointer_type,
    shape_of,
)

NO_CHECK = i32_array(())
NO_MODIFIER = CacheModifierAttr.of(CacheModifier.NONE)
NORMAL = EvictionPolicyAttr.of(EvictionPolicy.NORMAL)

MASK = follows("P", lambda t: i1_same_shape(pointee_type(t)), "mask type matches ptr type")
OTHER = follows("P", pointee_type, "other matches ptr type")
POINTER = ("ptr", GLOBAL)

Semantic: TypeAlias = MemSemantic | str
Scope: TypeAlias = MemSyncScope | str


def _base_of_block(type_: Attribute) -> Attribute:
    assert isinstance(type_, PointerType)
    return pointer_type(element_type(type_.pointee_type), type_.address_space.data)


class LoadOp(Op):
    """Loads through a pointer, a tensor of pointers or a block pointer; `other` where `mask` is false."""

    P: ClassVar = var("P", PTR_LIKE)
    name = "tt.load"
    ptr = operand_def(P)
    mask = opt_operand_def(MASK)
    other = opt_operand_def(OTHER)
    boundary_check = prop_def(DenseArrayBase.constr(i32), default_value=NO_CHECK, prop_name="boundaryCheck")
    padding = opt_prop_def(PaddingOptionAttr)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    evict = prop_def(EvictionPolicyAttr, default_value=NORMAL)
    is_volatile = prop_def(BoolAttr, default_value=FALSE, prop_name="isVolatile")
    result = result_def(follows("P", pointee_type, "result matches ptr type"))

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (CacheClauses,)
    assembly_format = "$ptr (`,` $mask^)? (`,` $other^)? custom<CacheClauses>($cache, $evict) attr-dict `:` type($ptr)"
    traits = traits_def(
        LoadEffects(),
        TensorLayouts(),
        NoLayoutRule(),
        MemoryAccess(mask="mask", other="other", cache="cache"),
        AnchorIfWide(),
        NeverRematerializedIfWide(),
    )

    @from_fields
    def __init__(
        self,
        ptr: SSAValue,
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        *,
        boundary_check: Sequence[int] = (),
        padding: PaddingOption | str | None = None,
        cache: CacheModifier | str = CacheModifier.NONE,
        evict: EvictionPolicy | str = EvictionPolicy.NORMAL,
        is_volatile: bool = False,
    ) -> None: ...

    def complaint(self) -> str | None:
        return _access_complaint(self)


class StoreOp(Op):
    """Stores through a pointer, a tensor of pointers or a block pointer where `mask` is true."""

    P: ClassVar = var("P", PTR_LIKE)
    name = "tt.store"
    ptr = operand_def(P)
    value = operand_def(follows("P", pointee_type, "value type matches ptr type"))
    mask = opt_operand_def(MASK)
    boundary_check = prop_def(DenseArrayBase.constr(i32), default_value=NO_CHECK, prop_name="boundaryCheck")
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    evict = prop_def(EvictionPolicyAttr, default_value=NORMAL)

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (CacheClauses,)
    assembly_format = "$ptr `,` $value (`,` $mask^)? custom<CacheClauses>($cache, $evict) attr-dict `:` type($ptr)"
    traits = traits_def(
        OperandEffects(writes=(POINTER,)),
        TensorLayouts(),
        MemoryAccess(value="value", mask="mask", cache="cache"),
        AnchorIfWide(),
        NeverRematerializedIfWide(),
    )

    @from_fields
    def __init__(
        self,
        ptr: SSAValue,
        value: SSAValue,
        mask: SSAValue | None = None,
        *,
        boundary_check: Sequence[int] = (),
        cache: CacheModifier | str = CacheModifier.NONE,
        evict: EvictionPolicy | str = EvictionPolicy.NORMAL,
    ) -> None: ...

    def complaint(self) -> str | None:
        return _access_complaint(self)


class AtomicOp(Op, ABC):
    """An access that other threads see whole and in the order that `sem` asks for, among the threads of `scope`."""

    sem = prop_def(MemSemanticAttr)
    scope = prop_def(MemSyncScopeAttr)
    traits = traits_def(
        OperandEffects(reads=(POINTER,), writes=(POINTER,)),
        TensorLayouts(),
        SameLayout(),
        LayoutAnchor(),
        NeverRematerialized(),
    )

    def complaint(self) -> str | None:
        return _access_complaint(self)


class AtomicRMWOp(AtomicOp):
    """Replaces `*ptr` by `op(*ptr, val)` atomically where `mask` is true, and gives the old value."""

    name = "tt.atomic_rmw"
    atomic_rmw_op = prop_def(RMWOpAttr)
    ptr = operand_def(PTR_LIKE)
    val = operand_def(ANY_TT)
    mask = opt_operand_def(BOOL_LIKE)
    result = result_def(ANY_TT)

    assembly_format = (
        "$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? attr-dict `:` "
        "functional-type(operands, $result)"
    )
    traits = traits_def(MemoryAccess(value="val", mask="mask", atomic=True), ScratchBarrier())

    @from_fields(like="val")
    def __init__(
        self,
        ptr: SSAValue,
        val: SSAValue,
        mask: SSAValue | None = None,
        *,
        atomic_rmw_op: RMWOp | str,
        sem: Semantic,
        scope: Scope,
    ) -> None: ...

    def complaint(self) -> str | None:
        return _pointer_complaint(self, self.val, "value") or _access_complaint(self)


class AtomicCASOp(AtomicOp):
    """Replaces `*ptr` by `val` atomically where it equals `cmp`, and gives the old value."""

    name = "tt.atomic_cas"
    ptr = operand_def(PTR_LIKE)
    cmp = operand_def(ANY_TT)
    val = operand_def(ANY_TT)
    result = result_def(ANY_TT)

    assembly_format = "$sem `,` $scope `,` $ptr `,` $cmp `,` $val attr-dict `:` functional-type(operands, $result)"
    traits = traits_def(MemoryAccess(value="val", atomic=True), ScratchBarrier())

    @from_fields(like="val")
    def __init__(self, ptr: SSAValue, cmp: SSAValue, val: SSAValue, *, sem: Semantic, scope: Scope) -> None: ...

    def complaint(self) -> str | None:
        wrong = _pointer_complaint(self, self.cmp, "cmp") or _pointer_complaint(self, self.val, "value")
        return wrong or _access_complaint(self)


class AtomicLoadOp(AtomicOp):
    """Loads atomically where `mask` is true, with acquire semantics or none; 0 elsewhere."""

    name = "tt.atomic_load"
    ptr = operand_def(PTR_LIKE)
    mask = opt_operand_def(BOOL_LIKE)
    result = result_def(ANY_TT)

    assembly_format = "$sem `,` $scope `,` $ptr (`,` $mask^)? attr-dict `:` functional-type(operands, $result)"
    traits = traits_def(MemoryAccess(mask="mask", atomic=True), LoweringBarrier())

    @from_fields
    def __init__(
        self, ptr: SSAValue, mask: SSAValue | None, result_type: Attribute, *, sem: Semantic, scope: Scope
    ) -> None: ...

    def complaint(self) -> str | None:
        return _pointer_complaint(self, self.result, "result") or _access_complaint(self)


class AtomicStoreOp(AtomicOp):
    """Stores atomically where `mask` is true, with release semantics or none."""

    P: ClassVar = var("P", PTR_LIKE)
    name = "tt.atomic_store"
    ptr = operand_def(P)
    value = operand_def(follows("P", pointee_type, "value type matches ptr type"))
    mask = opt_operand_def(MASK)

    assembly_format = "$sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)"
    traits = traits_def(MemoryAccess(value="value", mask="mask", atomic=True), LoweringBarrier())

    @from_fields
    def __init__(
        self, ptr: SSAValue, value: SSAValue, mask: SSAValue | None, *, sem: Semantic, scope: Scope
    ) -> None: ...


class AtomicPollOp(AtomicOp):
    """Waits until `*ptr` is `expected`, or until `timeout` nanoseconds are over; gives whether it was."""

    name = "tt.atomic_poll"
    ptr = operand_def(PTR_LIKE)
    expected = operand_def(ANY_TT)
    timeout = opt_operand_def(i64)
    result = result_def(BOOL_LIKE)

    assembly_format = (
        "$sem `,` $scope `,` $ptr `,` $expected (`timeout` $timeout^)? attr-dict `:` "
        "type($ptr) `,` type($expected) `->` type($result)"
    )
    traits = traits_def(MemoryAccess(value="expected", atomic=True), LoweringBarrier())

    @from_fields
    def __init__(
        self,
        ptr: SSAValue,
        expected: SSAValue,
        timeout: SSAValue | None,
        result_type: Attribute,
        *,
        sem: Semantic,
        scope: Scope,
    ) -> None: ...

    def complaint(self) -> str | None:
        return _pointer_complaint(self, self.expected, "expected") or encoding_complaint(self)


class AdvanceOp(Op):
    """A block pointer moved on by `offsets` elements in each dimension."""

    T: ClassVar = var("T", TENSOR_PTR)
    name = "tt.advance"
    ptr = operand_def(T)
    offsets = var_operand_def(i32)
    result = result_def(T)
    custom_directives = (Pointer,)
    assembly_format = "$ptr `,` `[` $offsets `]` attr-dict `:` custom<Pointer>(type($result))"
    traits = traits_def(Pure(), TensorLayouts())

    @from_fields
    def __init__(self, ptr: SSAValue, offsets: Sequence[SSAValue]) -> None: ...


class MakeTensorPtrOp(Op):
    """A pointer to a block, at `offsets`, of a tensor of `shape` and `strides`; `order` lists its dimensions, fastest first."""

    T: ClassVar = var("T", TENSOR_PTR)
    name = "tt.make_tensor_ptr"
    base = operand_def(follows("T", _base_of_block, "infer pointer type from the result type"))
    shape = var_operand_def(i64)
    strides = var_operand_def(i64)
    offsets = var_operand_def(i32)
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(T)

    irdl_options = (SameVariadicOperandSize(), ParsePropInAttrDict())
    custom_directives = (Pointer,)
    assembly_format = "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict `:` custom<Pointer>(type($result))"
    traits = traits_def(Pure(), TensorLayouts())

    @from_fields
    def __init__(
        self,
        base: SSAValue,
        shape: Sequence[SSAValue],
        strides: Sequence[SSAValue],
        offsets: Sequence[SSAValue],
        result_type: Attribute,
        *,
        order: Sequence[int],
    ) -> None: ...


def _access_complaint(op: Operation) -> str | None:
    """Of loads, stores and atomics: all operands have the pointer's shape and encoding."""
    shape = shape_of(op.operands[0].type)
    if any(shape_of(type_) != shape for type_ in types_of(op)):
        what = "operands and results" if op.results else "operands"
        return f"'{op.name}' op requires the same shape for all {what}"
    return encoding_complaint(op)


def _pointer_complaint(op: AtomicOp, value: SSAValue, what: str) -> str | None:
    """The pointer is one to values like `value`."""
    if op.operands[0].type == pointer_same_shape(value.type):
        return None
    return f"'{op.name}' op failed to verify that ptr type matches {what} type"
