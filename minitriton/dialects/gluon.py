"""The `gluon` dialect: layouts that the compiler is asked to choose, and the op that chooses one.

%1 = gluon.set_auto_layout %0 : tensor<64xi32, #gluon.auto_encoding> -> tensor<64xi32, #blocked>
"""

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, SSAValue
from xdsl.irdl import irdl_attr_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from minitriton.dialects.facts.gpu_traits import VerifyTensorLayouts, require
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op


@irdl_attr_definition
class AutoEncodingAttr(ParametrizedAttribute):
    """The layout that the uses ask for: `#gluon.auto_encoding`."""

    name = "gluon.auto_encoding"


@irdl_attr_definition
class CoalescedEncodingAttr(ParametrizedAttribute):
    """The layout in which an access to memory takes the fewest transactions: `#gluon.coalesced_encoding`."""

    name = "gluon.coalesced_encoding"


AUTO, COALESCED = AutoEncodingAttr(), CoalescedEncodingAttr()


class SetAutoLayoutOp(Op):
    """Says which layout `src`, whose layout is not resolved, has."""

    name = "gluon.set_auto_layout"

    src = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure(), VerifyTensorLayouts())
    assembly_format = "$src attr-dict `:` type($src) `->` type($result)"

    @from_fields
    def __init__(self, src: SSAValue, result_type: Attribute) -> None: ...

    def verify_(self) -> None:
        src, result = cast(TensorType, self.src.type), self.result.type
        if not isinstance(src.encoding, AutoEncodingAttr):
            require(self, f"input must have an auto encoding, got {src.encoding}")
        if isinstance(result.encoding, AutoEncodingAttr):
            require(self, "result type must not be auto encoding")
        if (src.get_shape(), src.element_type) != (result.get_shape(), result.element_type):
            require(self, "requires the same shape and element type for operand and result")


GLUON = Dialect("gluon", [SetAutoLayoutOp], [AutoEncodingAttr, CoalescedEncodingAttr])
