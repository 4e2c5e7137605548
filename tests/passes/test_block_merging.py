"""Equal blocks become one where a pass cleans up behind itself, and stay apart in canonicalisation."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.combine import Combine

RETURNS = """
    tt.func @f(%c: i1, %x: i32, %y: i32) -> i32 {{
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      %0 = arith.{first} %x, %x : i32
      tt.return %0 : i32
    ^bb2:
      %1 = arith.{second} %x, %y : i32
      tt.return %1 : i32
    }}"""


def test_blocks_that_differ_in_a_value_from_outside_take_it_as_argument() -> None:
    check(
        RETURNS.format(first="muli", second="muli"),
        Combine(),
        """
        // CHECK: cf.cond_br %arg0, ^bb1(%arg1 : i32), ^bb1(%arg2 : i32)
        // CHECK-NEXT: ^bb1([[V:%.*]]: i32):
        // CHECK-NEXT: [[M:%.*]] = arith.muli %arg1, [[V]]
        // CHECK-NEXT: tt.return [[M]]
        // CHECK-NEXT: }
        """,
    )


def test_blocks_of_other_ops_stay_apart() -> None:
    assert "^bb2" in run(RETURNS.format(first="muli", second="addi"), Combine())


def test_the_canonicaliser_merges_only_when_told_to() -> None:
    text = RETURNS.format(first="muli", second="muli")
    assert "^bb2" in run(text, Canonicalize())
    assert "^bb2" not in run(text, Canonicalize(region_simplify="aggressive"))


def test_an_argument_that_always_has_one_value_is_that_value() -> None:
    check(
        """
        tt.func @f(%c: i1, %x: i32, %p: !tt.ptr<i32>) -> i32 {
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          tt.store %p, %x : !tt.ptr<i32>
          cf.br ^bb3(%x : i32)
        ^bb2:
          cf.br ^bb3(%x : i32)
        ^bb3(%v: i32):
          tt.return %v : i32
        }""",
        Combine(),
        """
        // CHECK: cf.br ^bb3
        // CHECK: ^bb3:
        // CHECK-NEXT: tt.return %arg1
        """,
    )


def test_values_that_later_blocks_use_keep_blocks_apart() -> None:
    text = run(
        """
        tt.func @f(%c: i1, %x: i32, %y: i32) -> i32 {
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          %0 = arith.muli %x, %x : i32
          cf.br ^bb3(%0 : i32)
        ^bb2:
          %1 = arith.muli %x, %y : i32
          cf.br ^bb3(%1 : i32)
        ^bb3(%v: i32):
          %2 = arith.addi %v, %v : i32
          tt.return %2 : i32
        }""",
        Combine(),
    )
    assert text.count("arith.muli") == 1, "both compute the same of what they are given"
    assert text.count("^bb") >= 2
