"""Compiled kernels pickled, and described to hooks, as code generators do."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import knobs
from minitriton.codegen.cubin import Cubins
from minitriton.compiler import ASTSource
from minitriton.runtime.compiled_parts import MissingStage
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


def test_the_cubin_for_few_programs_is_cached_beside_the_other(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("minitriton.codegen.cubin.assembler_available", lambda *_: True)
    monkeypatch.setattr("minitriton.codegen.cubin.assembled", lambda *_: Cubins(b"\x7fELF many", b"\x7fELF \xff few"))
    source = ASTSource(double, {"x": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 8})
    triton.compile(source, GPUTarget("cuda", 90, 32))
    monkeypatch.delattr("minitriton.codegen.cubin.assembled")
    kernel = triton.compile(source, GPUTarget("cuda", 90, 32))
    assert (kernel.asm["cubin"], kernel.asm["few_cubin"]) == (b"\x7fELF many", b"\x7fELF \xff few")


def test_hooks_are_told_of_a_launch_by_its_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = double.warmup(np.zeros(8, np.float32), 8, BLOCK=8, grid=(1,))
    assert kernel.launch_metadata((1, 1, 1), 5, None, 8, 8) is None
    monkeypatch.setattr(knobs.runtime, "launch_enter_hook", lambda metadata: None)
    monkeypatch.setattr(kernel, "module", 1)
    assert kernel.launch_metadata((1, 1, 1), 5, None, 8, 8).get() == {"name": "double", "function": None, "stream": 5}
