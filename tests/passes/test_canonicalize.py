"""`canonicalize`: each rule on the smallest program that shows it."""

from __future__ import annotations

import numpy as np
import pytest
from filecheck_ir import check, run

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.canonicalize import Canonicalize

INT = "%x: i32, %y: i32, %c: i1"

FOLDS = {
    "x + 0": ("%0 = arith.constant 0 : i32\n%r = arith.addi %x, %0 : i32", "%arg0"),
    "0 + x": ("%0 = arith.constant 0 : i32\n%r = arith.addi %0, %x : i32", "%arg0"),
    "(x - y) + y": ("%d = arith.subi %x, %y : i32\n%r = arith.addi %d, %y : i32", "%arg0"),
    "(x + y) - x": ("%s = arith.addi %x, %y : i32\n%r = arith.subi %s, %x : i32", "%arg1"),
    "x * 1": ("%1 = arith.constant 1 : i32\n%r = arith.muli %x, %1 : i32", "%arg0"),
    "x / 1": ("%1 = arith.constant 1 : i32\n%r = arith.divsi %x, %1 : i32", "%arg0"),
    "x & -1": ("%1 = arith.constant -1 : i32\n%r = arith.andi %x, %1 : i32", "%arg0"),
    "x | x": ("%r = arith.ori %x, %x : i32", "%arg0"),
    "(x ^ y) ^ y": ("%d = arith.xori %x, %y : i32\n%r = arith.xori %d, %y : i32", "%arg0"),
    "max(x, x)": ("%r = arith.maxsi %x, %x : i32", "%arg0"),
    "x << 0": ("%0 = arith.constant 0 : i32\n%r = arith.shli %x, %0 : i32", "%arg0"),
    "select(c, x, x)": ("%r = arith.select %c, %x, %x : i32", "%arg0"),
    "select(true, x, y)": ("%t = arith.constant true\n%r = arith.select %t, %x, %y : i32", "%arg0"),
    "select(x == y, x, y)": ("%e = arith.cmpi eq, %x, %y : i32\n%r = arith.select %e, %x, %y : i32", "%arg1"),
    "trunc(ext x)": ("%w = arith.extsi %x : i32 to i64\n%r = arith.trunci %w : i64 to i32", "%arg0"),
    "bitcast to itself": ("%r = arith.bitcast %x : i32 to i32", "%arg0"),
}


@pytest.mark.parametrize("name", FOLDS)
def test_identities_leave_the_operand(name: str) -> None:
    body, value = FOLDS[name]
    source = f"tt.func @f({INT}) -> i32 {{\n{body}\ntt.return %r : i32\n}}"
    text = run(source, Canonicalize())
    assert f"tt.return {value} : i32" in text
    assert "arith" not in text


