"""docs/targets.md, followed literally: a new architecture is one entry, a new back end its own folder and one registration."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen import llvm_session
from minitriton.codegen.ptx import machine_for
from minitriton.errors import MinitritonError
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import CUDAOptions, GPUTarget
from minitriton.target.architectures import ARCHITECTURES, Architecture
from minitriton.target.backends import BACKENDS


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


def source() -> ASTSource:
    return ASTSource(add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 256})


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


def test_a_back_end_is_a_folder_and_one_registration(toy: None) -> None:
    kernel = triton.compile(source(), GPUTarget("toy", 1), assemble=False)
    text = kernel.asm["toy"]
    assert text.startswith("kernel add\n")
    assert (text.count("= load"), text.count("fadd"), text.count("store ")) == (4, 2, 2)  # two elements a thread
    assert kernel.asm["toybin"] == b"\x7fTOY" + text.encode()
    assert "ptx" not in kernel.asm


def test_what_a_back_end_does_not_lower_is_said_with_its_name(toy: None) -> None:
    @triton.jit
    def count(x):
        tl.atomic_add(x, 1)

    with pytest.raises(MinitritonError, match=r"no lowering to LLVM for 'tt.atomic_rmw' on toy"):
        triton.compile(ASTSource(count, {"x": "*i32"}, {}), GPUTarget("toy", 1), assemble=False)


def test_an_unknown_back_end_is_an_error() -> None:
    with pytest.raises(MinitritonError, match="unknown backend 'hip'"):
        GPUTarget("hip", 942)
