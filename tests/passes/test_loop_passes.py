"""Unrolling, invariant code, equal carried values, and loops as branches."""

from __future__ import annotations

import pytest
from filecheck_ir import check, run
from triton_test_passes.scf_to_cf import ConvertScfToCf

from minitriton.passes.cse import LoopAwareCse
from minitriton.passes.licm import LoopInvariantCodeMotion, TritonLoopInvariantCodeMotion
from minitriton.passes.loop_unroll import LoopUnroll
from minitriton.pipeline.pass_registry import Pass


def counted(bound: str, attributes: str = "") -> str:
    return f"""
        tt.func @f(%p: !tt.ptr<i32>, %n: i32, %x: i32) -> i32 {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %c7 = arith.constant 7 : i32
          %c8 = arith.constant 8 : i32
          %r = scf.for %i = %c0 to {bound} step %c1 iter_args(%a = %x) -> (i32) : i32 {{
            %v = arith.muli %a, %i : i32
            scf.yield %v : i32
          }} {attributes}
          tt.return %r : i32
        }}"""


def test_a_loop_is_unrolled_with_no_rest_if_the_count_is_a_multiple() -> None:
    check(
        counted("%c8", "{tt.loop_unroll_factor = 4 : i32}"),
        LoopUnroll(),
        """
        // CHECK: [[S:%.*]] = arith.constant 4 : i32
        // CHECK: scf.for [[I:%.*]] = {{.*}} step [[S]] iter_args
        // CHECK-COUNT-4: arith.muli %{{.*}}, %{{.*}} : i32
        // CHECK-NOT: scf.for
        """,
    )
    assert run(counted("%c8", "{tt.loop_unroll_factor = 4 : i32}"), LoopUnroll()).count("scf.for") == 1


def test_the_rest_of_an_unrolled_loop_is_not_pipelined() -> None:
    text = run(counted("%n", "{tt.loop_unroll_factor = 2 : i32}"), LoopUnroll())
    assert text.count("scf.for") == 2
    assert text.count("tt.num_stages = 1 : i32") == 1
    assert "tt.loop_unroll_factor" not in text


def test_a_rest_of_one_iteration_is_its_body() -> None:
    text = run(counted("%c7", "{tt.loop_unroll_factor = 2 : i32}"), LoopUnroll())
    assert text.count("scf.for") == 1


def test_the_count_of_an_unrolled_loop_is_of_bounds_in_order() -> None:
    """It is divided as an unsigned number: of reversed bounds it would be great."""
    stepped = counted("%n", "{tt.loop_unroll_factor = 2 : i32}").replace("step %c1", "step %x")
    assert "arith.maxsi %n, %c0" in run(stepped, LoopUnroll()).replace("%arg1", "%n").replace("%c0_i32", "%c0")
    assert "arith.maxsi" not in run(counted("%n", "{tt.loop_unroll_factor = 2 : i32}"), LoopUnroll())


LOAD_LOOP = """
    tt.func @f(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>, %n: i32, %d: i32) -> i32 {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {{
        %v = tt.load %p : !tt.ptr<i32>
        %w = arith.muli %d, %d : i32
        %t = arith.divsi %n, %d : i32
        %s = arith.addi %v, %w : i32
        %u = arith.addi %s, %t : i32
        %m = arith.addi %a, %u : i32
        {store}
        scf.yield %m : i32
      }}{attributes}
      tt.return %r : i32
    }}"""


def test_invariant_ops_move_out_but_not_divisions_and_loads() -> None:
    check(
        LOAD_LOOP.format(store="", attributes=""),
        LoopInvariantCodeMotion(),
        """
        // CHECK: arith.muli %arg3, %arg3
        // CHECK-NEXT: scf.for
        // CHECK-NEXT: tt.load
        // CHECK-NEXT: arith.divsi
        """,
    )


def test_loads_move_out_under_the_mask_that_the_loop_runs() -> None:
    check(
        LOAD_LOOP.format(store="", attributes=""),
        TritonLoopInvariantCodeMotion(),
        """
        // CHECK: [[RUNS:%.*]] = arith.cmpi slt, %{{.*}}, %arg2
        // CHECK: tt.load %arg0, [[RUNS]]
        // CHECK: scf.for
        """,
    )


