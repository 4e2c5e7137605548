"""`torch.compile` of functions that launch kernels of the program's own, on a machine without a GPU."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from minitriton.runtime.driver import has_gpu

pytestmark = pytest.mark.skipif(has_gpu(), reason="there is a GPU")

PROGRAM = textwrap.dedent("""
    import torch, triton, triton.language as tl
    from torch.library import triton_op, wrap_triton
    from triton.language import arange, cdiv, float32, load, store
    from triton.language.math import exp as exponential

    THREE: tl.constexpr = tl.constexpr(3)

    @triton.jit
    def inner(x, n, B: tl.constexpr):
        return exponential(x) * THREE + cdiv(n, B)

    @triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128}, num_warps=8)], key=["n"])
    @triton.heuristics({"EVEN": lambda a: a["n"] % a["B"] == 0})
    @triton.jit
    def tuned(x, scale, out, n, B: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * B + arange(0, B)
        v = load(x + i) if EVEN else load(x + i, mask=i < n)
        store(out + i, inner(v.to(float32), n, 128) * load(scale), mask=i < n)

    @triton.jit
    def add(x, y, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

    def call_tuned(x, scale):
        out = torch.empty_like(x)
        tuned[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, scale, out, x.numel())
        return out

    @triton_op("test_compile::add", mutates_args={})
    def add_op(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        wrap_triton(add)[(triton.cdiv(x.numel(), 128),)](x, y, out, x.numel(), B=128)
        return out

    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return add_op(x, y)

        @staticmethod
        def backward(ctx, grad):
            return add_op(grad.contiguous(), grad.contiguous()), grad

    x, y = torch.randn(200, device="cuda"), torch.randn(200, device="cuda")
    scale = torch.tensor(2.0, device="cuda")
    f = torch.compile(lambda x, s: call_tuned(x + 1, s).relu(), fullgraph=True)
    torch.testing.assert_close(f(x, scale), (torch.exp(x + 1) * 3 + 2) * 2)
    f = torch.compile(lambda x, y: add_op(x.sin(), y), fullgraph=True)
    torch.testing.assert_close(f(x, y), x.sin() + y)
    a = x.clone().requires_grad_()
    torch.compile(lambda a, y: (Add.apply(a, y) ** 2).sum(), fullgraph=True)(a, y).backward()
    torch.testing.assert_close(a.grad, 4 * (x + y))
    with torch.autocast("cuda", dtype=torch.bfloat16):
        linear = torch.nn.Linear(200, 8).cuda()
        assert torch.compile(linear)(x).dtype == torch.bfloat16
    with torch.autocast("cuda"):
        assert torch.get_autocast_dtype("cuda") == torch.float16
    print("compiled")
    torch._dynamo.reset()
    torch.compile(add_op, options={"cpp_wrapper": True})(x, y)
""")

BY_ITS_OWN_NAME = textwrap.dedent("""
    import torch
    import minitriton as triton
    import minitriton.language as tl

    @triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
    @triton.jit
    def double(x, out, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

    def call(x):
        out = torch.empty_like(x)
        double[lambda meta: (triton.cdiv(200, meta["B"]),)](x + 1, out, 200)
        double.fn[(2,)](out, out, 200, B=128)
        return out.relu()

    x = torch.randn(200)
    torch.testing.assert_close(torch.compile(call)(x), ((x + 1) * 4).relu())
    print("launched between two graphs")
""")


def run(folder: Path, text: str, *how: str) -> subprocess.CompletedProcess[str]:
    for needed in ("torch", "sympy", "networkx"):
        pytest.importorskip(needed)
    (folder / "program.py").write_text(text)
    return subprocess.run([sys.executable, *how, "program.py"], capture_output=True, text=True, cwd=folder)


def test_functions_with_kernels_are_compiled_for_the_emulator(tmp_path: Path) -> None:
    done = run(tmp_path, PROGRAM, "-m", "minitriton.run_as_triton", "--cpu")
    assert "compiled\n" in done.stdout, done.stderr
    assert "leave out cpp_wrapper" in done.stderr


def test_kernels_that_torch_does_not_know_are_launched_outside_of_its_graphs(tmp_path: Path) -> None:
    done = run(tmp_path, BY_ITS_OWN_NAME)
    assert done.stdout == "launched between two graphs\n", done.stderr
