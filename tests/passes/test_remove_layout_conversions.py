"""`tritongpu-remove-layout-conversions`: layouts flow, values are computed again, conversions move to where they are cheap."""

from __future__ import annotations

from filecheck_ir import check, run

from minitriton.dialects.fast_paths.op_access import operand_use
from minitriton.dialects.text import parse_module
from minitriton.passes.remove_layout_conversions import RemoveLayoutConversions
from minitriton.passes.remove_layout_conversions.slices import backward_slice
from minitriton.passes.tensor_layouts import layout_of_value

REMOVE = RemoveLayoutConversions()

HEADER = """
#a = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#rows = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
#cols = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
"""


def module(body: str) -> str:
    """`body` in a module with the layouts #a, #b (1-D), #rows and #cols (2-D)."""
    return HEADER + body + "\n}\n"


def test_the_layout_of_a_load_reaches_its_store_and_all_addresses_are_computed_in_it() -> None:
    check(
        module("""
        tt.func @copy(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) {
          %0 = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #a>
          %1 = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #a>
          %2 = tt.addptr %1, %0 : tensor<1024x!tt.ptr<f32>, #a>, tensor<1024xi32, #a>
          %3 = ttg.convert_layout %2 : tensor<1024x!tt.ptr<f32>, #a> -> tensor<1024x!tt.ptr<f32>, #b>
          %4 = tt.load %3 : tensor<1024x!tt.ptr<f32>, #b>
          %5 = ttg.convert_layout %4 : tensor<1024xf32, #b> -> tensor<1024xf32, #a>
          %6 = arith.addf %5, %5 : tensor<1024xf32, #a>
          %7 = tt.splat %q : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>, #a>
          %8 = tt.addptr %7, %0 : tensor<1024x!tt.ptr<f32>, #a>, tensor<1024xi32, #a>
          %9 = ttg.convert_layout %8 : tensor<1024x!tt.ptr<f32>, #a> -> tensor<1024x!tt.ptr<f32>, #b>
          %10 = ttg.convert_layout %6 : tensor<1024xf32, #a> -> tensor<1024xf32, #b>
          tt.store %9, %10 : tensor<1024x!tt.ptr<f32>, #b>
          tt.return
        }
        """),
        REMOVE,
        """
        // CHECK: [[B:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = [4]
        // CHECK-NOT: convert_layout
        // CHECK: tt.make_range {{.*}} : tensor<1024xi32, [[B]]>
        // CHECK: tt.load {{.*}} : tensor<1024x!tt.ptr<f32>, [[B]]>
        // CHECK-NEXT: arith.addf {{.*}} : tensor<1024xf32, [[B]]>
        // CHECK: tt.store {{.*}} : tensor<1024x!tt.ptr<f32>, [[B]]>
        """,
    )


def test_a_conversion_between_two_anchors_stays() -> None:
    text = run(
        module("""
        tt.func @transpose(%p: tensor<64x64x!tt.ptr<f32>, #rows>, %q: tensor<64x64x!tt.ptr<f32>, #cols>) {
          %0 = tt.load %p : tensor<64x64x!tt.ptr<f32>, #rows>
          %1 = ttg.convert_layout %0 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #cols>
          tt.store %q, %1 : tensor<64x64x!tt.ptr<f32>, #cols>
          tt.return
        }
        """),
        REMOVE,
    )
    assert text.count("ttg.convert_layout") == 1


def test_a_small_load_is_repeated_rather_than_converted() -> None:
    text = run(
        module("""
        tt.func @small(%p: !tt.ptr<f32>, %q: tensor<16x!tt.ptr<f32>, #b>) {
          %0 = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>, #a>
          %1 = tt.load %0 : tensor<16x!tt.ptr<f32>, #a>
          %2 = ttg.convert_layout %1 : tensor<16xf32, #a> -> tensor<16xf32, #b>
          tt.store %q, %2 : tensor<16x!tt.ptr<f32>, #b>
          tt.return
        }
        """),
        REMOVE,
    )
    assert "convert_layout" not in text
    assert text.count("tt.load") == 1


