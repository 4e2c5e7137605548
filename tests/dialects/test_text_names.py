"""Values, blocks and aliases are named as MLIR names them."""

from minitriton.dialects.text import parse_module, print_module


def body(text, locations=False):
    return print_module(parse_module("tt.func @f(%p: i32, %c: i1) {\n" + text + "tt.return\n}"), locations)


def test_constants_are_named_after_what_they_hold():
    text = body(
        "%0 = arith.constant 4 : i32\n%1 = arith.constant -4 : i64\n%2 = arith.constant false\n"
        "%3 = arith.constant 1.5 : f32\n%4 = arith.constant 2 : index\n"
    )
    for name in ("%c4_i32 =", "%c-4_i64 =", "%false =", "%cst =", "%c2 ="):
        assert name in text


def test_names_that_are_taken_get_one_running_number():
    text = body(
        "%0 = arith.constant 4 : i32\n%1 = arith.constant 4 : i32\n%2 = arith.constant 1.0 : f32\n%3 = arith.constant 2.0 : f32\n"
    )
    assert [line.split()[0] for line in text.splitlines()[2:6]] == ["%c4_i32", "%c4_i32_0", "%cst", "%cst_1"]


def test_values_inside_regions_are_numbered_after_those_around():
    text = body(
        "scf.if %c {\n%x = arith.addi %p, %p : i32\n}\n%y = arith.muli %p, %p : i32\nscf.if %c {\n%z = arith.subi %p, %p : i32\n}\n"
    )
    assert "%1 = arith.addi" in text and "%0 = arith.muli" in text and "%1 = arith.subi" in text


def test_block_arguments_of_nested_regions_continue_the_count():
    text = body("scf.for %i = %p to %p step %p : i32 {\n%x = arith.addi %i, %i : i32\n}\n")
    assert "scf.for %arg2 = %arg0 to %arg0 step %arg0  : i32 {" in text


def test_blocks_list_their_predecessors():
    text = body("cf.cond_br %c, ^a, ^b\n^a:\ncf.br ^b\n^b:\n")
    assert "^bb1:  // pred: ^bb0" in text
    assert "^bb2:  // 2 preds: ^bb0, ^bb1" in text


def test_places_with_names_name_the_values():
    text = body('%0 = arith.addi %p, %p : i32 loc("total"("k.py":1:2))\n', locations=True)
    assert "%total = arith.addi %arg0, %arg0 : i32 loc(#loc" in text


def test_places_of_arguments_are_defined_before_the_module_others_after():
    text = body("", locations=True)
    before, after = text.split("module {")
    assert '#loc2 = loc("<string>":1:12)' in before
    assert '#loc = loc("<string>":0:0)' in after


def test_aliases_are_numbered_by_depth_then_name_then_first_use():
    text = print_module(
        parse_module(
            "#b = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
            "#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
            'module attributes {"ttg.num-warps" = 4 : i32} {\n'
            "tt.func @f(%x: tensor<128xf32, #a>) {\n"
            "%0 = ttg.convert_layout %x : tensor<128xf32, #a> -> tensor<128xf32, #b>\n"
            "tt.return\n}\n}"
        )
    )
    lines = text.splitlines()
    assert lines[0].startswith("#blocked = #ttg.blocked<{sizePerThread = [1]")
    assert lines[1].startswith("#blocked1 = #ttg.blocked<{sizePerThread = [2]")
    assert "tensor<128xf32, #blocked> -> tensor<128xf32, #blocked1>" in text


def test_values_from_outside_what_is_printed_are_marked():
    module = parse_module("tt.func @f(%p: i32) {\n%0 = arith.addi %p, %p : i32\ntt.return\n}")
    add = next(op for op in module.walk() if op.name == "arith.addi")
    assert print_module(add) == "%0 = arith.addi <<UNKNOWN SSA VALUE>>, <<UNKNOWN SSA VALUE>> : i32\n"
