"""Text that is malformed or invalid is refused with the place and what was expected."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.dialects.text import parse_module
from minitriton.errors import IRError

CHUNKS = (Path(__file__).parents[1] / "conformance" / "chunks" / "tt.mlir").read_text().split("// -----\n")


def refused(text):
    with pytest.raises(IRError) as error:
        parse_module(text, "k.ttir")
    return error.value


def test_malformed_text_is_refused_at_its_line_and_column():
    error = refused("module {\n  tt.func @f() {\n    tt.return 3\n  }\n}")
    assert str(error.location) == "k.ttir:3:15"
    assert error.source_line == "    tt.return 3"


def test_an_invalid_op_is_refused_at_its_place():
    error = refused(
        "tt.func @f() {\n  %0 = tt.make_range {start = 3 : i32, end = 3 : i32} : tensor<1xi32>\n  tt.return\n}"
    )
    assert str(error.location) == "k.ttir:2:8"
    assert error.message == "'tt.make_range' op start must be less than end"


def test_a_place_given_in_the_text_is_the_place_of_the_error():
    error = refused(
        'tt.func @f(%x: tensor<2xi32>) {\n  %0 = tt.unsplat %x : tensor<2xi32> loc("k.py":7:3)\n  tt.return\n}'
    )
    assert str(error.location) == "k.py:7:3"


def test_a_value_used_with_another_type_shows_both():
    error = refused("tt.func @f(%x: i32) {\n  %0 = arith.addi %x, %x : i64\n  tt.return\n}")
    assert error.message == "use of value '%x' expects different type than prior uses: 'i64' vs 'i32'"


def test_an_undefined_value_is_named():
    error = refused("tt.func @f() {\n  %0 = arith.addi %y, %y : i64\n  tt.return\n}")
    assert "undeclared SSA value name '%y'" in error.message


def test_a_block_without_terminator_is_refused():
    assert refused("tt.func @f(%x: i32) {\n  %0 = arith.addi %x, %x : i32\n}").message.startswith(
        "block with no terminator"
    )


def test_an_unknown_op_in_its_own_form_is_named():
    assert refused("tt.func @f() {\n  foo.bar\n}").message == "custom op 'foo.bar' is unknown"


def test_an_alias_that_means_itself_is_refused():
    assert "undefined symbol alias" in refused("#a = #a\nmodule attributes {x = #a} {}").message


def test_a_call_must_fit_the_function():
    text = "tt.func @g(%x: i32) {{\n  tt.return\n}}\ntt.func @f(%x: i64) {{\n  tt.call @{} : {}\n  tt.return\n}}"
    assert "'h' does not reference a valid function" in refused(text.format("h()", "() -> ()")).message
    assert "incorrect number of operands" in refused(text.format("g()", "() -> ()")).message
    assert "expected operand type 'i32', but provided 'i64'" in refused(text.format("g(%x)", "(i64) -> ()")).message


def test_a_function_returns_what_it_says():
    message = refused("tt.func @f(%x: i64) -> i32 {\n  tt.return %x : i64\n}").message
    assert message == "type of return operand 0 ('i64') doesn't match function result type ('i32') in function @f"


def test_a_loop_whose_result_differs_from_its_body_is_refused():
    error = refused(
        "tt.func @f(%x: i32, %c: i1) {\n  %0 = scf.while (%a = %x) : (i32) -> i64 {\n    scf.condition(%c) %a : i32\n"
        "  } do {\n  ^bb0(%b: i32):\n    scf.yield %b : i32\n  }\n  tt.return\n}"
    )
    assert str(error.location) == "k.ttir:2:8"
    assert error.message.startswith("'scf.while' op Block arguments with wrong type, expected i64, got i32")


def test_types_that_do_not_follow_from_each_other_are_refused():
    error = refused(
        '"tt.func"() <{sym_name = "f", function_type = (!tt.ptr<f32>) -> ()}> ({\n^bb0(%p: !tt.ptr<f32>):\n'
        '  %0 = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> i32\n'
        "  tt.return\n}) : () -> ()"
    )
    assert error.message == "'tt.load' op failed to verify that result matches ptr type: expected 'f32', found 'i32'"


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damaged_text_is_refused_with_a_place_or_still_valid(seed):
    dice = random.Random(seed)
    tokens = re.findall(r'"[^"\n]*"|[%#!@^]?[\w.$]+|\s+|->|.', dice.choice(CHUNKS))
    index = dice.randrange(len(tokens))
    tokens[index : index + dice.randrange(2)] = [dice.choice(tokens)] * dice.randrange(2)
    try:
        parse_module("".join(tokens), "k.ttir")
    except IRError as error:
        assert error.location is not None


def test_a_loop_over_unsigned_bounds_is_refused():
    error = refused("tt.func @f(%n: i32) {\n  scf.for unsigned %i = %n to %n step %n : i32 {\n  }\n  tt.return\n}")
    assert str(error.location).startswith("k.ttir:2:") and "unsigned bounds are not supported" in error.message
