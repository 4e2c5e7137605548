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
