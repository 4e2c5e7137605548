"""Descriptors as pointers (sm_80), and as layouts, copies, fences and scratch memory (sm_90)."""

from __future__ import annotations

import numpy as np
import pytest
from filecheck_ir import check, run
from triton_test_passes.proxy_fence_insertion import ProxyFenceInsertion

from minitriton.dialects.text import parse_module
from minitriton.errors import PassError
from minitriton.interpreter import interpret
from minitriton.passes.allocate import AllocateGlobalScratch
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.fence_insertion import FenceInsertion
from minitriton.passes.optimize_descriptor_encoding import OptimizeDescriptorEncoding
from minitriton.passes.rewrite_blocks_to_pointers import RewriteTensorDescriptorToPointer
from minitriton.passes.tma_lowering import TMALowering

DESC, BLOCK = "!tt.tensordesc<tensor<4x8xf32>>", "tensor<4x8xf32>"
CARRIED = f"""
tt.func public @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %o: !tt.ptr<f32>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %rows = arith.constant 6 : i32
  %cols = arith.constant 10 : i32
  %one = arith.constant 1 : i64
  %stride = arith.constant 10 : i64
  %zero = arith.constant dense<0.0> : {BLOCK}
  %d = tt.make_tensor_descriptor %x, [%rows, %cols], [%stride, %one] : !tt.ptr<f32>, {DESC}
  %e = tt.make_tensor_descriptor %y, [%rows, %rows], [%stride, %one] : !tt.ptr<f32>, {DESC}
  %out = tt.make_tensor_descriptor %o, [%rows, %cols], [%stride, %one] : !tt.ptr<f32>, {DESC}
  %sum, %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %p = %d, %q = %e) -> ({BLOCK}, {DESC}, {DESC}) : i32 {{
    %odd = arith.cmpi eq, %i, %c1 : i32
    %r = arith.select %odd, %d, %p : {DESC}
    %v = tt.descriptor_load %r[%i, %c3] : {DESC} -> {BLOCK}
    %next = arith.addf %acc, %v : {BLOCK}
    scf.yield %next, %q, %p : {BLOCK}, {DESC}, {DESC}
  }}
  tt.descriptor_reduce add, %out[%c3, %c3], %sum : {DESC}, {BLOCK}
  tt.return
}}
"""


@pytest.mark.parametrize("n", [0, 1, 4])
def test_descriptors_as_pointers_compute_the_same(n: int) -> None:
    def outcome(text: str) -> np.ndarray:
        x, y = np.arange(60, dtype=np.float32), np.arange(100, 160, dtype=np.float32)
        out = np.ones(60, np.float32)
        interpret(parse_module(text), "f", (x, y, out, n), (1,), target="cuda:80")
        return out

    after = run(CARRIED, RewriteTensorDescriptorToPointer())
    assert "tensordesc" not in after
    np.testing.assert_array_equal(outcome(after), outcome(CARRIED))


def test_a_host_descriptor_becomes_its_numbers_and_keeps_its_attributes_on_the_first() -> None:
    check(
        f"""
        tt.func public @f(%i: i32, %d: {DESC} {{tt.divisibility = 16 : i32}}, %j: i32 {{tt.divisibility = 8 : i32}}) {{
          %v = tt.descriptor_load %d[%i, %j] : {DESC} -> {BLOCK}
          tt.descriptor_store %d[%j, %i], %v : {DESC}, {BLOCK}
          tt.return
        }}
        """,
        RewriteTensorDescriptorToPointer(),
        """
        CHECK: @f(%{{[^:]*}}: i32, %{{[^:]*}}: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i64, %{{[^:]*}}: i1, %{{[^:]*}}: i32 {tt.divisibility = 8 : i32})
        """,
    )


def test_an_atomic_op_that_pointers_do_not_have_is_refused() -> None:
    text = "tt.func public @f(%d: !tt.tensordesc<tensor<16xf16>>, %v: tensor<16xf16>, %i: i32) { tt.descriptor_reduce min, %d[%i], %v : !tt.tensordesc<tensor<16xf16>>, tensor<16xf16>  tt.return }"
    with pytest.raises(PassError, match="Cannot fallback on descriptor atomic op, unsupported for type f16"):
        run(text, RewriteTensorDescriptorToPointer())


def ttgir(body: str, arguments: str = "") -> str:
    return f"""
    #blocked = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}}>
    #shared = #ttg.nvmma_shared<{{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}}>
    #wide = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}}>
    #bar = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>
    #mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}}>
    #smem = #ttg.shared_memory
    module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
      tt.func public @f(%n: i32{arguments}) {{
        %c0 = arith.constant 0 : i32
        %true = arith.constant true
        {body}
        tt.return
      }}
    }}
    """


