// The phase before the first counts as complete: the copy may still run.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#barrier = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#smem = #ttg.shared_memory
tt.func public @kernel(%desc: !tt.tensordesc<tensor<64x32xf32, #tile>>) {
  %true = arith.constant true
  %c0 = arith.constant 0 : i32
  %phase = arith.constant 1 : i32
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %buffer = ttg.local_alloc : () -> !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  ttng.barrier_expect %bar, 8192, %true : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  ttng.async_tma_copy_global_to_local %desc[%c0, %c0] %buffer, %bar, %true : !tt.tensordesc<tensor<64x32xf32, #tile>>, !ttg.memdesc<1xi64, #barrier, #smem, mutable> -> !ttg.memdesc<64x32xf32, #tile, #smem, mutable>
  %seen = ttg.memdesc_reinterpret %bar : !ttg.memdesc<1xi64, #barrier, #smem, mutable> -> !ttg.memdesc<1xi64, #barrier, #smem>
  tt.call @wait_barrier(%seen, %phase, %true) : (!ttg.memdesc<1xi64, #barrier, #smem>, i32, i1) -> ()
  %copied = ttg.local_load %buffer : !ttg.memdesc<64x32xf32, #tile, #smem, mutable> -> tensor<64x32xf32, #blocked>
  tt.return
}
