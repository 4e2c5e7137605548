"""Matrix products of `tt`.

%3 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32>
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i32
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    ParsePropInAttrDict,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from minitriton.dialects.attribute_values import TRUE, i32_attr
from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.layout import LayoutAnchor, NeverRematerialized
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.constraints import FLOAT_TENSOR, FP_INT_TENSOR, SCALED_TENSOR, var
from minitriton.dialects.tt.enums import InputPrecision, InputPrecisionAttr, ScaleDotElemType, ScaleDotElemTypeAttr
from minitriton.dialects.tt.format import InputPrecisionClause
from minitriton.dialects.tt.traits import TensorLayouts


class DotOp(Op):
    """`a @ b + c`. `inputPrecision` says how tensor cores may round f32 inputs."""

    T: ClassVar = var("T", FP_INT_TENSOR)
    name = "tt.dot"
    a = operand_def(FP_INT_TENSOR)
    b = operand_def(FP_INT_TENSOR)
    c = operand_def(T)
    input_precision = prop_def(
        InputPrecisionAttr, default_value=InputPrecisionAttr.of(InputPrecision.IEEE), prop_name="inputPrecision"
    )
    max_num_imprecise_acc = prop_def(IntegerAttr.constr(i32), default_value=i32_attr(0), prop_name="maxNumImpreciseAcc")
    result = result_def(T)

    irdl_options = (ParsePropInAttrDict(),)
    custom_directives = (InputPrecisionClause,)
    assembly_format = (
        "$a `,` $b `,` $c custom<InputPrecisionClause>($inputPrecision) attr-dict `:` "
        "type($a) `*` type($b) `->` type($result)"
    )
    traits = traits_def(Pure(), TensorLayouts(), LayoutAnchor(), NeverRematerialized(), Contraction())

    @from_fields
    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        *,
        input_precision: InputPrecision | str = InputPrecision.IEEE,
        max_num_imprecise_acc: int = 0,
    ) -> None: ...


class DotScaledOp(Op):
    """`scale(a, a_scale) @ scale(b, b_scale) + c` for the microscaling formats.

    fp4 operands are packed by two in an i8, along K if `lhs_k_pack` / `rhs_k_pack`, else along M / N.
    """

    T: ClassVar = var("T", FLOAT_TENSOR)
    name = "tt.dot_scaled"
    a = operand_def(SCALED_TENSOR)
    b = operand_def(SCALED_TENSOR)
    c = operand_def(T)
    a_scale = opt_operand_def(SCALED_TENSOR)
    b_scale = opt_operand_def(SCALED_TENSOR)
    a_elem_type = prop_def(ScaleDotElemTypeAttr)
    b_elem_type = prop_def(ScaleDotElemTypeAttr)
    fast_math = prop_def(BoolAttr, prop_name="fastMath")
    lhs_k_pack = prop_def(BoolAttr, default_value=TRUE)
    rhs_k_pack = prop_def(BoolAttr, default_value=TRUE)
    result = result_def(T)

    irdl_options = (AttrSizedOperandSegments(as_property=True), ParsePropInAttrDict())
    assembly_format = (
        "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c "
        "`lhs` `=` $a_elem_type `rhs` `=` $b_elem_type attr-dict "
        "`:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($result)"
    )
    traits = traits_def(Pure(), TensorLayouts(), LayoutAnchor(), Contraction())

    @from_fields
    def __init__(
        self,
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        a_scale: SSAValue | None = None,
        b_scale: SSAValue | None = None,
        *,
        a_elem_type: ScaleDotElemType | str,
        b_elem_type: ScaleDotElemType | str,
        fast_math: bool,
        lhs_k_pack: bool = True,
        rhs_k_pack: bool = True,
    ) -> None: ...
