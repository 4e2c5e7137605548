"""`cse`, `inline`, `symbol-dce`: what repeats, what is called, what nobody calls."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.cse import Cse
from minitriton.passes.inline import Inline, SymbolDce


def test_equal_ops_merge_also_with_operands_exchanged() -> None:
    check(
        """
        tt.func @f(%x: i32, %y: i32) -> (i32, i32, i32) {
          %0 = arith.muli %x, %y : i32
          %1 = arith.muli %y, %x : i32
          %2 = arith.subi %x, %y : i32
          %3 = arith.subi %y, %x : i32
          tt.return %0, %1, %2 : i32, i32, i32
        }""",
        Cse(),
        """
        // CHECK: [[M:%.*]] = arith.muli %arg0, %arg1
        // CHECK-NEXT: [[S:%.*]] = arith.subi %arg0, %arg1
        // CHECK-NEXT: tt.return [[M]], [[M]], [[S]]
        """,
    )


def test_ops_with_other_attributes_or_types_do_not_merge() -> None:
    text = run(
        """
        tt.func @f(%x: i32, %y: i32) -> (i1, i1, i64, i32) {
          %0 = arith.cmpi slt, %x, %y : i32
          %1 = arith.cmpi ult, %x, %y : i32
          %2 = arith.extsi %x : i32 to i64
          %3 = arith.addi %x, %y overflow<nsw> : i32
          %4 = arith.addi %x, %y : i32
          %5 = arith.subi %3, %4 : i32
          tt.return %0, %1, %2, %5 : i1, i1, i64, i32
        }""",
        Cse(),
    )
    assert text.count("arith.cmpi") == 2 and text.count("arith.addi") == 2


def test_loads_merge_unless_something_is_written_in_between() -> None:
    text = run(
        """
        tt.func @f(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) {
          %0 = tt.load %p : !tt.ptr<i32>
          %1 = tt.load %p : !tt.ptr<i32>
          %s = arith.addi %0, %1 : i32
          tt.store %q, %s : !tt.ptr<i32>
          %2 = tt.load %p : !tt.ptr<i32>
          tt.store %q, %2 : !tt.ptr<i32>
          tt.return
        }""",
        Cse(),
    )
    assert text.count("tt.load") == 2


def test_reductions_merge_by_what_they_compute() -> None:
    text = run(
        """
        tt.func @f(%x: tensor<4xi32>) -> (i32, i32, i32) {
          %0 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
          ^bb0(%a: i32, %b: i32):
            %s = arith.addi %a, %b : i32
            tt.reduce.return %s : i32
          }) : (tensor<4xi32>) -> i32
          %1 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
          ^bb0(%a: i32, %b: i32):
            %s = arith.addi %b, %a : i32
            tt.reduce.return %s : i32
          }) : (tensor<4xi32>) -> i32
          %2 = "tt.reduce"(%x) <{axis = 0 : i32}> ({
          ^bb0(%a: i32, %b: i32):
            %s = arith.maxsi %a, %b : i32
            tt.reduce.return %s : i32
          }) : (tensor<4xi32>) -> i32
          tt.return %0, %1, %2 : i32, i32, i32
        }""",
        Cse(),
    )
    assert text.count('"tt.reduce"') == 2


def test_what_is_computed_in_one_branch_is_not_used_in_the_other() -> None:
    text = run(
        """
        tt.func @f(%c: i1, %x: i32, %p: !tt.ptr<i32>) {
          cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
          %0 = arith.muli %x, %x : i32
          tt.store %p, %0 : !tt.ptr<i32>
          tt.return
        ^bb2:
          %1 = arith.muli %x, %x : i32
          tt.store %p, %1 : !tt.ptr<i32>
          tt.return
        }""",
        Cse(),
    )
    assert text.count("arith.muli") == 2


def test_what_dominates_is_used_inside_loops() -> None:
    text = run(
        """
        tt.func @f(%n: i32, %x: i32, %p: !tt.ptr<i32>) {
          %0 = arith.muli %x, %x : i32
          scf.for %i = %x to %n step %x : i32 {
            %1 = arith.muli %x, %x : i32
            %2 = arith.addi %0, %1 : i32
            tt.store %p, %2 : !tt.ptr<i32>
          }
          tt.return
        }""",
        Cse(),
    )
    assert text.count("arith.muli") == 1


MODULE = """
module {
  tt.func public @kernel(%x: i32, %p: !tt.ptr<i32>) {
    %0 = tt.call @twice(%x) : (i32) -> i32 loc("k.py":9:1)
    %1 = tt.call @kept(%0) : (i32) -> i32
    tt.store %p, %1 : !tt.ptr<i32>
    tt.return
  }
  tt.func private @twice(%y: i32) -> i32 {
    %0 = tt.call @once(%y) : (i32) -> i32
    %1 = arith.addi %0, %y : i32 loc("t.py":5:1)
    tt.return %1 : i32
  }
  tt.func private @once(%z: i32) -> i32 {
    tt.return %z : i32
  }
  tt.func private @kept(%z: i32) -> i32 attributes {noinline = true} {
    %0 = arith.muli %z, %z : i32
    tt.return %0 : i32
  }
  tt.func private @unused(%z: i32) -> i32 {
    %0 = tt.call @once(%z) : (i32) -> i32
    tt.return %0 : i32
  }
}
"""


def test_calls_become_the_bodies_of_what_they_call() -> None:
    check(
        MODULE,
        Inline(),
        """
        // CHECK: tt.func public @kernel
        // CHECK-NEXT: [[T:%.*]] = arith.addi %arg0, %arg0
        // CHECK-NEXT: [[K:%.*]] = tt.call @kept([[T]])
        // CHECK-NEXT: tt.store %arg1, [[K]]
        // CHECK-NOT: @twice
        """,
    )


def test_functions_that_nobody_reaches_are_erased() -> None:
    text = run(MODULE, SymbolDce())
    assert "@unused" not in text and "@once" in text and "@kept" in text


def test_an_inlined_op_keeps_its_place_and_that_of_the_call() -> None:
    from minitriton.dialects.context import make_context
    from minitriton.dialects.text import parse_module, print_module

    module = parse_module(MODULE)
    Inline().apply(make_context(), module)
    text = print_module(module, locations=True)
    assert 'loc("t.py":5:1)' in text and 'loc("k.py":9:1)' in text and "callsite(" in text


def test_bodies_of_several_blocks_are_inlined_between_blocks() -> None:
    check(
        """
        module {
          tt.func public @kernel(%c: i1, %p: !tt.ptr<i32>, %x: i32) {
            %0 = tt.call @choose(%c, %x) : (i1, i32) -> i32
            tt.store %p, %0 : !tt.ptr<i32>
            tt.return
          }
          tt.func private @choose(%c: i1, %x: i32) -> i32 {
            cf.cond_br %c, ^bb1, ^bb2
          ^bb1:
            tt.return %x : i32
          ^bb2:
            %0 = arith.muli %x, %x : i32
            tt.return %0 : i32
          }
        }""",
        [Inline(), Canonicalize()],
        """
        // CHECK: cf.cond_br %arg0, ^bb[[END:[0-9]+]](%arg2 : i32), ^bb[[OTHER:[0-9]+]]
        // CHECK: [[M:%.*]] = arith.muli
        // CHECK-NEXT: cf.br
        // CHECK: tt.store
        """,
    )
