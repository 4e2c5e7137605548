"""Each TTGIR layout pass gives what Triton's own pass gives, op by op, on the IR that Triton's pipeline brings to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction
from wheel_kernels import add, argmax_of_gathered, column_sums, matmul, softmax, transpose
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.passes.convert_triton_to_tritongpu import ConvertTritonToTritonGPU
from minitriton.passes.optimize_dot_operands import ReduceDataDuplication
from minitriton.passes.optimize_thread_locality import OptimizeThreadLocality
from minitriton.passes.remove_layout_conversions import RemoveLayoutConversions
from minitriton.passes.reorder_instructions import ReorderInstructions
from minitriton.pipeline.pass_registry import Pass

pytestmark = pytest.mark.oracle


@triton.jit
def row_sums(x, o, n, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    total = tl.zeros([BM], dtype=tl.float32)
    for i in range(0, n, BN):
        total += tl.sum(tl.load(x + rows[:, None] * n + (i + cols)[None, :]), axis=1)
    tl.store(o + rows, total)


@triton.jit
def copy_while(x, o, n, flag, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    i = 0
    p = x + offsets
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    while i < n:
        v = tl.load(p, mask=offsets < n - i, other=0.0)
        if flag > i:
            acc += v * 2.0
        p += BLOCK
        i += BLOCK
    tl.store(o + offsets, acc)


@triton.jit
def shuffle_shapes(x, y, o, BM: tl.constexpr, BN: tl.constexpr):
    rows, cols = tl.arange(0, BM), tl.arange(0, BN)
    a = tl.load(x + rows[:, None] * BN + cols[None, :])
    b = tl.load(y + rows[:, None] * BN + cols[None, :])
    joined = tl.permute(tl.join(a, b), (2, 0, 1))
    p, q = tl.split(tl.reshape(joined, (BM, BN, 2)))
    tl.store(o + cols[:, None] * BM + rows[None, :], tl.trans(p + q))


CASES: dict[str, tuple[JITFunction, str, dict[str, int]]] = {
    "add": (add, "*fp32 *fp32 *fp32 i32", {"BLOCK": 1024}),
    "add of halves": (add, "*fp16 *fp16 *fp16 i32", {"BLOCK": 2048}),
    "softmax": (softmax, "*fp16 *fp16 i32", {"BM": 4, "BN": 512}),
    "column sums": (column_sums, "*fp16 *fp32 i32 i32", {"BM": 128, "BN": 64}),
    "row sums": (row_sums, "*fp32 *fp32 i32", {"BM": 32, "BN": 128}),
    "transpose": (transpose, "*fp16 *fp16 i32 i32", {"BM": 64, "BN": 128}),
    "matmul": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32 i32", {"BM": 64, "BN": 64, "BK": 32}),
    "matmul of halves": (matmul, "*fp16 *fp16 *fp32 i32 i32 i32 i32", {"BM": 64, "BN": 64, "BK": 32}),
    "while and if": (copy_while, "*fp32 *fp32 i32 i32", {"BLOCK": 512}),
    "join, reshape, split, trans": (shuffle_shapes, "*fp32 *fp32 *fp32", {"BM": 64, "BN": 32}),
    "argmax and gather of columns": (argmax_of_gathered, "*fp32 *i32 *fp32 *i32", {"BM": 64, "BN": 32, "AXIS": 0}),
    "argmax and gather of rows": (argmax_of_gathered, "*fp32 *i32 *fp32 *i32", {"BM": 64, "BN": 32, "AXIS": 1}),
}

Step = tuple[Callable[[Any], None], Pass | None]
"""A pass of Triton's, and ours to compare with it."""


def steps(arch: int) -> list[Step]:
    """Triton's pipeline up to the layout passes, with those of ours that answer to one."""
    ttir, ttgpuir, common = passes.ttir, passes.ttgpuir, passes.common
    target = f"cuda:{arch}"
    return [
        (common.add_inliner, None),
        (ttir.add_combine, None),
        (common.add_canonicalizer, None),
        (ttir.add_reorder_broadcast, None),
        (common.add_cse, None),
        (common.add_symbol_dce, None),
        (ttir.add_loop_unroll, None),
        (lambda pm: ttir.add_convert_to_ttgpuir(pm, target, 4, 32, 1), ConvertTritonToTritonGPU(target=target)),
        (ttgpuir.add_coalesce, None),
        (ttgpuir.add_remove_layout_conversions, RemoveLayoutConversions()),
        (ttgpuir.add_optimize_thread_locality, OptimizeThreadLocality()),
        (ttgpuir.add_accelerate_matmul, None),
        (ttgpuir.add_remove_layout_conversions, RemoveLayoutConversions()),
        (lambda pm: ttgpuir.add_optimize_dot_operands(pm, True), None),
        (ttgpuir.add_remove_layout_conversions, RemoveLayoutConversions()),
        (ttgpuir.add_reduce_data_duplication, ReduceDataDuplication()),
        (ttgpuir.add_reorder_instructions, ReorderInstructions()),
    ]


def triton_ir(kernel: JITFunction, signature: str, constants: dict[str, int], target: GPUTarget, context: Any) -> Any:
    """The IR of a kernel from Triton's frontend; all pointers and integers are multiples of 16."""
    types = dict(zip(kernel.arg_names, signature.split(), strict=False))
    types.update(dict.fromkeys(constants, "constexpr"))
    attributes = {(i,): [["tt.divisibility", 16]] for i in range(len(signature.split()))}
    source = ASTSource(fn=kernel, signature=types, constexprs=constants, attrs=attributes)
    backend = make_backend(target)
    options = backend.parse_options({"num_warps": 4})
    return source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )


def without_names(module: ModuleOp) -> str:
    """The text of a module whose values have numbers for names."""
    for op in module.walk():
        values = [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]
        for value in values:
            value.name_hint = None
    return print_module(module)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("name", CASES)
def test_each_pass_gives_what_triton_gives(name: str, arch: int) -> None:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = triton_ir(*CASES[name], GPUTarget("cuda", arch, 32), context)
    ours = make_context()
    for index, (add_pass, answer) in enumerate(steps(arch)):
        before = module.str_nodebug()
        manager = ir.pass_manager(context)
        add_pass(manager)
        manager.run(module, "step")
        if answer is not None:
            mine = parse_module(before)
            answer.apply(ours, mine)
            mine.verify()
            assert without_names(mine) == without_names(parse_module(module.str_nodebug())), (index, answer.name)
