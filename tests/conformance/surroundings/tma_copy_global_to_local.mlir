// The copy brings its block, and the bytes that the barrier expects.
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#barrier = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 8}>
#smem = #ttg.shared_memory
tt.func public @kernel(%desc: !tt.tensordesc<tensor<128x128xf32, #tile>>, %x: i32) {
  %true = arith.constant true
  %c0 = arith.constant 0 : i32
  %bar = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %buffer = ttg.local_alloc : () -> !ttg.memdesc<128x128xf32, #tile, #smem, mutable>
  ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  ttng.barrier_expect %bar, 65536, %true : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %seen = ttg.memdesc_reinterpret %bar : !ttg.memdesc<1xi64, #barrier, #smem, mutable> -> !ttg.memdesc<1xi64, #barrier, #smem>
  tt.call @tma_copy_global_to_local(%desc, %buffer, %x, %seen, %true) : (!tt.tensordesc<tensor<128x128xf32, #tile>>, !ttg.memdesc<128x128xf32, #tile, #smem, mutable>, i32, !ttg.memdesc<1xi64, #barrier, #smem>, i1) -> ()
  ttng.wait_barrier %bar, %c0 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
  %copied = ttg.local_load %buffer : !ttg.memdesc<128x128xf32, #tile, #smem, mutable> -> tensor<128x128xf32, #blocked>
  tt.return
}
