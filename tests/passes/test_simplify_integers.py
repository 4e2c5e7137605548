"""`minitriton-simplify-integers`: each rule on a small text, and what must stay."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.simplify_integers import SimplifyIntegers


def function(body: str) -> str:
    return f"""
tt.func public @f(%p: !tt.ptr<f32>, %x: tensor<8xi32>, %y: tensor<8xi32>, %f: tensor<8x2xf32>, %g: tensor<8x2xf32>,
                  %s: i32, %t: i32, %w: i64, %out: tensor<8x!tt.ptr<i32>>, %flags: tensor<8x2x!tt.ptr<i1>>,
                  %data: tensor<8x!tt.ptr<f32>>, %four: tensor<8x4x!tt.ptr<i1>>) {{
{body}
  tt.return
}}
"""


def simplifies(body: str, expected: str) -> None:
    check(function(body), SimplifyIntegers(), expected)


def unchanged(body: str) -> bool:
    return run(function(body), SimplifyIntegers()) == run(function(body))


COMPARISON = """
  %r = tt.make_range {start = 0 : i32, end = 2 : i32} : tensor<2xi32>
  %r1 = tt.expand_dims %r {axis = 0 : i32} : tensor<2xi32> -> tensor<1x2xi32>
  %r2 = tt.broadcast %r1 : tensor<1x2xi32> -> tensor<8x2xi32>
  %c = arith.cmpf ogt, %f, %g : tensor<8x2xf32>
  %e = arith.extui %c : tensor<8x2xi1> to tensor<8x2xi32>
"""
STORE_FLAGS = "  tt.store %flags, %d : tensor<8x2x!tt.ptr<i1>>"


def test_an_extended_comparison_and_a_bit_are_combined_as_bits():
    simplifies(
        COMPARISON + "  %d = arith.cmpi ne, %e, %r2 : tensor<8x2xi32>\n" + STORE_FLAGS,
        """
        // CHECK: %[[C:.*]] = arith.cmpf
        // CHECK-NOT: arith.extui
        // CHECK: %[[B:.*]] = arith.trunci %{{.*}} : tensor<2xi32> to tensor<2xi1>
        // CHECK: %[[W:.*]] = tt.broadcast %{{.*}} : tensor<1x2xi1> -> tensor<8x2xi1>
        // CHECK: %[[X:.*]] = arith.xori %[[C]], %[[W]] : tensor<8x2xi1>
        // CHECK: tt.store %{{.*}}, %[[X]]
        """,
    )


NEGATED = """
  %true = arith.constant dense<true> : tensor<8xi1>
  %a = arith.cmpi sge, %x, %y : tensor<8xi32>
  %b = arith.cmpi ugt, %y, %x : tensor<8xi32>
  %o = arith.ori %a, %b : tensor<8xi1>
