"""`tritongpu-combine-tensor-select-and-if`: what is merged, what is left, and that the meaning stays."""

from __future__ import annotations

import numpy as np
import pytest
from filecheck_ir import check, run

from minitriton.dialects.text import parse_module
from minitriton.interpreter import interpret
from minitriton.passes.combine_tensor_select_and_if import CombineTensorSelectAndIf


def kernel(body: str) -> str:
    """A kernel that stores `%s` to `%p` at the end; `%x`, `%y`, `%q` and the condition `%c` are at hand."""
    return f"""
    tt.func @f(%in: !tt.ptr<i32>, %out: !tt.ptr<i32>, %n: i32) {{
      %c0 = arith.constant 0 : i32
      %c = arith.cmpi sgt, %n, %c0 : i32
      %r = tt.make_range {{start = 0 : i32, end = 8 : i32}} : tensor<8xi32>
      %in8 = tt.splat %in : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
      %out8 = tt.splat %out : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
      %q = tt.addptr %in8, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
      %p = tt.addptr %out8, %r : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
      %x = tt.load %q : tensor<8x!tt.ptr<i32>>
      %y = arith.addi %x, %r : tensor<8xi32>
      {body}
      tt.store %p, %s : tensor<8x!tt.ptr<i32>>
      tt.return
    }}"""


MERGED = kernel("""
      %s = arith.select %c, %x, %y : tensor<8xi32>
      scf.if %c {
        tt.store %q, %r : tensor<8x!tt.ptr<i32>>
      }""")

USED_IN_THE_BRANCHES = kernel("""
      %s0 = arith.select %c, %x, %y : tensor<8xi32>
      %s = scf.if %c -> (tensor<8xi32>) {
        %d = arith.muli %s0, %r : tensor<8xi32>
        scf.yield %d : tensor<8xi32>
      } else {
        %d = arith.subi %r, %s0 : tensor<8xi32>
        tt.store %p, %d : tensor<8x!tt.ptr<i32>>
        scf.yield %d : tensor<8xi32>
      }
      tt.store %q, %s0 : tensor<8x!tt.ptr<i32>>""")

USED_BEFORE = kernel("""
      %s = arith.select %c, %x, %y : tensor<8xi32>
      tt.store %q, %s : tensor<8x!tt.ptr<i32>>
      scf.if %c {
        tt.store %q, %r : tensor<8x!tt.ptr<i32>>
      }""")

DEFINED_BEHIND = kernel("""
      scf.if %c {
        tt.store %q, %r : tensor<8x!tt.ptr<i32>>
      }
      %s = arith.select %c, %x, %y : tensor<8xi32>""")


def test_a_select_in_front_of_an_if_is_yielded_by_it() -> None:
    check(
        MERGED,
        CombineTensorSelectAndIf(),
        """
        // CHECK: [[C:%.*]] = arith.cmpi
        // CHECK: [[X:%.*]] = tt.load
        // CHECK: [[Y:%.*]] = arith.addi [[X]]
        // CHECK-NEXT: [[S:%.*]] = scf.if [[C]] -> (tensor<8xi32>) {
        // CHECK:   scf.yield [[X]] : tensor<8xi32>
        // CHECK: } else {
        // CHECK:   scf.yield [[Y]] : tensor<8xi32>
        // CHECK: tt.store %{{.*}}, [[S]]
        """,
    )


def test_inside_the_branches_the_chosen_value_is_used() -> None:
    check(
        USED_IN_THE_BRANCHES,
        CombineTensorSelectAndIf(),
        """
        // CHECK: [[C:%.*]] = arith.cmpi
        // CHECK: [[R:%.*]] = tt.make_range
        // CHECK: [[X:%.*]] = tt.load
        // CHECK: [[Y:%.*]] = arith.addi [[X]]
        // CHECK-NEXT: [[S:%.*]]:2 = scf.if [[C]] -> (tensor<8xi32>, tensor<8xi32>) {
        // CHECK:   [[D:%.*]] = arith.muli [[X]], [[R]]
        // CHECK:   scf.yield [[D]], [[X]]
        // CHECK: } else {
        // CHECK:   [[E:%.*]] = arith.subi [[R]], [[Y]]
        // CHECK:   scf.yield [[E]], [[Y]]
        // CHECK: tt.store %{{.*}}, [[S]]#1
        """,
    )


@pytest.mark.parametrize("text", [USED_BEFORE, DEFINED_BEHIND], ids=["used before the if", "defined behind it"])
def test_a_select_that_the_if_cannot_replace_stays(text: str) -> None:
    assert run(text, CombineTensorSelectAndIf()) == run(text)


def test_a_scalar_stays() -> None:
    text = """
    tt.func @f(%c: i1, %a: i32, %b: i32, %p: !tt.ptr<i32>) {
      %s = arith.select %c, %a, %b : i32
      scf.if %c {
        tt.store %p, %a : !tt.ptr<i32>
      }
      tt.store %p, %s : !tt.ptr<i32>
      tt.return
    }"""
    assert run(text, CombineTensorSelectAndIf()) == run(text)


@pytest.mark.parametrize("text", [MERGED, USED_IN_THE_BRANCHES, USED_BEFORE, DEFINED_BEHIND])
@pytest.mark.parametrize("n", [0, 1])
def test_the_kernel_computes_the_same(text: str, n: int) -> None:
    after = run(text, CombineTensorSelectAndIf())
    memories: list[list[np.ndarray]] = []
    for source in (text, after):
        memory = [np.arange(8, dtype=np.int32) + 100, np.zeros(8, np.int32)]
        interpret(parse_module(source), "f", (*memory, n), (1,))
        memories.append(memory)
    np.testing.assert_array_equal(memories[0], memories[1])