def test_expensive_maths_with_another_user_is_not_computed_twice() -> None:
    """Four exponentials an element cost more than a round trip through shared memory."""
    body = """
        tt.func @f(%x: f32, %p: tensor<1024x!tt.ptr<f32>, #a>, %q: tensor<1024x!tt.ptr<f32>, #b>) {
          %y = tt.splat %x : f32 -> tensor<1024xf32, #a>
          %0 = math.exp %y : tensor<1024xf32, #a>
          %1 = math.exp %0 : tensor<1024xf32, #a>
          %2 = math.exp %1 : tensor<1024xf32, #a>
          %3 = math.exp %2 : tensor<1024xf32, #a>
          %4 = math.exp %3 : tensor<1024xf32, #a>
          tt.store %p, %4 : tensor<1024x!tt.ptr<f32>, #a>
          %5 = ttg.convert_layout %4 : tensor<1024xf32, #a> -> tensor<1024xf32, #b>
          tt.store %q, %5 : tensor<1024x!tt.ptr<f32>, #b>
          tt.return
        }
    """
    assert run(module(body), REMOVE).count("ttg.convert_layout") == 1
    cheap = run(module(body.replace("math.exp", "math.absf")), REMOVE)
    assert "ttg.convert_layout" not in cheap
    assert cheap.count("math.absf") == 10


def test_a_loop_carries_its_accumulator_in_the_layout_of_the_load() -> None:
    check(
        module("""
        tt.func @sum(%p: tensor<1024x!tt.ptr<f32>, #b>, %q: tensor<1024x!tt.ptr<f32>, #b>, %n: i32) {
          %z = arith.constant dense<0.000000e+00> : tensor<1024xf32, #a>
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %z) -> (tensor<1024xf32, #a>) : i32 {
            %1 = tt.load %p : tensor<1024x!tt.ptr<f32>, #b>
            %2 = ttg.convert_layout %1 : tensor<1024xf32, #b> -> tensor<1024xf32, #a>
            %3 = arith.addf %acc, %2 : tensor<1024xf32, #a>
            scf.yield %3 : tensor<1024xf32, #a>
          }
          %4 = ttg.convert_layout %0 : tensor<1024xf32, #a> -> tensor<1024xf32, #b>
          tt.store %q, %4 : tensor<1024x!tt.ptr<f32>, #b>
          tt.return
        }
        """),
        REMOVE,
        """
        // CHECK: [[B:#blocked[0-9]*]] = #ttg.blocked<{sizePerThread = [4]
        // CHECK-NOT: convert_layout
        // CHECK: arith.constant dense<0.000000e+00> : tensor<1024xf32, [[B]]>
        // CHECK: scf.for {{.*}} -> (tensor<1024xf32, [[B]]>)
        // CHECK-NEXT: tt.load
        // CHECK-NEXT: arith.addf {{.*}} : tensor<1024xf32, [[B]]>
        // CHECK-NEXT: scf.yield {{.*}} : tensor<1024xf32, [[B]]>
        // CHECK: tt.store
        """,
    )


def test_while_and_if_pass_layouts_on() -> None:
    text = run(
        module("""
        tt.func @f(%p: tensor<1024x!tt.ptr<f32>, #b>, %n: i32, %c: i1) {
          %z = arith.constant dense<0.000000e+00> : tensor<1024xf32, #a>
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %0:2 = scf.while (%i = %c0, %acc = %z) : (i32, tensor<1024xf32, #a>) -> (i32, tensor<1024xf32, #a>) {
            %less = arith.cmpi slt, %i, %n : i32
            scf.condition(%less) %i, %acc : i32, tensor<1024xf32, #a>
          } do {
          ^bb0(%i: i32, %acc: tensor<1024xf32, #a>):
            %1 = tt.load %p : tensor<1024x!tt.ptr<f32>, #b>
            %2 = ttg.convert_layout %1 : tensor<1024xf32, #b> -> tensor<1024xf32, #a>
            %3 = scf.if %c -> (tensor<1024xf32, #a>) {
              %5 = arith.addf %acc, %2 : tensor<1024xf32, #a>
              scf.yield %5 : tensor<1024xf32, #a>
            } else {
              scf.yield %acc : tensor<1024xf32, #a>
            }
            %4 = arith.addi %i, %c1 : i32
            scf.yield %4, %3 : i32, tensor<1024xf32, #a>
          }
          %6 = ttg.convert_layout %0#1 : tensor<1024xf32, #a> -> tensor<1024xf32, #b>
          tt.store %p, %6 : tensor<1024x!tt.ptr<f32>, #b>
          tt.return
        }
        """),
        REMOVE,
    )
    assert "convert_layout" not in text
    assert text.count("#ttg.blocked") == 1


