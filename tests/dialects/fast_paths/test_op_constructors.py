"""Constructors that are made from the fields of their ops."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, f32, i1, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)

from minitriton.dialects import tt
from minitriton.dialects.fast_paths.op_constructors import from_fields
from minitriton.dialects.fast_paths.op_definition import Op


class SampleOp(Op):
    """An op with a field of each kind."""

    name = "test.sample"
    a = operand_def(i32)
    mask = opt_operand_def(i1)
    rest = var_operand_def(f32)
    axis = prop_def(IntegerAttr, prop_name="theAxis")
    text = opt_prop_def(StringAttr)
    flag = opt_prop_def(UnitAttr)
    cache = prop_def(tt.CacheModifierAttr)
    result = result_def(i1)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @from_fields
    def __init__(
        self,
        a: SSAValue,
        mask: SSAValue | None = None,
        rest: tuple[SSAValue, ...] = (),
        *,
        axis: int,
        text: str | None = None,
        flag: bool = False,
        cache: tt.CacheModifier | str = "none",
    ) -> None: ...


def values(*types: Attribute) -> list[SSAValue]:
    return list(test.TestOp(result_types=types).results)


def test_fields_are_what_was_given() -> None:
    a, mask, x, y = values(i32, i1, f32, f32)
    op = SampleOp(a, mask, (x, y), axis=3, text="here", flag=True, cache="cg")
    assert (op.a, op.mask, tuple(op.rest), op.axis.value.data) == (a, mask, (x, y), 3)
    assert op.text is not None and op.text.data == "here" and op.flag is not None and op.cache.data == "cg"
    assert op.result.type == i1
    op.verify()


def test_what_was_left_out_is_not_there() -> None:
    op = SampleOp(*values(i32), axis=0)
    assert (op.mask, len(op.rest), op.text, op.flag, op.cache.data) == (None, 0, None, None, "none")
    assert "text" not in op.properties and "theAxis" in op.properties
    op.verify()


def test_a_parameter_that_is_missing_is_named() -> None:
    with pytest.raises(TypeError, match="axis"):
        SampleOp(*values(i32))


def test_a_result_whose_type_nothing_tells_is_an_error() -> None:
    class OpenOp(Op):
        name = "test.open"
        a = operand_def(i32)
        result = result_def(IntegerAttr)

        @from_fields
        def __init__(self, a: SSAValue) -> None: ...

    with pytest.raises(TypeError, match="what type result is"):
        OpenOp(*values(i32))
