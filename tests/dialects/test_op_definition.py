"""The textual forms of all ops are well-formed; a malformed one is an error once the op is parsed or printed."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import i32
from xdsl.irdl import IRDLOperation, operand_def
from xdsl.utils.exceptions import ParseError

from minitriton.dialects.context import DIALECTS
from minitriton.dialects.op_definition import op_definition, textual_form

OPS = {
    op.name: op
    for dialect in DIALECTS
    for op in dialect.operations
    if issubclass(op, IRDLOperation) and op.__module__.startswith("minitriton") and op.assembly_format is not None
}


@pytest.mark.parametrize("name", sorted(OPS))
def test_a_textual_form_is_well_formed(name: str) -> None:
    assert textual_form(OPS[name]).stmts


def test_a_malformed_form_is_an_error_where_the_op_is_printed() -> None:
    @op_definition
    class Misspelt(IRDLOperation):
        name = "test.misspelt"
        src = operand_def()
        assembly_format = "$source attr-dict `:` type($src)"

    op = Misspelt.create(operands=test.TestOp.create(result_types=[i32]).results)
    with pytest.raises(ParseError, match="source"):
        str(op)
