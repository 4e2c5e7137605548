"""Compiled kernels pickled, and described to hooks, as code generators do."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.codegen.assembled_code import Attempt, Cubin
from minitriton.compiler import ASTSource
from minitriton.errors import MinitritonError
from minitriton.runtime.compiled_kernel import CompiledKernel
from minitriton.runtime.stored_kernel import ASSEMBLED_ON_DEMAND, MissingStage
from minitriton.target import GPUTarget


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


def test_what_makes_up_a_compiled_kernel_can_be_pickled() -> None:
    kernel = double.warmup(np.zeros(8, np.float32), 8, BLOCK=8, grid=(1,))
    state = pickle.loads(pickle.dumps({"asm": kernel.asm, "metadata": kernel.metadata}))
    assert state["asm"]["ptx"] == kernel.asm["ptx"] and state["asm"]["cubin"] == kernel.asm["cubin"]
    assert state["metadata"] == kernel.metadata and state["metadata"]._fields == kernel.metadata._fields
    assert copy.copy(kernel).asm["ttir"] == kernel.asm["ttir"]
    with pytest.raises(MissingStage):
        state["asm"]["hsaco"]


def assembled(limit: int | None, *cubins: tuple[int | None, bytes]) -> Cubin:
    """What `assemble-ptx` gives for a kernel whose code under `limit` was taken."""
    attempts = tuple(Attempt(each, 32, 0, 8, False, code) for each, code in cubins)
    cubin = Cubin(dict(cubins)[limit])
    cubin.attempts, cubin.taken = attempts, next(each for each in attempts if each.limit == limit)
    return cubin


def test_the_cubin_for_few_programs_is_cached_next_to_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("minitriton.codegen.assemblers.assembler_available", lambda *_: True)
    made = assembled(32, (None, b"\x7fELF \xff few"), (32, b"\x7fELF many"))
    monkeypatch.setattr("minitriton.pipeline.stages.assemble", lambda *_: made)
    source = ASTSource(double, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 8})
    triton.compile(source, GPUTarget("cuda", 90, 32))
    monkeypatch.delattr("minitriton.pipeline.stages.assemble")
    kernel = triton.compile(source, GPUTarget("cuda", 90, 32))
    cubin = kernel.asm["cubin"]
    assert (cubin, kernel.asm["unlimited_cubin"]) == (b"\x7fELF many", b"\x7fELF \xff few")
    assert isinstance(cubin, Cubin) and cubin.table() == made.table() and cubin.table().count("->") == 1
    assert cubin.taken is not None and cubin.taken.cubin == cubin and cubin.unlimited is None


def test_a_cubin_for_few_programs_is_assembled_when_asked_for_and_then_cached(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("minitriton.codegen.assemblers.assembler_available", lambda *_: True)
    asked: list[str] = []

    def assemble(ptx: str, pipeline: str, registers: str = "") -> Cubin:
        if registers:
            asked.append(ptx)
            return Cubin(b"\x7fELF \xff few")
        return assembled(32, (32, b"\x7fELF many"))

    monkeypatch.setattr("minitriton.pipeline.stages.assemble", assemble)
    source = ASTSource(double, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 8})
    triton.compile(source, GPUTarget("cuda", 90, 32))
    kernel = triton.compile(source, GPUTarget("cuda", 90, 32))
    assert not asked and kernel.asm["unlimited_cubin"] == ASSEMBLED_ON_DEMAND
    for _ in range(2):
        assert kernel.unlimited_cubin() == b"\x7fELF \xff few"
        kernel = triton.compile(source, GPUTarget("cuda", 90, 32))
    assert asked == [kernel.asm["ptx"]] and kernel.asm["cubin"] == b"\x7fELF many"


def test_hooks_are_told_of_a_launch_by_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = double.warmup(np.zeros(8, np.float32), 8, BLOCK=8, grid=(1,))
    assert kernel.launch_metadata((1, 1, 1), 5, None, 8, 8) is None
    monkeypatch.setattr(knobs.runtime, "launch_enter_hook", lambda metadata: None)
    monkeypatch.setattr(kernel, "module", 1)
    assert kernel.launch_metadata((1, 1, 1), 5, None, 8, 8).get() == {"name": "double", "function": None, "stream": 5}


def tripled(kernel: CompiledKernel) -> list[float]:
    """What a launch of `triple` makes of ones."""
    x = np.ones(8, np.float32)
    kernel[(1,)](x, 8)
    return x.tolist()


@triton.jit
def times(x, factor: tl.constexpr):
    return x * factor


@triton.jit
def triple(x, n, helper: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, helper(tl.load(x + i, mask=i < n), 3), mask=i < n)


COPIES = {"pickle": lambda given: pickle.loads(pickle.dumps(given)), "copy": copy.copy, "deepcopy": copy.deepcopy}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("launched", [False, True])
def test_a_copy_of_a_compiled_kernel_is_launched_like_it(way: str, launched: bool) -> None:
    kernel = triple.warmup(np.zeros(8, np.float32), 8, helper=times, BLOCK=8, grid=(1,))
    if launched:
        assert tripled(kernel) == [3.0] * 8
    other = COPIES[way](kernel)
    assert tripled(other) == [3.0] * 8
    assert other.asm == kernel.asm and other.metadata == kernel.metadata and other.hash == kernel.hash
    assert (other.src.fn.arg_names, other.name) == (triple.arg_names, "triple")
    assert other.last_report is not None and other.last_report.ok
    with pytest.raises(MinitritonError, match="takes 2 arguments"):
        other[(1,)](np.ones(8, np.float32))


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
def test_a_kernel_compiled_from_text_is_copied(stage: str, tmp_path: Path) -> None:
    kernel = double.warmup(np.zeros(8, np.float32), 8, BLOCK=8, grid=(1,))
    (tmp_path / f"k.{stage}").write_text(kernel.asm[stage])
    compiled = triton.compile(tmp_path / f"k.{stage}", GPUTarget("cuda", 90, 32))
    for way in COPIES.values():
        x = np.ones(8, np.float32)
        way(compiled)[(1,)](x, 8)
        assert x.tolist() == [2.0] * 8


def test_another_process_launches_what_it_is_sent() -> None:
    kernel = triple.warmup(np.zeros(8, np.float32), 8, helper=times, BLOCK=8, grid=(1,))
    program = (
        "import pickle, sys, numpy as np; kernel = pickle.load(sys.stdin.buffer); x = np.ones(8, np.float32);"
        "kernel[(1,)](x, 8); print(x.tolist())"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, input=pickle.dumps(kernel), capture_output=True, timeout=120, check=True)
    assert ran.stdout.decode().strip() == str([3.0] * 8)


def test_a_kernel_is_pickled_by_its_name_as_a_function_is() -> None:
    def inner(x):
        tl.store(x, 0)

    assert pickle.loads(pickle.dumps(double)) is double
    assert copy.deepcopy(double) is double
    with pytest.raises(pickle.PicklingError, match=r"kernel '.*inner' cannot be pickled"):
        pickle.dumps(triton.jit(inner))
