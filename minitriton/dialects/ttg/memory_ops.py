"""Ops of `ttg` on shared memory: allocation, views, loads and stores, asynchronous copies.

%buf = ttg.local_alloc : () -> !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable>
%one = ttg.memdesc_index %buf[%i] : !ttg.memdesc<3x128x64xf16, ...> -> !ttg.memdesc<128x64xf16, ..., 3x128x64>
%t   = ttg.local_load %one : !ttg.memdesc<128x64xf16, ...> -> tensor<128x64xf16, #blocked>
%a   = ttg.async_copy_global_to_local %ptrs, %one mask %m other %o cacheModifier = cg : tensor<128x64x!tt.ptr<f16>, #blocked> -> <128x64xf16, #shared, #smem, mutable>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    ParsePropInAttrDict,
    VarConstraint,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffectKind, Pure
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.attribute_values import FALSE, i32_array, i32_attr
from minitriton.dialects.encodings import encoding_attr, layout_of
from minitriton.dialects.facts.gpu_traits import (
    GLOBAL,
    SHARED,
    EffectsOfEach,
    LocalLoad,
    MemDescView,
    OperandEffects,
    VerifyTensorLayouts,
    require,
)
from minitriton.dialects.facts.launch import ALLOCATION_OFFSET
from minitriton.dialects.facts.layout import AnyLayout
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.synchronization import Commits, Kind, Starts, Waits, WaitsForCopies
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import CacheModifier, CacheModifierAttr, EvictionPolicy, EvictionPolicyAttr
from minitriton.dialects.tt.format import CacheClauses
from minitriton.dialects.tt.memory import MASK, NO_MODIFIER, NORMAL, OTHER
from minitriton.dialects.ttg.format import MemDesc
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType
from minitriton.dialects.ttg.verify import (
    local_alloc_complaint,
    local_load_complaint,
    local_store_complaint,
    memdesc_index_complaint,
    memdesc_reinterpret_complaint,
    memdesc_reshape_complaint,
    memdesc_subslice_complaint,
)
from minitriton.errors import IRError
from minitriton.layouts.encodings import SharedEncoding
from minitriton.layouts.inference import memdesc_reshape_dst, trans_dst
from minitriton.layouts.properties import are_layouts_equivalent

TOKEN = AsyncTokenType()


class _AllocEffects(EffectsOfEach):
    """A constant buffer counts as a value until it has its offset: two equal ones may be merged, an unused one dropped."""

    def get_effects(self, op: Operation) -> set[EffectInstance]:
        result = op.results[0]
        assert isinstance(result.type, MemDescType)
        if not result.type.mutable and ALLOCATION_OFFSET not in op.attributes:
            return set()
        kinds = (MemoryEffectKind.ALLOC, MemoryEffectKind.WRITE) if op.operands else (MemoryEffectKind.ALLOC,)
        return {EffectInstance(kind, result, SHARED) for kind in kinds}


class LocalAllocOp(Op):
    """Allocates a buffer in shared memory, filled with `src` if given (else the buffer must be mutable)."""

    name = "ttg.local_alloc"

    src = opt_operand_def(TensorType)
    alignment = opt_prop_def(IntegerAttr.constr(i32))
    result = result_def(MemDescType)

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(_AllocEffects(), VerifyTensorLayouts(), AnyLayout())

    assembly_format = "($src^)? attr-dict `:` functional-type(operands, results)"

    @from_fields
    def __init__(self, src: SSAValue | None, result_type: Attribute, *, alignment: int | None = None) -> None: ...

    def verify_(self) -> None:
        require(self, local_alloc_complaint(self.src, self.result.type))


class LocalDeallocOp(Op):
    """Ends the life of a buffer."""

    name = "ttg.local_dealloc"

    src = operand_def(MemDescType)
    traits = traits_def(OperandEffects(frees=(("src", SHARED),)), VerifyTensorLayouts())
    assembly_format = "$src attr-dict `:` type($src)"

    @from_fields
    def __init__(self, src: SSAValue) -> None: ...


class LocalLoadOp(Op):
    """Loads a buffer into a distributed tensor."""

    name = "ttg.local_load"

    src = operand_def(MemDescType)
    token = opt_operand_def(TOKEN)
    result = result_def(TensorType)
    traits = traits_def(OperandEffects(reads=(("src", SHARED),)), LocalLoad(), VerifyTensorLayouts(), AnyLayout())
    assembly_format = "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, token: SSAValue | None, result_type: Attribute) -> None: ...

    def verify_(self) -> None:
        require(self, local_load_complaint(self.src.type, self.result.type))


class LocalStoreOp(Op):
    """Stores a distributed tensor into a mutable buffer."""

    name = "ttg.local_store"

    src = operand_def(TensorType)
    dst = operand_def(MemDescType)
    traits = traits_def(OperandEffects(writes=(("dst", SHARED),)), VerifyTensorLayouts(), AnyLayout())
    assembly_format = "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"

    @from_fields
    def __init__(self, src: SSAValue, dst: SSAValue) -> None: ...

    def verify_(self) -> None:
        require(self, local_store_complaint(self.src.type, self.dst.type))


class _ViewOp(Op):
    """Base of views of a buffer."""

    traits = traits_def(Pure(), MemDescView(), VerifyTensorLayouts())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute) -> None: ...


class MemDescIndexOp(_ViewOp):
    """The `index`-th element of a buffer along its first dimension, as a view."""

    name = "ttg.memdesc_index"

    src = operand_def(MemDescType)
    index = operand_def(i32)
    result = result_def(MemDescType)
    assembly_format = "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, index: SSAValue, result_type: Attribute) -> None: ...

    def verify_(self) -> None:
        require(self, memdesc_index_complaint(self.src.type, self.result.type))


class MemDescSubsliceOp(_ViewOp):
    """A rectangular part of a buffer, as a view that starts at `offsets`."""

    name = "ttg.memdesc_subslice"

    src = operand_def(MemDescType)
    offsets = prop_def(DenseArrayBase.constr(i32))
    result = result_def(MemDescType)
    assembly_format = "$src `` $offsets attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute, *, offsets: Sequence[int]) -> None: ...

    def verify_(self) -> None:
        offsets = tuple(int(offset) for offset in self.offsets.get_values())
        require(self, memdesc_subslice_complaint(self.src.type, self.result.type, offsets))


class MemDescTransOp(_ViewOp):
    """A buffer with its dimensions permuted, as a view. The result type is inferred."""

    name = "ttg.memdesc_trans"

    src = operand_def(MemDescType)
    order = prop_def(DenseArrayBase.constr(i32))
    result = result_def(MemDescType)
    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, src: SSAValue, *, order: Sequence[int], result_type: Attribute | None = None) -> None:
        order = tuple(order)
        if result_type is None:
            result_type = infer_memdesc_trans(src.type, order)
        Operation.__init__(self, operands=(src,), result_types=(result_type,), properties={"order": i32_array(order)})

    def verify_(self) -> None:
        order = self.order.get_values()
        rank = len(cast(MemDescType, self.src.type).get_shape())
        if sorted(order) != list(range(rank)):
            require(self, f"order must be a permutation: expected one of 0..{rank - 1}, found {list(order)}")
        require(self, _view_complaint(self.result.type, lambda: infer_memdesc_trans(self.src.type, order)))


class MemDescReshapeOp(_ViewOp):
    """A buffer with another shape over the same elements, as a view."""

    name = "ttg.memdesc_reshape"

    src = operand_def(MemDescType)
    result = result_def(MemDescType)

    @classmethod
    def to_shape(cls, src: SSAValue, shape: Sequence[int]) -> MemDescReshapeOp:
        """The view of `src` as `shape`; its layout is inferred."""
        return cls(src, infer_memdesc_reshape(src.type, shape))

    def verify_(self) -> None:
        shape = self.result.type.get_shape()
        require(self, memdesc_reshape_complaint(self.src.type, self.result.type))
        require(self, _view_complaint(self.result.type, lambda: infer_memdesc_reshape(self.src.type, shape)))


class MemDescReinterpretOp(_ViewOp):
    """A contiguous buffer seen as another element type and shape."""

    name = "ttg.memdesc_reinterpret"

    src = operand_def(MemDescType)
    result = result_def(MemDescType)

    def verify_(self) -> None:
        slot = self.src.owner
        ring = slot.src.type if isinstance(slot, MemDescIndexOp) else self.src.type
        require(self, memdesc_reinterpret_complaint(self.src.type, self.result.type, ring))


class AsyncWaitOp(Op):
    """Waits until at most `num` groups of asynchronous copies are still running."""

    name = "ttg.async_wait"

    async_token = var_operand_def(TOKEN)
    num = prop_def(IntegerAttr.constr(i32))
    result = result_def(TOKEN)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(VerifyTensorLayouts(), WaitsForCopies(), Waits(Kind.COPY, left="num"))
    assembly_format = "($async_token^)? attr-dict"

    @from_fields
    def __init__(self, async_token: Sequence[SSAValue], *, num: int) -> None: ...


class AsyncCommitGroupOp(Op):
    """Closes a group of asynchronous copies."""

    name = "ttg.async_commit_group"

    input_tokens = var_operand_def(TOKEN)
    result = result_def(TOKEN)
    traits = traits_def(VerifyTensorLayouts(), Commits(Kind.COPY))
    assembly_format = "(`tokens` $input_tokens^)? attr-dict"

    @from_fields
    def __init__(self, input_tokens: Sequence[SSAValue] = ()) -> None: ...


# Result types that the ops of `ttg` infer.
#
# infer_memdesc_trans(!ttg.memdesc<3x128x64xf16, ...>, (0, 2, 1))      !ttg.memdesc<3x64x128xf16, ...>, its layout permuted too


def _memdesc(type_: Attribute) -> tuple[MemDescType, SharedEncoding]:
    layout = layout_of(type_)
    if not isinstance(type_, MemDescType) or not isinstance(layout, SharedEncoding):
        raise IRError(f"expected a memory descriptor with a shared layout, got {type_}")
    return type_, layout


def infer_memdesc_trans(src: Attribute, order: Sequence[int]) -> MemDescType:
    """The type of a view of `src` with its dimensions in `order`. Raises `IRError` where no layout says that."""
    type_, layout = _memdesc(src)
    shape, alloc = type_.get_shape(), type_.get_alloc_shape()
    permuted = trans_dst(layout, shape, tuple(order))
    if permuted is None:
        raise IRError(f"no layout is the transpose of {type_.encoding}")
    inner = alloc[len(alloc) - len(order) :]
    return type_.with_(
        shape=[shape[d] for d in order],
        encoding=encoding_attr(permuted),
        alloc_shape=[*alloc[: len(alloc) - len(order)], *(inner[d] for d in order)],
    )


def infer_memdesc_reshape(src: Attribute, shape: Sequence[int]) -> MemDescType:
    """The type of a view of `src` as `shape`. Raises `IRError` where no layout says that."""
    type_, layout = _memdesc(src)
    reshaped = memdesc_reshape_dst(type_.get_shape(), layout, tuple(shape))
    if reshaped is None:
        raise IRError(f"{type_} cannot be seen as {list(shape)}")
    alloc = type_.get_alloc_shape()
    return type_.with_(
        shape=shape, encoding=encoding_attr(reshaped), alloc_shape=[*alloc[: len(alloc) - type_.get_num_dims()], *shape]
    )


def _view_complaint(found: MemDescType, infer: Callable[[], MemDescType]) -> str | None:
    """The result has the type that the op infers, up to equivalent layouts."""
    try:
        expected = infer()
    except IRError as error:
        return error.message
    have, want = layout_of(found), layout_of(expected)
    if isinstance(have, SharedEncoding) and isinstance(want, SharedEncoding) and have.rank == want.rank:
        shape = expected.get_shape()[-want.rank :]
        if found.with_(encoding=expected.encoding) == expected and are_layouts_equivalent(shape, have, want):
            return None
    return None if found == expected else f"expected '{expected}' as the type of the view, found '{found}'"


class AsyncCopyGlobalToLocalOp(Op):
    """Starts copying what `src` points at into the buffer `result` (`cp.async`); `other` where `mask` is false.

    `contiguity` promises that so many elements can go in one access.
    """

    P: ClassVar = VarConstraint("P", BaseAttr(TensorType))

    name = "ttg.async_copy_global_to_local"

    src = operand_def(P)
    destination = operand_def(MemDescType)
    mask = opt_operand_def(MASK)
    other = opt_operand_def(OTHER)
    cache = prop_def(CacheModifierAttr, default_value=NO_MODIFIER)
    evict = prop_def(EvictionPolicyAttr, default_value=NORMAL)
    is_volatile = prop_def(IntegerAttr.constr(i1), default_value=FALSE, prop_name="isVolatile")
    contiguity = prop_def(IntegerAttr.constr(i32), default_value=i32_attr(1))
    result = result_def(TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    custom_directives = (CacheClauses, MemDesc)
    assembly_format = (
        "$src `,` $destination (`mask` $mask^)? (`other` $other^)? custom<CacheClauses>($cache, $evict) attr-dict "
        "`:` type($src) `->` custom<MemDesc>(type($destination))"
    )
    traits = traits_def(
        OperandEffects(reads=(("src", GLOBAL),), writes=(("destination", SHARED),)),
        VerifyTensorLayouts(),
        MemoryAccess(pointer="src", mask="mask", other="other", cache="cache", asynchronous=True),
        Starts(Kind.COPY, writes=("destination",), is_committed=False),
    )

    @from_fields
    def __init__(
        self,
        src: SSAValue,
        destination: SSAValue,
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        *,
        cache: CacheModifier = CacheModifier.NONE,
        evict: EvictionPolicy = EvictionPolicy.NORMAL,
        is_volatile: bool = False,
        contiguity: int = 1,
    ) -> None: ...

    def verify_(self) -> None:
        destination = self.destination.type
        if not isinstance(destination, MemDescType) or not destination.mutable:
            raise VerifyException(f"'{self.name}' op Cannot store into immutable memory")
