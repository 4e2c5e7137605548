// A copy of half the bytes that are expected does not.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#barrier = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#smem = #ttg.shared_memory
tt.func public @kernel(%desc: !tt.tensordesc<tensor<64x32xf32, #tile>>) {
  %true = arith.constant true
  %c0 = arith.constant 0 : i32
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %buffer = ttg.local_alloc : () -> !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  tt.call @expect_barrier(%bar, %true) : (!ttg.memdesc<1xi64, #barrier, #smem, mutable>, i1) -> ()
  ttng.async_tma_copy_global_to_local %desc[%c0, %c0] %buffer, %bar, %true : !tt.tensordesc<tensor<64x32xf32, #tile>>, !ttg.memdesc<1xi64, #barrier, #smem, mutable> -> !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %copied = ttg.local_load %buffer : !ttg.memdesc<64x32xf32, #tile, #smem, mutable> -> tensor<64x32xf32, #blocked>
  tt.return
}
