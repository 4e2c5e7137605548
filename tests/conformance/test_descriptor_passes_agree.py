"""The passes for block pointers and descriptors give what Triton's own give, op by op."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from triton._C.libtriton import nvidia, passes
from wheel_passes import AddPass, ir_equal, on_wheel

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.passes.optimize_descriptor_encoding import OptimizeDescriptorEncoding
from minitriton.passes.rewrite_blocks_to_pointers import RewriteTensorDescriptorToPointer, RewriteTensorPointer
from minitriton.passes.tma_lowering import TMALowering
from minitriton.pipeline.pass_registry import Pass

pytestmark = pytest.mark.oracle

TO_POINTER = (RewriteTensorDescriptorToPointer(), passes.ttir.add_rewrite_tensor_descriptor_to_pointer)
ENCODING = (OptimizeDescriptorEncoding(), nvidia.passes.ttnvgpuir.add_optimize_descriptor_encoding)
TO_COPIES = (TMALowering(), nvidia.passes.ttnvgpuir.add_tma_lowering)


def after(text: str, *steps: Pass) -> str:
    """The text of `text` after passes of ours; the module is verified."""
    module = parse_module(text)
    for step in steps:
        step.apply(make_context(), module)
    module.verify()
    return print_module(module)


def agree(text: str, *pairs: tuple[Pass, AddPass]) -> None:
    """Asserts that passes of ours and of Triton's make the same of `text`."""
    ours, theirs = zip(*pairs, strict=True)
    assert ir_equal(after(text, *ours), on_wheel(text, theirs))


def block_pointer_access(element: str, padding: str) -> str:
    return f"""
    tt.func public @f(%x: !tt.ptr<{element}>, %m: i64, %i: i32) {{
      %c1 = arith.constant 1 : i64
      %p = tt.make_tensor_ptr %x, [%m, %m], [%m, %c1], [%i, %i] {{order = array<i32: 1, 0>}} : !tt.ptr<tensor<16x32x{element}>>
      %v = tt.load %p cacheModifier = cg {{boundaryCheck = array<i32: 1, 0>{padding}}} : !tt.ptr<tensor<16x32x{element}>>
      %q = tt.advance %p, [%i, %i] : !tt.ptr<tensor<16x32x{element}>>
      tt.store %q, %v {{boundaryCheck = array<i32: 1>}} : !tt.ptr<tensor<16x32x{element}>>
      tt.return
    }}
    """


ZEROS, NANS = ", padding = 1 : i32", ", padding = 2 : i32"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("element", "padding"),
    [(e, p) for e in ("f16", "bf16", "f32", "f64", "f8E5M2", "f8E4M3FN") for p in ("", ZEROS, NANS)]
    + [(e, p) for e in ("i8", "i64") for p in ("", ZEROS)],
)
def test_an_access_through_a_block_pointer(element: str, padding: str) -> None:
    agree(block_pointer_access(element, padding), (RewriteTensorPointer(), passes.ttir.add_rewrite_tensor_pointer))


def in_a_loop(kind: str, element: str) -> str:
    """A descriptor made in a kernel, carried by a loop in which another may take its place."""
    desc, block = f"!tt.tensordesc<tensor<16x32x{kind}{element}>>", f"tensor<16x32x{element}>"
    return f"""
    tt.func public @f(%x: !tt.ptr<{element}>, %h: {desc}, %m: i32, %s: i64, %n: i32) {{
      %c1 = arith.constant 1 : i64
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %d = tt.make_tensor_descriptor %x, [%m, %one], [%s, %c1] {{padding = 1 : i32}} : !tt.ptr<{element}>, {desc}
      %last = scf.for %i = %zero to %n step %one iter_args(%e = %d) -> ({desc}) : i32 {{
        %v = tt.descriptor_load %e[%i, %zero] cacheModifier = cg : {desc} -> {block}
        tt.descriptor_store %h[%i, %zero], %v : {desc}, {block}
        %odd = arith.cmpi slt, %i, %m : i32
        %next = scf.if %odd -> ({desc}) {{
          scf.yield %h : {desc}
        }} else {{
          scf.yield %e : {desc}
        }}
        scf.yield %next : {desc}
      }}
      %w = tt.descriptor_load %last[%zero, %n] : {desc} -> {block}
      tt.descriptor_reduce add, %h[%n, %zero], %w : {desc}, {block}
      tt.return
    }}
    """


