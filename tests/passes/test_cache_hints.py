"""`minitriton-cache-hints` and `minitriton-overlap-launches`: what stands in PTX, what stays, what is refused, what a launch is told."""

from __future__ import annotations

import re

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.emulator.rules.modifiers import unknown_modifier
from minitriton.errors import PipelineError
from minitriton.language.extra.cuda import gdc_wait
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.runtime.compiled_kernel import CompiledKernel

FLOATS = triton.MockTensor(tl.float32)
INTS = triton.MockTensor(tl.int32)


@triton.jit
def returns_early(x, out, n):
    if tl.program_id(0) >= n:
        return
    tl.store(out, tl.load(x))


@triton.jit
def scaled(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, cache_modifier=".cg")
    tl.store(out + at, a * b)


@triton.jit
def dependent(x, n):
    gdc_wait()
    tl.store(x, n)


def compiled(kernel: triton.JITFunction, *args: object, steps: str, **options: object) -> CompiledKernel:
    """`kernel` with `steps` before the lowering."""
    own = kernel.warmup(*args, grid=(1,), **options).metadata.pipeline
    lowering = "convert-triton-gpu-to-llvm"
    return kernel.warmup(*args, grid=(1,), pipeline=own.replace(lowering, f"{steps},{lowering}", 1), **options)


def accesses(steps: str) -> set[str]:
    """The loads and stores of `scaled` in PTX."""
    ptx = compiled(scaled, FLOATS, FLOATS, FLOATS, 1000, BLOCK=512, steps=steps).asm["ptx"]
    return set(re.findall(r"(?:ld|st)\.global\S*", ptx))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("minitriton-cache-hints{hint=cs}", "ld.global.cs.v4.b32"),
        ("minitriton-cache-hints{hint=no_allocate prefetch=256}", "ld.global.L1::no_allocate.L2::256B.v4.b32"),
        ("minitriton-cache-hints{prefetch=128}", "ld.global.L2::128B.v4.b32"),
        ("minitriton-cache-hints{hint=evict_first prefetch=64}", "ld.global.L1::evict_first.L2::cache_hint.L2::64B.v4.b32"),
        ("minitriton-cache-hints{of=stores hint=wt}", "st.global.wt.v4.b32"),
        ("minitriton-cache-hints{of=stores hint=evict_last}", "st.global.L1::evict_last.L2::cache_hint.v4.b32"),
    ],
)  # fmt: skip
def test_a_hint_stands_in_the_instruction_and_the_author_s_stays(steps: str, expected: str) -> None:
    found = accesses(steps)
    assert expected in found
    assert any(one.startswith("ld.global.cg") for one in found)
    assert all(unknown_modifier(one) is None for one in found)


def test_one_load_is_chosen_by_its_number() -> None:
    assert "ld.global.cs.v4.b32" in accesses("minitriton-cache-hints{hint=cs access=0}")
    assert accesses("minitriton-cache-hints{hint=cs access=1}") == accesses("minitriton-cache-hints")


@pytest.mark.parametrize(
    ("step", "named"),
    [
        ("minitriton-cache-hints{hint=wt}", "loads lack hint 'wt'"),
        ("minitriton-cache-hints{of=stores prefetch=128}", "stores cannot prefetch"),
        ("minitriton-cache-hints{prefetch=96}", "96"),
        ("minitriton-cache-hints{of=atomics}", "atomics"),
    ],
)
def test_a_hint_that_there_is_not_is_refused(step: str, named: str) -> None:
    with pytest.raises(PipelineError, match=named):
        Pipeline.parse(step)


def test_overlapping_launches_wait_first_and_say_so_to_the_driver() -> None:
    plain = scaled.warmup(FLOATS, FLOATS, FLOATS, 1000, BLOCK=512, grid=(1,))
    kernel = compiled(scaled, FLOATS, FLOATS, FLOATS, 1000, BLOCK=512, steps="minitriton-overlap-launches")
    ptx = kernel.asm["ptx"]
    first, wait, load = (
        ptx.index(one) for one in ("griddepcontrol.launch_dependents", "griddepcontrol.wait", "ld.global")
    )
    assert first < wait < load
    assert kernel.metadata.launch_pdl and not plain.metadata.launch_pdl
    twice = "minitriton-overlap-launches,minitriton-overlap-launches"
    assert compiled(scaled, FLOATS, FLOATS, FLOATS, 1000, BLOCK=512, steps=twice).asm["ptx"] == ptx


def test_a_kernel_that_may_return_early_waits_before_that() -> None:
    ptx = compiled(returns_early, FLOATS, FLOATS, 1000, steps="minitriton-overlap-launches").asm["ptx"]
    assert ptx.index("griddepcontrol.wait") < ptx.index("ld.global")


def test_a_kernel_that_says_where_it_waits_stays_as_it_is() -> None:
    kernel = compiled(dependent, INTS, 3, steps="minitriton-overlap-launches")
    assert kernel.asm["ptx"].count("griddepcontrol") == 1
    assert not kernel.metadata.launch_pdl


def test_older_gpus_have_no_overlapping_launches() -> None:
    kernel = compiled(scaled, FLOATS, FLOATS, FLOATS, 1000, BLOCK=512, steps="minitriton-overlap-launches", arch="sm80")
    assert "griddepcontrol" not in kernel.asm["ptx"] and not kernel.metadata.launch_pdl
