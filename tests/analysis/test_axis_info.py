"""What axis info claims of small programs, and what it must not claim."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import SSAValue

from minitriton.analysis.access_width import AccessWidth, neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import (
    MAX_DIVISOR,
    AxisInfo,
    anything,
    constant,
    join,
    power_of_two_part,
    unknown,
)
from minitriton.dialects.text import parse_module


class Program:
    """A parsed program; `program["x"]` is the fact of the value named `%x`."""

    def __init__(self, text: str) -> None:
        self.module = parse_module(text)
        self.analysis = AxisInfoAnalysis(self.module)

    def value(self, name: str) -> SSAValue:
        for op in self.module.walk():
            found = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
            for value in found:
                if value.name_hint == name:
                    return value
        raise KeyError(name)

    def __getitem__(self, name: str) -> AxisInfo:
        return self.analysis.get(self.value(name))


def function(body: str, arguments: str = "") -> Program:
    return Program(f"tt.func @f({arguments}) {{\n{body}\n  tt.return\n}}")


RANGE = "%range = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>\n"


def test_offsets_of_a_block_are_contiguous_and_aligned():
    program = function(
        RANGE
        + """
        %pid = tt.get_program_id x : i32
        %c16 = arith.constant 16 : i32
        %base = arith.muli %pid, %c16 : i32
        %bases = tt.splat %base : i32 -> tensor<16xi32>
        %offs = arith.addi %bases, %range : tensor<16xi32>
        %ns = tt.splat %n : i32 -> tensor<16xi32>
        %mask = arith.cmpi slt, %offs, %ns : tensor<16xi32>
        %ps = tt.splat %p : !tt.ptr<f16> -> tensor<16x!tt.ptr<f16>>
        %ptr = tt.addptr %ps, %offs : tensor<16x!tt.ptr<f16>>, tensor<16xi32>
        """,
        "%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 8 : i32}",
    )
    assert program["offs"] == AxisInfo((16,), (16,), (1,), None, True)
    assert program["mask"].constancy == (8,)
    assert program["ptr"] == AxisInfo((16,), (16,), (1,))


def test_a_partial_group_is_divisible_by_its_own_length_only():
    program = function(
        RANGE
        + """
        %c4 = arith.constant dense<4> : tensor<16xi32>
        %c64 = arith.constant dense<64> : tensor<16xi32>
        %quarter = arith.divui %range, %c4 : tensor<16xi32>
        %far = arith.muli %quarter, %c64 : tensor<16xi32>
        %sum = arith.addi %far, %range : tensor<16xi32>
        """
    )
    assert program["sum"].contiguity == (4,)
    assert program["sum"].divisibility == (4,)


def test_signed_division_of_numbers_that_may_be_negative_is_not_constant_over_a_group():
    program = function(
        RANGE
        + """
        %c4 = arith.constant dense<4> : tensor<16xi32>
        %c8 = arith.constant dense<8> : tensor<16xi32>
        %shifted = arith.subi %range, %c8 : tensor<16xi32>
        %q = arith.divsi %shifted, %c4 : tensor<16xi32>
        %r = arith.remsi %shifted, %c4 : tensor<16xi32>
        %u = arith.divui %shifted, %c4 : tensor<16xi32>
        %p = arith.divsi %range, %c4 : tensor<16xi32>
        """
    )
    assert program["q"].constancy == (1,)
    assert program["r"].contiguity == (1,)
    assert program["u"].constancy == (4,)
    assert program["p"].constancy == (4,)


def test_offsets_wrapped_by_a_size_stay_contiguous():
    program = function(
        RANGE
        + """
        %pid = tt.get_program_id x : i32
        %groups = arith.divsi %pid, %n : i32
        %c16 = arith.constant 16 : i32
        %base = arith.muli %groups, %c16 : i32
        %bases = tt.splat %base : i32 -> tensor<16xi32>
        %offs = arith.addi %bases, %range : tensor<16xi32>
        %ns = tt.splat %n : i32 -> tensor<16xi32>
        %wrapped = arith.remsi %offs, %ns : tensor<16xi32>
        """,
        "%n: i32 {tt.divisibility = 16 : i32}",
    )
    assert program["wrapped"] == AxisInfo((16,), (16,), (1,), None, True)


def test_constants_are_signed_and_wrap_to_their_type():
    program = function(
        """
        %a = arith.constant dense<100> : tensor<4xi8>
        %b = arith.addi %a, %a : tensor<4xi8>
        %m = arith.constant dense<-1> : tensor<4xi32>
        %z = arith.constant dense<0> : tensor<4xi32>
        %below = arith.cmpi slt, %m, %z : tensor<4xi32>
        %above = arith.cmpi ugt, %m, %z : tensor<4xi32>
        %t = arith.constant true
        %wide = arith.extsi %t : i1 to i32
        """
    )
    assert program["b"].constant_value == -56
    assert program["below"].constant_value == 1
    assert program["above"].constant_value == 1
    assert program["wide"].constant_value == -1


def test_a_pointer_cast_to_another_size_is_contiguous_no_more():
    program = function(
        RANGE
        + """
        %ps = tt.splat %p : !tt.ptr<i8> -> tensor<16x!tt.ptr<i8>>
        %bytes = tt.addptr %ps, %range : tensor<16x!tt.ptr<i8>>, tensor<16xi32>
        %words = tt.bitcast %bytes : tensor<16x!tt.ptr<i8>> -> tensor<16x!tt.ptr<i32>>
        %bools = tt.bitcast %bytes : tensor<16x!tt.ptr<i8>> -> tensor<16x!tt.ptr<i1>>
        """,
        "%p: !tt.ptr<i8> {tt.divisibility = 16 : i32}",
    )
    assert program["words"] == AxisInfo((1,), (1,), (1,))
    assert program["bools"].contiguity == (16,)


def test_a_loop_keeps_what_every_iteration_keeps():
    program = function(
        """
        %c0 = arith.constant 0 : i32
        %c32 = arith.constant 32 : i32
        %c4 = arith.constant 4 : i32
        %end = scf.for %i = %c0 to %n step %c32 iter_args(%x = %c32) -> (i32) : i32 {
          %next = arith.addi %x, %c4 : i32
          scf.yield %next : i32
        }
        """,
        "%n: i32",
    )
    assert program["i"] == AxisInfo((1,), (32,), (1,), None, True)
    assert program["end"] == AxisInfo((1,), (4,), (1,), None, True)


def test_a_while_loop_joins_what_enters_and_what_comes_back():
    program = function(
        """
        %c16 = arith.constant 16 : i32
        %c8 = arith.constant 8 : i32
        %end = scf.while (%x = %c16) : (i32) -> i32 {
          %more = arith.cmpi slt, %x, %n : i32
          scf.condition(%more) %x : i32
        } do {
        ^bb0(%y: i32):
          %next = arith.addi %y, %c8 : i32
          scf.yield %next : i32
        }
        """,
        "%n: i32",
    )
    assert program["end"].divisibility == (8,)
    assert program["end"].constant_value is None


def test_blocks_joined_by_branches_reach_a_fixpoint():
    program = Program(
        """
        tt.func @f(%n: i32, %c: i1) {
          %c64 = arith.constant 64 : i32
          %c12 = arith.constant 12 : i32
          cf.br ^head(%c64 : i32)
        ^head(%x: i32):
          cf.cond_br %c, ^body, ^exit
        ^body:
          %next = arith.addi %x, %c12 : i32
          cf.br ^head(%next : i32)
        ^exit:
          %twice = arith.addi %x, %x : i32
          tt.return
        }
        """
    )
    assert program["x"].divisibility == (4,)
    assert program["twice"].divisibility == (4,)


def test_arguments_of_a_called_function_have_what_holds_at_every_call():
    program = Program(
        """
        tt.func private @callee(%x: i32) {
          %c1 = arith.constant 1 : i32
          %same = arith.muli %x, %c1 : i32
          tt.return
        }
        tt.func @caller(%n: i32 {tt.divisibility = 16 : i32}) {
          %c24 = arith.constant 24 : i32
          tt.call @callee(%n) : (i32) -> ()
          tt.call @callee(%c24) : (i32) -> ()
          tt.return
        }
        """
    )
    assert program["same"] == AxisInfo((1,), (8,), (1,))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("%c = arith.cmpi sge, %n, %c0 : i32", AxisInfo((1,), (1,), (1,), None, True)),
        ("%c = arith.cmpi slt, %c0, %n : i32", AxisInfo((1,), (1,), (1,), None, True)),
        ("%r = arith.remsi %n, %c48 : i32\n%c = arith.cmpi eq, %r, %c0 : i32", AxisInfo((1,), (16,), (1,))),
        ("%r = arith.andi %n, %c7 : i32\n%c = arith.cmpi eq, %r, %c0 : i32", AxisInfo((1,), (8,), (1,))),
        ("%c = arith.cmpi eq, %n, %c48 : i32", constant(48, (1,))),
        ("%c = arith.cmpi sle, %n, %c0 : i32", unknown(1)),
    ],
)
def test_an_assumption_is_believed(condition: str, expected: AxisInfo):
    constants = "".join(f"%c{n} = arith.constant {n} : i32\n" for n in (0, 7, 48))
    program = function(f"{constants}{condition}\nllvm.intr.assume %c : i1", "%n: i32")
    assert program["n"] == expected


def test_an_assumption_on_one_path_says_nothing_about_the_others():
    program = function(
        """
        %c0 = arith.constant 0 : i32
        %x = arith.addi %n, %n : i32
        scf.if %b {
          %c = arith.cmpi sge, %x, %c0 : i32
          llvm.intr.assume %c : i1
        }
        """,
        "%n: i32, %b: i1",
    )
    assert not program["x"].non_negative


def test_a_masked_load_is_only_as_constant_as_its_mask_and_other():
    program = function(
        RANGE
        + """
        %ps = tt.splat %p : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
        %c4 = arith.constant dense<4> : tensor<16xi32>
        %limit = arith.divui %range, %c4 : tensor<16xi32>
        %mask = arith.cmpi ult, %limit, %c4 : tensor<16xi32>
        %plain = tt.load %ps : tensor<16x!tt.ptr<i32>>
        %masked = tt.load %ps, %mask : tensor<16x!tt.ptr<i32>>
        %filled = tt.load %ps, %mask, %range : tensor<16x!tt.ptr<i32>>
        """,
        "%p: !tt.ptr<i32>",
    )
    assert program["plain"].constancy == (16,)
    assert program["masked"].constancy == (4,)
    assert program["filled"].constancy == (1,)


def test_an_op_without_a_rule_claims_nothing():
    program = function('%x = "test.unknown"() : () -> tensor<4x8xi32>')
    assert program["x"] == unknown(2)


def test_a_hint_on_an_op_replaces_what_was_found():
    program = function(
        "%x = arith.addi %n, %n {tt.divisibility = 48 : i32} : i32",
        "%n: i32",
    )
    assert program["x"].divisibility == (16,)


def test_a_scalar_load_is_traced_to_the_line_that_causes_it():
    program = Program(
        """
        tt.func @f(%p: !tt.ptr<f32>, %index: !tt.ptr<i32>) {
          %range = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32> loc("k.py":3:9)
          %is = tt.splat %index : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>> loc("k.py":4:9)
          %ips = tt.addptr %is, %range : tensor<16x!tt.ptr<i32>>, tensor<16xi32> loc("k.py":4:20)
          %rows = tt.load %ips : tensor<16x!tt.ptr<i32>> loc("k.py":4:5)
          %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>> loc("k.py":5:9)
          %ptr = tt.addptr %ps, %rows : tensor<16x!tt.ptr<f32>>, tensor<16xi32> loc("k.py":5:20)
          tt.return
        }
        """
    )
    path = program.analysis.why(program.value("ptr"), "contiguity")
    assert [step.origin for step in path] == ["tt.addptr", "tt.load"]
    assert str(path[-1].location) == "k.py:4:5"
    tree = str(program.analysis.explain(program.value("ptr")))
    assert "tt.load at k.py:4:5: contiguity = [1]" in tree
    assert "nothing else is known of memory" in tree


def test_the_width_of_an_access_is_limited_by_alignment_mask_and_layout():
    layout = "#b = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
    program = Program(
        layout
        + """
        module attributes {"ttg.num-warps" = 4 : i32, "ttg.num-ctas" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
        tt.func @f(%p: !tt.ptr<f16> {tt.divisibility = 8 : i32}, %n: i32 {tt.divisibility = 16 : i32}) {
          %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #b>
          %ps = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #b>
          %ptr = tt.addptr %ps, %range : tensor<1024x!tt.ptr<f16>, #b>, tensor<1024xi32, #b>
          %ns = tt.splat %n : i32 -> tensor<1024xi32, #b>
          %mask = arith.cmpi slt, %range, %ns : tensor<1024xi32, #b>
          tt.return
        }
        }
        """
    )
    pointer, mask = program.value("ptr"), program.value("mask")
    assert neighbours(program.analysis, pointer, mask) == AccessWidth(4, 8, "alignment")
    assert neighbours(program.analysis, pointer, mask, most=4) == AccessWidth(4, 4)
    assert neighbours(program.analysis, pointer, mask, held=2) == AccessWidth(2, 8, "layout")
    assert program.analysis.mask_alignment(mask) == 16


def test_join_holds_of_both_sides():
    left = AxisInfo((8,), (4,), (1,))
    right = AxisInfo((2,), (8,), (1,))
    assert join(left, right) == join(right, left) == AxisInfo((2,), (2,), (1,))
    assert join(left, left) is left
    assert join(anything(1), left) == left
    assert join(constant(4, (8,)), constant(12, (8,))) == AxisInfo((1,), (4,), (8,), None, True)


def test_the_power_of_two_in_a_number_is_found_for_every_integer():
    assert [power_of_two_part(n) for n in (0, 1, 12, -8, -(1 << 63), 1 << 62)] == [
        MAX_DIVISOR,
        1,
        4,
        8,
        MAX_DIVISOR,
        MAX_DIVISOR,
    ]
    rng = np.random.default_rng(0)
    for n in rng.integers(1, 1 << 40, 100):
        part = power_of_two_part(int(n))
        assert n % part == 0 and n % (2 * part) != 0
