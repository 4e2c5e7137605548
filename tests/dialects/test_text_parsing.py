"""The parser accepts what Triton's does, beyond the canonical form."""

from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc

from minitriton.dialects import tt
from minitriton.dialects.text import parse_module, print_module


def first(module, name):
    return next(op for op in module.walk() if op.name == name)


def test_ops_without_a_place_are_placed_where_they_stand():
    place = first(parse_module("tt.func @f() {\n  tt.return\n}", "k.ttir"), "tt.return").location
    assert isinstance(place, FileLineColLoc)
    assert (place.filename.data, place.line.data, place.column.data) == ("k.ttir", 2, 3)


def test_an_unknown_place_stays_unknown():
    assert isinstance(
        first(parse_module("tt.func @f() {\n  tt.return loc(unknown)\n}"), "tt.return").location, UnknownLoc
    )


def test_aliases_may_be_used_before_they_are_defined():
    module = parse_module('tt.func @f() {\n  tt.return loc(#loc1)\n}\n#loc = loc("k.py":1:1)\n#loc1 = loc("n"(#loc))')
    assert 'loc("n"(' in print_module(module, locations=True)


def test_clauses_stand_in_any_order():
    text = "tt.func @f(%p: !tt.ptr<f32>) {{\n  %0 = tt.load %p {} : !tt.ptr<f32>\n  tt.return\n}}"
    one = parse_module(text.format("cacheModifier = cg evictionPolicy = evict_last"))
    other = parse_module(text.format("evictionPolicy = evict_last cacheModifier = cg"))
    assert print_module(one) == print_module(other)


def test_enumerations_may_be_numbers():
    op = first(
        parse_module(
            "tt.func @f(%p: !tt.ptr<f32>) {\n  %0 = tt.load %p {cache = 3 : i32} : !tt.ptr<f32>\n  tt.return\n}"
        ),
        "tt.load",
    )
    assert op.cache is tt.CacheModifierAttr.of("cg")


def test_properties_with_defaults_may_be_missing_in_generic_form():
    module = parse_module(
        '"tt.func"() <{sym_name = "f", function_type = (!tt.ptr<f32>) -> ()}> ({\n^bb0(%p: !tt.ptr<f32>):\n'
        '  %0 = "tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> f32\n'
        "  tt.return\n}) : () -> ()"
    )
    assert "%0 = tt.load %arg0 : !tt.ptr<f32>" in print_module(module)


def test_unregistered_ops_are_kept_in_generic_form():
    text = 'module {\n  tt.func @f(%arg0: i32) {\n    %0 = "a.b"(%arg0) {k = 1 : i32} : (i32) -> i32\n    tt.return\n  }\n}\n'
    assert print_module(parse_module(text)) == text


def test_an_empty_text_is_an_empty_module():
    assert print_module(parse_module("// nothing")) == "module {\n}\n"


def test_loop_arguments_of_a_dump_keep_their_names():
    text = (
        "tt.func @f(%n: i32, %x: f32) {\n"
        "  %acc = scf.for %i = %n to %n step %n iter_args(%acc_0 = %x) -> (f32) : i32 {\n"
        '    scf.yield %acc_0 : f32 loc("k.py":2:1)\n'
        '  } loc("acc"("k.py":1:1))\n  tt.return\n}'
    )
    assert "%acc = scf.for %i = %arg0 to %arg0 step %arg0 iter_args(%acc_0 = %arg1)" in print_module(
        parse_module(text), locations=True
    )


def test_aliases_inside_an_unknown_attribute_are_written_out() -> None:
    text = print_module(
        parse_module(
            """
            #licm = #llvm.loop_licm<disable = true>
            module {
              tt.func @f() {
                cf.br ^bb1 {llvm.loop_annotation = #llvm.loop_annotation<licm = #licm>}
              ^bb1:
                tt.return
              }
            }"""
        )
    )
    assert "#llvm.loop_annotation<licm = <disable = true>>" in text
