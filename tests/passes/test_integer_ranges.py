"""`minitriton-simplify-integers`, the rules that ask for ranges: each rule on a small text, what must stay, and random programs that compute the same with and without."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from filecheck_ir import check, run
from hypothesis import given, settings
from hypothesis import strategies as st

from minitriton.dialects.context import make_context
from minitriton.interpreter import interpret
from minitriton.passes.simplify_integers import SimplifyIntegers

sys.path.insert(0, str(Path(__file__).parents[1] / "analysis"))

from integer_programs import LENGTH, STORED, make_program, random_arguments


def function(body: str) -> str:
    return f"""
tt.func public @f(%p: !tt.ptr<f32>, %n: i32, %m: i32, %w: i64, %out: !tt.ptr<i32>, %wide: !tt.ptr<i64>, %t: tensor<64xi32>,
                  %outs: tensor<64x!tt.ptr<i32>>, %wides: tensor<64x!tt.ptr<i64>>, %floats: tensor<64x!tt.ptr<f32>>) {{
  %c0 = arith.constant 0 : i32
  %c4 = arith.constant 4 : i32
  %c48 = arith.constant 48 : i32
  %c64 = arith.constant 64 : i32
  %r = tt.make_range {{start = 0 : i32, end = 64 : i32}} : tensor<64xi32>
  %y = tt.get_program_id y : i32
{body}
  tt.return
}}
"""


def rewrites(body: str, expected: str) -> None:
    check(function(body), SimplifyIntegers(), expected)


def unchanged(body: str) -> bool:
    return run(function(body), SimplifyIntegers()) == run(function(body), SimplifyIntegers(use_ranges=False))


STORE = "\n  tt.store %out, %d : !tt.ptr<i32>"
STORE_WIDE = "\n  tt.store %wides, %d : tensor<64x!tt.ptr<i64>>"


@pytest.mark.parametrize(("signed", "unsigned"), [("divsi", "divui"), ("remsi", "remui")])
def test_division_of_what_is_not_negative_is_unsigned(signed: str, unsigned: str) -> None:
    rewrites(
        f"  %d = arith.{signed} %y, %c48 : i32" + STORE, f"// CHECK: arith.{unsigned} %{{{{.*}}}}, %{{{{.*}}}} : i32"
    )


def test_division_of_what_may_be_negative_stays() -> None:
    assert unchanged("  %d = arith.divsi %n, %c48 : i32" + STORE)
    assert unchanged("  %a = arith.muli %y, %n : i32\n  %d = arith.remsi %a, %c48 : i32" + STORE)


def test_a_divisor_of_any_sign_is_noted() -> None:
    rewrites(
        "  %q = arith.divsi %y, %n : i32\n  %s = arith.remsi %q, %n : i32\n  %d = arith.addi %q, %s : i32" + STORE,
        """
        // CHECK: arith.divsi %{{.*}}, %arg1 {non_negative_dividend} : i32
        // CHECK: arith.remsi %{{.*}}, %arg1 : i32
        """,
    )


def test_an_assumed_divisor_makes_the_division_unsigned_and_the_assumption_stays() -> None:
    rewrites(
        "  %a = arith.cmpi sgt, %n, %c0 : i32\n  llvm.intr.assume %a : i1\n  %d = arith.divsi %y, %n : i32" + STORE,
        """
        // CHECK: %[[A:.*]] = arith.cmpi sgt, %arg1
        // CHECK: llvm.intr.assume %[[A]]
        // CHECK: arith.divui %{{.*}}, %arg1 : i32
        """,
    )


def test_an_assumed_remainder_stays_though_it_is_known_by_the_assumption() -> None:
    rewrites(
        "  %r16 = arith.remsi %n, %c48 : i32\n  %a = arith.cmpi eq, %r16, %c0 : i32\n  llvm.intr.assume %a : i1\n"
        "  %part = arith.remsi %y, %c48 : i32\n  %d = arith.addi %part, %r16 : i32" + STORE,
        """
        // CHECK: %[[R:.*]] = arith.remsi %arg1
        // CHECK: %[[A:.*]] = arith.cmpi eq, %[[R]]
        // CHECK: llvm.intr.assume %[[A]]
        """,
    )


def test_a_remainder_of_less_is_the_dividend() -> None:
    rewrites(
        """
  %c = arith.constant dense<64> : tensor<64xi32>
  %d = arith.remsi %r, %c : tensor<64xi32>
  tt.store %outs, %d : tensor<64x!tt.ptr<i32>>""",
        """
        // CHECK-NOT: arith.rem
        // CHECK: tt.store %arg7, %[[R:.*]] : tensor<64x!tt.ptr<i32>>
        """,
    )


def test_a_mask_that_never_bites_vanishes() -> None:
    rewrites(
        """
  %b = arith.constant dense<64> : tensor<64xi32>
  %mask = arith.cmpi slt, %r, %b : tensor<64xi32>
  %v = tt.load %floats, %mask : tensor<64x!tt.ptr<f32>>
  tt.store %floats, %v, %mask : tensor<64x!tt.ptr<f32>>""",
        """
        // CHECK-NOT: arith.cmpi
        // CHECK: %[[V:.*]] = tt.load %arg9 : tensor<64x!tt.ptr<f32>>
        // CHECK: tt.store %arg9, %[[V]] : tensor<64x!tt.ptr<f32>>
        """,
    )


def test_a_mask_that_bites_stays() -> None:
    assert unchanged("""
  %b = arith.constant dense<63> : tensor<64xi32>
  %mask = arith.cmpi slt, %r, %b : tensor<64xi32>
  %v = tt.load %floats, %mask : tensor<64x!tt.ptr<f32>>
  tt.store %floats, %v, %mask : tensor<64x!tt.ptr<f32>>""")


def test_the_last_block_of_a_loop_over_a_known_length_is_whole() -> None:
    """K - k is at least 64 for k = 0, 64, 128, 192."""
    rewrites(
        """
  %length = arith.constant 256 : i32
  scf.for %k = %c0 to %length step %c64 : i32 {
    %left = arith.subi %length, %k : i32
    %lefts = tt.splat %left : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %r, %lefts : tensor<64xi32>
    %v = tt.load %floats, %mask : tensor<64x!tt.ptr<f32>>
    tt.store %floats, %v : tensor<64x!tt.ptr<f32>>
  }""",
        """
        // CHECK: scf.for
        // CHECK-NEXT: %[[V:.*]] = tt.load %arg9 : tensor<64x!tt.ptr<f32>>
        """,
    )


def test_extrema_whose_side_is_known_are_that_side() -> None:
    rewrites(
        "  %a = arith.remsi %n, %c4 : i32\n  %b = arith.minsi %a, %c48 : i32\n  %d = arith.maxsi %b, %c64 : i32"
        + STORE,
        """
        // CHECK-NOT: arith.m
        // CHECK: tt.store %arg4, %c64_i32
        """,
    )


def test_a_mask_of_all_the_bits_there_are_is_nothing() -> None:
    rewrites(
        """
  %c = arith.constant dense<127> : tensor<64xi32>
  %d = arith.andi %r, %c : tensor<64xi32>
  tt.store %outs, %d : tensor<64x!tt.ptr<i32>>"""
        + "\n  %q = arith.divsi %y, %c48 : i32\n  tt.store %out, %q : !tt.ptr<i32>",
        "// CHECK-NOT: arith.andi",
    )


WIDE = """
  %y64 = arith.extsi %y : i32 to i64
  %ys = tt.splat %y64 : i64 -> tensor<64xi64>
  %r64 = arith.extsi %r : tensor<64xi32> to tensor<64xi64>
  %c = arith.constant dense<48> : tensor<64xi64>
  %a = arith.muli %ys, %c : tensor<64xi64>
  %i = arith.addi %a, %r64 : tensor<64xi64>