def test_a_conversion_moves_above_the_extension_that_doubles_it() -> None:
    check(
        module("""
        tt.func @f(%p: tensor<64x64x!tt.ptr<f16>, #rows>, %q: tensor<64x64x!tt.ptr<f32>, #cols>) {
          %0 = tt.load %p : tensor<64x64x!tt.ptr<f16>, #rows>
          %1 = arith.extf %0 : tensor<64x64xf16, #rows> to tensor<64x64xf32, #rows>
          %2 = ttg.convert_layout %1 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #cols>
          tt.store %q, %2 : tensor<64x64x!tt.ptr<f32>, #cols>
          tt.return
        }
        """),
        REMOVE,
        """
        // CHECK: tt.load
        // CHECK-NEXT: ttg.convert_layout {{.*}} : tensor<64x64xf16, #{{.*}}> -> tensor<64x64xf16, #{{.*}}>
        // CHECK-NEXT: arith.extf
        // CHECK-NEXT: tt.store
        """,
    )


def test_a_tensor_core_layout_wins_over_a_blocked_one() -> None:
    check(
        """
        #a = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], warpsPerCTA = [4, 1], order = [1, 0]}>
        #mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
        #x = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
        #y = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>
        module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
        tt.func @f(%a: tensor<64x64xf16, #x>, %b: tensor<64x64xf16, #y>, %c: tensor<64x64xf32, #mma>,
                   %p: tensor<64x64x!tt.ptr<f32>, #a>) {
          %0 = tt.load %p : tensor<64x64x!tt.ptr<f32>, #a>
          %1 = tt.dot %a, %b, %c : tensor<64x64xf16, #x> * tensor<64x64xf16, #y> -> tensor<64x64xf32, #mma>
          %2 = ttg.convert_layout %1 : tensor<64x64xf32, #mma> -> tensor<64x64xf32, #a>
          %3 = arith.addf %0, %2 : tensor<64x64xf32, #a>
          tt.store %p, %3 : tensor<64x64x!tt.ptr<f32>, #a>
          tt.return
        }
        }
        """,
        REMOVE,
        """
        // CHECK: tt.load
        // CHECK-NEXT: ttg.convert_layout {{.*}} -> tensor<64x64xf32, #mma>
        // CHECK-NEXT: tt.dot
        // CHECK-NEXT: arith.addf {{.*}} : tensor<64x64xf32, #mma>
        // CHECK-NEXT: ttg.convert_layout
        // CHECK-NEXT: tt.store
        """,
    )


def test_running_the_pass_again_changes_nothing() -> None:
    source = module("""
        tt.func @f(%p: tensor<64x64x!tt.ptr<f16>, #rows>, %q: tensor<64x64x!tt.ptr<f32>, #cols>) {
          %0 = tt.load %p : tensor<64x64x!tt.ptr<f16>, #rows>
          %1 = arith.extf %0 : tensor<64x64xf16, #rows> to tensor<64x64xf32, #rows>
          %2 = ttg.convert_layout %1 : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #cols>
          tt.store %q, %2 : tensor<64x64x!tt.ptr<f32>, #cols>
          tt.return
        }
    """)
    assert run(source, REMOVE) == run(source, REMOVE, REMOVE)


def test_a_value_that_one_op_takes_as_it_is_and_another_in_a_new_layout_is_not_computed_again() -> None:
    text = """
    #a = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [1, 32], warpsPerCTA = [1, 1], order = [1, 0]}>
    #t = #ttg.blocked<{sizePerThread = [4, 4], threadsPerWarp = [32, 1], warpsPerCTA = [1, 1], order = [0, 1]}>
    module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 1 : i32, "ttg.threads-per-warp" = 32 : i32} {
      tt.func @f() {
        %e = arith.constant dense<[[0], [1], [2], [3]]> : tensor<4x1xi32, #a>
        %v = tt.broadcast %e : tensor<4x1xi32, #a> -> tensor<4x4xi32, #a>
        %x = tt.trans %v {order = array<i32: 1, 0>} : tensor<4x4xi32, #a> -> tensor<4x4xi32, #t>
        %y = ttg.convert_layout %x : tensor<4x4xi32, #t> -> tensor<4x4xi32, #a>
        %z = arith.addi %y, %OTHER : tensor<4x4xi32, #a>
        %r = ttg.convert_layout %z : tensor<4x4xi32, #a> -> tensor<4x4xi32, #t>
        tt.return
      }
    }
    """
    for other, possible in (("v", False), ("y", True)):
        convert = [op for op in parse_module(text.replace("OTHER", other)).walk() if op.name == "ttg.convert_layout"][
            -1
        ]
        layout = layout_of_value(convert.results[0])
        assert layout is not None
        assert (backward_slice(operand_use(convert, 0), layout) is not None) == possible