def test_loads_stay_in_loops_that_write() -> None:
    text = run(LOAD_LOOP.format(store="tt.store %q, %m : !tt.ptr<i32>", attributes=""), TritonLoopInvariantCodeMotion())
    assert text.index("scf.for") < text.index("tt.load")


@pytest.mark.parametrize("step", [LoopInvariantCodeMotion(), TritonLoopInvariantCodeMotion()], ids=["ops", "loads"])
def test_nothing_moves_out_of_a_loop_that_asks_for_it(step: Pass) -> None:
    keeps = " {llvm.loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}"
    text = run(LOAD_LOOP.format(store="", attributes=keeps), step)
    assert text.index("scf.for") < min(text.index("arith.muli"), text.index("tt.load"))


def test_values_carried_twice_are_carried_once() -> None:
    check(
        """
        tt.func @f(%n: i32, %x: i32, %y: i32) -> (i32, i32, i32) {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %y) -> (i32, i32, i32) : i32 {
            %s = arith.addi %a, %i : i32
            %t = arith.addi %i, %b : i32
            %u = arith.addi %c, %i : i32
            scf.yield %s, %t, %u : i32, i32, i32
          }
          tt.return %r#0, %r#1, %r#2 : i32, i32, i32
        }""",
        LoopAwareCse(),
        """
        // CHECK: [[R:%.*]]:2 = scf.for {{.*}} iter_args(%{{.*}} = %arg1, %{{.*}} = %arg2)
        // CHECK: tt.return [[R]]#0, [[R]]#0, [[R]]#1
        """,
    )


def test_loops_become_a_condition_block_a_body_and_an_end() -> None:
    check(
        counted("%n"),
        ConvertScfToCf(),
        """
        // CHECK: cf.br ^bb1(%c0_i32, %arg2 : i32, i32)
        // CHECK: ^bb1([[I:%.*]]: i32, [[A:%.*]]: i32):
        // CHECK-NEXT: [[C:%.*]] = arith.cmpi slt, [[I]], %arg1
        // CHECK-NEXT: cf.cond_br [[C]], ^bb2, ^bb3
        // CHECK: ^bb2:
        // CHECK-NEXT: [[V:%.*]] = arith.muli [[A]], [[I]]
        // CHECK-NEXT: [[N:%.*]] = arith.addi [[I]], %c1_i32
        // CHECK-NEXT: cf.br ^bb1([[N]], [[V]] : i32, i32)
        // CHECK: ^bb3:
        // CHECK-NEXT: tt.return [[A]]
        """,
    )


def test_conditionals_and_while_loops_inside_become_blocks_too() -> None:
    text = run(
        """
        tt.func @f(%c: i1, %n: i32, %x: i32) -> i32 {
          %r = scf.if %c -> (i32) {
            %w = scf.while (%i = %x) : (i32) -> i32 {
              %t = arith.cmpi slt, %i, %n : i32
              scf.condition(%t) %i : i32
            } do {
            ^bb0(%i: i32):
              %next = arith.addi %i, %i : i32
              scf.yield %next : i32
            }
            scf.yield %w : i32
          } else {
            scf.yield %x : i32
          }
          tt.return %r : i32
        }""",
        ConvertScfToCf(),
    )
    assert "scf." not in text
    assert text.count("cf.cond_br") == 2


def test_the_annotation_of_a_while_loop_stays_on_the_branch_that_repeats_it() -> None:
    check(
        """
        tt.func @f(%n: i32, %x: i32) {
          %w = scf.while (%i = %x) : (i32) -> i32 {
            %t = arith.cmpi slt, %i, %n : i32
            scf.condition(%t) %i : i32
          } do {
          ^bb0(%i: i32):
            %next = arith.addi %i, %i : i32
            scf.yield %next : i32
          } attributes {llvm.loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}
          tt.return
        }""",
        ConvertScfToCf(),
        "// CHECK: cf.br ^bb1({{.*}} : i32) {llvm.loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}",
    )
