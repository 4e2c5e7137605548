"""`ttg.async_copy_global_to_local`: a load that goes to shared memory without passing through registers.

%t = ttg.async_copy_global_to_local %ptrs, %buf mask %m other %o cacheModifier = cg
     : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared, #smem, mutable>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    BaseAttr,
    ParsePropInAttrDict,
    VarConstraint,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.attribute_values import FALSE, i32_attr
from minitriton.dialects.facts.gpu_traits import GLOBAL, SHARED, OperandEffects, VerifyTensorLayouts
from minitriton.dialects.facts.in_flight import Kind, Starts
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import CacheModifier, CacheModifierAttr, EvictionPolicy, EvictionPolicyAttr
from minitriton.dialects.tt.format import CacheClauses
from minitriton.dialects.tt.memory import MASK, NO_MODIFIER, NORMAL, OTHER
from minitriton.dialects.ttg.format import MemDesc
from minitriton.dialects.ttg.types import AsyncTokenType, MemDescType

_TOKEN = AsyncTokenType()


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
    result = result_def(_TOKEN)

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
