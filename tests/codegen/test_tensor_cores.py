"""Products on tensor cores: fragments, words and descriptors, against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.errors import LoweringError
from minitriton.passes.accelerate_matmul import AccelerateMatmul

rng = np.random.default_rng(3)


def _offsets(name: str, rows: int, columns: int, layout: str) -> str:
    """`%name_off`: the row-major numbers of the elements of a matrix."""
    row, column = f"#ttg.slice<{{dim = 1, parent = {layout}}}>", f"#ttg.slice<{{dim = 0, parent = {layout}}}>"
    shape = f"{rows}x{columns}"
    return f"""
    %{name}_r = tt.make_range {{end = {rows} : i32, start = 0 : i32}} : tensor<{rows}xi32, {row}>
    %{name}_c = tt.make_range {{end = {columns} : i32, start = 0 : i32}} : tensor<{columns}xi32, {column}>
    %{name}_re = tt.expand_dims %{name}_r {{axis = 1 : i32}} : tensor<{rows}xi32, {row}> -> tensor<{rows}x1xi32, {layout}>
    %{name}_ce = tt.expand_dims %{name}_c {{axis = 0 : i32}} : tensor<{columns}xi32, {column}> -> tensor<1x{columns}xi32, {layout}>
    %{name}_n = arith.constant dense<{columns}> : tensor<{rows}x1xi32, {layout}>
    %{name}_rn = arith.muli %{name}_re, %{name}_n : tensor<{rows}x1xi32, {layout}>
    %{name}_rb = tt.broadcast %{name}_rn : tensor<{rows}x1xi32, {layout}> -> tensor<{shape}xi32, {layout}>
    %{name}_cb = tt.broadcast %{name}_ce : tensor<1x{columns}xi32, {layout}> -> tensor<{shape}xi32, {layout}>
    %{name}_off = arith.addi %{name}_rb, %{name}_cb : tensor<{shape}xi32, {layout}>"""


def _load(name: str, rows: int, columns: int) -> str:
    """`%name`: the f16 matrix at `%name_base`."""
    type_ = f"tensor<{rows}x{columns}x!tt.ptr<f16>, #b>"
    return (
        _offsets(name, rows, columns, "#b")
        + f"""
    %{name}_s = tt.splat %{name}_base : !tt.ptr<f16> -> {type_}
    %{name}_p = tt.addptr %{name}_s, %{name}_off : {type_}, tensor<{rows}x{columns}xi32, #b>
    %{name} = tt.load %{name}_p : {type_}"""
    )


def _product(layouts: str, body: str, m: int, n: int, k: int, warps: int) -> str:
    """A kernel that loads `%x` (m x k) and `%y` (k x n) and stores `%d` (m x n, f32, layout #mma)."""
    type_ = f"tensor<{m}x{n}x!tt.ptr<f32>, #mma>"
    blocked = f"#b = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [{warps}, 1], order = [1, 0]}}>"
    attributes = f'"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32'
    return f"""{layouts}
{blocked}
#smem = #ttg.shared_memory
module attributes {{{attributes}}} {{
  tt.func public @k(%x_base: !tt.ptr<f16>, %y_base: !tt.ptr<f16>, %out: !tt.ptr<f32>) {{
    %zero = arith.constant dense<0.0> : tensor<{m}x{n}xf32, #mma>
{_load("x", m, k)}{_load("y", k, n)}{body}{_offsets("d", m, n, "#mma")}
    %d_s = tt.splat %out : !tt.ptr<f32> -> {type_}
    %d_p = tt.addptr %d_s, %d_off : {type_}, tensor<{m}x{n}xi32, #mma>
    tt.store %d_p, %d : {type_}
    tt.return
  }}
}}
"""


def _check(kernel, text: str, m: int, n: int, k: int) -> None:
    x = rng.integers(-4, 5, (m, k)).astype(np.float16)
    y = rng.integers(-4, 5, (k, n)).astype(np.float16)
    out = np.zeros((m, n), np.float32)
    kernel(text)(x, y, out)
    np.testing.assert_array_equal(out, x.astype(np.float32) @ y.astype(np.float32))


@pytest.mark.parametrize("k_width", [2, 4])
@pytest.mark.parametrize("m,n,k", [(32, 32, 32), (64, 16, 64)])
def test_mma_sync_multiplies_operands_whatever_their_k_width(kernel, m, n, k, k_width):
    a, b = (f"#ttg.dot_op<{{opIdx = {i}, parent = #mma, kWidth = {k_width}}}>" for i in (0, 1))
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>
#sh = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>"""
    body = f"""
    %xm = ttg.local_alloc %x : (tensor<{m}x{k}xf16, #b>) -> !ttg.memdesc<{m}x{k}xf16, #sh, #smem>
    %ym = ttg.local_alloc %y : (tensor<{k}x{n}xf16, #b>) -> !ttg.memdesc<{k}x{n}xf16, #sh, #smem>
    %xa = ttg.local_load %xm : !ttg.memdesc<{m}x{k}xf16, #sh, #smem> -> tensor<{m}x{k}xf16, {a}>
    %yb = ttg.local_load %ym : !ttg.memdesc<{k}x{n}xf16, #sh, #smem> -> tensor<{k}x{n}xf16, {b}>
    %d = tt.dot %xa, %yb, %zero : tensor<{m}x{k}xf16, {a}> * tensor<{k}x{n}xf16, {b}> -> tensor<{m}x{n}xf32, #mma>"""
    _check(kernel, _product(layouts, body, m, n, k, 4), m, n, k)


def _in_registers(m: int, n: int, k: int) -> str:
    a, b = (f"#ttg.dot_op<{{opIdx = {i}, parent = #mma, kWidth = 2}}>" for i in (0, 1))
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"""
    body = f"""
    %xa = ttg.convert_layout %x : tensor<{m}x{k}xf16, #b> -> tensor<{m}x{k}xf16, {a}>
    %yb = ttg.convert_layout %y : tensor<{k}x{n}xf16, #b> -> tensor<{k}x{n}xf16, {b}>
    %d = tt.dot %xa, %yb, %zero : tensor<{m}x{k}xf16, {a}> * tensor<{k}x{n}xf16, {b}> -> tensor<{m}x{n}xf32, #mma>"""
    return _product(layouts, body, m, n, k, 1)


def test_mma_sync_fills_up_a_step_that_is_longer_than_k(kernel):
    _check(kernel, _in_registers(16, 16, 8), 16, 16, 8)


def test_a_k_of_which_lanes_would_hold_copies_is_refused_at_its_place(kernel):
    with pytest.raises(LoweringError, match=r"tt\.dot: k = 4 on tensor cores, which need 8") as error:
        kernel(_in_registers(16, 16, 4))
    assert error.value.location is not None


@pytest.mark.parametrize(("type", "least"), [("f16", 8), ("f32", 4), ("i8", 16), ("f64", 4)])
def test_a_dot_of_a_shorter_k_than_tensor_cores_take_stays_with_multiply_adds(type, least):
    result = {"i8": "i32", "f16": "f32"}.get(type, type)
    blocked = (
        "#b = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
    )

    def on_tensor_cores(k: int) -> bool:
        a, b = (
            f"tensor<{shape}x{type}, #ttg.dot_op<{{opIdx = {i}, parent = #b}}>>"
            for i, shape in enumerate((f"16x{k}", f"{k}x16"))
        )
        module = parse_module(f"""{blocked}
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:80", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func @f(%a: {a}, %b: {b}, %c: tensor<16x16x{result}, #b>) -> tensor<16x16x{result}, #b> {{
    %d = tt.dot %a, %b, %c, inputPrecision = tf32 : {a} * {b} -> tensor<16x16x{result}, #b>
    tt.return %d : tensor<16x16x{result}, #b>
  }}
}}""")
        AccelerateMatmul().apply(make_context(), module)
        return "nvidia_mma" in print_module(module)

    assert not on_tensor_cores(least // 2) and on_tensor_cores(least)


def test_mma_sync_refuses_lanes_that_hold_the_same_k(kernel):
    m, n, k = 16, 16, 16
    a, b = (f"#ttg.dot_op<{{opIdx = {i}, parent = #mma, kWidth = 8}}>" for i in (0, 1))
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 1], instrShape = [16, 8]}>"""
    body = f"""
    %xa = ttg.convert_layout %x : tensor<{m}x{k}xf16, #b> -> tensor<{m}x{k}xf16, {a}>
    %yb = ttg.convert_layout %y : tensor<{k}x{n}xf16, #b> -> tensor<{k}x{n}xf16, {b}>
    %d = tt.dot %xa, %yb, %zero : tensor<{m}x{k}xf16, {a}> * tensor<{k}x{n}xf16, {b}> -> tensor<{m}x{n}xf32, #mma>"""
    with pytest.raises(LoweringError, match="its four lanes along k must hold different elements"):
        kernel(_product(layouts, body, m, n, k, 1))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("swizzle,k", [(128, 64), (64, 32), (128, 128)])
