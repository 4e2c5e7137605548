"""The option `arch` compiles for another architecture; what a target cannot do is said with Triton's kind of error."""

from __future__ import annotations

import re

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.codegen.assemblers import assembler_available


@triton.jit
def scaled(data, out):
    offsets = tl.arange(0, 128)
    tl.store(out + offsets, tl.load(data + offsets) * 1.5 + 1.0)


TENSORS = (triton.MockTensor(tl.float32), triton.MockTensor(tl.float32))


@pytest.mark.parametrize("arch", ["sm70", "sm75", "sm80", "sm86", "sm89", "sm90"])
def test_the_option_arch_names_the_architecture(arch: str) -> None:
    kernel = scaled.warmup(*TENSORS, arch=arch, grid=(1,))
    assert f'ttg.target = "cuda:{arch[2:]}"' in kernel.asm["ttgir"]
    assert re.search(rf"\.target sm_{arch[2:]}", kernel.asm["ptx"])
    assert kernel.metadata.arch == arch
    if assembler_available(arch):
        assert kernel.asm["cubin"]


def test_an_arch_that_is_none_is_refused() -> None:
    with pytest.raises(triton.errors.MinitritonError, match="arch is 'hopper', which names no architecture"):
        scaled.warmup(*TENSORS, arch="hopper", grid=(1,))


def test_clusters_need_hopper() -> None:
    with pytest.raises(ValueError, match=r"num_ctas > 1 requires NVIDIA SM90\+ \(Hopper\)"):
        scaled.warmup(*TENSORS, arch="sm80", num_ctas=2, grid=(1,))


def test_numbers_of_warps_are_powers_of_two() -> None:
    with pytest.raises(AssertionError, match="must be a power of 2"):
        scaled.warmup(*TENSORS, num_warps=3, grid=(1,))