"""


def test_64_bits_that_fit_are_32() -> None:
    rewrites(
        WIDE + "  %d = arith.divsi %i, %c : tensor<64xi64>" + STORE_WIDE,
        """
        // CHECK-NOT: tensor<64xi64>
        // CHECK: %[[D:.*]] = arith.divui %{{.*}}, %{{.*}} : tensor<64xi32>
        // CHECK-NEXT: %[[E:.*]] = arith.extsi %[[D]] : tensor<64xi32> to tensor<64xi64>
        // CHECK-NEXT: tt.store %arg8, %[[E]]
        """,
    )


def test_offsets_of_pointers_are_narrow() -> None:
    rewrites(
        WIDE + "  %q = tt.addptr %floats, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi64>\n"
        "  %v = tt.load %q : tensor<64x!tt.ptr<f32>>\n  tt.store %floats, %v : tensor<64x!tt.ptr<f32>>",
        """
        // CHECK: tt.addptr %arg9, %{{.*}} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
        """,
    )


def test_64_bits_that_may_not_fit_stay() -> None:
    assert unchanged("""
  %x = tt.get_program_id x : i32
  %x64 = arith.extsi %x : i32 to i64
  %c = arith.constant 4096 : i64
  %a = arith.muli %x64, %c : i64
  %q = arith.addi %a, %w : i64
  %d = arith.divsi %q, %c : i64
  tt.store %wide, %d : !tt.ptr<i64>""")


def test_quotients_of_any_32_bits_are_noted() -> None:
    """-2^31 / -1 does not fit 32 bits."""
    body = """
  %v = tt.load %outs : tensor<64x!tt.ptr<i32>>
  %a = arith.extsi %v : tensor<64xi32> to tensor<64xi64>
  %n64 = arith.extsi %n : i32 to i64
  %b = tt.splat %n64 : i64 -> tensor<64xi64>
  %d = arith.divsi %a, %b : tensor<64xi64>"""
    rewrites(body + STORE_WIDE, "// CHECK: arith.divsi %{{.*}}, %{{.*}} {fits_32_bits} : tensor<64xi64>")


def test_an_assumption_is_not_folded_but_what_follows_from_it_is() -> None:
    rewrites(
        "  %a = arith.cmpi sgt, %n, %c4 : i32\n  llvm.intr.assume %a : i1\n  %z = arith.cmpi sge, %n, %c0 : i32\n"
        "  %d = arith.select %z, %c48, %n : i32" + STORE,
        """
        // CHECK: %[[A:.*]] = arith.cmpi sgt
        // CHECK: llvm.intr.assume %[[A]]
        // CHECK-NOT: arith.select
        // CHECK: tt.store %arg4, %c48_i32
        """,
    )


def test_what_is_no_integer_has_no_number() -> None:
    assert unchanged("""
  %c = arith.cmpi slt, %n, %m : i32
  %v = tt.load %p : !tt.ptr<f32>
  %f = arith.constant 1.0 : f32
  %s = arith.select %c, %v, %f : f32
  %b = arith.bitcast %s : f32 to i32
  tt.store %out, %b : !tt.ptr<i32>
  tt.store %p, %s : !tt.ptr<f32>""")


def test_a_known_grid_bounds_what_is_made_of_it() -> None:
    text = function(
        """
  %x = tt.get_program_id x : i32
  %a = arith.muli %x, %c64 : i32
  %d = arith.divsi %a, %c48 : i32"""
        + STORE
    )
    assert "arith.divsi" in run(text, SimplifyIntegers())
    assert "arith.divui" in run(text, SimplifyIntegers(max_programs=65536))


def stored(seed: int, with_pass: bool) -> tuple[bytes, int]:
    """What random program `seed` stores in a grid of four, and how many ops it has."""
    rng = random.Random(seed)
    arguments = random_arguments(rng)
    module = make_program(rng, arguments)
    if with_pass:
        SimplifyIntegers().apply(make_context(), module)
        module.verify()
    out = np.zeros(STORED * LENGTH, np.int64)
    interpret(module, "f", [out, *arguments], (2, 2, 1))
    return out.tobytes(), sum(1 for _ in module.walk())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs_compute_the_same_bits(seed: int) -> None:
    assert stored(seed, True)[0] == stored(seed, False)[0]
