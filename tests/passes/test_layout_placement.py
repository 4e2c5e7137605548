"""`tritongpu-reduce-data-duplication` and `tritongpu-reorder-instructions`: where data of dot operands goes, and when."""

from __future__ import annotations

import pytest
from filecheck_ir import check, run

from minitriton.passes.optimize_dot_operands import ReduceDataDuplication
from minitriton.passes.prefetch import Prefetch
from minitriton.passes.reorder_instructions import ReorderInstructions

HEADER = """
#a = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#x = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#y = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32} {
"""


def module(body: str) -> str:
    """`body` in a module with layouts for a tensor-core dot."""
    return HEADER + body + "\n}\n"


def test_a_dot_operand_goes_through_a_buffer_swizzled_for_it() -> None:
    check(
        module("""
        tt.func @f(%a: tensor<64x64xf16, #a>) -> tensor<64x64xf16, #x> {
          %0 = ttg.convert_layout %a : tensor<64x64xf16, #a> -> tensor<64x64xf16, #x>
          tt.return %0 : tensor<64x64xf16, #x>
        }
        """),
        ReduceDataDuplication(),
        """
        // CHECK: #shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
        // CHECK: [[B:%.*]] = ttg.local_alloc {{.*}} -> !ttg.memdesc<64x64xf16, #shared, #smem>
        // CHECK-NEXT: ttg.local_load [[B]] : {{.*}} -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
        """,
    )


def test_a_conversion_that_moves_registers_only_stays() -> None:
    text = run(
        module("""
        tt.func @f(%a: tensor<64x64xf16, #mma>) -> tensor<64x64xf16, #x> {
          %0 = ttg.convert_layout %a : tensor<64x64xf16, #mma> -> tensor<64x64xf16, #x>
          tt.return %0 : tensor<64x64xf16, #x>
        }
        """),
        ReduceDataDuplication(),
    )
    assert "ttg.convert_layout" in text and "local_alloc" not in text


DOT_LOOP = """
        tt.func @f(%a: !ttg.memdesc<64x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x64xf16, #shared, #smem>, %n: i32,
                   %c: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %y = ttg.local_load %b : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #y>
          %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %c) -> (tensor<64x64xf32, #mma>) : i32 {
            %x = ttg.local_load %a : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #x>
            %1 = tt.dot %x, %y, %acc : tensor<64x64xf16, #x> * tensor<64x64xf16, #y> -> tensor<64x64xf32, #mma>
            scf.yield %1 : tensor<64x64xf32, #mma>
          }
          tt.return %0 : tensor<64x64xf32, #mma>
        }
"""


def test_an_operand_loaded_before_a_loop_moves_to_its_use_behind_the_first_operand() -> None:
    check(
        module(DOT_LOOP),
        ReorderInstructions(),
        """
        // CHECK-NOT: local_load
        // CHECK: scf.for
        // CHECK-NEXT: ttg.local_load {{.*}}opIdx = 0
        // CHECK-NEXT: ttg.local_load {{.*}}opIdx = 1
        // CHECK-NEXT: tt.dot
        """,
    )


def test_a_buffer_is_filled_right_behind_its_load() -> None:
    check(
        module("""
        tt.func @f(%p: tensor<64x64x!tt.ptr<f16>, #a>, %q: tensor<64x64x!tt.ptr<f16>, #a>) -> tensor<64x64xf16, #x> {
          %0 = tt.load %p : tensor<64x64x!tt.ptr<f16>, #a>
          %1 = tt.load %q : tensor<64x64x!tt.ptr<f16>, #a>
          %2 = ttg.local_alloc %0 : (tensor<64x64xf16, #a>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
          tt.store %q, %1 : tensor<64x64x!tt.ptr<f16>, #a>
          %3 = ttg.local_load %2 : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #x>
          tt.return %3 : tensor<64x64xf16, #x>
        }
        """),
        ReorderInstructions(),
        """
        // CHECK: tt.load
        // CHECK-NEXT: ttg.local_alloc
        // CHECK-NEXT: tt.load
        """,
    )