LOOPS = [("", "f16"), ("", "bf16"), ("", "f32"), ("si", "32"), ("ui", "32"), ("ui", "64"), ("ui", "8")]


def loop_text(kind: str, element: str) -> str:
    """Integers carry their signedness in the descriptor alone."""
    text = in_a_loop(kind, element)
    if not kind:
        return text
    signed, plain = f"x{kind}{element}", f"i{element}"
    return (
        text.replace(f"x{element}>", f"x{plain}>")
        .replace(signed, f"x{kind}{element}")
        .replace(f"ptr<{element}>", f"ptr<{plain}>")
    )


@pytest.mark.parametrize(("kind", "element"), LOOPS)
def test_a_loop_that_carries_a_descriptor_as_pointers(kind: str, element: str) -> None:
    agree(loop_text(kind, element), TO_POINTER)


@pytest.mark.parametrize("op", ["min", "max", "and", "or", "xor", "add"])
@pytest.mark.parametrize("kind", ["si", "ui"])
def test_a_reduction_as_an_atomic_op(op: str, kind: str) -> None:
    desc = f"!tt.tensordesc<tensor<16x{kind}32>>"
    agree(
        f"""
        tt.func public @f(%d: {desc}, %i: i32, %v: tensor<16xi32>) {{
          tt.descriptor_reduce {op}, %d[%i], %v : {desc}, tensor<16xi32>
          tt.return
        }}
        """,
        TO_POINTER,
    )


def test_rows_as_pointers() -> None:
    desc = "!tt.tensordesc<tensor<1x32xf16>>"
    agree(
        f"""
        tt.func public @f(%d: {desc}, %rows: tensor<8xi32>, %i: i32) {{
          %v = tt.descriptor_gather %d[%rows, %i] : ({desc}, tensor<8xi32>, i32) -> tensor<8x32xf16>
          tt.descriptor_scatter %d[%rows, %i], %v : {desc}, tensor<8xi32>, i32, tensor<8x32xf16>
          tt.return
        }}
        """,
        TO_POINTER,
    )


def test_a_chosen_descriptor_and_one_that_crosses_a_call_as_pointers() -> None:
    desc = "!tt.tensordesc<tensor<16xf32>>"
    agree(
        f"""
        tt.func public @f(%a: {desc} {{tt.divisibility = 16 : i32}}, %b: {desc}, %i: i32 {{tt.divisibility = 16 : i32}}, %c: i1) {{
          %d = arith.select %c, %a, %b : {desc}
          %e, %v = tt.call @g(%i, %d) : (i32, {desc}) -> ({desc}, tensor<16xf32>)
          tt.descriptor_store %e[%i], %v : {desc}, tensor<16xf32>
          tt.return
        }}
        tt.func private @g(%i: i32, %d: {desc}) -> ({desc}, tensor<16xf32>) attributes {{noinline = true}} {{
          %v = tt.descriptor_load %d[%i] : {desc} -> tensor<16xf32>
          tt.return %d, %v : {desc}, tensor<16xf32>
        }}
        """,
        TO_POINTER,
    )


def in_ttgir(body: str, arguments: str = "") -> str:
    return f"""
    #blocked = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}}>
    #three = #ttg.blocked<{{sizePerThread = [1, 1, 8], threadsPerWarp = [1, 8, 4], warpsPerCTA = [1, 4, 1], order = [2, 1, 0]}}>
    #one = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
    #smem = #ttg.shared_memory
    #shared = #ttg.nvmma_shared<{{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}}>
    module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
      tt.func public @f(%x: !tt.ptr<f16>, %n: i32, %s: i64{arguments}) {{
        %c1 = arith.constant 1 : i64
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        {body}
        tt.return
      }}
    }}
    """


DESC, BLOCK = "!tt.tensordesc<tensor<16x64xf16>>", "tensor<16x64xf16, #blocked>"
MADE = f"%d = tt.make_tensor_descriptor %x, [%n, %n], [%s, %c1] {{padding = 2 : i32}} : !tt.ptr<f16>, {DESC}"

