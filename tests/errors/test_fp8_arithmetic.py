"""8-bit floats are loaded, stored, converted, chosen and multiplied as matrices; computing with them is an error at the line."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton as triton
from minitriton.errors import MinitritonError
from minitriton.target import GPUTarget

HEAD = """
import minitriton as triton
import minitriton.language as tl


@triton.jit
def added(x, y):
    return x + y


@triton.jit
def kernel(p, q):
    i = tl.arange(0, 8)
    a, b = tl.load(p + i), tl.load(q + i)
"""
LINE = HEAD.count("\n") + 1

REFUSED = [
    "a + b", "a - b", "a * b", "a / b", "a % b", "-a", "a + 1.5", "2 * a", "a < b", "a == b", "a != b", "a & b", "a // b",
    "tl.fdiv(a, b)", "tl.maximum(a, b)", "tl.minimum(a, b)", "tl.clamp(a, b, b)", "tl.fma(a, b, a)", "tl.exp(a)", "tl.floor(a)",
    "tl.sum(a, 0)", "tl.argmax(a, 0)", "tl.cumsum(a, 0)", "tl.sort(a)", "tl.sigmoid(a)", "tl.reduce(a, 0, added)",
    "tl.associative_scan(a, 0, added)", "tl.map_elementwise(added, a, b)", "tl.atomic_add(p + i, a)", "tl.atomic_max(p + i, a)",
]  # fmt: skip
ALLOWED = [
    "tl.where(i < 4, a, b)", "tl.abs(a)", "tl.max(a, 0)", "tl.join(a, b)", "tl.flip(a)", "tl.gather(a, i, 0)", "a.to(tl.float16)",
    "a.to(tl.float64)", "a.to(tl.int8, bitcast=True)", "a + tl.zeros((8,), tl.float16)", "a < 1.5", "tl.full((8,), 1.7, a.dtype)",
]  # fmt: skip


def kernel_of(expression: str, folder: Path) -> Any:
    """A kernel that computes `expression` of two blocks `a` and `b`."""
    path = folder / "computes_with_fp8.py"
    path.write_text(f"{HEAD}    r = {expression}\n    tl.static_print(r)\n")
    spec = importlib.util.spec_from_file_location("computes_with_fp8", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def compile_for(kernel: Any, dtype: str) -> None:
    source = triton.compiler.ASTSource(kernel, {"p": f"*{dtype}", "q": f"*{dtype}"})
    triton.compile(source, target=GPUTarget("cuda", 90, 32), assemble=False, until="ttir")


@pytest.mark.parametrize("dtype", ["fp8e4nv", "fp8e5", "fp8e4b15"])
@pytest.mark.parametrize("expression", REFUSED)
def test_arithmetic_is_refused_at_its_line(expression: str, dtype: str, tmp_path: Path) -> None:
    with pytest.raises(MinitritonError) as raised:
        compile_for(kernel_of(expression, tmp_path), dtype)
    assert f"computes_with_fp8.py:{LINE}:" in str(raised.value)
    assert dtype in str(raised.value)


@pytest.mark.parametrize("dtype", ["fp8e4nv", "fp8e5"])
@pytest.mark.parametrize("expression", ALLOWED)
def test_moving_and_converting_is_allowed(expression: str, dtype: str, tmp_path: Path) -> None:
    compile_for(kernel_of(expression, tmp_path), dtype)


def test_the_interpreter_refuses_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    kernel, bits = kernel_of("a.to(tl.float8e4nv, bitcast=True) + 1.5", tmp_path), np.zeros(8, np.uint8)
    with pytest.raises(MinitritonError, match="fp8e4nv is not computed with"):
        kernel[(1,)](bits, bits)


SUM_OF_FP8 = """
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32} {
  tt.func public @sum(%a: !tt.ptr<f8E5M2>) {
    %0 = tt.load %a : !tt.ptr<f8E5M2>
    %1 = arith.OP %0, %0 : f8E5M2
    tt.store %a, %1 : !tt.ptr<f8E5M2>
    tt.return
  }
}
"""


@pytest.mark.parametrize("op", ["addf", "maxnumf"])
def test_ir_text_that_computes_with_it_is_refused(op: str, tmp_path: Path) -> None:
    path = tmp_path / "sum.ttgir"
    path.write_text(SUM_OF_FP8.replace("OP", op))
    with pytest.raises(MinitritonError, match=r"f8E5M2 is not computed with"):
        triton.compile(str(path), target=GPUTarget("cuda", 90, 32), assemble=False)
