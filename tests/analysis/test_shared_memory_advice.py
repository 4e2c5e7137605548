"""A kernel that takes too much shared memory is told which buffers take it and how many stages fit, and that many do fit."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import minitriton as triton
import minitriton.language as tl
from minitriton.analysis.shared_memory.advice import shared_memory_advice
from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects.context import make_context
from minitriton.lab.call import source_of_call
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import ttgir_passes, ttir_passes
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def product(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + rows[:, None] * sa + ks[None, :], b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc)


@triton.jit
def of_descriptors(a, b, c, K, STAGES: tl.constexpr):
    acc = tl.zeros((128, 128), dtype=tl.float32)
    for k in tl.range(0, K, 128, num_stages=STAGES):
        acc = tl.dot(a.load([0, k]), b.load([k, 0]), acc)
    c.store([0, 0], acc.to(tl.float16))


def advised(kernel: Any, arguments: list[Any], arch: int, stages: int, limit: int, **sizes: int) -> tuple[int, str]:
    """The bytes that the kernel takes, and what is said where `limit` is all there is."""
    target = GPUTarget("cuda", arch, 32)
    options = CUDAOptions.for_target(target, num_stages=stages, num_warps=8)
    context = make_context()
    module: ModuleOp = source_of_call(kernel, arguments, sizes)[0].make_ir(target, options, context)
    PassManager(Pipeline.parse(",".join(ttir_passes(target) + ttgir_passes(target, options)))).run(context, module)
    required = allocate(module, scratch_bytes).total_bytes
    return required, shared_memory_advice(module, required, limit, stages)


def pointers() -> list[Any]:
    return [
        np.zeros((128, 512), np.float16),
        np.zeros((512, 256), np.float16),
        np.zeros((128, 256), np.float32),
        512,
        512,
        256,
        256,
    ]


def descriptors() -> list[Any]:
    shapes = ((128, 512), (512, 128), (128, 128))
    return [*(TensorDescriptor(np.zeros(s, np.float16), list(s), [s[1], 1], [128, 128]) for s in shapes), 512]


SIZES = {"BM": 128, "BN": 256, "BK": 64}


@pytest.mark.parametrize(("arch", "limit"), [(80, 166912), (90, 232448)])
def test_the_stages_that_fit_do_fit_and_one_more_does_not(arch: int, limit: int) -> None:
    required, text = advised(product, pointers(), arch, 8, limit, **SIZES)
    assert required > limit
    fits = int(re.search(r"num_stages=(\d+) fits", text)[1])  # pyright: ignore
    assert advised(product, pointers(), arch, fits, limit, **SIZES)[0] <= limit
    assert advised(product, pointers(), arch, fits + 1, limit, **SIZES)[0] > limit
    lines, first = inspect.getsourcelines(product.fn)
    line = first + next(i for i, text_of_line in enumerate(lines) if "tl.load(pa)" in text_of_line)
    assert re.search(rf"\d+ bytes, \d buffers of 64x256xf16 \({re.escape(__file__)}:{line}\b", text), text


def test_a_loop_that_names_its_stages() -> None:
    _, text = advised(of_descriptors, descriptors(), 90, 3, 232448, STAGES=5)
    assert "num_stages=3 fits" in text
    assert advised(of_descriptors, descriptors(), 90, 3, 232448, STAGES=3)[0] <= 232448


def test_blocks_that_fit_at_no_number_of_stages() -> None:
    _, text = advised(product, pointers(), 90, 3, 20000, **SIZES)
    assert "no num_stages fits: take smaller blocks" in text
