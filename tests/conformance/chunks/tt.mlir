module {
  tt.func public @elementwise(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: i32, %arg2: tensor<64xf32>, %arg3: tensor<64xi32>, %arg4: tensor<64x!tt.ptr<f32>>) attributes {noinline = false} {
    %0 = tt.ptr_to_int %arg4 : tensor<64x!tt.ptr<f32>> -> tensor<64xi64>
    %1 = tt.int_to_ptr %0 : tensor<64xi64> -> tensor<64x!tt.ptr<f32>>
    %2 = tt.bitcast %arg2 : tensor<64xf32> -> tensor<64xi32>
    %3 = tt.fp_to_fp %arg2, rounding = rtne : tensor<64xf32> -> tensor<64xf8E5M2>
    %4 = tt.fp_to_fp %3 : tensor<64xf8E5M2> -> tensor<64xf16>
    %5 = tt.clampf %arg2, %arg2, %arg2, propagateNan = all : tensor<64xf32>
    %6 = tt.precise_sqrt %arg2 : tensor<64xf32>
    %7 = tt.precise_divf %arg2, %6 : tensor<64xf32>
    %8 = tt.mulhiui %arg3, %arg3 : tensor<64xi32>
    %9 = tt.addptr %arg4, %arg3 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %10 = tt.extern_elementwise %arg2, %arg2 {libname = "lib", libpath = "/a.bc", pure = true, symbol = "__nv_powf"} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %11:2 = tt.elementwise_inline_asm "shl.b32 $0, $1, 3;" {constraints = "=r,=r,r", packed_element = 1 : i32, pure = true} %arg3 : tensor<64xi32> -> tensor<64xi32>, tensor<64xi32>
    %12:2 = "tt.map_elementwise"(%arg2, %arg3) <{pack = 1 : i32}> ({
    ^bb0(%arg5: f32, %arg6: i32):
      tt.map_elementwise.return %arg5, %arg6 : f32, i32
    }) : (tensor<64xf32>, tensor<64xi32>) -> (tensor<64xf32>, tensor<64xi32>)
    tt.print " x: " {hex = false, isSigned = array<i32: 1, 0>} : %11#1, %12#0 : tensor<64xi32>, tensor<64xf32>
    tt.return
  }
}
// -----
module {
  tt.func @memory(%arg0: !tt.ptr<f32>, %arg1: tensor<64x!tt.ptr<f32>>, %arg2: tensor<64x!tt.ptr<i32>>, %arg3: tensor<64xi1>, %arg4: tensor<64xf32>, %arg5: tensor<64xi32>, %arg6: i32, %arg7: i64) {
    %0 = tt.load %arg0 : !tt.ptr<f32>
    %1 = tt.load %arg1, %arg3 : tensor<64x!tt.ptr<f32>>
    %2 = tt.load %arg1, %arg3, %arg4 cacheModifier = cg evictionPolicy = evict_first {isVolatile = true} : tensor<64x!tt.ptr<f32>>
    tt.store %arg1, %2, %arg3 cacheModifier = wt evictionPolicy = evict_last : tensor<64x!tt.ptr<f32>>
    tt.store %arg0, %0 : !tt.ptr<f32>
    %3 = tt.atomic_rmw fadd, acq_rel, gpu, %arg1, %arg4, %arg3 : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
    %4 = tt.atomic_cas relaxed, sys, %arg2, %arg5, %arg5 : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>, tensor<64xi32>) -> tensor<64xi32>
    %5 = tt.make_tensor_ptr %arg0, [%arg7, %arg7], [%arg7, %arg7], [%arg6, %arg6] {order = array<i32: 1, 0>} : <tensor<8x8xf32>>
    %6 = tt.advance %5, [%arg6, %arg6] : <tensor<8x8xf32>>
    %7 = tt.load %6 {boundaryCheck = array<i32: 0, 1>, padding = 2 : i32} : !tt.ptr<tensor<8x8xf32>>
    tt.store %6, %7 {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<8x8xf32>>
    tt.return
  }
}
// -----
module {
  tt.func @descriptors(%arg0: !tt.ptr<f32>, %arg1: i32, %arg2: i64, %arg3: tensor<32xi32>) {
    %0 = tt.make_tensor_descriptor %arg0, [%arg1, %arg1], [%arg2, %arg2] {padding = 2 : i32} : <f32>, <tensor<1x128xf32>>
    %1 = tt.make_tensor_descriptor %arg0, [%arg1, %arg1], [%arg2, %arg2] : <f32>, <tensor<32x128xf32>>
    %2 = tt.descriptor_load %1[%arg1, %arg1] evictionPolicy = evict_last : !tt.tensordesc<tensor<32x128xf32>> -> tensor<32x128xf32>
    tt.descriptor_store %1[%arg1, %arg1], %2 : !tt.tensordesc<tensor<32x128xf32>>, tensor<32x128xf32>
    tt.descriptor_reduce add, %1[%arg1, %arg1], %2 : !tt.tensordesc<tensor<32x128xf32>>, tensor<32x128xf32>
    %3 = tt.descriptor_gather %0[%arg3, %arg1] : (!tt.tensordesc<tensor<1x128xf32>>, tensor<32xi32>, i32) -> tensor<32x128xf32>
    tt.descriptor_scatter %0[%arg3, %arg1], %3 : !tt.tensordesc<tensor<1x128xf32>>, tensor<32xi32>, i32, tensor<32x128xf32>
    tt.return
  }
}
// -----
module {
  tt.func @shapes(%arg0: f32, %arg1: tensor<32xf32>, %arg2: tensor<1xf32>, %arg3: tensor<32x2xf32>) {
    %0 = tt.splat %arg0 : f32 -> tensor<64xf32>
    %1 = tt.unsplat %arg2 : tensor<1xf32>
    %2 = tt.expand_dims %arg1 {axis = 1 : i32} : tensor<32xf32> -> tensor<32x1xf32>
    %3 = tt.broadcast %2 : tensor<32x1xf32> -> tensor<32x16xf32>
    %4 = tt.reshape %3 allow_reorder efficient_layout : tensor<32x16xf32> -> tensor<512xf32>
    %5 = tt.cat %arg1, %arg1 : tensor<32xf32> -> tensor<64xf32>
    %6 = tt.join %arg1, %arg1 : tensor<32xf32> -> tensor<32x2xf32>
    %outLHS, %outRHS = tt.split %arg3 : tensor<32x2xf32> -> tensor<32xf32>
    %7 = tt.trans %3 {order = array<i32: 1, 0>} : tensor<32x16xf32> -> tensor<16x32xf32>
    %8 = tt.make_range {end = 8 : i32, start = -8 : i32} : tensor<16xi32>
    %9 = arith.addf %outLHS, %outRHS : tensor<32xf32>
    tt.return
  }
}
// -----
module {
  tt.func @combine(%arg0: tensor<32x16xf32>, %arg1: tensor<32x16xi32>, %arg2: tensor<64xi32>, %arg3: tensor<64xi1>) -> i32 {
    %0:2 = "tt.reduce"(%arg0, %arg1) <{axis = 1 : i32}> ({
    ^bb0(%arg4: f32, %arg5: i32, %arg6: f32, %arg7: i32):
      %5 = arith.cmpf ogt, %arg4, %arg6 : f32
      %6 = arith.select %5, %arg4, %arg6 : f32
      %7 = arith.select %5, %arg5, %arg7 : i32
      tt.reduce.return %6, %7 : f32, i32
    }) : (tensor<32x16xf32>, tensor<32x16xi32>) -> (tensor<32xf32>, tensor<32xi32>)
    %1 = "tt.scan"(%0#0) <{axis = 0 : i32, reverse = true}> ({
    ^bb0(%arg4: f32, %arg5: f32):
      %5 = arith.addf %arg4, %arg5 : f32
      tt.scan.return %5 : f32
    }) : (tensor<32xf32>) -> tensor<32xf32>
    %2 = tt.histogram %arg2, %arg3 : tensor<64xi32> -> tensor<16xi32>
    %3 = tt.gather %arg0[%arg1] {axis = 0 : i32} : (tensor<32x16xf32>, tensor<32x16xi32>) -> tensor<32x16xf32>
    %4 = "tt.reduce"(%2) <{axis = 0 : i32}> ({
    ^bb0(%arg4: i32, %arg5: i32):
      %5 = arith.addi %arg4, %arg5 : i32
      tt.reduce.return %5 : i32
    }) : (tensor<16xi32>) -> i32
    tt.return %4 : i32
  }
}
// -----
module {
  tt.func @dots(%arg0: tensor<16x32xf32>, %arg1: tensor<32x16xf32>, %arg2: tensor<16x16xf32>, %arg3: tensor<16x32xi8>, %arg4: tensor<64x16xf8E4M3FN>, %arg5: tensor<16x2xi8>) {
    %0 = tt.dot %arg0, %arg1, %arg2, inputPrecision = tf32 : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
    %1 = tt.dot %arg0, %arg1, %0 {maxNumImpreciseAcc = 7 : i32} : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
    %2 = tt.dot_scaled %arg3 scale %arg5, %arg4, %1 lhs = e2m1 rhs = e4m3 {fastMath = false} : tensor<16x32xi8>, tensor<16x2xi8> * tensor<64x16xf8E4M3FN> -> tensor<16x16xf32>
    %3 = tt.dot_scaled %arg3, %arg4 scale %arg5, %2 lhs = e2m1 rhs = e4m3 {fastMath = true} : tensor<16x32xi8> * tensor<64x16xf8E4M3FN>, tensor<16x2xi8> -> tensor<16x16xf32>
    tt.return
  }
}
// -----
module {
  tt.func private @callee(i32, f32) -> (i32, f32) attributes {noinline = true}
  tt.func public @caller(%arg0: i32, %arg1: f32, %arg2: i1) -> (i32 {a.b}, f32) {
    %0 = tt.get_program_id z : i32
    %1 = tt.get_num_programs y : i32
    tt.assert %arg2, "must hold" : i1
    %2:2 = tt.call @callee(%arg0, %arg1) : (i32, f32) -> (i32, f32)
    %3 = arith.addi %0, %1 : i32
    tt.return %2#0, %2#1 : i32, f32
  }
}
// -----
module {
  tt.func @arith(%arg0: i32, %arg1: tensor<8xi32>, %arg2: f32, %arg3: tensor<8xf32>, %arg4: tensor<8xi1>, %arg5: tensor<8xf16>, %arg6: index) {
    %c0 = arith.constant 0 : index
    %c-1_i32 = arith.constant -1 : i32
    %c-1_i32_0 = arith.constant -1 : i32
    %true = arith.constant true
    %cst = arith.constant dense<[1, 2, 3, 4, 5, 6, 7, 8]> : tensor<8xi32>
    %cst_1 = arith.constant dense<0xFF800000> : tensor<8xf32>
    %cst_2 = arith.constant dense<-0.000000e+00> : tensor<8xf32>
    %cst_3 = arith.constant 0x7FC00000 : f32
    %cst_4 = arith.constant 0.693147182 : f32
    %cst_5 = arith.constant dense<[true, false]> : tensor<2xi1>
    %cst_6 = arith.constant 1.000000e-30 : f64
    %cst_7 = arith.constant dense<6.550400e+04> : tensor<8xf16>
    %cst_8 = arith.constant dense<16777217> : tensor<8xi64>
    %cst_9 = arith.constant dense<0x4B800000> : tensor<8xf32>
    %0 = arith.addi %arg0, %c-1_i32 overflow<nsw> : i32
    %1 = arith.muli %arg1, %cst overflow<nsw, nuw> : tensor<8xi32>
    %2 = arith.subi %arg1, %1 {tt.x = 1 : i32} : tensor<8xi32>
    %3 = arith.divsi %2, %cst : tensor<8xi32>
    %4 = arith.cmpi slt, %3, %cst : tensor<8xi32>
    %5 = arith.cmpf une, %arg3, %cst_1 : tensor<8xf32>
    %6 = arith.andi %4, %5 : tensor<8xi1>
    %7 = arith.select %6, %arg3, %cst_2 : tensor<8xi1>, tensor<8xf32>
    %8 = arith.select %true, %7, %arg3 : tensor<8xf32>
    %9 = arith.addf %8, %arg3 fastmath<contract> : tensor<8xf32>
    %10 = arith.mulf %9, %arg3 fastmath<fast> : tensor<8xf32>
    %11 = arith.remf %10, %arg3 : tensor<8xf32>
    %12 = arith.truncf %11 : tensor<8xf32> to tensor<8xf16>
    %13 = arith.extf %12 : tensor<8xf16> to tensor<8xf32>
    %14 = arith.sitofp %arg1 : tensor<8xi32> to tensor<8xf32>
    %15 = arith.fptoui %14 : tensor<8xf32> to tensor<8xi8>
    %16 = arith.extui %15 : tensor<8xi8> to tensor<8xi64>
    %17 = arith.trunci %16 : tensor<8xi64> to tensor<8xi1>
    %18 = arith.maxnumf %13, %14 : tensor<8xf32>
    %19 = arith.negf %18 : tensor<8xf32>
    %20 = math.exp2 %19 : tensor<8xf32>
    %21 = math.fma %20, %arg3, %arg3 fastmath<nnan,ninf> : tensor<8xf32>
    %22 = math.absi %arg1 : tensor<8xi32>
    %low, %high = arith.mulsi_extended %arg0, %arg0 : i32
    %23 = arith.index_cast %arg6 : index to i32
    %24 = ub.poison : tensor<8xf32>
    %25 = arith.bitcast %arg3 : tensor<8xf32> to tensor<8xi32>
    tt.return
  }
}
// -----
module {
  tt.func @control(%arg0: i32, %arg1: f32, %arg2: i1) -> f32 {
    %c0_i32 = arith.constant 0 : i32
    %c1_i32 = arith.constant 1 : i32
    %0:2 = scf.for %arg3 = %c0_i32 to %arg0 step %c1_i32 iter_args(%arg4 = %arg1, %arg5 = %arg0) -> (f32, i32)  : i32 {
      %2 = scf.if %arg2 -> (f32) {
        %4 = arith.addf %arg4, %arg1 : f32
        scf.yield %4 : f32
      } else {
        %4 = arith.subf %arg4, %arg1 : f32
        scf.yield %4 : f32
      }
      %3 = arith.addi %arg5, %arg3 : i32
      scf.yield %2, %3 : f32, i32
    } {tt.flatten, tt.num_stages = 3 : i32}
    scf.for %arg3 = %c0_i32 to %arg0 step %c1_i32  : i32 {
      scf.if %arg2 {
        tt.print "i" {hex = false, isSigned = array<i32: 1>} : %arg3 : i32
      }
    }
    %1:2 = scf.while (%arg3 = %arg1, %arg4 = %arg0) : (f32, i32) -> (f32, i32) {
      scf.condition(%arg2) %arg3, %arg4 : f32, i32
    } do {
    ^bb0(%arg3: f32, %arg4: i32):
      scf.yield %arg3, %arg4 : f32, i32
    }
    tt.return %1#0 : f32
  }
  tt.func @branches(%arg0: i1, %arg1: f32) -> f32 {
    cf.cond_br %arg0, ^bb1(%arg1 : f32), ^bb2
  ^bb1(%0: f32):  // pred: ^bb0
    cf.br ^bb2
  ^bb2:  // 2 preds: ^bb0, ^bb1
    gpu.barrier
    tt.return %arg1 : f32
  }
}
