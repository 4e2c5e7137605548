// Of five copies, all but four are done after the wait: the first.
#line = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
tt.func public @kernel(%x0: tensor<512x!tt.ptr<f32>, #line>, %x1: tensor<512x!tt.ptr<f32>, #line>, %x2: tensor<512x!tt.ptr<f32>, #line>, %x3: tensor<512x!tt.ptr<f32>, #line>, %x4: tensor<512x!tt.ptr<f32>, #line>) {
  %b0 = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
  %c0 = ttg.async_copy_global_to_local %x0, %b0 : tensor<512x!tt.ptr<f32>, #line> -> <512xf32, #plain, #smem, mutable>
  %g0 = ttg.async_commit_group tokens %c0
  %b1 = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
  %c1 = ttg.async_copy_global_to_local %x1, %b1 : tensor<512x!tt.ptr<f32>, #line> -> <512xf32, #plain, #smem, mutable>
  %g1 = ttg.async_commit_group tokens %c1
  %b2 = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
  %c2 = ttg.async_copy_global_to_local %x2, %b2 : tensor<512x!tt.ptr<f32>, #line> -> <512xf32, #plain, #smem, mutable>
  %g2 = ttg.async_commit_group tokens %c2
  %b3 = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
  %c3 = ttg.async_copy_global_to_local %x3, %b3 : tensor<512x!tt.ptr<f32>, #line> -> <512xf32, #plain, #smem, mutable>
  %g3 = ttg.async_commit_group tokens %c3
  %b4 = ttg.local_alloc : () -> !ttg.memdesc<512xf32, #plain, #smem, mutable>
  %c4 = ttg.async_copy_global_to_local %x4, %b4 : tensor<512x!tt.ptr<f32>, #line> -> <512xf32, #plain, #smem, mutable>
  %g4 = ttg.async_commit_group tokens %c4
  tt.call @basic_async_wait() : () -> ()
  %copied = ttg.local_load %b0 : !ttg.memdesc<512xf32, #plain, #smem, mutable> -> tensor<512xf32, #line>
  tt.return
}
