// One thread more is expected.
#line = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func public @kernel(%x: tensor<512x!tt.ptr<f32>, #line>) {
  %c0 = arith.constant 0 : i32
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #plain, #smem, mutable>
  %buffer = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
  ttng.init_barrier %bar, 129 : !ttg.memdesc<1xi64, #plain, #smem, mutable>
  %copy = ttg.async_copy_global_to_local %x, %buffer : tensor<512x!tt.ptr<f32>, #line> -> <512xf32, #plain, #smem, mutable>
  %seen = ttg.memdesc_reinterpret %bar : !ttg.memdesc<1xi64, #plain, #smem, mutable> -> !ttg.memdesc<1xi64, #plain, #smem>
  tt.call @async_copy_mbarrier_arrive(%seen) : (!ttg.memdesc<1xi64, #plain, #smem>) -> ()
  ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #plain, #smem, mutable>
  %copied = ttg.local_load %buffer : !ttg.memdesc<512xf32, #plain, #smem, mutable> -> tensor<512xf32, #line>
  tt.return
}
