"""The dialect `toy`: one op, whatever LLVM has no instruction for."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, var_operand_def, var_result_def


@irdl_op_definition
class ToyOp(IRDLOperation):
    """`what` (`load`, `store`, `thread`, `program0`, `barrier`, `shuffle_bfly`, ...) with operands and results of any type."""

    name = "toy.op"

    inputs = var_operand_def(Attribute)
    outputs = var_result_def(Attribute)
    what = prop_def(StringAttr)


DIALECT = Dialect("toy", [ToyOp])
