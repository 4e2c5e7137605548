"""The examples of `minitriton_kernels/gluon` on small shapes: on the emulator, against NumPy."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from minitriton.lab.corpus.case import load_file

EXAMPLES = Path(__file__).parents[2] / "minitriton_kernels/gluon"
RNG = np.random.default_rng(0)


def example(name: str) -> ModuleType:
    return load_file(EXAMPLES / f"{name}.py", "minitriton")


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("name", [path.stem for path in sorted(EXAMPLES.glob("*.py"))])
def test_each_runs_on_the_interpreter(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    example(name).main()
    assert capsys.readouterr().out


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


def test_a_matmul_with_copies_of_its_threads_in_flight() -> None:
    a, b, c = half(40, 80), half(80, 64), np.zeros((40, 64), np.float16)
    kernel = example("async_matmul").matmul(a, b, c, bm=64, bn=64, bk=32)
    np.testing.assert_allclose(c, product(a, b), rtol=1e-2, atol=1e-2)
    assert "cp.async.wait_group \t1;" in kernel.asm["ptx"]


@pytest.mark.parametrize(("shared", "conflicts"), [("as rows", 31), ("swizzled", 0), ("padded", 0)])
def test_a_transposition_has_the_conflicts_that_its_layouts_say(shared: str, conflicts: int) -> None:
    x, out = RNG.standard_normal((48, 32), np.float32), np.zeros((32, 48), np.float32)
    kernel = example("transpose").transpose(x, out, shared)
    np.testing.assert_array_equal(out, x.T)
    assert example("transpose").conflicts(shared) == (0, conflicts)
    assert kernel.last_report.total("shared").conflicts == 32 * 2 * conflicts


def test_matmuls_of_groups_that_end_within_a_tile() -> None:
    ends = np.array([30, 30, 200], np.int32)
    a, b, c = half(200, 64), half(3, 64, 64), np.zeros((200, 64), np.float16)
    example("grouped_matmul").matmul(a, b, ends, c, bn=64, bk=32, stages=2, programs=2)
    np.testing.assert_allclose(c, example("grouped_matmul").expected(a, b, ends), rtol=1e-2, atol=1e-2)


def test_a_matmul_of_scaled_fp8() -> None:
    module = example("fp8_matmul")
    a, b = (RNG.integers(0, 0x40, shape, np.uint8) for shape in ((70, 256), (128, 256)))
    a_scales, b_scales = (RNG.random(shape, np.float32) + 0.5 for shape in ((2, 70), (2, 1)))
    c = np.zeros((70, 128), np.float16)
    module.matmul(a, b, a_scales, b_scales, c, stages=2)
    np.testing.assert_allclose(c, module.expected(a, b, a_scales, b_scales), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("k", [128, 256])
def test_a_matmul_of_weights_of_4_bits(k: int) -> None:
    module = example("int4_matmul")
    weights = RNG.integers(-8, 8, (128, k))
    x, scales = half(20, k), (RNG.random((k // 128, 128)) / 8).astype(np.float16)
    c = np.zeros((20, 128), np.float16)
    module.matmul(x, module.pack(weights), scales, c, tokens=32, stages=2)
    np.testing.assert_allclose(c, module.expected(x, weights, scales), rtol=1e-2, atol=2e-2)