HALVES = "!tt.tensordesc<tensor<16x64xf16>>"
STORED = f"tt.descriptor_store %d[%c0, %n], %w : {HALVES}, tensor<16x64xf16, #blocked>"
LOADED = f"%v = tt.descriptor_load %d[%n, %c0] : {HALVES} -> tensor<16x64xf16, #blocked>"


def test_a_descriptor_gets_the_layout_of_the_buffer_that_its_block_goes_into() -> None:
    body = (
        f"{LOADED}\n%b = ttg.local_alloc %v : (tensor<16x64xf16, #blocked>) -> !ttg.memdesc<16x64xf16, #shared, #smem>"
    )
    check(ttgir(body, f", %d: {HALVES}"), OptimizeDescriptorEncoding(), """
    CHECK: [[S:#.*]] = #ttg.nvmma_shared<{swizzlingByteWidth = 32
    CHECK: %arg1: !tt.tensordesc<tensor<16x64xf16, [[S]]>>
    """)  # fmt: skip


def test_users_who_disagree_get_the_widest_swizzle() -> None:
    body = "\n".join(
        f"%v{i} = tt.descriptor_load %d[%n, %c0] : {HALVES} -> tensor<16x64xf16, #blocked>\n"
        f"%b{i} = ttg.local_alloc %v{i} : (tensor<16x64xf16, #blocked>) -> !ttg.memdesc<16x64xf16, #{layout}, #smem>"
        for i, layout in enumerate(("shared", "half"))
    )
    text = ttgir(body, f", %d: {HALVES}").replace(
        "    #wide =",
        "    #half = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>\n    #wide =",
    )
    after = run(text, OptimizeDescriptorEncoding())
    name = after.split("%arg1: !tt.tensordesc<tensor<16x64xf16, ")[1].split(">")[0]
    assert f"{name} = #ttg.nvmma_shared<{{swizzlingByteWidth = 128" in after


def test_a_load_is_a_copy_that_is_waited_for() -> None:
    body = f"{LOADED}\n%w = arith.addf %v, %v : tensor<16x64xf16, #blocked>\n{STORED}"
    check(ttgir(body, f", %d: {HALVES}"), [OptimizeDescriptorEncoding(), TMALowering()], """
    CHECK:      [[B:%.*]] = ttg.local_alloc : () -> !ttg.memdesc<16x64xf16
    CHECK:      [[BAR:%.*]] = ttg.local_alloc : () -> !ttg.memdesc<1xi64
    CHECK:      ttng.init_barrier [[BAR]], 1
    CHECK:      ttng.barrier_expect [[BAR]], 2048
    CHECK:      ttng.async_tma_copy_global_to_local %arg1[%arg0, {{.*}}] [[B]], [[BAR]]
    CHECK:      ttng.wait_barrier [[BAR]]
    CHECK:      ttng.inval_barrier [[BAR]]
    CHECK:      [[V:%.*]] = ttg.local_load [[B]]
    CHECK:      [[S:%.*]] = ttg.local_alloc {{.*}} : (tensor
    CHECK-NEXT: ttng.fence_async_shared {bCluster = false}
    CHECK-NEXT: ttng.async_tma_copy_local_to_global %arg1[{{.*}}, %arg0] [[S]]
    CHECK-NEXT: ttng.async_tma_store_wait {pendings = 0 : i32}
    """)  # fmt: skip


def test_a_block_that_is_stored_as_it_was_loaded_stays_where_it_is() -> None:
    after = run(
        ttgir(f"{LOADED}\n{STORED.replace('%w', '%v')}", f", %d: {HALVES}"), OptimizeDescriptorEncoding(), TMALowering()
    )
    assert "ttg.local_load" not in after and after.count("ttg.local_alloc") == 2


