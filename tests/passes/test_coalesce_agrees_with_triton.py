"""`tritongpu-coalesce` writes the very text that Triton's own pass writes, for kernels of all kinds of access."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.passes.coalesce import Coalesce

pytestmark = pytest.mark.oracle


@triton.jit
def elementwise(x, y, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n, other=0), mask=i < n)


@triton.jit
def matmul(a, b, c, M, N, K, am, bk, cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    columns = tl.cdiv(N, BN)
    rm = ((pid // columns) * BM + tl.arange(0, BM)) % M
    rn = ((pid % columns) * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    ap = a + rm[:, None] * am + rk[None, :]
    bp = b + rk[:, None] * bk + rn[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(ap, mask=rk[None, :] < K - k, other=0.0)
        acc = tl.dot(left, tl.load(bp, mask=rk[:, None] < K - k, other=0.0), acc)
        ap += BK
        bp += BK * bk
    tl.store(c + rm[:, None] * cm + rn[None, :], acc.to(tl.float16))


@triton.jit
def reduction(x, scale, o, n, rows, BX: tl.constexpr, BR: tl.constexpr):
    i = tl.program_id(0) * BX + tl.arange(0, BX)[:, None]
    r = tl.arange(0, BR)[None, :]
    total = tl.zeros((BX, BR), tl.float32)
    for start in range(0, n, BR):
        j = start + r
        v = tl.load(x + (i % 64) + 64 * j + 4096 * (i // 64), (j < n) & (i < rows), other=0.0)
        total += v * tl.load(scale + j // 16, j < n, other=0)
    tl.store(o + i, tl.sum(total, 1)[:, None], i < rows)


@triton.jit
def transpose(x, o, m, n, sx, so, B: tl.constexpr):
    rm = tl.program_id(0) * B + tl.arange(0, B)
    rn = tl.program_id(1) * B + tl.arange(0, B)
    mask = (rm[:, None] < m) & (rn[None, :] < n)
    tl.store(o + rn[None, :] * so + rm[:, None], tl.load(x + rm[:, None] * sx + rn[None, :], mask=mask), mask=mask)


@triton.jit
def scatter(x, index, o, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = tl.load(index + i, mask=i < n)
    tl.atomic_add(o + where, tl.load(x + i, mask=i < n), mask=i < n)
    tl.atomic_cas(index + i, where, where + 1)


@triton.jit
def descriptors(x, o, m, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [B, B])
    target = tl.make_tensor_descriptor(o, [m, n], [n, 1], [B, B])
    target.store([0, B], source.load([0, 0]) * 2)


KERNELS: dict[str, tuple[Any, str, dict[str, int]]] = {
    "elementwise": (elementwise, "*fp32 *fp16 *fp32 i32", {"BLOCK": 1024}),
    "small": (elementwise, "*i8 *i8 *i8 i32", {"BLOCK": 64}),
    "matmul": (matmul, "*fp16 *fp16 *fp16 i32 i32 i32 i32 i32 i32", {"BM": 128, "BN": 64, "BK": 32}),
    "reduction": (reduction, "*fp32 *i64 *fp32 i32 i32", {"BX": 32, "BR": 64}),
    "transpose": (transpose, "*bf16 *bf16 i32 i32 i32 i32", {"B": 64}),
    "scatter": (scatter, "*fp32 *i32 *fp32 i32", {"BLOCK": 256}),
    "descriptors": (descriptors, "*fp16 *fp16 i32 i32", {"B": 64}),
}


def ttgir(name: str, aligned: bool, warps: int, ctas: int, context: Any) -> Any:
    """The wheel's module right before its coalescing pass."""
    kernel, types, constants = KERNELS[name]
    signature = dict(zip(kernel.arg_names, types.split(), strict=False)) | dict.fromkeys(constants, "constexpr")
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(types.split()))} if aligned else {}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
    target = GPUTarget("cuda", 90, 32)
    backend = make_backend(target)
    options = backend.parse_options({"num_warps": warps, "num_ctas": ctas})
    module = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    module = backend.make_ttir(module, {}, options, 90)
    manager = ir.pass_manager(context)
    passes.ttir.add_convert_to_ttgpuir(manager, "cuda:90", warps, 32, ctas)
    manager.run(module, "to ttgir")
    return module


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("warps", "ctas"), [(1, 1), (4, 1), (8, 2)])
@pytest.mark.parametrize("aligned", [True, False], ids=["aligned", "unaligned"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_text_is_that_of_tritons_pass(name: str, aligned: bool, warps: int, ctas: int, tmp_path: Path):
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = ttgir(name, aligned, warps, ctas, context)
    ours = parse_module(module.str_nodebug())
    Coalesce().apply(make_context(), ours)
    manager = ir.pass_manager(context)
    passes.ttgpuir.add_coalesce(manager)
    manager.run(module, "coalesce")
    assert print_module(ours) == module.str_nodebug()