CONSTANTS = {
    "7 + 5": ("arith.addi %a, %b : i32", "12"),
    "7 - 5": ("arith.subi %a, %b : i32", "2"),
    "7 / 5": ("arith.divsi %a, %b : i32", "1"),
    "7 % 5": ("arith.remsi %a, %b : i32", "2"),
    "7 & 5": ("arith.andi %a, %b : i32", "5"),
    "7 << 5": ("arith.shli %a, %b : i32", "224"),
    "min(7, 5)": ("arith.minui %a, %b : i32", "5"),
    "7 < 5": ("arith.cmpi slt, %a, %b : i32", "false"),
    "ceil(7 / 5)": ("arith.ceildivsi %a, %b : i32", "2"),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_ops_on_constants_are_computed(name: str) -> None:
    op, value = CONSTANTS[name]
    type = "i1" if value == "false" else "i32"
    source = f"""
        tt.func @f() -> {type} {{
          %a = arith.constant 7 : i32
          %b = arith.constant 5 : i32
          %r = {op}
          tt.return %r : {type}
        }}"""
    check(source, Canonicalize(), f"// CHECK: arith.constant {value}\n// CHECK-NEXT: tt.return")


def test_a_division_that_traps_stays() -> None:
    check(
        """
        tt.func @f() -> (i32, i32) {
          %zero = arith.constant 0 : i32
          %one = arith.constant -1 : i32
          %low = arith.constant -2147483648 : i32
          %a = arith.divsi %one, %zero : i32
          %b = arith.divsi %low, %one : i32
          tt.return %a, %b : i32, i32
        }""",
        Canonicalize(),
        "// CHECK: [[A:%.*]] = arith.divsi\n// CHECK: [[B:%.*]] = arith.divsi\n// CHECK: tt.return [[A]], [[B]]",
    )


def test_floats_fold_only_where_signed_zeros_and_nans_allow() -> None:
    check(
        """
        tt.func @f(%x: f32) -> (f32, f32, f32, f32) {
          %zero = arith.constant 0.0 : f32
          %minus = arith.constant -0.0 : f32
          %0 = arith.addf %x, %zero : f32
          %1 = arith.addf %x, %minus : f32
          %2 = arith.mulf %x, %zero : f32
          %3 = arith.subf %x, %zero : f32
          tt.return %0, %1, %2, %3 : f32, f32, f32, f32
        }""",
        Canonicalize(),
        """
        // CHECK: [[Z:%.*]] = arith.constant 0.0
        // CHECK-NEXT: [[A:%.*]] = arith.addf %arg0, [[Z]]
        // CHECK-NEXT: [[M:%.*]] = arith.mulf %arg0, [[Z]]
        // CHECK-NEXT: tt.return [[A]], %arg0, [[M]], %arg0
        """,
    )


def test_constants_of_scalar_chains_merge_and_those_of_tensors_do_not() -> None:
    check(
        """
        tt.func @f(%x: i32, %t: tensor<4xi32>) -> (i32, tensor<4xi32>) {
          %c3 = arith.constant 3 : i32
          %c4 = arith.constant 4 : i32
          %0 = arith.addi %x, %c3 : i32
          %1 = arith.subi %0, %c4 : i32
          %d3 = arith.constant dense<3> : tensor<4xi32>
          %d4 = arith.constant dense<4> : tensor<4xi32>
          %2 = arith.addi %t, %d3 : tensor<4xi32>
          %3 = arith.addi %2, %d4 : tensor<4xi32>
          tt.return %1, %3 : i32, tensor<4xi32>
        }""",
        Canonicalize(),
        """
        // CHECK: [[M:%.*]] = arith.constant -1 : i32
        // CHECK: arith.addi %arg0, [[M]] : i32
        // CHECK-NEXT: arith.addi %arg1, {{.*}} : tensor<4xi32>
        // CHECK-NEXT: arith.addi {{.*}} : tensor<4xi32>
        """,
    )


def test_constants_are_one_each_at_the_top_those_found_later_first() -> None:
    check(
        """
        tt.func @f(%x: i32, %y: i32) -> i32 {
          %0 = arith.muli %x, %y : i32
          %c3 = arith.constant 3 : i32
          %1 = arith.muli %0, %c3 : i32
          %c5 = arith.constant 5 : i32
          %2 = arith.divsi %1, %c5 : i32
          %again = arith.constant 3 : i32
          %3 = arith.divsi %2, %again : i32
          tt.return %3 : i32
        }""",
        Canonicalize(),
        """
        // CHECK: tt.func
        // CHECK-NEXT: %c5_i32 = arith.constant 5
        // CHECK-NEXT: [[C:%.*]] = arith.constant 3
        // CHECK-NEXT: arith.muli %arg0, %arg1
        // CHECK-NOT: arith.constant
        // CHECK: arith.divsi {{.*}}, [[C]]
        """,
    )


def test_loops_of_one_iteration_are_their_body_and_of_none_nothing() -> None:
    text = run(
        """
        tt.func @f(%x: i32) -> (i32, i32) {
          %c0 = arith.constant 0 : i32
          %c4 = arith.constant 4 : i32
          %once = scf.for %i = %c0 to %c4 step %c4 iter_args(%a = %x) -> (i32) : i32 {
            %n = arith.muli %a, %x : i32
            scf.yield %n : i32
          }
          %never = scf.for %i = %c4 to %c0 step %c4 iter_args(%a = %x) -> (i32) : i32 {
            %n = arith.muli %a, %x : i32
            scf.yield %n : i32
          }
          tt.return %once, %never : i32, i32
        }""",
        Canonicalize(),
    )
    assert "scf.for" not in text
    assert text.count("arith.muli %arg0, %arg0") == 1


def test_loops_do_not_carry_what_does_not_change() -> None:
    check(
        """
        tt.func @f(%n: i32, %x: i32, %y: i32) -> (i32, i32) {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %u = %c0) -> (i32, i32, i32) : i32 {
            %s = arith.addi %a, %b : i32
            scf.yield %s, %b, %i : i32, i32, i32
          }
          tt.return %r#0, %r#1 : i32, i32
        }""",
        Canonicalize(),
        """
        // CHECK: [[R:%.*]] = scf.for {{.*}} iter_args([[A:%.*]] = %arg1) -> (i32)
        // CHECK-NEXT: [[S:%.*]] = arith.addi [[A]], %arg2
        // CHECK-NEXT: scf.yield [[S]] : i32
        // CHECK: tt.return [[R]], %arg2
        """,
    )


def test_branches_become_selects_where_nothing_is_computed() -> None:
    check(
        """
        tt.func @f(%c: i1, %x: i32, %y: i32) -> i32 {
          %r = scf.if %c -> (i32) {
            scf.yield %x : i32
          } else {
            scf.yield %y : i32
          }
          tt.return %r : i32
        }""",
        Canonicalize(),
        "// CHECK: [[R:%.*]] = arith.select %arg0, %arg1, %arg2 : i32\n// CHECK-NEXT: tt.return [[R]]",
    )


def test_the_condition_is_known_inside_its_branches() -> None:
    check(
        """
        tt.func @f(%c: i1, %p: !tt.ptr<i32>, %x: i32, %y: i32) {
          scf.if %c {
            %v = arith.select %c, %x, %y : i32
            tt.store %p, %v : !tt.ptr<i32>
          } else {
            %v = arith.select %c, %x, %y : i32
            tt.store %p, %v : !tt.ptr<i32>
          }
          tt.return
        }""",
        Canonicalize(),
        "// CHECK: scf.if %arg0\n// CHECK-NEXT: tt.store %arg1, %arg2\n// CHECK-NEXT: } else {\n// CHECK-NEXT: tt.store %arg1, %arg3",
    )


def test_adjacent_branches_on_one_condition_are_one() -> None:
    text = run(
        """
        tt.func @f(%c: i1, %p: !tt.ptr<i32>, %x: i32) {
          scf.if %c {
            tt.store %p, %x : !tt.ptr<i32>
          }
          scf.if %c {
            tt.store %p, %x : !tt.ptr<i32>
          }
          tt.return
        }""",
        Canonicalize(),
    )
    assert text.count("scf.if") == 1 and text.count("tt.store") == 2


def test_branches_of_control_flow_are_followed() -> None:
    check(
        """
        tt.func @f(%p: !tt.ptr<i32>, %x: i32) {
          %t = arith.constant true
          cf.cond_br %t, ^bb1, ^bb2
        ^bb1:
          tt.store %p, %x : !tt.ptr<i32>
          cf.br ^bb3
        ^bb2:
          cf.br ^bb3
        ^bb3:
          tt.return
        }""",
        Canonicalize(),
        "// CHECK: tt.func\n// CHECK-NEXT: tt.store\n// CHECK-NEXT: tt.return",
    )


def test_volatile_loads_stay_and_others_without_a_use_go() -> None:
    text = run(
        """
        tt.func @f(%p: !tt.ptr<i32>) {
          %0 = tt.load %p : !tt.ptr<i32>
          %1 = tt.load %p {isVolatile = true} : !tt.ptr<i32>
          tt.return
        }""",
        Canonicalize(),
    )
    assert text.count("tt.load") == 1 and "isVolatile = true" in text


def test_masks_that_are_constant_disappear() -> None:
    check(
        """
        tt.func @f(%p: tensor<4x!tt.ptr<i32>>, %o: tensor<4xi32>) -> tensor<4xi32> {
          %t = arith.constant dense<true> : tensor<4xi1>
          %f = arith.constant dense<false> : tensor<4xi1>
          %0 = tt.load %p, %t, %o : tensor<4x!tt.ptr<i32>>
          tt.store %p, %0, %f : tensor<4x!tt.ptr<i32>>
          %1 = tt.load %p, %f, %0 : tensor<4x!tt.ptr<i32>>
          tt.return %1 : tensor<4xi32>
        }""",
        Canonicalize(),
        "// CHECK: [[L:%.*]] = tt.load %arg0 : tensor\n// CHECK-NEXT: tt.return [[L]]",
    )


def test_while_loops_do_not_carry_what_does_not_change() -> None:
    check(
        """
        tt.func @f(%n: i32, %x: i32) -> i32 {
          %c0 = arith.constant 0 : i32
          %r:2 = scf.while (%i = %c0, %k = %x) : (i32, i32) -> (i32, i32) {
            %c = arith.cmpi slt, %i, %n : i32
            scf.condition(%c) %i, %k : i32, i32
          } do {
          ^bb0(%i: i32, %k: i32):
            %next = arith.addi %i, %k : i32
            scf.yield %next, %k : i32, i32
          }
          tt.return %r#0 : i32
        }""",
        Canonicalize(),
        "// CHECK: scf.while ([[I:%.*]] = %{{.*}}) : (i32) -> i32\n// CHECK: arith.addi {{.*}}, %arg1",
    )


def test_a_second_run_changes_nothing_and_locations_survive() -> None:
    source = """
        tt.func @f(%x: i32, %y: i32) -> i32 {
          %c0 = arith.constant 0 : i32
          %0 = arith.addi %c0, %x : i32 loc("a.py":1:1)
          %1 = arith.divsi %0, %y : i32 loc("a.py":2:1)
          tt.return %1 : i32
        }"""
    module = parse_module(source)
    Canonicalize().apply(make_context(), module)
    once = str(module)
    Canonicalize().apply(make_context(), module)
    assert str(module) == once
    division = next(op for op in module.walk() if op.name == "arith.divsi")
    assert "2" in str(division.location)


@pytest.mark.parametrize(
    ("integer", "wide", "narrow", "merged"),
    [
        ("i8", "f32", "f16", True),
        ("i32", "f64", "f32", True),
        ("i32", "f32", "bf16", False),
        ("i64", "f64", "f32", False),
    ],
)
def test_an_integer_is_rounded_once_where_the_first_conversion_is_exact(
    integer: str, wide: str, narrow: str, merged: bool
) -> None:
    text = run(
        f"""
        tt.func @f(%x: tensor<4x{integer}>) -> tensor<4x{narrow}> {{
          %0 = arith.sitofp %x : tensor<4x{integer}> to tensor<4x{wide}>
          %1 = arith.truncf %0 : tensor<4x{wide}> to tensor<4x{narrow}>
          tt.return %1 : tensor<4x{narrow}>
        }}""",
        Canonicalize(),
    )
    assert ("arith.truncf" not in text) == merged


@pytest.mark.parametrize("number", [2**62 + 2**38 + 1, -(2**62) - 2**38 - 1, 2**62 + 2**38, 2**53 + 1, 3, 0])
def test_a_constant_integer_is_rounded_once(number: int) -> None:
    text = run(
        f"""
        tt.func @f() -> f32 {{
          %0 = arith.constant {number} : i64
          %1 = arith.sitofp %0 : i64 to f32
          tt.return %1 : f32
        }}""",
        Canonicalize(),
    )
    (constant,) = (op for op in parse_module(text).walk() if op.name == "arith.constant")
    assert constant.properties["value"].value.data == float(np.int64(number).astype(np.float32))