def test_a_descriptor_made_in_the_kernel_is_a_tensor_map_in_scratch_memory() -> None:
    body = f"""
    %c1 = arith.constant 1 : i64
    %d = tt.make_tensor_descriptor %x, [%n, %n], [%s, %c1] {{padding = 2 : i32}} : !tt.ptr<f16>, {HALVES}
    {LOADED}
    tt.descriptor_store %d[%c0, %n], %v : {HALVES}, tensor<16x64xf16, #blocked>
    """
    # An allocation before there is anything to allocate does not stand for a later one.
    passes = [OptimizeDescriptorEncoding(), AllocateGlobalScratch(), TMALowering(), AllocateGlobalScratch()]
    check(ttgir(body, ", %x: !tt.ptr<f16>, %s: i64"), passes, """
    CHECK: module attributes {{.*}}ttg.global_scratch_memory_alignment = 128 : i32, ttg.global_scratch_memory_size = 128 : i32
    CHECK: [[P:%.*]] = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32, ttg.global_scratch_memory_offset = 0 : i32}
    CHECK: ttng.tensormap_create [[P]], %arg1, [%c64_i32, %c16_i32], [%arg0, %arg0], {{.*}} {elem_type = 6 : i32, fill_mode = 1 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32}
    CHECK: ttng.tensormap_fenceproxy_acquire [[P]]
    CHECK: ttng.reinterpret_tensor_descriptor [[P]]
    """)  # fmt: skip


def test_a_fence_between_a_copy_by_threads_and_the_dot_leaves_the_loop_without_copies() -> None:
    operands = (
        "%a = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #wide, #smem>\n"
        "%one = arith.constant 1 : i32\n%zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>"
    )
    dot = "ttng.warp_group_dot %a, %a, %acc : !ttg.memdesc<64x64xf16, #wide, #smem> * !ttg.memdesc<64x64xf16, #wide, #smem> -> tensor<64x64xf32, #mma>"
    loop = f"""
    %r = scf.for %i = %c0 to %n step %one iter_args(%acc = %zero) -> (tensor<64x64xf32, #mma>) : i32 {{
      %next = {dot}
      scf.yield %next : tensor<64x64xf32, #mma>
    }}
    """
    check(ttgir(operands + loop, ", %x: tensor<64x64xf16, #blocked>"), FenceInsertion(), """
    CHECK:     ttng.fence_async_shared {bCluster = false}
    CHECK:     scf.for
    CHECK-NOT: ttng.fence_async_shared
    CHECK:     ttng.warp_group_dot
    """)  # fmt: skip


def test_a_copy_into_bytes_that_threads_have_just_read_waits_for_a_fence() -> None:
    memdesc = "!ttg.memdesc<16x64xf16, #wide, #smem, mutable>"
    copy = "ttng.async_tma_copy_global_to_local %d[%n, %c0] {}, %bar, %true : !tt.tensordesc<tensor<16x64xf16, #wide>>, !ttg.memdesc<1xi64, #bar, #smem, mutable> -> " + memdesc  # fmt: skip
    body = f"""
    %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    %a = ttg.local_alloc : () -> {memdesc}
    {copy.format("%a")}
    %v = ttg.local_load %a : {memdesc} -> tensor<16x64xf16, #blocked>
    tt.print "v" {{hex = false, isSigned = array<i32: 0>}} : %v : tensor<16x64xf16, #blocked>
    %b = ttg.local_alloc : () -> {memdesc}
    {copy.format("%b")}
    """
    check(ttgir(body, ", %d: !tt.tensordesc<tensor<16x64xf16, #wide>>"), ProxyFenceInsertion(), """
    CHECK-NOT:  ttng.fence_async_shared
    CHECK:      ttg.local_load
    CHECK:      ttg.local_alloc
    CHECK-NEXT: ttng.fence_async_shared {bCluster = false}
    CHECK-NEXT: ttng.async_tma_copy_global_to_local
    """)  # fmt: skip


@pytest.mark.parametrize(
    ("released", "reads"),
    [("", "%b"), ("ttng.arrive_barrier %empty, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>", "%c")],
)
def test_a_copy_of_a_buffer_stands_for_it_until_the_buffer_is_released(released: str, reads: str) -> None:
    body = f"""
    %x = ttg.local_load %b : !ttg.memdesc<64x64xf16, #wide, #smem> -> tensor<64x64xf16, #blocked>
    {released}
    %c = ttg.local_alloc %x : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #wide, #smem>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #mma>
    %r = ttng.warp_group_dot %c, %c, %zero : !ttg.memdesc<64x64xf16, #wide, #smem> * !ttg.memdesc<64x64xf16, #wide, #smem> -> tensor<64x64xf32, #mma>
    tt.store %p, %r : tensor<64x64x!tt.ptr<f32>, #mma>
    """
    arguments = ", %b: !ttg.memdesc<64x64xf16, #wide, #smem>, %empty: !ttg.memdesc<1xi64, #bar, #smem, mutable>, %p: tensor<64x64x!tt.ptr<f32>, #mma>"
    is_copied = "ttg.local_alloc" in run(ttgir(body, arguments), Canonicalize())
    assert is_copied == (reads == "%c")
