"""Warp-specialized kernels as Triton makes them: our interpreter and our PTX give the products."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from kernel_source import kernel_file
from triton_steps import steps_of

import minitriton
from minitriton.dialects.text import parse_module
from minitriton.emulator import run
from minitriton.interpreter import interpret
from minitriton.target import GPUTarget

pytestmark = pytest.mark.oracle


@triton.jit
def specialized(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(tl.cdiv(K, BK), warp_specialize=True, num_stages=2):
        acc = tl.dot(a.load([row, k * BK]), b.load([col, k * BK]).T, acc)
    c.store([row, col], acc.to(tl.float16))


@pytest.fixture(scope="module")
def ttgir(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The kernel at the end of Triton's TTGIR stage."""
    path = tmp_path_factory.mktemp("kernel") / "case.py"
    signature = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), "*fp16") | dict.fromkeys(("M", "N", "K"), "i32")
    signature |= dict.fromkeys(("BM", "BN", "BK"), "constexpr")
    constants: dict[Any, Any] = {(6,): 128, (7,): 64, (8,): 64}
    attributes = {(index,): [["tt.divisibility", 16]] for index in range(6)}
    path.write_text(kernel_file(specialized, signature, constants, attributes, {"num_warps": 4}, 90))
    record = steps_of(path)
    text = record["texts"][[step for step in record["steps"] if step["stage"] == "ttgir"][-1]["after"]]
    assert "ttg.warp_specialize" in text
    return text


def operands() -> tuple[np.ndarray[Any, Any], ...]:
    rng = np.random.default_rng(3)
    a, b = (rng.uniform(-1, 1, shape).astype(np.float16) for shape in ((128, 192), (64, 192)))
    return a, b, np.zeros((128, 64), np.float16), a.astype(np.float32) @ b.T.astype(np.float32)


def test_the_interpreter_runs_it(ttgir: str) -> None:
    a, b, c, expected = operands()
    interpret(parse_module(ttgir), "specialized", [a, b, c, 128, 64, 192], (1,))
    np.testing.assert_allclose(c, expected, atol=0.02, rtol=0.01)


def test_our_ptx_of_it_runs_on_the_emulator(ttgir: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.ttgir"
    path.write_text(ttgir)
    kernel = minitriton.compile(str(path), target=GPUTarget("cuda", 90, 32))
    assert kernel.asm["ptx"].count("setmaxnreg") > 1
    a, b, c, expected = operands()
    scratch = kernel.metadata.global_scratch_size
    report = run(
        kernel.asm["ptx"], "specialized", (1,), [a, b, c, 128, 64, 192], kernel.metadata.shared, scratch=scratch
    )
    assert report.ok, [str(finding) for finding in report.findings]
    np.testing.assert_allclose(c, expected, atol=0.02, rtol=0.01)
