"""`convert-triton-to-tritongpu`: layouts for every tensor, conversions where an op wants another one."""

from __future__ import annotations

import pytest
from filecheck_ir import check

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.errors import PassError
from minitriton.passes.convert_triton_to_tritongpu import ConvertTritonToTritonGPU

CONVERT = ConvertTritonToTritonGPU(target="cuda:90")


def test_every_tensor_gets_the_default_layout_of_its_shape() -> None:
    check(
        """
        tt.func @f(%p: !tt.ptr<f32>) {
          %0 = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
          %1 = tt.splat %p : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
          %2 = tt.addptr %1, %0 : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
          %3 = tt.load %2 : tensor<256x!tt.ptr<f32>>
          tt.store %2, %3 : tensor<256x!tt.ptr<f32>>
          tt.return
        }
        """,
        CONVERT,
        """
        // CHECK: #blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
        // CHECK: "ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32
        // CHECK: tt.make_range {{.*}} : tensor<256xi32, #blocked>
        // CHECK-NEXT: tt.splat {{.*}} -> tensor<256x!tt.ptr<f32>, #blocked>
        // CHECK-NEXT: tt.addptr {{.*}} : tensor<256x!tt.ptr<f32>, #blocked>, tensor<256xi32, #blocked>
        // CHECK-NEXT: tt.load {{.*}} : tensor<256x!tt.ptr<f32>, #blocked>
        // CHECK-NEXT: tt.store {{.*}} : tensor<256x!tt.ptr<f32>, #blocked>
        """,
    )


def test_expand_dims_takes_a_slice_and_its_result_is_converted_once_for_all_users() -> None:
    check(
        """
        tt.func @f(%n: i32) -> tensor<64x1xi1> {
          %0 = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
          %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
          %2 = arith.muli %1, %1 : tensor<64x1xi32>
          %3 = tt.splat %n : i32 -> tensor<64x1xi32>
          %4 = arith.cmpi slt, %1, %3 : tensor<64x1xi32>
          tt.return %4 : tensor<64x1xi1>
        }
        """,
        CONVERT,
        """
        // CHECK: [[R:%.*]] = tt.make_range
        // CHECK-NEXT: [[S:%.*]] = ttg.convert_layout [[R]] : tensor<64xi32, #{{.*}}> -> tensor<64xi32, #ttg.slice<{dim = 1, parent = [[P:#.*]]}>>
        // CHECK-NEXT: [[E:%.*]] = tt.expand_dims [[S]] {axis = 1 : i32} : {{.*}} -> tensor<64x1xi32, [[P]]>
        // CHECK-NEXT: [[C:%.*]] = ttg.convert_layout [[E]] : tensor<64x1xi32, [[P]]> -> tensor<64x1xi32, [[D:#.*]]>
        // CHECK-NEXT: arith.muli [[C]], [[C]] : tensor<64x1xi32, [[D]]>
        // CHECK-NEXT: tt.splat
        // CHECK-NEXT: arith.cmpi slt, [[C]]
        """,
    )


def test_a_dot_gets_blocked_operands_of_four_by_four_elements_a_thread() -> None:
    check(
        """
        tt.func @f(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>) -> tensor<64x64xf32> {
          %0 = tt.dot %a, %b, %c : tensor<64x32xf16> * tensor<32x64xf16> -> tensor<64x64xf32>
          tt.return %0 : tensor<64x64xf32>
        }
        """,
        CONVERT,
        """
        // CHECK: [[B:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
        // CHECK: ttg.convert_layout {{.*}} -> tensor<64x32xf16, #ttg.dot_op<{opIdx = 0, parent = [[B]]}>>
        // CHECK: ttg.convert_layout {{.*}} -> tensor<32x64xf16, #ttg.dot_op<{opIdx = 1, parent = [[B]]}>>
        // CHECK: ttg.convert_layout {{.*}} -> tensor<64x64xf32, [[B]]>
        // CHECK: tt.dot {{.*}} -> tensor<64x64xf32, [[B]]>
        // CHECK: ttg.convert_layout {{.*}} : tensor<64x64xf32, [[B]]>
        """,
    )


def test_a_reduction_leaves_a_slice_and_loops_carry_default_layouts() -> None:
    check(
        """
        tt.func @f(%x: tensor<64x32xf32>, %n: i32) -> tensor<64xf32> {
          %z = arith.constant dense<0.000000e+00> : tensor<64xf32>
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<64xf32>) : i32 {
            %1 = "tt.reduce"(%x) <{axis = 1 : i32}> ({
            ^bb0(%l: f32, %r: f32):
              %3 = arith.addf %l, %r : f32
              tt.reduce.return %3 : f32
            }) : (tensor<64x32xf32>) -> tensor<64xf32>
            %2 = arith.addf %acc, %1 : tensor<64xf32>
            scf.yield %2 : tensor<64xf32>
          }
          tt.return %0 : tensor<64xf32>
        }
        """,
        CONVERT,
        """
        // CHECK: [[D:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
        // CHECK: arith.constant dense<0.000000e+00> : tensor<64xf32, [[D]]>
        // CHECK: scf.for {{.*}} -> (tensor<64xf32, [[D]]>)
        // CHECK: "tt.reduce"
        // CHECK: -> tensor<64xf32, #ttg.slice<{dim = 1, parent = {{.*}}}>>
        // CHECK-NEXT: ttg.convert_layout {{.*}} -> tensor<64xf32, [[D]]>
        // CHECK-NEXT: arith.addf {{.*}} : tensor<64xf32, [[D]]>
        """,
    )


def test_a_split_gets_its_pairs_into_one_thread_first() -> None:
    check(
        """
        tt.func @f(%x: tensor<64x2xf32>) -> tensor<64xf32> {
          %a, %b = tt.split %x : tensor<64x2xf32> -> tensor<64xf32>
          %0 = arith.addf %a, %b : tensor<64xf32>
          tt.return %0 : tensor<64xf32>
        }
        """,
        CONVERT,
        """
        // CHECK: [[P:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>
        // CHECK: ttg.convert_layout {{.*}} -> tensor<64x2xf32, [[P]]>
        // CHECK-NEXT: tt.split {{.*}} : tensor<64x2xf32, [[P]]> -> tensor<64xf32, [[H:#.*]]>
        // CHECK-NEXT: arith.addf {{.*}} : tensor<64xf32, [[H]]>
        """,
    )


def test_tensors_that_have_a_layout_keep_it() -> None:
    check(
        """
        #mine = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
        module attributes {"ttg.num-warps" = 4 : i32} {
        tt.func @f(%x: tensor<256xf32, #mine>) -> tensor<256xf32, #mine> {
          %0 = arith.addf %x, %x : tensor<256xf32, #mine>
          tt.return %0 : tensor<256xf32, #mine>
        }
        }
        """,
        CONVERT,
        """
        // CHECK: [[M:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = [2]
        // CHECK: arith.addf {{.*}} : tensor<256xf32, [[M]]>
        """,
    )


def test_a_missing_target_is_an_error_that_says_what_to_write() -> None:
    module = parse_module("module {}")
    with pytest.raises(PassError, match="requires 'target' option"):
        ConvertTritonToTritonGPU().apply(make_context(), module)
