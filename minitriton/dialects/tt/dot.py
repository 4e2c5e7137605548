"""Matrix products of `tt`.

%3 = tt.dot %a, %b, %c, inputPrecision = tf32 : tensor<64x32xf32> * tensor<32x64xf32> -> tensor<64x64xf32>
"""

from typing import ClassVar

from xdsl.dialects.builtin import BoolAttr, Float8E4M3FNType, Float32Type, IntegerAttr, i32
from xdsl.ir import Operation, SSAValue
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
from minitriton.dialects.encodings import layout_of
from minitriton.dialects.facts import Contraction
from minitriton.dialects.facts.layout import LayoutAnchor, NeverRematerialized
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.tt.enums import InputPrecision, InputPrecisionAttr, ScaleDotElemType, ScaleDotElemTypeAttr
from minitriton.dialects.tt.format import InputPrecisionClause
from minitriton.dialects.tt.traits import (
    FLOAT_TENSOR,
    FP_INT_TENSOR,
    SCALED_TENSOR,
    TensorLayouts,
    has_encoding,
    var,
    width_of,
)
from minitriton.dialects.tt.types import element_type, shape_of
from minitriton.layouts.encodings import DotOperand, NvidiaMma


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

    def complaint(self) -> str | None:
        a, b = shape_of(self.a.type), shape_of(self.b.type)
        found = _ranks_complaint(self) or _dims_complaint(self, (a[-1], b[-2]), (a[-2], b[-1]))
        if found is not None:
            return found
        if width_of(self.a.type) != width_of(self.b.type):
            return "element types of operands A and B must have same bit width"
        if not has_encoding(self.a.type) and not has_encoding(self.b.type):
            return None
        if not has_encoding(self.a.type) or not has_encoding(self.b.type):
            return "mismatching encoding between A and B operands"
        if not has_encoding(self.c.type):
            return "miss encoding of C operand"
        return _dot_layouts_complaint(self)


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

    def complaint(self) -> str | None:
        found = _ranks_complaint(self)
        if found is not None:
            return found
        a, b, c = shape_of(self.a.type), shape_of(self.b.type), shape_of(self.c.type)
        fp4 = (self.a_elem_type.data.value == "e2m1", self.b_elem_type.data.value == "e2m1")
        along_k = (self.lhs_k_pack.value.data != 0, self.rhs_k_pack.value.data != 0)
        k_factors = [2 if is_fp4 and is_k else 1 for is_fp4, is_k in zip(fp4, along_k, strict=True)]
        factors = [2 if is_fp4 and not is_k else 1 for is_fp4, is_k in zip(fp4, along_k, strict=True)]
        k = a[-1] * k_factors[0]
        found = _dims_complaint(self, (k, b[-2] * k_factors[1]), (a[-2] * factors[0], b[-1] * factors[1]))
        if found is not None:
            return found
        for scale, size, what in ((self.a_scale, c[-2], "M"), (self.b_scale, c[-1], "N")):
            if scale is None:
                continue
            shape = shape_of(scale.type)
            if shape[-2] != size:
                return f"scales {what} dimension must match the operand {what} dimension"
            if shape[-1] != k // (16 if isinstance(element_type(scale.type), Float8E4M3FNType) else 32):
                return "scales K dimension must match the operand K divided by the scale factor"
        return None


def _dims_complaint(op: Operation, inner: tuple[int, int], outer: tuple[int, int]) -> str | None:
    """Of dots: ranks and dimensions; `inner` is K of both operands, `outer` what M and N should be."""
    a, b, c = (shape_of(op.operands[index].type) for index in range(3))
    found = None
    if inner[0] != inner[1]:
        found = "expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand"
    elif len(a) == 3 and not a[0] == b[0] == c[0]:
        found = "expected the first dimension of the first operand to be equal to the first dimension of the result"
    elif c[-2:] != outer:
        found = (
            "expected the output shape to be the concatenation of the last dimension of the first operand "
            "and the last dimension of the second"
        )
    return None if found is None else f"'{op.name}' op {found}"


def _ranks_complaint(op: Operation) -> str | None:
    ranks = [len(shape_of(op.operands[index].type)) for index in range(3)]
    if ranks[0] not in (2, 3):
        return f"'{op.name}' op expected operands to be 2d or 3d"
    return None if len(set(ranks)) == 1 else f"'{op.name}' op expected all operands to have the same rank"


def _dot_layouts_complaint(op: DotOp) -> str | None:
    a, b, c = layout_of(op.a.type), layout_of(op.b.type), layout_of(op.c.type)
    if not isinstance(a, DotOperand) and not isinstance(b, DotOperand):
        return None
    if not isinstance(a, DotOperand) or not isinstance(b, DotOperand):
        return "mismatching encoding between A and B operands"
    if a.k_width != b.k_width:
        return "mismatching kWidth between A and B operands"
    units = [layout for layout in (a.parent, b.parent, c) if isinstance(layout, NvidiaMma)]
    if units and len(units) < 3:
        return "mismatching MMA encoding"
    if len({unit.version_major for unit in units}) > 1:
        return "mismatched MMA version."
    for index, operand in enumerate((a, b)):
        if operand.op_idx != index:
            return f"'tt.dot' op Wrong opIdx: expected {index}, found {operand.op_idx}"
        if operand.parent != c:
            return f"'tt.dot' op Incompatible parent encoding: expected {c}, found {operand.parent}"
    if units and isinstance(element_type(op.a.type), Float32Type) and op.input_precision.data.value != "tf32":
        return "unsupported MMA version"
    return None
