// After the wait the buffer may be written: the copy has read it.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#smem = #ttg.shared_memory
tt.func public @kernel(%desc: !tt.tensordesc<tensor<64x32xf32, #tile>>, %values: tensor<64x32xf32, #blocked>, %others: tensor<64x32xf32, #blocked>) {
  %c0 = arith.constant 0 : i32
  %buffer = ttg.local_alloc %values : (tensor<64x32xf32, #blocked>) -> !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  ttng.fence_async_shared {bCluster = false}
  ttng.async_tma_copy_local_to_global %desc[%c0, %c0] %buffer : !tt.tensordesc<tensor<64x32xf32, #tile>>, !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  tt.call @async_tma_store_wait() : () -> ()
  ttg.local_store %others, %buffer : tensor<64x32xf32, #blocked> -> !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  ttng.async_tma_store_wait {pendings = 0 : i32}
  tt.return
}
