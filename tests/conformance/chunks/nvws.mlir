#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func @references(%arg0: !ttg.memdesc<1x64x16xf16, #shared, #smem>, %arg1: i32) {
    %0 = nvws.aref.create %arg0 : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]>
    %buffers, %token = nvws.aref.put.enter %0[%arg1, %arg1] : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]> -> !ttg.memdesc<64x16xf16, #shared, #smem>, !ttg.async.token
    nvws.aref.put.exit %0[%arg1], %token [#nvws.async_op<tma_load>, #nvws.async_op<none>] : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]>, !ttg.async.token
    %buffers_0, %token_1 = nvws.aref.get.enter %0 : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]> -> !ttg.memdesc<64x16xf16, #shared, #smem>, !ttg.async.token
    %1 = nvws.aref.buffer %0, %token_1 : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]>, !ttg.async.token -> !ttg.memdesc<64x16xf16, #shared, #smem>
    nvws.aref.get.exit %0, %token_1 [#nvws.async_op<wgmma>] : <[!ttg.memdesc<1x64x16xf16, #shared, #smem>]>, !ttg.async.token
    tt.return
  }
  tt.func @tokens(%arg0: i32, %arg1: i1, %arg2: !tt.tensordesc<tensor<64x16xf16, #shared>>, %arg3: !ttg.memdesc<64x16xf16, #shared, #smem, mutable>) {
    %0 = nvws.create_token {loadType = 2 : i32, numBuffers = 3 : i32} : tensor<3x!nvws.token>
    nvws.producer_acquire %0, %arg0, %arg1 : tensor<3x!nvws.token>, i32, i1
    nvws.descriptor_load %arg2[%arg0, %arg0] 2048 %arg3 cacheModifier = cg : !tt.tensordesc<tensor<64x16xf16, #shared>>, i32, i32, !ttg.memdesc<64x16xf16, #shared, #smem, mutable>
    nvws.producer_commit %0, %arg0 : tensor<3x!nvws.token>, i32
    nvws.consumer_wait %0, %arg0, %arg1 : tensor<3x!nvws.token>, i32, i1
    nvws.consumer_release %0, %arg0 : tensor<3x!nvws.token>, i32
    nvws.warp_group
    partition0 num_warps(4) {
      nvws.warp_group.return
    }
    partition1 num_warps(8) {
      nvws.warp_group.return
    }
    tt.return
  }
}
// -----
module {
  tt.func @low(%arg0: !llvm.struct<(f32, f32)>, %arg1: i64, %arg2: i1, %arg3: !llvm.ptr<1>) {
    %0 = nvg.wgmma_wait_group %arg0 {pendings = 0 : i32} : !llvm.struct<(f32, f32)>
    %1 = nvg.wgmma %arg1, %arg1, %arg2 {eltTypeA = 4 : i32, eltTypeB = 4 : i32, eltTypeC = 7 : i32, k = 16 : i32, layoutA = 0 : i32, layoutB = 1 : i32, m = 64 : i32, n = 8 : i32} : (i64, i64, i1) -> !llvm.struct<(f32, f32)>
    %2 = nvg.cluster_id
    %3 = nvg.warp_id
    %4 = nvg.ld_acquire acquire, gpu, %arg3 : (!llvm.ptr<1>) -> i32
    %5 = nvg.ld_acquire relaxed, sys, %arg3, %arg2 : (!llvm.ptr<1>) -> i64
    tt.return
  }
}
// -----
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func @instruments(%arg0: tensor<16xi32, #gluon.auto_encoding>, %arg1: tensor<128xi1, #blocked>, %arg2: !ttg.memdesc<1xi64, #shared, #smem, mutable>, %arg3: !tt.ptr<i32>, %arg4: i1) {
    %0 = gluon.set_auto_layout %arg0 : tensor<16xi32, #gluon.auto_encoding> -> tensor<16xi32, #blocked>
    tti.experimental_assert_in_thread %arg1, "read before write" {check_any = false} : tensor<128xi1, #blocked>
    %1 = tti.experimental_buffer_pointers [0, 128], shared_mem : tensor<2xi64, #blocked>
    %2 = tti.experimental_memdesc_to_i64 %arg2 : <1xi64, #shared, #smem, mutable>
    tti.experimental_lock_acquire %arg3 : !tt.ptr<i32>
    tti.experimental_lock_release %arg3, %arg4 : !tt.ptr<i32>
    tt.return
  }
}