@pytest.mark.parametrize("m,n,warps", [(64, 64, [4, 1]), (128, 32, [4, 1]), (128, 64, [8, 1]), (64, 128, [4, 2])])
def test_wgmma_reads_both_operands_through_their_descriptors(kernel, swizzle, k, m, n, warps):
    count = warps[0] * warps[1]
    columns = n // warps[1]
    layouts = f"""
#mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = {warps}, instrShape = [16, {columns}, 16]}}>
#sa = #ttg.nvmma_shared<{{swizzlingByteWidth = {swizzle}, transposed = false, elementBitWidth = 16}}>
#sb = #ttg.nvmma_shared<{{swizzlingByteWidth = {min(128, 2 * n)}, transposed = false, elementBitWidth = 16}}>"""
    body = f"""
    %xm = ttg.local_alloc %x : (tensor<{m}x{k}xf16, #b>) -> !ttg.memdesc<{m}x{k}xf16, #sa, #smem>
    %ym = ttg.local_alloc %y : (tensor<{k}x{n}xf16, #b>) -> !ttg.memdesc<{k}x{n}xf16, #sb, #smem>
    ttng.fence_async_shared {{bCluster = false}}
    %d = ttng.warp_group_dot %xm, %ym, %zero : !ttg.memdesc<{m}x{k}xf16, #sa, #smem> * !ttg.memdesc<{k}x{n}xf16, #sb, #smem> -> tensor<{m}x{n}xf32, #mma>"""
    _check(kernel, _product(layouts, body, m, n, k, count), m, n, k)


