"""The pipeliner's passes give what Triton's own give, op by op, on loops over plain loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from test_layout_passes_agree_with_triton import triton_ir, without_names
from triton._C.libtriton import ir, nvidia, passes
from triton.backends.compiler import GPUTarget
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import arith
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.cse import Cse
from minitriton.passes.pipelining.assign_latencies import AssignLatencies
from minitriton.passes.pipelining.pipeline import PipelineLoops
from minitriton.passes.pipelining.schedule_loops import ScheduleLoops
from minitriton.pipeline.pass_registry import Pass

pytestmark = pytest.mark.oracle


@triton.jit
def running_sum(x, o, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, n, BLOCK, num_stages=STAGES):
        total += tl.load(x + i + offsets)
    tl.store(o + offsets, total)


@triton.jit
def masked_add(x, y, o, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    for i in tl.range(tl.program_id(0), n, tl.num_programs(0), num_stages=STAGES):
        offsets = i * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        a = tl.load(x + offsets, mask=mask, other=1.0)
        b = tl.load(y + offsets, mask=mask)
        tl.store(o + offsets, a + b, mask=mask)


@triton.jit
def indirect(x, indices, o, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.range(0, n, num_stages=STAGES):
        at = tl.load(indices + i * BLOCK + offsets)
        total += tl.load(x + at)
    tl.store(o + offsets, total)


@triton.jit
def rows(x, o, n, stride, STAGES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    at = tl.arange(0, BM)[:, None] * stride + tl.arange(0, BN)[None, :]
    p = x + at
    total = tl.zeros([BM], dtype=tl.float32)
    for _ in tl.range(0, n, num_stages=STAGES):
        tile = tl.load(p)
        if n > 5:
            tile = tile * 2
        total += tl.sum(tile, axis=1)
        p += BN
    tl.store(o + tl.arange(0, BM), total)


@triton.jit
def numbers(x, o, n, STAGES: tl.constexpr):
    total = 0.0
    for i in tl.range(0, n, num_stages=STAGES):
        total += tl.load(x + i)
        tl.store(o + i, total)


@triton.jit
def halves(x, o, n, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for i in tl.range(0, n, num_stages=STAGES):
        a = tl.load(x + i * BLOCK + offsets)
        b = tl.load(x + i + offsets)
        tl.store(o + i * BLOCK + offsets, a + b)


KERNELS: dict[str, tuple[Any, str, dict[str, int]]] = {
    "running sum": (running_sum, "*fp32 *fp32 i32", {"STAGES": 3, "BLOCK": 1024}),
    "running sum, two stages": (running_sum, "*fp32 *fp32 i32", {"STAGES": 2, "BLOCK": 1024}),
    "running sum, one stage": (running_sum, "*fp32 *fp32 i32", {"STAGES": 1, "BLOCK": 1024}),
    "running sum, five stages": (running_sum, "*fp16 *fp32 i32", {"STAGES": 5, "BLOCK": 512}),
    "masked add": (masked_add, "*fp32 *fp32 *fp32 i32", {"STAGES": 4, "BLOCK": 512}),
    "indirect": (indirect, "*fp32 *i32 *fp32 i32", {"STAGES": 4, "BLOCK": 256}),
    "indirect, two stages": (indirect, "*fp32 *i32 *fp32 i32", {"STAGES": 2, "BLOCK": 256}),
    "rows": (rows, "*fp32 *fp32 i32 i32", {"STAGES": 3, "BM": 32, "BN": 64}),
    "numbers": (numbers, "*fp32 *fp32 i32", {"STAGES": 3}),
    "narrow and wide": (halves, "*fp16 *fp16 i32", {"STAGES": 3, "BLOCK": 512}),
}


def before_pipelining(target: str) -> list[Callable[[Any], None]]:
    """Triton's pipeline up to the pipeliner."""
    ttir, ttgpuir, common = passes.ttir, passes.ttgpuir, passes.common
    return [
        common.add_inliner, common.add_canonicalizer, ttir.add_combine, ttir.add_reorder_broadcast, common.add_cse,
        common.add_symbol_dce, ttir.add_loop_unroll, lambda pm: ttir.add_convert_to_ttgpuir(pm, target, 4, 32, 1),
        ttgpuir.add_coalesce, ttgpuir.add_remove_layout_conversions, ttgpuir.add_optimize_thread_locality,
        ttgpuir.add_remove_layout_conversions, ttir.add_loop_aware_cse, common.add_canonicalizer, ttir.add_triton_licm,
        common.add_canonicalizer,
    ]  # fmt: skip


STEPS: list[tuple[Callable[[Any], None], Pass]] = [
    (lambda pm: passes.ttgpuir.add_assign_latencies(pm, 3), AssignLatencies()),
    (passes.ttgpuir.add_schedule_loops, ScheduleLoops()),
    (lambda pm: passes.ttgpuir.add_pipeline(pm, 3, False), PipelineLoops()),
]


def sort_constants(module: ModuleOp) -> None:
    """Puts the constants at the front of each function in order of their text: who made them first is no matter."""
    for func in module.ops:
        block = func.regions[0].block
        constants = [op for op in block.ops if isinstance(op, arith.ConstantOp)]
        for op in constants:
            block.detach_op(op)
        first = block.first_op
        assert first is not None
        for op in sorted(constants, key=lambda op: str(op.properties["value"])):
            block.insert_op_before(op, first)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arch", [80, 90])
@pytest.mark.parametrize("name", KERNELS)
def test_each_pass_gives_what_triton_gives(name: str, arch: int) -> None:
    context = ir.context()
    ir.load_dialects(context)
    nvidia.load_dialects(context)
    module = triton_ir(*KERNELS[name], GPUTarget("cuda", arch, 32), context)
    manager = ir.pass_manager(context)
    for add_pass in before_pipelining(f"cuda:{arch}"):
        add_pass(manager)
    manager.run(module, "before")
    ours = make_context()
    for add_pass, answer in STEPS:
        mine = parse_module(module.str_nodebug())
        answer.apply(ours, mine)
        mine.verify()
        manager = ir.pass_manager(context)
        add_pass(manager)
        manager.run(module, "step")
        theirs = parse_module(module.str_nodebug())
        for each in (mine, theirs):
            Canonicalize().apply(ours, each)
            Cse().apply(ours, each)
            sort_constants(each)
        assert without_names(mine) == without_names(theirs), answer.name