def test_a_second_operand_does_not_move_over_a_write() -> None:
    check(
        module("""
        tt.func @f(%a: !ttg.memdesc<64x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>,
                   %t: tensor<64x64xf16, #a>, %c: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {
          %y = ttg.local_load %b : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #y>
          ttg.local_store %t, %b : tensor<64x64xf16, #a> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %x = ttg.local_load %a : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #x>
          %0 = tt.dot %x, %y, %c : tensor<64x64xf16, #x> * tensor<64x64xf16, #y> -> tensor<64x64xf32, #mma>
          tt.return %0 : tensor<64x64xf32, #mma>
        }
        """),
        ReorderInstructions(),
        """
        // CHECK: ttg.local_load {{.*}}opIdx = 1
        // CHECK-NEXT: ttg.local_store
        // CHECK-NEXT: ttg.local_load {{.*}}opIdx = 0
        """,
    )


CARRIED = """
        tt.func @f(%a: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, %n: i32,
                   %x: tensor<64x64xf16, #a>, %c: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b, %s = %c) -> (
              !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, tensor<64x64xf32, #mma>) : i32 {{
            {first}
            %xs = ttg.local_load %u : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #x>
            %ys = ttg.local_load %v : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #y>
            {between}
            %d = tt.dot %xs, %ys, %s : tensor<64x64xf16, #x> * tensor<64x64xf16, #y> -> tensor<64x64xf32, #mma>
            {last}
            scf.yield %v, %u, %d : !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, !ttg.memdesc<64x64xf16, #shared, #smem, mutable>, tensor<64x64xf32, #mma>
          }}
          tt.return %r#2 : tensor<64x64xf32, #mma>
        }}
"""
STORE = "ttg.local_store %x, %u : tensor<64x64xf16, #a> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>"


@pytest.mark.parametrize(
    ("place", "op", "is_read_ahead"),
    [
        ("last", STORE, True),
        ("first", "", True),
        ("first", STORE, False),
        ("between", STORE, False),
        ("first", "ttg.async_wait {num = 0 : i32}", False),
    ],
    ids=["stored behind", "nothing", "stored in front", "stored between", "waited for"],
)
def test_operands_are_read_ahead_where_nothing_writes_their_buffers_meanwhile(
    place: str, op: str, is_read_ahead: bool
) -> None:
    texts = {"first": "", "between": "", "last": ""} | {place: op}
    text = run(module(CARRIED.format(**texts)), Prefetch())
    assert ("memdesc_subslice" in text) == is_read_ahead


FROM_OUTSIDE = """
        tt.func @f(%x: tensor<64x64xf16, #a>, %y: tensor<64x64xf16, #y>, %n: i32, %c: tensor<64x64xf32, #mma>) -> tensor<64x64xf32, #mma> {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %u = ttg.local_alloc %x : (tensor<64x64xf16, #a>) -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %v = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
          %xs = ttg.local_load %u : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #x>
          {before}
          %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c) -> (tensor<64x64xf32, #mma>) : i32 {{
            %d = tt.dot %xs, %y, %s : tensor<64x64xf16, #x> * tensor<64x64xf16, #y> -> tensor<64x64xf32, #mma>
            {inside}
            scf.yield %d : tensor<64x64xf32, #mma>
          }}
          tt.return %r : tensor<64x64xf32, #mma>
        }}
"""


@pytest.mark.parametrize(
    ("before", "inside", "moves"),
    [("", "", True), ("", STORE.replace("%u", "%v"), True), (STORE, "", False), ("", STORE, False)],
    ids=["nothing", "another buffer", "stored before", "stored inside"],
)
def test_an_operand_is_loaded_in_the_loop_where_nothing_writes_its_buffer(
    before: str, inside: str, moves: bool
) -> None:
    text = run(module(FROM_OUTSIDE.format(before=before, inside=inside)), ReorderInstructions())
    assert (text.index("scf.for") < text.index("ttg.local_load")) == moves