COPIES = {
    "a load and a store": f"""
        {MADE}
        %v = tt.descriptor_load %d[%n, %zero] : {DESC} -> {BLOCK}
        tt.descriptor_store %d[%zero, %n], %v : {DESC}, {BLOCK}
    """,
    "a load into a buffer": f"""
        {MADE}
        %v = tt.descriptor_load %d[%n, %zero] : {DESC} -> {BLOCK}
        %b = ttg.local_alloc %v : ({BLOCK}) -> !ttg.memdesc<16x64xf16, #shared, #smem>
        %t = ttg.memdesc_trans %b {{order = array<i32: 1, 0>}} : !ttg.memdesc<16x64xf16, #shared, #smem> -> !ttg.memdesc<64x16xf16, #ttg.nvmma_shared<{{swizzlingByteWidth = 32, transposed = true, elementBitWidth = 16}}>, #smem>
        %l = ttg.local_load %t : !ttg.memdesc<64x16xf16, #ttg.nvmma_shared<{{swizzlingByteWidth = 32, transposed = true, elementBitWidth = 16}}>, #smem> -> tensor<64x16xf16, #blocked>
        tt.print "l" {{hex = false, isSigned = array<i32: 0>}} : %l : tensor<64x16xf16, #blocked>
    """,
    "a loop": f"""
        {MADE}
        %e = scf.for %i = %zero to %n step %one iter_args(%c = %d) -> ({DESC}) : i32 {{
          %v = tt.descriptor_load %c[%i, %zero] : {DESC} -> {BLOCK}
          tt.descriptor_reduce add, %c[%zero, %i], %v : {DESC}, {BLOCK}
          scf.yield %c : {DESC}
        }}
        %w = tt.descriptor_load %e[%n, %zero] : {DESC} -> {BLOCK}
        tt.descriptor_store %e[%zero, %n], %w : {DESC}, {BLOCK}
    """,
    "a branch": f"""
        {MADE}
        %b = arith.cmpi slt, %n, %one : i32
        %e = scf.if %b -> ({DESC}) {{
          scf.yield %d : {DESC}
        }} else {{
          scf.yield %h : {DESC}
        }}
        %w = tt.descriptor_load %e[%n, %zero] : {DESC} -> {BLOCK}
        tt.descriptor_store %h[%zero, %n], %w : {DESC}, {BLOCK}
    """,
    "fewer dimensions": """
        %d = tt.make_tensor_descriptor %x, [%n, %n, %n], [%s, %s, %c1] : !tt.ptr<f16>, !tt.tensordesc<tensor<1x16x64xf16>>
        %v = tt.descriptor_load %d[%n, %zero, %one] : !tt.tensordesc<tensor<1x16x64xf16>> -> tensor<16x64xf16, #blocked>
        %w = tt.descriptor_load %d[%n, %zero, %one] : !tt.tensordesc<tensor<1x16x64xf16>> -> tensor<1x16x64xf16, #three>
        tt.descriptor_store %d[%zero, %n, %n], %w : !tt.tensordesc<tensor<1x16x64xf16>>, tensor<1x16x64xf16, #three>
        tt.print "v" {hex = false, isSigned = array<i32: 0>} : %v : tensor<16x64xf16, #blocked>
    """,
    "one dimension": """
        %d = tt.make_tensor_descriptor %x, [%n], [%c1] : !tt.ptr<f16>, !tt.tensordesc<tensor<512xf16>>
        %v = tt.descriptor_load %d[%n] : !tt.tensordesc<tensor<512xf16>> -> tensor<512xf16, #one>
        tt.descriptor_store %d[%zero], %v : !tt.tensordesc<tensor<512xf16>>, tensor<512xf16, #one>
    """,
}


@pytest.mark.parametrize("name", COPIES)
def test_descriptors_get_a_layout_and_become_copies(name: str) -> None:
    text = in_ttgir(COPIES[name], f", %h: {DESC}" if name == "a branch" else "")
    agree(text, ENCODING)
    agree(text, ENCODING, TO_COPIES)
