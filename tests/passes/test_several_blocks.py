"""Functions of several blocks, as an early `return` makes them, through the passes and the tools that ask a function for its arguments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource, IRSource
from minitriton.dialects import tt
from minitriton.dialects.bindings import FunctionView
from minitriton.dialects.context import make_context
from minitriton.lab.parameters import parameters_of
from minitriton.target import GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


@triton.jit
def leaves_early(x, y, n, BLOCK: tl.constexpr):
    if n == 0:
        return
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + offsets, mask=offsets < n)
    if n > 100:
        tl.store(y + offsets, values, mask=offsets < n)
        return
    tl.store(y + offsets, values + 1, mask=offsets < n)


@pytest.mark.parametrize(("n", "added"), [(0, None), (77, 1), (1001, 0)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8])
def test_masked_accesses_of_more_than_a_word_a_thread(n: int, added: int | None, dtype: type) -> None:
    x, y = (np.arange(1024) % 50).astype(dtype), np.full(1024, 7, dtype)
    leaves_early[(1,)](x, y, n, BLOCK=1024)
    wanted = np.full(1024, 7, dtype)
    if added is not None:
        wanted[:n] = x[:n] + added
    np.testing.assert_array_equal(y, wanted)


def test_arguments_are_those_of_the_first_block(tmp_path: Path) -> None:
    signature = {"x": "*fp16", "y": "*fp16", "n": "i32", "BLOCK": "constexpr"}
    compiled = triton.compile(ASTSource(leaves_early, signature, {"BLOCK": 1024}), HOPPER)
    path = tmp_path / "kernel.ttir"
    path.write_text(compiled.asm["ttir"])
    source = IRSource(path, make_context())
    assert source.module is not None
    function = next(op for op in source.module.ops if isinstance(op, tt.FuncOp))
    assert len(function.body.blocks) > 1
    assert FunctionView(function).args(2).shown is function.args[2]
    assert parameters_of(source).kinds == {"x": "*fp16", "y": "*fp16", "n": "i32"}
