"""Each TTIR pass gives what Triton's own pass gives, op by op, on what Triton's frontend and its earlier passes make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from test_layout_passes_agree_with_triton import CASES, triton_ir, without_names
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from triton_test_passes.scf_to_cf import ConvertScfToCf

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.combine import Combine
from minitriton.passes.cse import Cse, LoopAwareCse
from minitriton.passes.inline import Inline, SymbolDce
from minitriton.passes.licm import TritonLoopInvariantCodeMotion
from minitriton.passes.loop_unroll import LoopUnroll
from minitriton.passes.reorder_broadcast import ReorderBroadcast
from minitriton.pipeline.pass_registry import Pass

pytestmark = pytest.mark.oracle


@triton.jit
def layer_norm(x, o, w, b, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        squares += tl.where(cols < n, (value - mean) * (value - mean), 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * n + cols, mask=cols < n, other=0.0).to(tl.float32)
        y = (value - mean) * scale * tl.load(w + cols, mask=cols < n) + tl.load(b + cols, mask=cols < n)
        tl.store(o + row * n + cols, y, mask=cols < n)


@triton.jit
def unrolled(x, o, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, n, loop_unroll_factor=3):
        total += tl.load(x + i * BLOCK + tl.arange(0, BLOCK))
    for i in tl.range(0, 8, loop_unroll_factor=4):
        total *= tl.load(x + i)
    tl.store(o + tl.arange(0, BLOCK), total)


@triton.jit
def early_return(x, o, n, BLOCK: tl.constexpr):
    if tl.program_id(0) * BLOCK >= n:
        return
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + offsets)
    if n > 100:
        if n > 1000:
            v = v + 1
        else:
            v = v * 2
    tl.store(o + offsets, v)


KERNELS = {
    **CASES,
    "layer norm": (layer_norm, "*fp16 *fp16 *fp32 *fp32 i32 fp32", {"BLOCK": 1024}),
    "unrolled": (unrolled, "*fp32 *fp32 i32", {"BLOCK": 128}),
    "early return": (early_return, "*fp32 *fp32 i32", {"BLOCK": 128}),
}

STEPS: list[tuple[Callable[[Any], None], Pass]] = [
    (passes.common.add_inliner, Inline()),
    (passes.common.add_canonicalizer, Canonicalize()),
    (passes.ttir.add_combine, Combine()),
    (passes.ttir.add_reorder_broadcast, ReorderBroadcast()),
    (passes.common.add_cse, Cse()),
    (passes.common.add_symbol_dce, SymbolDce()),
    (passes.ttir.add_loop_unroll, LoopUnroll()),
    (passes.ttir.add_loop_aware_cse, LoopAwareCse()),
    (passes.common.add_canonicalizer, Canonicalize()),
    (passes.ttir.add_triton_licm, TritonLoopInvariantCodeMotion()),
    (passes.convert.add_scf_to_cf, ConvertScfToCf()),
    (passes.common.add_canonicalizer, Canonicalize()),
    (passes.common.add_cse, Cse()),
]
"""Passes of Triton's, and ours that answer to them."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", KERNELS)
def test_each_pass_gives_what_triton_gives(name: str) -> None:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = triton_ir(*KERNELS[name], GPUTarget("cuda", 90, 32), context)
    ours = make_context()
    for index, (add_pass, answer) in enumerate(STEPS):
        mine = parse_module(module.str_nodebug())
        manager = ir.pass_manager(context)
        add_pass(manager)
        manager.run(module, "step")
        answer.apply(ours, mine)
        mine.verify()
        assert without_names(mine) == without_names(parse_module(module.str_nodebug())), (index, answer.name)
