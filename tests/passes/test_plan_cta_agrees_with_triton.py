"""`triton-nvidia-gpu-plan-cta` gives what Triton's pass gives on the IR that Triton's pipeline brings to it.

Triton's planner walks layouts by their address in memory where users of a value want several: the order of copies in a block is
another in every process. It does not count here (`block_multisets`).
"""

# pyright: reportArgumentType=false

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton")

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))

import triton.language as tl
from block_multisets import structure
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction
from wheel_kernels import add, argmax_of_gathered, column_sums, matmul, softmax, transpose
from wheel_passes import on_wheel

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.errors import IRError
from minitriton.passes.plan_cta import PlanCTA

pytestmark = pytest.mark.oracle


@triton.jit
def both_sums(x, o, q, BM: tl.constexpr, BN: tl.constexpr):
    rows, cols = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(x + rows[:, None] * BN + cols[None, :])
    tl.store(o + cols, tl.sum(tile, 0))
    tl.store(q + rows, tl.sum(tile, 1))


@triton.jit
def sums_of_branches(x, o, n, BM: tl.constexpr, BN: tl.constexpr):
    rows, cols = tl.arange(0, BM), tl.arange(0, BN)
    tile = tl.load(x + rows[:, None] * BN + cols[None, :])
    if n > 4:
        tile = tile * 2.0
    else:
        tile = tile - 1.0
    tl.store(o + rows, tl.sum(tile, 1))


@triton.jit
def running_sums(x, o, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(o + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def histogram(x, o, BLOCK: tl.constexpr):
    tl.store(o + tl.arange(0, 16), tl.histogram(tl.load(x + tl.arange(0, BLOCK)), 16))


@triton.jit
def sort(x, o, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(o + at, tl.sort(tl.load(x + at)))


@triton.jit
def transposed_by_descriptors(x, o, m, n, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [n, 1], [BM, BN])
    target = tl.make_tensor_descriptor(o, [n, m], [m, 1], [BN, BM])
    target.store([0, tl.program_id(0) * BM], source.load([tl.program_id(0) * BM, 0]).T)


@triton.jit
def matmul_of_descriptors(x, y, o, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(x, [m, k], [k, 1], [BM, BK])
    b = tl.make_tensor_descriptor(y, [k, n], [n, 1], [BK, BN])
    c = tl.make_tensor_descriptor(o, [m, n], [n, 1], [BM, BN])
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for i in range(0, k, BK):
        acc = tl.dot(a.load([0, i]), b.load([i, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))


CASES: dict[str, tuple[JITFunction, str, dict[str, int]]] = {
    "add": (add, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    "softmax": (softmax, "*fp16 *fp16 i32", {"BM": 4, "BN": 512}),
    "column sums": (column_sums, "*fp16 *fp32 i32 i32", {"BM": 128, "BN": 64}),
    "sums of both axes": (both_sums, "*fp32 *fp32 *fp32", {"BM": 128, "BN": 64}),
    "sums of branches": (sums_of_branches, "*fp32 *fp32 i32", {"BM": 64, "BN": 32}),
    "transpose": (transpose, "*fp16 *fp16 i32 i32", {"BM": 64, "BN": 128}),
    "matmul, square": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32 i32", {"BM": 128, "BN": 128, "BK": 32}),
    "matmul, tall": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32 i32", {"BM": 256, "BN": 64, "BK": 32}),
    "matmul, wide": (matmul, "*fp16 *fp16 *fp32 i32 i32 i32 i32", {"BM": 64, "BN": 256, "BK": 32}),
    "gather of columns": (argmax_of_gathered, "*fp32 *i32 *fp32 *i32", {"BM": 64, "BN": 32, "AXIS": 0}),
    "gather of rows": (argmax_of_gathered, "*fp32 *i32 *fp32 *i32", {"BM": 64, "BN": 32, "AXIS": 1}),
    "running sums": (running_sums, "*fp32 *fp32", {"BM": 64, "BN": 32}),
    "histogram": (histogram, "*i32 *i32", {"BLOCK": 512}),
    "sort": (sort, "*fp32 *fp32", {"BM": 16, "BN": 16}),
    "descriptors": (transposed_by_descriptors, "*fp16 *fp16 i32 i32", {"BM": 64, "BN": 64}),
    "matmul of descriptors": (
        matmul_of_descriptors, "*fp16 *fp16 *fp16 i32 i32 i32", {"BM": 128, "BN": 128, "BK": 64},
    ),
}  # fmt: skip


def before_the_pass(kernel: JITFunction, signature: str, constants: dict[str, int], ctas: int) -> str:
    """The IR to which Triton's pipeline applies the pass; all pointers and integers are multiples of 16."""
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    types = dict(zip(kernel.arg_names, signature.split(), strict=False))
    types.update(dict.fromkeys(constants, "constexpr"))
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(signature.split()))}
    source = ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=attributes)
    target = GPUTarget("cuda", 90, 32)
    backend: Any = make_backend(target)
    options = backend.parse_options({"num_warps": 4, "num_ctas": ctas})
    functions = backend.get_codegen_implementation(options)
    module = source.make_ir(target, options, functions, backend.get_module_map(), context)
    manager = ir.pass_manager(context)
    ttir, ttgpuir, common = passes.ttir, passes.ttgpuir, passes.common
    for add_pass in (common.add_inliner, ttir.add_combine, common.add_canonicalizer, ttir.add_reorder_broadcast):
        add_pass(manager)
    for add_pass in (common.add_cse, common.add_symbol_dce, ttir.add_loop_unroll):
        add_pass(manager)
    ttir.add_convert_to_ttgpuir(manager, "cuda:90", 4, 32, ctas)
    ttgpuir.add_coalesce(manager)
    manager.run(module, "before")
    return module.str_nodebug()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ctas", [1, 2, 4])
@pytest.mark.parametrize("name", CASES)
def test_the_pass_gives_what_triton_gives(name: str, ctas: int) -> None:
    before = before_the_pass(*CASES[name], ctas)
    if (name, ctas) == ("sort", 4):
        # Fewer elements than CTAs: Triton's reshape moves them between CTAs, which is wrong and refused here.
        with pytest.raises(IRError, match="Expected result encoding"):
            parse_module(before)
        return
    ours = parse_module(before)
    PlanCTA().apply(make_context(), ours)
    ours.verify()
    theirs = parse_module(on_wheel(before, [nvidia.passes.ttnvgpuir.add_plan_cta]))
    assert structure(ours) == structure(theirs)
    assert (structure(ours) == structure(parse_module(before))) == (ctas == 1)
