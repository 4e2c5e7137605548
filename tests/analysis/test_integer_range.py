"""Integer ranges of whole functions: what is known of small texts, and no number of a random program that is outside its range."""

from __future__ import annotations

import random
import textwrap
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from integer_programs import LENGTH, STORED, make_program, random_arguments
from xdsl.ir import Operation

from minitriton.analysis.integer_range.analysis import RULES, IntegerRange, IntegerRangeAnalysis
from minitriton.analysis.integer_range.lattice import full, wrapped
from minitriton.dialects import arith
from minitriton.dialects.text import parse_module
from minitriton.interpreter import interpret

GRID = (2, 2, 1)


def run_and_check(seed: int) -> int:
    """Run program `seed`, each number of each result compared with its range; how many results were known better than by type."""
    rng = random.Random(seed)
    arguments = random_arguments(rng)
    module = make_program(rng, arguments)
    analysis = IntegerRangeAnalysis(module)
    known: set[Operation] = set()

    def observe(op: Operation, operands: tuple[Any, ...], found: Any) -> Any:
        results = found if len(op.results) > 1 else (found,)
        for result, value in zip(op.results, results, strict=bool(op.results)):
            fact = analysis.get(result)
            if fact.width and not op.name.startswith(("tt.addptr", "tt.splat")):
                numbers = np.asarray(value).astype(object if fact.width == 64 else np.int64)
                if fact.width == 1:
                    numbers = -(numbers != 0).astype(np.int64)
                low, high = int(np.min(numbers)), int(np.max(numbers))
                assert fact.smin <= low and high <= fact.smax, (str(op), fact, value)
                unsigned = [int(n) % (1 << fact.width) for n in np.ravel(numbers)]
                assert fact.umin <= min(unsigned) and max(unsigned) <= fact.umax, (str(op), fact, value)
                if fact != full(fact.width):
                    known.add(op)
        return found

    interpret(module, "f", [np.zeros(STORED * LENGTH, np.int64), *arguments], GRID, observer=observe)
    return len(known)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32))
def test_no_number_of_a_random_program_is_outside_its_range(seed: int) -> None:
    run_and_check(seed)


def test_random_programs_have_much_to_know() -> None:
    assert sum(run_and_check(seed) for seed in range(100)) > 1000


@pytest.mark.parametrize(
    "op_class", [arith.AddiOp, arith.MuliOp, arith.RemSIOp, arith.DivSIOp, arith.TruncIOp], ids=lambda op: op.name
)
def test_a_rule_that_claims_too_much_is_caught(op_class: type[Operation]) -> None:
    """A rule that forgets that numbers wrap, or can be negative."""
    right = RULES.of_class(op_class)
    assert right is not None

    def wrong(op: Operation, ranges: Any) -> IntegerRange:
        found = right(op, ranges)
        return found if found.smin >= 0 or found.width == 1 else wrapped(found.width, 0, full(found.width).smax)

    with RULES.replaced(op_class, wrong), pytest.raises(AssertionError):
        for seed in range(2000):
            run_and_check(seed)


def ranges_of(body: str, arguments: str = "%n: i32, %m: i32, %p: !tt.ptr<i8>") -> dict[str, IntegerRange]:
    """The ranges of the named values of a function."""
    text = f"tt.func @f({arguments}) {{\n{textwrap.dedent(body)}\ntt.return\n}}"
    module = parse_module(text)
    analysis = IntegerRangeAnalysis(module)
    found: dict[str, IntegerRange] = {}
    for op in module.walk():
        values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
        for value in values:
            if value.name_hint:
                found[value.name_hint] = analysis.get(value)
    return found


def signed(found: IntegerRange) -> tuple[int, int]:
    return found.smin, found.smax


def test_the_grid_is_as_large_as_a_launch_may_be() -> None:
    found = ranges_of("""
      %x = tt.get_program_id x : i32
      %y = tt.get_program_id y : i32
      %ny = tt.get_num_programs y : i32
      %c64 = arith.constant 64 : i32
      %ax = arith.muli %x, %c64 : i32
      %ay = arith.muli %y, %c64 : i32
    """)
    assert signed(found["x"]) == (0, 2**31 - 2)
    assert signed(found["y"]) == (0, 65534)
    assert signed(found["ny"]) == (1, 65535)
    assert signed(found["ax"]) == (-(2**31), 2**31 - 1), "64 * x overflows for large grids"
    assert signed(found["ay"]) == (0, 65534 * 64)


LOOP = """
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c10 = arith.constant 10 : i32
"""


def test_loop_variables_lie_between_their_bounds() -> None:
    found = ranges_of(
        LOOP
        + """
      scf.for %i = %c0 to %n step %c4 : i32 { scf.yield }
      scf.for %j = %c0 to %c10 step %c4 : i32 { scf.yield }
      scf.for %k = %n to %c10 step %c4 : i32 { scf.yield }
    """
    )
    assert signed(found["i"]) == (0, 2**31 - 4)
    assert signed(found["j"]) == (0, 8), "0, 4, 8"
    assert signed(found["k"]) == (-(2**31), 9)


