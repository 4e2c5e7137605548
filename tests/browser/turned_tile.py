"""A tile that is stored row by row and read column by column, as TTGIR: in plain rows all lanes of a column meet in one bank."""

TURNED_TILE = """#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#rows = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @turn(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %c = arith.constant dense<32> : tensor<32x1xi32, #rows>
    %i = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #rows}>>
    %j = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #rows}>>
    %i1 = tt.expand_dims %i {axis = 1 : i32} : tensor<32xi32, #ttg.slice<{dim = 1, parent = #rows}>> -> tensor<32x1xi32, #rows>
    %j1 = tt.expand_dims %j {axis = 0 : i32} : tensor<32xi32, #ttg.slice<{dim = 0, parent = #rows}>> -> tensor<1x32xi32, #rows>
    %i2 = arith.muli %i1, %c : tensor<32x1xi32, #rows>
    %i3 = tt.broadcast %i2 : tensor<32x1xi32, #rows> -> tensor<32x32xi32, #rows>
    %j3 = tt.broadcast %j1 : tensor<1x32xi32, #rows> -> tensor<32x32xi32, #rows>
    %at = arith.addi %i3, %j3 : tensor<32x32xi32, #rows>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #rows>
    %q = tt.addptr %p, %at : tensor<32x32x!tt.ptr<f32>, #rows>, tensor<32x32xi32, #rows>
    %v = tt.load %q : tensor<32x32x!tt.ptr<f32>, #rows>
    %m = ttg.local_alloc %v : (tensor<32x32xf32, #rows>) -> !ttg.memdesc<32x32xf32, #shared, #smem>
    %w = ttg.local_load %m : !ttg.memdesc<32x32xf32, #shared, #smem> -> tensor<32x32xf32, #columns>
    %z = ttg.convert_layout %w : tensor<32x32xf32, #columns> -> tensor<32x32xf32, #rows>
    %s = tt.splat %out : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #rows>
    %o = tt.addptr %s, %at : tensor<32x32x!tt.ptr<f32>, #rows>, tensor<32x32xi32, #rows>
    tt.store %o, %z : tensor<32x32x!tt.ptr<f32>, #rows>
    tt.return
  }
}
"""
