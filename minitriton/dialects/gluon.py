"""The `gluon` dialect: layouts that the compiler is to choose.

%y = gluon.set_auto_layout %x : tensor<16xi32, #gluon.auto_encoding> -> tensor<16xi32, #blocked>
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_attr_definition, operand_def, result_def, traits_def
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.declared import declared
from minitriton.dialects.op_definition import op_definition
from minitriton.dialects.ttg_traits import VerifyTensorLayouts


@irdl_attr_definition
class AutoEncodingAttr(ParametrizedAttribute):
    """A layout to be inferred from the ops around."""

    name = "gluon.auto_encoding"


@irdl_attr_definition
class CoalescedEncodingAttr(ParametrizedAttribute):
    """The layout that makes a memory access coalesced."""

    name = "gluon.coalesced_encoding"


@op_definition
class SetAutoLayoutOp(IRDLOperation):
    """Fixes the layout of a tensor whose layout was to be inferred."""

    name = "gluon.set_auto_layout"

    src = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(VerifyTensorLayouts())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: SSAValue, result_type: Attribute) -> None:
        Operation.__init__(self, operands=(src,), result_types=(result_type,))

    def verify_(self) -> None:
        src, result = cast(TensorType, self.src.type), cast(TensorType, self.result.type)
        if not isinstance(src.encoding, AutoEncodingAttr):
            raise VerifyException("input tensor must have an auto layout type")
        if isinstance(result.encoding, AutoEncodingAttr):
            raise VerifyException("result type must not be auto layout")


GLUON = Dialect("gluon", *declared("gluon", globals()))
