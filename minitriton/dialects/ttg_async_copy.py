"""`ttg.async_copy_global_to_local`: a load that goes to shared memory without passing through registers.

%t = ttg.async_copy_global_to_local %ptrs, %buf mask %m other %o cacheModifier = cg
     : tensor<64x!tt.ptr<f16>, #blocked> -> <64xf16, #shared, #smem, mutable>
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)

from minitriton.dialects.ttg_traits import (
    FALSE,
    GLOBAL,
    SHARED,
    OperandEffects,
    VerifyTensorLayouts,
    bool_attr,
    i32_array,
    i32_attr,
)
from minitriton.dialects.ttg_types import AsyncTokenType, MemDescType

_TOKEN = AsyncTokenType()


@irdl_op_definition
class AsyncCopyGlobalToLocalOp(IRDLOperation):
    """Starts copying what `src` points at into the buffer `result` (`cp.async`); `other` where `mask` is false.

    `contiguity` promises that so many elements can go in one access.
    """

    name = "ttg.async_copy_global_to_local"

    src = operand_def(TensorType)
    destination = operand_def(MemDescType)
    mask = opt_operand_def(TensorType)
    other = opt_operand_def()
    cache = opt_prop_def()
    evict = opt_prop_def()
    is_volatile = prop_def(IntegerAttr.constr(i1), default_value=FALSE, prop_name="isVolatile")
    contiguity = prop_def(IntegerAttr.constr(i32), default_value=i32_attr(1))
    result = result_def(_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(
        OperandEffects(reads=(("src", GLOBAL),), writes=(("destination", SHARED),)), VerifyTensorLayouts()
    )

    def __init__(
        self,
        src: SSAValue,
        destination: SSAValue,
        mask: SSAValue | None = None,
        other: SSAValue | None = None,
        *,
        cache: Attribute | None = None,
        evict: Attribute | None = None,
        is_volatile: bool = False,
        contiguity: int = 1,
    ) -> None:
        operands = [src, destination]
        if mask is not None:
            operands.append(mask)
        if other is not None:
            operands.append(other)
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": i32_array((1, 1, int(mask is not None), int(other is not None))),
            "isVolatile": bool_attr(is_volatile),
            "contiguity": i32_attr(contiguity),
        }
        if cache is not None:
            properties["cache"] = cache
        if evict is not None:
            properties["evict"] = evict
        Operation.__init__(self, operands=operands, result_types=(_TOKEN,), properties=properties)