@pytest.mark.parametrize(("pendings", "fences"), [(0, 4), (1, 1)], ids=["waited for", "left running"])
def test_tiles_are_behind_one_fence_where_the_next_wait_leaves_products_running(llvm_ir, pendings, fences):
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"""
    body = f"""
    %xm = ttg.local_alloc %x : (tensor<256x32xf16, #b>) -> !ttg.memdesc<256x32xf16, #s, #smem>
    %ym = ttg.local_alloc %y : (tensor<32x32xf16, #b>) -> !ttg.memdesc<32x32xf16, #s, #smem>
    %s = ttng.warp_group_dot %xm, %ym, %zero {{isAsync = true}} : !ttg.memdesc<256x32xf16, #s, #smem> * !ttg.memdesc<32x32xf16, #s, #smem> -> tensor<256x32xf32, #mma>
    %d = ttng.warp_group_dot_wait %s {{pendings = {pendings} : i32}} : tensor<256x32xf32, #mma>"""
    text = llvm_ir(_product(layouts, body, 256, 32, 32, 4))
    order = re.findall(r"wgmma\.(fence|mma_async|commit_group)", text)
    assert order == [*["fence", *["mma_async"] * (2 * 4 // fences)] * fences, "commit_group"]


def test_wgmma_takes_its_first_operand_from_registers(kernel):
    m, n, k = 64, 64, 64
    a = "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>"
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#sh = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"""
    body = f"""
    %xm = ttg.local_alloc %x : (tensor<{m}x{k}xf16, #b>) -> !ttg.memdesc<{m}x{k}xf16, #sh, #smem>
    %xa = ttg.local_load %xm : !ttg.memdesc<{m}x{k}xf16, #sh, #smem> -> tensor<{m}x{k}xf16, {a}>
    %ym = ttg.local_alloc %y : (tensor<{k}x{n}xf16, #b>) -> !ttg.memdesc<{k}x{n}xf16, #sh, #smem>
    %s = ttng.warp_group_dot %xa, %ym, %zero {{isAsync = true}} : tensor<{m}x{k}xf16, {a}> * !ttg.memdesc<{k}x{n}xf16, #sh, #smem> -> tensor<{m}x{n}xf32, #mma>
    %d = ttng.warp_group_dot_wait %s {{pendings = 0 : i32}} : tensor<{m}x{n}xf32, #mma>"""
    _check(kernel, _product(layouts, body, m, n, k, 4), m, n, k)


def test_pairs_of_bytes_are_loaded_and_widened_as_words(kernel, llvm_ir):
    """In parts of bytes, LLVM takes each pair apart and puts it together again for the conversion of four."""
    m, n, k = 64, 64, 64
    a = "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>"
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#bytes = #ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>
#sh = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"""
    body = f"""
    %xi = arith.fptosi %x : tensor<{m}x{k}xf16, #b> to tensor<{m}x{k}xi8, #b>
    %xm = ttg.local_alloc %xi : (tensor<{m}x{k}xi8, #b>) -> !ttg.memdesc<{m}x{k}xi8, #bytes, #smem>
    %xb = ttg.local_load %xm : !ttg.memdesc<{m}x{k}xi8, #bytes, #smem> -> tensor<{m}x{k}xi8, {a}>
    %xa = arith.sitofp %xb : tensor<{m}x{k}xi8, {a}> to tensor<{m}x{k}xf16, {a}>
    %ym = ttg.local_alloc %y : (tensor<{k}x{n}xf16, #b>) -> !ttg.memdesc<{k}x{n}xf16, #sh, #smem>
    %s = ttng.warp_group_dot %xa, %ym, %zero {{isAsync = true}} : tensor<{m}x{k}xf16, {a}> * !ttg.memdesc<{k}x{n}xf16, #sh, #smem> -> tensor<{m}x{n}xf32, #mma>
    %d = ttng.warp_group_dot_wait %s {{pendings = 0 : i32}} : tensor<{m}x{n}xf32, #mma>"""
    text = _product(layouts, body, m, n, k, 4)
    _check(kernel, text, m, n, k)
    assert "load i16, ptr addrspace(3)" in llvm_ir(text)
    assert "load <2 x i8>" not in llvm_ir(text)


def test_a_transposed_view_is_read_along_k(kernel):
    m, n, k = 64, 64, 64
    layouts = """
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#sh = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#st = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>"""
    body = f"""
    %xm = ttg.local_alloc %x : (tensor<{m}x{k}xf16, #b>) -> !ttg.memdesc<{m}x{k}xf16, #sh, #smem>
    %ym = ttg.local_alloc %y : (tensor<{k}x{n}xf16, #b>) -> !ttg.memdesc<{k}x{n}xf16, #sh, #smem>
    %yt = ttg.memdesc_trans %ym {{order = array<i32: 1, 0>}} : !ttg.memdesc<{k}x{n}xf16, #sh, #smem> -> !ttg.memdesc<{n}x{k}xf16, #st, #smem>
    %d = ttng.warp_group_dot %xm, %yt, %zero : !ttg.memdesc<{m}x{k}xf16, #sh, #smem> * !ttg.memdesc<{n}x{k}xf16, #st, #smem> -> tensor<{m}x{n}xf32, #mma>"""
    text = _product(layouts, body, m, n, k, 4)
    x = rng.integers(-4, 5, (m, k)).astype(np.float16)
    y = rng.integers(-4, 5, (k, n)).astype(np.float16)
    out = np.zeros((m, n), np.float32)
    kernel(text)(x, y, out)
    np.testing.assert_array_equal(out, x.astype(np.float32) @ y.astype(np.float32).T)


@pytest.mark.parametrize("most,groups", [(32, 4), (64, 2), (128, 1), (129, 1)])
def test_sums_of_fp8_products_are_added_to_c_after_so_many_as_are_asked_for(kernel, most, groups):
    element, k = "f8E5M2", 128
    text = f"""
#mma = #ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 32]}}>
#sa = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8}}>
#sb = #ttg.nvmma_shared<{{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 8}}>
#blocked = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}}>
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k() {{
    %x = arith.constant dense<1.000000e+00> : tensor<64x{k}x{element}, #blocked>
    %y = arith.constant dense<1.000000e+00> : tensor<{k}x64x{element}, #blocked>
    %c = arith.constant dense<1.000000e+00> : tensor<64x64xf32, #mma>
    %a = ttg.local_alloc %x : (tensor<64x{k}x{element}, #blocked>) -> !ttg.memdesc<64x{k}x{element}, #sa, #smem>
    %b = ttg.local_alloc %y : (tensor<{k}x64x{element}, #blocked>) -> !ttg.memdesc<{k}x64x{element}, #sb, #smem>
    %d = ttng.warp_group_dot %a, %b, %c {{inputPrecision = 0 : i32, maxNumImpreciseAcc = {most} : i32}} : !ttg.memdesc<64x{k}x{element}, #sa, #smem> * !ttg.memdesc<{k}x64x{element}, #sb, #smem> -> tensor<64x64xf32, #mma>
    tt.return
  }}
}}
"""
    ops = [op for op in kernel(text).module.walk() if op.name.startswith(("nvvm.wgmma", "llvm.fadd"))]
    names = [op.name for op in ops]
    steps = [len(op.properties["b_offsets"]) for op in ops if op.name == "nvvm.wgmma.mma_async"]
    assert steps == [4 // groups] * groups
    assert names.count("nvvm.wgmma.wait_group") == groups
    added = sum(op.results[0].type.get_shape()[0] for op in ops if op.name == "llvm.fadd")
    assert added == (0 if most > k else groups * 64 * 64 // 128)
    assert "llvm.fadd" not in names or names.index("llvm.fadd") > names.index("nvvm.wgmma.wait_group")
