#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 32], [16, 0], [32, 0]], lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], block = []}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @layouts(%arg0: tensor<64x64xf16, #blocked>, %arg1: tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>>, %arg2: tensor<64x32xi8, #blocked>) {
    %0 = ttg.convert_layout %arg0 : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #linear>
    %1 = ttg.convert_layout %arg0 : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>>
    %2 = ttg.convert_layout %arg0 : tensor<64x64xf16, #blocked> -> tensor<64x64xf16, #ttg.dot_op<{opIdx = 1, parent = #blocked}>>
    %3 = ttg.convert_layout %arg1 {note = "kept"} : tensor<64xi32, #ttg.slice<{dim = 1, parent = #blocked}>> -> tensor<64xi32, #blocked1>
    %4 = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 256 : i32} : !tt.ptr<i8>
    ttg.local_barrier
    tt.return
  }
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>
#shared1 = #ttg.padded_shared<[32:+4, 64:+8] {order = [1, 0], shape = [64, 64]}>
#shared2 = #ttg.padded_shared<[32:+4] {order = [1, 0], shape = [2, 2]}>
#shared3 = #ttg.shared_linear<{offset = [[0, 1], [0, 2], [1, 0], [2, 2]]}, alignment = 16>
#shared4 = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 8, fp4Padded = true, rank = 3}>
#shared5 = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = 8192 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @buffers(%arg0: tensor<64x64xf16, #blocked>, %arg1: i32, %arg2: tensor<64x64x!tt.ptr<f16>, #blocked>, %arg3: tensor<64x64xi1, #blocked>) {
    %0 = ttg.local_alloc {alignment = 128 : i32, allocation.offset = 0 : i32} : () -> !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
    %1 = ttg.local_alloc %arg0 : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #shared, #smem>
    %2 = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #shared1, #smem, mutable>
    %3 = ttg.local_alloc : () -> !ttg.memdesc<2x2xf16, #shared2, #smem, mutable>
    %4 = ttg.local_alloc : () -> !ttg.memdesc<4x4xf16, #shared3, #smem, mutable>
    %5 = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xi8, #shared4, #smem, mutable>
    %6 = ttg.memdesc_index %0[%arg1] : !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %7 = ttg.memdesc_subslice %6[0, 32] : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable, 64x64>
    %8 = ttg.memdesc_trans %7 {order = array<i32: 1, 0>} : !ttg.memdesc<64x32xf16, #shared, #smem, mutable, 64x64> -> !ttg.memdesc<32x64xf16, #shared5, #smem, mutable, 64x64>
    %9 = ttg.memdesc_reinterpret %6 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> !ttg.memdesc<32x64xf32, #shared, #smem, mutable>
    %10 = ttg.async_copy_global_to_local %arg2, %6 : tensor<64x64x!tt.ptr<f16>, #blocked> -> <64x64xf16, #shared, #smem, mutable>
    %11 = ttg.async_copy_global_to_local %arg2, %6 mask %arg3 other %arg0 cacheModifier = cg evictionPolicy = evict_first {contiguity = 8 : i32, isVolatile = true} : tensor<64x64x!tt.ptr<f16>, #blocked> -> <64x64xf16, #shared, #smem, mutable>
    %12 = ttg.async_commit_group tokens %10, %11
    %13 = ttg.async_commit_group
    %14 = ttg.async_wait %12, %13 {num = 1 : i32}
    %15 = ttg.async_wait {num = 0 : i32}
    %16 = ttg.local_load %6 token %14 : !ttg.memdesc<64x64xf16, #shared, #smem, mutable> -> tensor<64x64xf16, #blocked>
    %17 = ttg.local_load %1 : !ttg.memdesc<64x64xf16, #shared, #smem> -> tensor<64x64xf16, #blocked>
    ttg.local_store %16, %6 : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #shared, #smem, mutable>
    %18 = ttg.memdesc_subslice %1[0, 0] : !ttg.memdesc<64x64xf16, #shared, #smem> -> !ttg.memdesc<32x64xf16, #shared, #smem>
    ttg.local_dealloc %0 : !ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>
    tt.return
  }
}
// -----
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func @partitions(%arg0: i32, %arg1: i64) -> i32 {
    %0 = ttg.warp_specialize(%arg0, %arg1) attributes {actualRegisters = array<i32: 208, 152, 24>, requestedRegisters = array<i32: 152, 24>, warpGroupStartIds = array<i32: 4, 8>}
    default {
      ttg.warp_yield %arg0 : i32
    }
    partition0(%arg2: i32, %arg3: i64) num_warps(4) {
      ttg.local_barrier
      ttg.warp_return
    }
    partition1(%arg2: i32, %arg3: i64) num_warps(1) {
      ttg.warp_return
    } : (i32, i64) -> i32
    ttg.warp_specialize()
    default {
      ttg.warp_yield
    } : () -> ()
    tt.return %0 : i32
  }
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[1]]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[0]]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], CGALayout = [[0, 1]], instrShape = [16, 32, 16]}>
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func @clusters(%arg0: tensor<256xf32, #blocked>, %arg1: tensor<64x64xf32, #mma>, %arg2: tensor<256xf32, #blocked1>) {
    tt.return
  }
}
