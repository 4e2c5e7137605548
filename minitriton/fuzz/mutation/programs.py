"""The programs whose texts are mutated: small kernels that between them have every kind of op and instruction.

texts_of(3, "ttgir")    →   the TTGIR of the fourth of them
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import minitriton.language as tl
from minitriton.commands.signature import ast_source
from minitriton.compiler import compile
from minitriton.runtime.jit import jit
from minitriton.target import GPUTarget


@jit
def masked_sum(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    a = tl.load(x + i, mask=mask, other=0.0)
    b = tl.load(y + i, mask=mask, other=1.0)
    tl.store(out + i, tl.where(a > b, tl.exp(a), a / b) + tl.sum(a, axis=0), mask=mask)


@jit
def product(a, b, c, K, M: tl.constexpr, N: tl.constexpr, STEP: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    sums = tl.zeros((M, N), tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        sums = tl.dot(left, right, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums.to(tl.float16))


@jit
def scanned(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    total = tl.cumsum(values, axis=0)
    k = n
    while k > 1:
        if k % 2 == 0:
            total = total + k
        k = k // 2
    tl.atomic_add(out + i % 16, tl.sort(total))


@jit
def transposed(x, out, stride, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    tile = tl.load(x + rows[:, None] * stride + columns[None, :])
    best = tl.argmax(tile, axis=1)
    tl.store(out + columns[:, None] * M + rows[None, :], tl.trans(tile) + best[None, :])


@jit
def helper(x, y):
    return tl.maximum(x, y) * 2


@jit
def with_descriptor(x, out, M, N, TILE: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [TILE, TILE])
    result = tl.make_tensor_descriptor(out, [M, N], [N, 1], [TILE, TILE])
    at = tl.program_id(0) * TILE
    tile = source.load([0, at])
    result.store([0, at], helper(tile, -tile))


@dataclass(frozen=True)
class Program:
    """A kernel with its signature (as `minitriton compile` takes it), its architecture and options."""

    kernel: str
    signature: str
    arch: int = 90
    options: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """The kernel as the command line names it."""
        return f"{Path(__file__)}:{self.kernel}"

    @property
    def types(self) -> str:
        """The runtime part of the signature: what `minitriton check` takes for IR text."""
        return ",".join(part for part in self.signature.split(",") if "=" not in part)


PROGRAMS = (
    Program("masked_sum", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=256"),
    Program("product", "*fp16:16,*fp16:16,*fp16:16,i32:16,M=64,N=32,STEP=32"),
    Program("product", "*fp16:16,*fp16:16,*fp16:16,i32:16,M=32,N=32,STEP=16", arch=80, options=("num_warps=2",)),
    Program("scanned", "*i32:16,*i32:16,i32,N=64", options=("num_warps=2",)),
    Program("transposed", "*fp32:16,*fp32:16,i32:16,M=32,N=16", options=("num_warps=1",)),
    Program("with_descriptor", "*fp32:16,*fp32:16,i32,i32:16,TILE=16"),
    Program("transposed", "*fp16,*fp16,i64,M=4,N=16", arch=75, options=("num_warps=1",)),
)


@functools.cache
def text_of(number: int, stage: str) -> str:
    """The text of program `number` at a stage; `pipeline` is the text of its passes."""
    program = PROGRAMS[number]
    options: dict[str, object] = {
        name: int(value) for name, _, value in (option.partition("=") for option in program.options)
    }
    source = ast_source(globals()[program.kernel], program.signature)
    compiled = compile(source, GPUTarget("cuda", program.arch, 32), options, assemble=False)
    return compiled.metadata.pipeline if stage == "pipeline" else str(compiled.asm[stage])
