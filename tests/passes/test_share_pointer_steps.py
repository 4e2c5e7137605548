"""`minitriton-share-pointer-steps`: counters in place of pointers that a loop of products moves along."""

from __future__ import annotations

import pytest
from filecheck_ir import check, run

from minitriton.passes.asynchronous.share_pointer_steps import SharePointerSteps

HEAD = """
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#row = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#sh = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
"""
POINTERS = "tensor<64x64x!tt.ptr<f16>, #row>"
OFFSETS = "tensor<64x64xi32, #row>"
MATRIX = "!ttg.memdesc<64x64xf16, #sh, #smem>"
BUFFER = "!ttg.memdesc<64x64xf16, #sh, #smem, mutable>"
COPY = f"ttg.async_copy_global_to_local %{{}}, %m : {POINTERS} -> <64x64xf16, #sh, #smem, mutable>"


def program(product: bool = True, step: str = "%splat", after: str = "") -> str:
    """A loop over %n that copies by pointers before and after it moves them: one by 64, one by `step`."""
    dot = f"%d = ttng.warp_group_dot %a, %b, %c : {MATRIX} * {MATRIX} -> tensor<64x64xf32, #mma>"
    first, second = COPY.format("p1"), COPY.format("q")
    return f"""{HEAD}
  tt.func @f(%a: {MATRIX}, %b: {MATRIX}, %m: {BUFFER}, %n: i32, %s: i32, %p0: {POINTERS}, %q0: {POINTERS}) {{
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %by64 = arith.constant dense<64> : {OFFSETS}
    %splat = tt.splat %s : i32 -> {OFFSETS}
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0, %c = %zero, %q = %q0)
        -> ({POINTERS}, tensor<64x64xf32, #mma>, {POINTERS}) : i32 {{
      %p1 = tt.addptr %p, %by64 : {POINTERS}, {OFFSETS}
      %t1 = {first}
      %t2 = {second}
      {dot if product else "%d = arith.addf %c, %zero : tensor<64x64xf32, #mma>"}
      %q1 = tt.addptr %q, {step} : {POINTERS}, {OFFSETS}
      scf.yield %p1, %d, %q1 : {POINTERS}, tensor<64x64xf32, #mma>, {POINTERS}
    }}
    {after}
    tt.return
  }}
}}
"""


def test_each_step_is_counted_and_added_to_the_pointers_of_before_the_loop() -> None:
    check(
        program(),
        SharePointerSteps(),
        """
        CHECK: %[[STRIDE:.*]] = arith.extsi %arg4 : i32 to i64
        CHECK: scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}, %[[I:.*]] = %c0_i64, %[[J:.*]] = %c0_i64)
        CHECK: %[[I1:.*]] = arith.addi %[[I]], %c64_i64 {ttg.opaque} : i64
        CHECK: %[[J1:.*]] = arith.addi %[[J]], %[[STRIDE]] {ttg.opaque} : i64
        CHECK: %[[NEW:.*]] = tt.splat %[[I1]]
        CHECK: %[[P1:.*]] = tt.addptr %arg5, %[[NEW]]
        CHECK: %[[OLD:.*]] = tt.splat %[[J]]
        CHECK: %[[Q:.*]] = tt.addptr %arg6, %[[OLD]]
        CHECK: ttg.async_copy_global_to_local %[[P1]]
        CHECK: ttg.async_copy_global_to_local %[[Q]]
        CHECK: scf.yield %{{.*}}, %[[I1]], %[[J1]] : tensor<64x64xf32, #mma>, i64, i64
        """,
    )


def test_pointers_with_the_same_step_share_a_counter() -> None:
    text = run(program(step="%by64"), SharePointerSteps())
    assert text.count("ttg.opaque") == 1


def test_pointers_behind_the_loop_are_moved_by_what_was_counted() -> None:
    used = f"%v = tt.load %r#0 : {POINTERS}\n    tt.store %r#2, %v : {POINTERS}"
    check(
        program(after=used),
        SharePointerSteps(),
        """
        CHECK: %[[R:.*]]:3 = scf.for
        CHECK: %[[BY:.*]] = tt.splat %[[R]]#1
        CHECK: %[[P:.*]] = tt.addptr %arg5, %[[BY]]
        CHECK: tt.load %[[P]]
        """,
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(program(product=False), id="no product"),
        pytest.param(program().replace("sizePerThread = [1, 8]", "sizePerThread = [1, 1]"), id="too many pointers"),
    ],
)
def test_other_loops_stay_as_they_are(text: str) -> None:
    assert "i64" not in run(text, SharePointerSteps())


def test_a_step_of_the_loop_stays() -> None:
    text = program(step="%own").replace("%q1 = ", f"%own = tt.splat %i : i32 -> {OFFSETS}\n      %q1 = ")
    assert run(text, SharePointerSteps()).count("ttg.opaque") == 1
