"""The dialect `toy`: one op, an access of global memory."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, var_operand_def, var_result_def


@irdl_op_definition
class MemoryOp(IRDLOperation):
    """`what` (`load`, `store`, `thread`, `program`) with operands and results of any type."""

    name = "toy.memory"

    inputs = var_operand_def(Attribute)
    outputs = var_result_def(Attribute)
    what = prop_def(StringAttr)


DIALECT = Dialect("toy", [MemoryOp])
