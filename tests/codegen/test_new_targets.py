"""docs/targets.md, followed literally: a new architecture is one entry, a new back end its own folder and one registration."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen import llvm_session
from minitriton.codegen.ptx import machine_for
from minitriton.errors import MinitritonError
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import Hook
from minitriton.pipeline.pass_registry import Step
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.target.architectures import ARCHITECTURES, Architecture
from minitriton.target.backends import BACKENDS


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


def source(BLOCK: int = 256) -> ASTSource:
    return ASTSource(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": BLOCK})


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> dict[int, Architecture]:
    """`ARCHITECTURES` with the entry that the page adds."""
    page = (Path(__file__).parents[2] / "docs/targets.md").read_text()
    block = page.partition("## Add an architecture")[2].partition("```python\n")[2].partition("```")[0]
    changed = dict(ARCHITECTURES)
    exec(block, {"ARCHITECTURES": changed, "replace": replace})
    monkeypatch.setitem(ARCHITECTURES, 121, changed[121])
    return ARCHITECTURES


def test_an_architecture_is_one_entry(added: dict[int, Architecture]) -> None:
    kernel = triton.compile(source(), GPUTarget("cuda", 121), assemble=False)
    assert ".target sm_121a" in kernel.asm["ptx"]
    assert 'ttg.target = "cuda:121"' in kernel.asm["ttgir"]


def test_a_processor_that_llvm_does_not_know_is_an_error(added: dict[int, Architecture]) -> None:
    added[121] = replace(added[121], sm="sm_999")
    with pytest.raises(MinitritonError, match="LLVM cannot compile for sm_999"):
        machine_for(GPUTarget("cuda", 121), CUDAOptions())


def test_a_processor_that_llvm_would_end_the_process_for_is_an_error() -> None:
    with pytest.raises(MinitritonError, match=r"PTX version 8.8 does not support target 'sm_110a'"):
        llvm_session.target_machine("sm_110a", "+ptx88")


def test_every_figure_is_that_of_the_programming_guide() -> None:
    """CUDA programming guide, "Technical Specifications per Compute Capability"."""
    figures = {
        arch: (a.warps_per_sm, a.ctas_per_sm, a.shared_kib_per_sm, a.shared_memory_kib)
        for arch, a in ARCHITECTURES.items()
    }
    assert figures == {
        70: (64, 32, 96, 96), 75: (32, 16, 64, 64), 80: (64, 32, 164, 163), 86: (48, 16, 100, 99), 87: (48, 16, 164, 163),
        89: (48, 24, 100, 99), 90: (64, 32, 228, 227), 100: (64, 32, 228, 227), 120: (48, 24, 100, 99),
    }  # fmt: skip
    assert {(a.registers_per_sm, a.registers_per_thread, a.threads_per_cta) for a in ARCHITECTURES.values()} == {
        (65536, 255, 1024)
    }


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins"))
    before = dict(BACKENDS)
    import toy_target

    toy_target.register()
    yield
    BACKENDS.clear()
    BACKENDS.update(before)
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy_target"]:
        del sys.modules[name]


TOY = ("toy", "t64")


def test_a_back_end_is_a_folder_and_one_registration(toy: None) -> None:
    kernel = triton.compile(source(BLOCK=512), GPUTarget(*TOY), assemble=False)
    text = kernel.asm["toy"]
    assert text.startswith("kernel add\n")
    assert (text.count("= load"), text.count("fadd"), text.count("store ")) == (4, 2, 2)  # two elements a thread
    assert kernel.asm["toybin"] == b"\xffTOY" + text.encode()
    again = triton.compile(source(BLOCK=512), GPUTarget(*TOY), assemble=False)  # from the cache
    assert again.asm["toybin"] == kernel.asm["toybin"]
    assert "ptx" not in kernel.asm
    assert 'ttg.target = "toy:t64"' in kernel.asm["ttgir"]
    assert "threadsPerWarp = [64]" in kernel.asm["ttgir"]


def test_a_back_end_has_options_of_its_own(toy: None) -> None:
    kernel = triton.compile(source(), GPUTarget(*TOY), {"waves": 4}, assemble=False)
    assert (kernel.metadata.waves, kernel.metadata.arch, kernel.metadata.warp_size) == (4, "t64", 64)
    assert not hasattr(kernel.metadata, "ptx_version")
    with pytest.raises(MinitritonError, match="unknown compile option 'maxnreg'"):
        triton.compile(source(), GPUTarget(*TOY), {"maxnreg": 64}, assemble=False)
    with pytest.raises(MinitritonError, match="waves must be at most 8"):
        triton.compile(source(), GPUTarget(*TOY), {"waves": 9}, assemble=False)
    with pytest.raises(MinitritonError, match="unsupported architecture toy:t65"):
        triton.compile(source(), GPUTarget(*TOY), {"arch": "t65"}, assemble=False)


def test_launches_go_to_the_emulator_and_the_driver_of_the_back_end(toy: None) -> None:
    from toy_target import device

    x, y = np.arange(512, dtype=np.float32), np.ones(512, np.float32)
    out = np.zeros_like(x)
    kernel = add[(1,)](x, y, out, 512, BLOCK=512)
    assert kernel.metadata.target == GPUTarget(*TOY)
    assert [kernel.asm["toy"]] == device.RUN
    assert (out == x + y).all()


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + i, e / tl.sum(e, 0), i < n)


@triton.jit
def transpose(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + j * M + i, tl.load(x + i * N + j))


@triton.jit
def scan_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.cumsum(tl.load(x + i * N + j), 1))


@triton.jit
def row_sums(x, out, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + tl.arange(0, M), tl.sum(tl.load(x + i * N + j), 1))


class Lowered(Hook):
    """Keeps the module of the `llvm` dialect."""

    def after(self, step: Step, value: Any) -> None:
        if step.name == "convert-triton-gpu-to-llvm":
            self.module = value.clone()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize(
    ("kernel", "constants", "expected"),
    [
        (
            softmax,
            {"BLOCK": 1024},
            lambda x: np.exp(x[:1000] - x[:1000].max()) / np.exp(x[:1000] - x[:1000].max()).sum(),
        ),
        (transpose, {"M": 64, "N": 64}, lambda x: x.reshape(64, 64).T.ravel()),
        (transpose, {"M": 16, "N": 256}, lambda x: x.reshape(16, 256).T.ravel()),
        (scan_rows, {"M": 2, "N": 2048}, lambda x: x.reshape(2, 2048).cumsum(1).ravel()),
        (scan_rows, {"M": 512, "N": 8}, lambda x: x.reshape(512, 8).cumsum(1).ravel()),
        (row_sums, {"M": 4, "N": 1024}, lambda x: x.reshape(4, 1024).sum(1)),
        (row_sums, {"M": 64, "N": 64}, lambda x: x.reshape(64, 64).sum(1)),
    ],
)
def test_warps_of_64_lanes_compute_the_right_numbers(
    toy: None, kernel: Any, constants: dict[str, int], expected: Any, num_warps: int, run_module: Any
) -> None:
    parameters = {"x": "*fp32", "out": "*fp32"} | ({"n": "i32"} if kernel is softmax else {})
    lowered = Lowered()
    compiled = triton.compile(
        ASTSource(kernel, parameters, constants),
        GPUTarget(*TOY),
        {"num_warps": num_warps},
        hooks=[lowered],
        assemble=False,
    )
    text = compiled.asm["toy"]
    if kernel is not transpose:
        assert "shuffle_" in text
    if num_warps > 1 and constants.get("M") != 512:  # rows of 8 are scanned within a warp
        assert "barrier" in text
    x = np.random.default_rng(0).integers(-4, 4, 4096).astype(np.float32)
    want = expected(x)
    out = np.zeros_like(want)
    run_module(lowered.module, x, out, *([1000] if kernel is softmax else []))
    np.testing.assert_allclose(out, want, rtol=1e-5)


def test_what_a_back_end_does_not_lower_is_said_with_its_name(toy: None) -> None:
    @triton.jit
    def count(x):
        tl.atomic_add(x, 1)

    with pytest.raises(MinitritonError, match=r"no lowering to LLVM for 'tt.atomic_rmw' on toy"):
        triton.compile(ASTSource(count, {"x": "*i32"}, {}), GPUTarget(*TOY), assemble=False)


def test_an_unknown_back_end_is_an_error() -> None:
    with pytest.raises(MinitritonError, match="unknown backend 'metal'"):
        GPUTarget("metal", 3)