"""


def test_negated_comparisons_are_comparisons():
    stored = "  %v = tt.load %out, %n : tensor<8x!tt.ptr<i32>>\n  tt.store %out, %v, %n : tensor<8x!tt.ptr<i32>>"
    one = NEGATED.replace("%o = arith.ori %a, %b : tensor<8xi1>", "") + "  %n = arith.xori %a, %true : tensor<8xi1>\n"
    simplifies(one + stored, "// CHECK: arith.cmpi slt, %{{.*}}, %{{.*}}\n// CHECK-NOT: arith.xori\n// CHECK: tt.store")
    simplifies(
        NEGATED + "  %n = arith.xori %o, %true : tensor<8xi1>\n" + stored,
        """
        // CHECK: %[[A:.*]] = arith.cmpi slt
        // CHECK: %[[B:.*]] = arith.cmpi ule
        // CHECK: %[[N:.*]] = arith.andi %[[A]], %[[B]]
        // CHECK: tt.store %{{.*}}, %{{.*}}, %[[N]]
        """,
    )
    assert "arith.xori" in str(run(function(one + stored.replace("%v, %n", "%v, %a")), SimplifyIntegers()))


def test_equality_of_bits_is_the_complement():
    simplifies(
        COMPARISON + "  %d = arith.cmpi eq, %r2, %e : tensor<8x2xi32>\n" + STORE_FLAGS,
        """
        // CHECK: %[[T:.*]] = arith.constant dense<true> : tensor<8x2xi1>
        // CHECK: arith.xori %{{.*}}, %[[T]] : tensor<8x2xi1>
        """,
    )


def test_a_number_that_may_be_two_is_not_a_bit():
    body = COMPARISON.replace("end = 2", "end = 4").replace("tensor<2x", "tensor<4x").replace("8x2", "8x4")
    body = body.replace("1x2", "1x4").replace("%f, %g : tensor<8x4xf32>", "%h, %h : tensor<8x4xf32>")
    body = "  %h = arith.constant dense<1.0> : tensor<8x4xf32>\n" + body
    assert unchanged(
        body + "  %d = arith.cmpi ne, %e, %r2 : tensor<8x4xi32>\n  tt.store %four, %d : tensor<8x4x!tt.ptr<i1>>"
    )


STORE = "\n  tt.store %out, %d : tensor<8x!tt.ptr<i32>>"

WIDE = """
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %ws = tt.splat %w : i64 -> tensor<8xi64>
  %e = arith.extsi %x : tensor<8xi32> to tensor<8xi64>
  %o = arith.addi %ws, %e : tensor<8xi64>
  %q = tt.addptr %ps, %o : tensor<8x!tt.ptr<f32>>, tensor<8xi64>
  %v = tt.load %q : tensor<8x!tt.ptr<f32>>
  tt.store %data, %v : tensor<8x!tt.ptr<f32>>
"""


def test_a_wide_offset_is_added_to_the_pointer_once_and_the_rest_stays_narrow():
    simplifies(
        WIDE,
        """
        // CHECK: %[[B:.*]] = tt.addptr %arg0, %arg7 : !tt.ptr<f32>, i64
        // CHECK: %[[S:.*]] = tt.splat %[[B]]
        // CHECK-NOT: arith.extsi
        // CHECK: tt.addptr %[[S]], %arg1 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
        """,
    )


def test_a_narrow_offset_may_wrap_so_it_is_not_split():
    narrow = (
        WIDE.replace("i64", "i32")
        .replace("%w", "%s")
        .replace("  %e = arith.extsi %x : tensor<8xi32> to tensor<8xi32>\n", "")
    )
    assert unchanged(narrow.replace("%e ", "%x "))


def test_extended_numbers_are_compared_as_they_were():
    simplifies(
        """
  %a = arith.extsi %x : tensor<8xi32> to tensor<8xi64>
  %b = arith.extsi %y : tensor<8xi32> to tensor<8xi64>
  %c = arith.cmpi ult, %a, %b : tensor<8xi64>
  %d = arith.select %c, %x, %y : tensor<8xi1>, tensor<8xi32>"""
        + STORE,
        "// CHECK-NOT: arith.extsi\n// CHECK: arith.cmpi ult, %arg1, %arg2 : tensor<8xi32>",
    )


HALVES = """
  %l = arith.muli %y, %x : tensor<8xi32>
  %h = tt.mulhiui %x, %y : tensor<8xi32>
  %d = arith.xori %h, %l : tensor<8xi32>"""


def test_both_halves_of_a_product_come_of_one_multiplication():
    simplifies(
        HALVES + STORE,
        """
        // CHECK: %[[X:.*]] = arith.extui %arg1 : tensor<8xi32> to tensor<8xi64>
        // CHECK: arith.muli
        // CHECK-SAME: tensor<8xi64>
        // CHECK-NOT: tt.mulhiui
        // CHECK: arith.shrui %{{.*}}, %{{.*}} : tensor<8xi64>
        """,
    )


def test_the_high_half_alone_stays():
    assert unchanged(HALVES.replace("muli %y, %x", "muli %y, %y") + STORE)