def test_a_sum_that_a_loop_carries_is_bounded_by_its_rounds() -> None:
    found = ranges_of(
        LOOP
        + """
      %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %c3) -> (i32) : i32 {
        %next = arith.addi %a, %c4 : i32
        scf.yield %next : i32
      }
      %same = arith.addi %r, %c0 : i32
    """
    )
    assert signed(found["a"]) == (3, 39)
    assert signed(found["next"]) == (7, 43)
    assert signed(found["same"]) == (3, 43)


def test_a_ring_of_buffers_is_found_by_widening() -> None:
    found = ranges_of(
        LOOP
        + """
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
        %next = arith.addi %a, %c1 : i32
        %ring = arith.remsi %next, %c10 : i32
        scf.yield %ring : i32
      }
    """
    )
    assert signed(found["a"]) == (0, 9)
    assert signed(found["next"]) == (1, 10)


def test_what_widening_gives_away_is_narrowed_again() -> None:
    found = ranges_of(
        LOOP
        + """
      %c100 = arith.constant 100 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
        %next = arith.addi %a, %c1 : i32
        %least = arith.minsi %next, %c100 : i32
        scf.yield %least : i32
      }
    """
    )
    assert signed(found["a"]) == (0, 100)


def test_a_sum_without_bound_may_be_anything() -> None:
    found = ranges_of(
        LOOP
        + """
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
        %next = arith.addi %a, %i : i32
        scf.yield %next : i32
      }
    """
    )
    assert found["a"] == full(32)


def test_what_a_while_loop_compares_is_known_inside() -> None:
    found = ranges_of(
        LOOP
        + """
      %r = scf.while (%a = %c0) : (i32) -> i32 {
        %go = arith.cmpi slt, %a, %c10 : i32
        scf.condition(%go) %a : i32
      } do {
      ^bb0(%b: i32):
        %next = arith.addi %b, %c3 : i32
        scf.yield %next : i32
      }
    """
    )
    assert signed(found["b"]) == (0, 9)
    assert signed(found["next"]) == (3, 12)


def test_the_result_of_a_branch_is_that_of_either_side() -> None:
    found = ranges_of(
        LOOP
        + """
      %c = arith.cmpi slt, %n, %m : i32
      %r = scf.if %c -> (i32) { scf.yield %c3 : i32 } else { scf.yield %c10 : i32 }
      %same = arith.addi %r, %c0 : i32
      %s = arith.select %c, %c1, %c4 : i32
    """
    )
    assert signed(found["same"]) == (3, 10)
    assert signed(found["s"]) == (1, 4)


ASSUME = """
  %c0 = arith.constant 0 : i32
  %c100 = arith.constant 100 : i32
  %positive = arith.cmpi sgt, %n, %c0 : i32
  %small = arith.cmpi sgt, %c100, %n : i32
  %both = arith.andi %positive, %small : i1
"""


def test_an_assumption_bounds_its_value() -> None:
    found = ranges_of(ASSUME + "llvm.intr.assume %both : i1\n%same = arith.addi %n, %c0 : i32")
    assert signed(found["same"]) == (1, 99)


def test_an_assumption_behind_an_assertion_or_in_a_branch_says_nothing_of_the_whole() -> None:
    asserted = "%r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>\n"
    asserted += '%t = arith.cmpi eq, %r, %r : tensor<8xi32>\ntt.assert %t, "x" : tensor<8xi1>\n'
    found = ranges_of(ASSUME + asserted + "llvm.intr.assume %both : i1\n%same = arith.addi %n, %c0 : i32")
    assert found["same"] == full(32)
    found = ranges_of(ASSUME + "scf.if %small { llvm.intr.assume %both : i1 }\n%same = arith.addi %n, %c0 : i32")
    assert found["same"] == full(32)


def test_loaded_bytes_and_what_is_combined_of_them() -> None:
    found = ranges_of("""
      %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
      %s = tt.splat %p : !tt.ptr<i8> -> tensor<128x!tt.ptr<i8>>
      %at = tt.addptr %s, %r : tensor<128x!tt.ptr<i8>>, tensor<128xi32>
      %byte = tt.load %at : tensor<128x!tt.ptr<i8>>
      %u = arith.extui %byte : tensor<128xi8> to tensor<128xi32>
      %x = arith.extsi %byte : tensor<128xi8> to tensor<128xi32>
      %sum = "tt.reduce"(%u) <{axis = 0 : i32}> ({
      ^bb0(%a: i32, %b: i32):
        %c = arith.addi %a, %b : i32
        tt.reduce.return %c : i32
      }) : (tensor<128xi32>) -> i32
      %h = tt.histogram %u : tensor<128xi32> -> tensor<256xi32>
    """)
    assert signed(found["r"]) == (0, 127)
    assert signed(found["u"]) == (0, 255)
    assert signed(found["x"]) == (-128, 127)
    assert signed(found["sum"]) == (0, 255 * 128)
    assert signed(found["h"]) == (0, 128)


def test_branches_between_blocks() -> None:
    found = ranges_of("""
      %c3 = arith.constant 3 : i32
      %c5 = arith.constant 5 : i32
      %c = arith.cmpi slt, %n, %m : i32
      cf.cond_br %c, ^a(%c3 : i32), ^a(%c5 : i32)
    ^a(%x: i32):
      %y = arith.addi %x, %c3 : i32
    """)
    assert signed(found["y"]) == (6, 8)
