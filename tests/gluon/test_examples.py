"""The examples of `examples/gluon` on small shapes: on the emulator, against NumPy."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from minitriton.lab.corpus.case import load_file

EXAMPLES = Path(__file__).parents[2] / "examples/gluon"
RNG = np.random.default_rng(0)


def example(name: str) -> ModuleType:
    return load_file(EXAMPLES / f"{name}.py", "minitriton")


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize(("layout", "load"), [("WIDE", "ld.global.v4.b32"), ("ACROSS", "ld.global.b32")])
def test_a_copy_moves_what_its_layout_gives_a_thread(layout: str, load: str) -> None:
    x, out = RNG.standard_normal((20, 208), np.float32), np.zeros((20, 208), np.float32)
    kernel = example("copy").copy(x, out, layout=getattr(example("copy"), layout))
    np.testing.assert_array_equal(out, x)
    assert f"{load} " in kernel.asm["ptx"]


def test_a_copy_of_blocks_with_edges() -> None:
    x, out = half(70, 328), np.zeros((70, 328), np.float16)
    example("tma_copy").copy(x, out, stages=3)
    np.testing.assert_array_equal(out, x)


def test_a_matmul_with_loads_and_dots_in_flight() -> None:
    a, b, c = half(72, 200), half(200, 64), np.zeros((72, 64), np.float16)
    kernel = example("wgmma_matmul").matmul(a, b, c, bm=64, bn=64, bk=64, stages=3)
    np.testing.assert_allclose(c, product(a, b), rtol=1e-2, atol=1e-2)
    assert "wgmma.wait_group.sync.aligned 1" in kernel.asm["ptx"]


def test_a_matmul_of_programs_that_stay_and_warps_with_roles() -> None:
    a, b, c = half(200, 72), half(72, 192), np.zeros((200, 192), np.float16)
    kernel = example("persistent_matmul").matmul(a, b, c, bn=128, bk=32, stages=2, group=1, programs=2)
    np.testing.assert_allclose(c, product(a, b), rtol=1e-2, atol=1e-2)
    assert "setmaxnreg.inc.sync.aligned.u32 	240" in kernel.asm["ptx"]


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_two_warp_groups(causal: bool) -> None:
    q, k, v, o = half(1, 256, 64), half(1, 256, 64), half(1, 256, 64), np.zeros((1, 256, 64), np.float16)
    example("attention").attention(q, k, v, o, causal)
    np.testing.assert_allclose(o, example("attention").expected(q, k, v, causal), rtol=1e-2, atol=2e-3)
