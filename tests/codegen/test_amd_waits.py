"""Waits before barriers and releases of AMD: for what the last iteration of a loop leaves outstanding, which LLVM forgets."""

import re
from typing import Any

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.emulator import amdgcn
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import GPUTarget


@triton.jit
def permuted(x, out, n):
    i = tl.arange(0, 256)
    v = tl.load(x + i)
    for _ in range(n):
        v = tl.reshape(tl.permute(tl.reshape(v, [2, 128]), [1, 0]), [256])
    tl.store(out + i, v)


@triton.jit
def counted(x, out, n):
    i = tl.arange(0, 256)
    for step in range(n):
        tl.atomic_add(x, 1, sem="release")
        tl.store(out + step * 256 + i, step)


@triton.jit
def summed(x, out, n):
    i = tl.arange(0, 256)
    total = 0.0
    for _ in range(n):
        v = tl.load(x + i)
        total = tl.sum(v * total)
    tl.store(out + i, total)


def compiled(kernel: Any, arch: str, num_warps: int = 2, element: str = "fp32") -> Any:
    source = ASTSource(kernel, {"x": f"*{element}", "out": f"*{element}", "n": "i32"}, {})
    return triton.compile(source, GPUTarget("hip", arch), {"num_warps": num_warps})


def run(text: str, kernel: Any) -> tuple[np.ndarray, set[str]]:
    x, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    report = amdgcn.run(text, None, (1,), [x, out, 5], shared_bytes=kernel.metadata.shared)
    return out, {finding.kind for finding in report.findings}


def test_a_loop_that_only_permutes_waits_for_its_reads_before_it_writes_again() -> None:
    kernel = compiled(permuted, "gfx942")
    text = kernel.asm["amdgcn"]
    out, findings = run(text, kernel)
    expected = np.arange(256, dtype=np.float32)
    for _ in range(5):
        expected = expected.reshape(2, 128).T.ravel()
    np.testing.assert_array_equal(out, expected)
    assert not findings
    without, count = re.subn(r"s_waitcnt lgkmcnt\(0\)(\s+s_barrier\s+s_waitcnt vmcnt\(0\))", r"\1 lgkmcnt(0)", text)
    assert count == 1
    assert run(without, kernel)[1] == {"shared-race"}


@pytest.mark.parametrize(
    ("arch", "wait"), [("gfx1100", r"s_waitcnt vmcnt\(0\) lgkmcnt\(0\)"), ("gfx1200", "s_wait_loadcnt_dscnt 0x0")]
)
def test_rdna_waits_by_its_own_counters(arch: str, wait: str) -> None:
    text = compiled(permuted, arch, 4).asm["amdgcn"]
    loop = text[text.index(".LBB0_2:") :]
    assert re.match(rf"\.LBB0_2:\s*(\.loc.*\s*)*{wait}\s+s_barrier", loop), loop[:200]


def test_only_the_first_barrier_of_an_iteration_has_a_wait_of_its_own() -> None:
    """LLVM knows what is outstanding at the others."""
    text = compiled(summed, "gfx942", 4).asm["llir"]
    assert text.count("call void @llvm.amdgcn.s.barrier()") == 2
    assert text.count("call void @llvm.amdgcn.s.waitcnt") == 1


def test_a_release_in_a_loop_waits_for_the_stores_of_the_last_iteration() -> None:
    text = compiled(counted, "gfx942", element="i32").asm["amdgcn"]
    release = text[text.index("buffer_wbl2") : text.index("global_atomic_add")]
    assert "s_waitcnt vmcnt(0)" in release
    text = compiled(counted, "gfx1200", 4, "i32").asm["amdgcn"]
    release = text[: text.index("global_atomic_add")]
    assert "s_wait_storecnt 0x0" in release
