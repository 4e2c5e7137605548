"""`minitriton-enumerate-indices`: what is exactly true of pointers and masks is written on them."""

from __future__ import annotations

from filecheck_ir import check

from minitriton.passes.enumerate_indices import EnumerateIndices

HEAD = """
tt.func public @f(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32},
                  %odd: i32, %n: i32 {tt.divisibility = 16 : i32}) {
  %r = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %c4 = arith.constant dense<4> : tensor<256xi32>
  %c15 = arith.constant dense<15> : tensor<256xi32>
  %xs = tt.splat %x : !tt.ptr<f16> -> tensor<256x!tt.ptr<f16>>
"""


def access(offsets: str, expected: str) -> None:
    """`offsets` defines %o; the load's pointer is checked."""
    body = f"""
  {offsets}
  %p = tt.addptr %xs, %o : tensor<256x!tt.ptr<f16>>, tensor<256xi32>
  %v = tt.load %p : tensor<256x!tt.ptr<f16>>
  tt.return
}}
"""
    check(HEAD + body, EnumerateIndices(), expected)


def tiles(stride: str) -> str:
    return f"""
  %high = arith.shrsi %r, %c4 : tensor<256xi32>
  %low = arith.andi %r, %c15 : tensor<256xi32>
  %s = tt.splat %{stride} : i32 -> tensor<256xi32>
  %m = arith.muli %high, %s : tensor<256xi32>
  %o = arith.addi %m, %low : tensor<256xi32>"""


def test_shift_and_mask_leave_runs_of_sixteen():
    access(
        tiles("stride"),
        "// CHECK: tt.addptr {{.*}} {tt.constancy = dense<1> : tensor<1xi32>, tt.contiguity = dense<16> : tensor<1xi32>,"
        " tt.divisibility = dense<16> : tensor<1xi32>}",
    )


def test_an_unknown_stride_leaves_runs_that_are_not_aligned():
    access(tiles("odd"), "// CHECK: tt.contiguity = dense<16> : tensor<1xi32>, tt.divisibility = dense<2>")


def test_a_swizzle_keeps_runs_of_eight():
    access(
        """
  %high = arith.shrsi %r, %c4 : tensor<256xi32>
  %c8 = arith.constant dense<8> : tensor<256xi32>
  %bit = arith.andi %high, %c8 : tensor<256xi32>
  %o = arith.xori %r, %bit : tensor<256xi32>""",
        "// CHECK: tt.contiguity = dense<8> : tensor<1xi32>, tt.divisibility = dense<16>",
    )


def test_a_reshape_keeps_what_lies_side_by_side():
    check(
        HEAD
        + """
  %rows = tt.reshape %r : tensor<256xi32> -> tensor<16x16xi32>
  %xs2 = tt.splat %x : !tt.ptr<f16> -> tensor<16x16x!tt.ptr<f16>>
  %p = tt.addptr %xs2, %rows : tensor<16x16x!tt.ptr<f16>>, tensor<16x16xi32>
  %v = tt.load %p : tensor<16x16x!tt.ptr<f16>>
  tt.return
}
""",
        EnumerateIndices(),
        "// CHECK: tt.contiguity = dense<[1, 16]> : tensor<2xi32>, tt.divisibility = dense<[2, 16]>",
    )


def test_a_remainder_by_an_unknown_multiple_of_sixteen_keeps_runs():
    access(
        """
  %ns = tt.splat %n : i32 -> tensor<256xi32>
  %low = arith.andi %r, %c15 : tensor<256xi32>
  %o = arith.remui %low, %ns : tensor<256xi32>""",
        "// CHECK: tt.contiguity = dense<16> : tensor<1xi32>",
    )


def test_masks_are_constant_where_the_quotient_is():
    check(
        HEAD
        + """
  %high = arith.shrsi %r, %c4 : tensor<256xi32>
  %ns = tt.splat %odd : i32 -> tensor<256xi32>
  %m = arith.cmpi slt, %high, %ns : tensor<256xi32>
  %p = tt.addptr %xs, %r : tensor<256x!tt.ptr<f16>>, tensor<256xi32>
  %v = tt.load %p, %m : tensor<256x!tt.ptr<f16>>
  tt.return
}
""",
        EnumerateIndices(),
        "// CHECK: arith.cmpi {{.*}} {tt.constancy = dense<16> : tensor<1xi32>",
    )


def test_a_pointer_that_a_loop_carries_is_noted_where_the_loop_begins():
    check(
        HEAD
        + tiles("stride")
        + """
  %p = tt.addptr %xs, %o : tensor<256x!tt.ptr<f16>>, tensor<256xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %end = scf.for %i = %c0 to %n step %c1 iter_args(%q = %p) -> (tensor<256x!tt.ptr<f16>>) : i32 {
    %v = tt.load %q : tensor<256x!tt.ptr<f16>>
    %next = tt.addptr %q, %c15 : tensor<256x!tt.ptr<f16>>, tensor<256xi32>
    scf.yield %next : tensor<256x!tt.ptr<f16>>
  }
  tt.return
}
""",
        EnumerateIndices(),
        "// CHECK: tt.addptr {{.*}} {tt.constancy = dense<1> : tensor<1xi32>, tt.contiguity = dense<16>",
    )


def test_nothing_is_noted_where_axis_info_knows_as_much():
    access("%o = arith.addi %r, %c4 : tensor<256xi32>", "// CHECK-NOT: tt.contiguity\n// CHECK: tt.load")


def test_nothing_is_claimed_of_a_dividend_that_may_be_negative():
    access(
        """
  %s = tt.splat %odd : i32 -> tensor<256xi32>
  %d = arith.addi %r, %s : tensor<256xi32>
  %q = arith.divsi %d, %c4 : tensor<256xi32>
  %o = arith.muli %q, %c15 : tensor<256xi32>""",
        "// CHECK-NOT: tt.contiguity\n// CHECK: tt.load",
    )
