"""Block pointers become pointers and masks: through loops, branches and calls, with what changes carried and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from filecheck_ir import check, run

from minitriton.dialects.text import parse_module
from minitriton.errors import PassError
from minitriton.interpreter import interpret
from minitriton.passes.rewrite_blocks_to_pointers import RewriteTensorPointer

PASS = RewriteTensorPointer()

PROLOGUE = """
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c4 = arith.constant 4 : i32
    %one = arith.constant 1 : i64
    %size = arith.constant 10 : i64
    %other_size = arith.constant 7 : i64
    %r = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %ot = tt.addptr %os, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %p = tt.make_tensor_ptr %x, [%size], [%one], [%c0] {order = array<i32: 0>} : !tt.ptr<tensor<8xf32>>
    %q = tt.make_tensor_ptr %y, [%other_size], [%one], [%c1] {order = array<i32: 0>} : !tt.ptr<tensor<8xf32>>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
"""


def function(body: str, others: str = "") -> str:
    """A kernel `f(x, y, o, n)` with a pointer %p to `x` (10 elements) and %q to `y` (7 elements, from its second on)."""
    return f"""
    {others}
    tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %o: !tt.ptr<f32>, %n: i32) {{
    {PROLOGUE}
    {body}
      tt.return
    }}
    """


IN_A_LOOP = function("""
    %s, %e = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %b = %p) -> (tensor<8xf32>, !tt.ptr<tensor<8xf32>>) : i32 {
      %v = tt.load %b {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
      %t = arith.addf %acc, %v : tensor<8xf32>
      %next = tt.advance %b, [%c4] : !tt.ptr<tensor<8xf32>>
      scf.yield %t, %next : tensor<8xf32>, !tt.ptr<tensor<8xf32>>
    }
    tt.store %ot, %s : tensor<8x!tt.ptr<f32>>
    """)

SWAPPED_IN_A_LOOP = function("""
    %s, %e, %g = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %b = %p, %d = %q)
        -> (tensor<8xf32>, !tt.ptr<tensor<8xf32>>, !tt.ptr<tensor<8xf32>>) : i32 {
      %v = tt.load %b {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
      %t = arith.addf %acc, %v : tensor<8xf32>
      %next = tt.advance %b, [%c1] : !tt.ptr<tensor<8xf32>>
      scf.yield %t, %d, %next : tensor<8xf32>, !tt.ptr<tensor<8xf32>>, !tt.ptr<tensor<8xf32>>
    }
    tt.store %ot, %s : tensor<8x!tt.ptr<f32>>
    """)

IN_A_WHILE = function("""
    %s, %e, %k = scf.while (%acc = %zero, %b = %q, %i = %c0) : (tensor<8xf32>, !tt.ptr<tensor<8xf32>>, i32)
        -> (tensor<8xf32>, !tt.ptr<tensor<8xf32>>, i32) {
      %more = arith.cmpi slt, %i, %n : i32
      scf.condition(%more) %acc, %b, %i : tensor<8xf32>, !tt.ptr<tensor<8xf32>>, i32
    } do {
    ^bb0(%acc2: tensor<8xf32>, %b2: !tt.ptr<tensor<8xf32>>, %i2: i32):
      %v = tt.load %b2 {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
      %t = arith.addf %acc2, %v : tensor<8xf32>
      %next = tt.advance %b2, [%c1] : !tt.ptr<tensor<8xf32>>
      %inext = arith.addi %i2, %c1 : i32
      scf.yield %t, %next, %inext : tensor<8xf32>, !tt.ptr<tensor<8xf32>>, i32
    }
    %last = tt.load %e {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
    %sum = arith.addf %s, %last : tensor<8xf32>
    tt.store %ot, %sum : tensor<8x!tt.ptr<f32>>
    """)

CHOSEN = function("""
    %many = arith.cmpi sgt, %n, %c1 : i32
    %b = scf.if %many -> (!tt.ptr<tensor<8xf32>>) {
      %next = tt.advance %p, [%c4] : !tt.ptr<tensor<8xf32>>
      scf.yield %next : !tt.ptr<tensor<8xf32>>
    } else {
      scf.yield %q : !tt.ptr<tensor<8xf32>>
    }
    %d = arith.select %many, %b, %p : !tt.ptr<tensor<8xf32>>
    %v = tt.load %d {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
    tt.store %b, %v {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<8xf32>>
    tt.store %ot, %v : tensor<8x!tt.ptr<f32>>
    """)

CALLED = function(
    """
    %b, %v = tt.call @g(%n, %p) : (i32, !tt.ptr<tensor<8xf32>>) -> (!tt.ptr<tensor<8xf32>>, tensor<8xf32>)
    %w = tt.load %b {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
    %s = arith.addf %v, %w : tensor<8xf32>
    tt.store %ot, %s : tensor<8x!tt.ptr<f32>>
    """,
    """
    tt.func private @g(%n: i32, %b: !tt.ptr<tensor<8xf32>>) -> (!tt.ptr<tensor<8xf32>>, tensor<8xf32>) attributes {noinline = true} {
      %next = tt.advance %b, [%n] : !tt.ptr<tensor<8xf32>>
      %v = tt.load %b {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf32>>
      tt.return %next, %v : !tt.ptr<tensor<8xf32>>, tensor<8xf32>
    }
    """,
)

PROGRAMS = {
    "in a loop": IN_A_LOOP,
    "swapped in a loop": SWAPPED_IN_A_LOOP,
    "in a while": IN_A_WHILE,
    "chosen": CHOSEN,
    "called": CALLED,
}


def outcome(text: str, n: int) -> list[np.ndarray]:
    """The arrays after the kernel `f` of `text` has run."""
    x, y, out = np.arange(1, 41, dtype=np.float32), np.arange(100, 140, dtype=np.float32), np.zeros(8, np.float32)
    interpret(parse_module(text), "f", (x, y, out, n), (1,))
    return [x, y, out]


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_computes_the_same(name: str, n: int) -> None:
    after = run(PROGRAMS[name], PASS)
    assert "tt.ptr<tensor" not in after
    for found, wanted in zip(outcome(after, n), outcome(PROGRAMS[name], n), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_loop_carries_only_the_offset() -> None:
    check(IN_A_LOOP, PASS, """
    CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<8xf32>, i64)
    CHECK: scf.yield {{.*}} : tensor<8xf32>, i64
    """)  # fmt: skip


def test_a_loop_carries_what_it_changes() -> None:
    check(SWAPPED_IN_A_LOOP, PASS, """
    CHECK: scf.yield {{.*}} : tensor<8xf32>, !tt.ptr<f32>, i64, i64, i64, !tt.ptr<f32>, i64, i64, i64
    """)  # fmt: skip


def test_a_while_loop_carries_only_the_offset() -> None:
    check(IN_A_WHILE, PASS, """
    CHECK: scf.while {{.*}} : (tensor<8xf32>, i64, i32) -> (tensor<8xf32>, i64, i32)
    """)  # fmt: skip


def test_a_branch_gives_only_what_differs() -> None:
    check(CHOSEN, PASS, """
    CHECK: scf.if {{.*}} -> (!tt.ptr<f32>, i64, i64)
    """)  # fmt: skip


def test_a_function_takes_and_gives_all_parts() -> None:
    check(CALLED, PASS, """
    CHECK: tt.func private @g({{.*}}: i32, {{.*}}: !tt.ptr<f32>, {{.*}}: i64, {{.*}}: i64, {{.*}}: i64) -> (!tt.ptr<f32>, i64, i64, i64, tensor<8xf32>)
    CHECK: tt.call @g({{.*}}) : (i32, !tt.ptr<f32>, i64, i64, i64) -> (!tt.ptr<f32>, i64, i64, i64, tensor<8xf32>)
    """)  # fmt: skip


def test_an_op_that_needs_the_whole_pointer_is_refused() -> None:
    text = function("""%i = "tt.ptr_to_int"(%p) : (!tt.ptr<tensor<8xf32>>) -> i64""")
    with pytest.raises(PassError, match=r"tt\.ptr_to_int takes no block pointer"):
        PASS.apply(None, parse_module(text))  # pyright: ignore[reportArgumentType]
