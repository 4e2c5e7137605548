// The buffer comes to lie in the descriptor's tensor.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
tt.func public @kernel(%desc: !tt.tensordesc<tensor<128x128xf32, #tile>>, %values: tensor<128x128xf32, #blocked>, %x: i32) {
  %buffer = ttg.local_alloc %values : (tensor<128x128xf32, #blocked>) -> !ttg.memdesc<128x128xf32, #tile, #smem>
  ttng.fence_async_shared {bCluster = false}
  tt.call @tma_copy_local_to_global(%desc, %buffer, %x) : (!tt.tensordesc<tensor<128x128xf32, #tile>>, !ttg.memdesc<128x128xf32, #tile, #smem>, i32) -> ()
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}
