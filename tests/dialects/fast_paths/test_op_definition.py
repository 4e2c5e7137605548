"""The textual forms of all ops are well-formed; a malformed one is an error once the op is parsed or printed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import StringAttr, i32
from xdsl.irdl import IRDLOperation, operand_def, opt_prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError

from minitriton.dialects.context import dialects
from minitriton.dialects.fast_paths.op_definition import Op, textual_form

OPS = {
    op.name: op
    for dialect in dialects()
    for op in dialect.operations
    if issubclass(op, IRDLOperation) and op.__module__.startswith("minitriton") and op.assembly_format is not None
}


@pytest.mark.parametrize("name", sorted(OPS))
def test_a_textual_form_is_well_formed(name: str) -> None:
    assert textual_form(OPS[name]).stmts


def test_a_malformed_form_is_an_error_where_the_op_is_printed() -> None:
    class Misspelt(Op):
        name = "test.misspelt"
        src = operand_def()
        assembly_format = "$source attr-dict `:` type($src)"

    op = Misspelt.create(operands=test.TestOp.create(result_types=[i32]).results)
    with pytest.raises(ParseError, match="source"):
        str(op)


def test_a_declaration_is_read_when_the_op_is_first_used() -> None:
    class Pair(Op):
        name = "test.pair"
        left = operand_def(i32)
        right = operand_def(i32)
        kind = opt_prop_def(StringAttr)
        traits = traits_def(Pure())

    operands = test.TestOp.create(result_types=[i32, i32]).results
    op = Pair.create(operands=operands)
    op.kind = StringAttr("k")
    assert (op.left, op.right, op.properties["kind"]) == (*operands, StringAttr("k"))
    assert op.has_trait(Pure)
    assert Pair.get_irdl_definition() is op.get_irdl_definition()
    op.verify()


def test_a_wrong_declaration_is_an_error_where_the_op_is_used() -> None:
    class Wrong(Op):
        name = "test.wrong"
        src = operand_def()
        size = 4

    with pytest.raises(PyRDLOpDefinitionError, match="size"):
        Wrong.get_irdl_definition()


def test_threads_that_use_an_op_first_at_once_agree() -> None:
    operands = test.TestOp.create(result_types=[i32, i32]).results
    for _ in range(20):

        class Pair(Op):
            name = "test.pair"
            left = operand_def(i32)
            right = operand_def(i32)

        def right(kind: type[IRDLOperation] = Pair) -> object:
            return getattr(kind.create(operands=operands), "right")  # noqa: B009

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(lambda _, read=right: read(), range(4))) == {operands[1]}


def test_every_declaration_can_be_read() -> None:
    for dialect in dialects():
        for op in dialect.operations:
            if issubclass(op, IRDLOperation):
                assert op.get_irdl_definition().name == op.name
