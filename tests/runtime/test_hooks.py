"""Hooks of compiles: what they are told, what they can prevent, and compiling again from what they were told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minitriton
import minitriton.language as tl
from minitriton import MockTensor, knobs
from minitriton.runtime.launching.launch_hooks import LazyDict, launch_with_hooks

POINTER = MockTensor(tl.float32)


def kernel_of(value: int) -> Any:
    @minitriton.jit
    def fill(x, BLOCK: tl.constexpr, kind: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), tl.full((BLOCK,), 3, kind))

    return fill


@pytest.fixture(autouse=True)
def hooks(tmp_path: Path) -> Iterator[None]:
    with knobs.runtime.scope(), knobs.cache.scope(), knobs.compilation.scope():
        knobs.cache.dir = str(tmp_path)
        yield


def test_a_hook_is_told_once_of_each_compile() -> None:
    told: list[Any] = []
    knobs.runtime.jit_cache_hook = lambda **facts: told.append(facts)
    kernel = kernel_of(1)
    for block in (16, 32, 16):
        kernel.warmup(POINTER, block, tl.float32, grid=(1,), num_warps=2)
    assert [f["compile"]["constants"][(1,)] for f in told] == [16, 32]
    assert told[0]["repr"].startswith("kernel_of.<locals>.fill[num_warps=2, num_ctas=1")
    assert told[0]["compile"]["key"] in kernel.device_caches[0][0]
    assert told[0]["is_manual_warmup"]


def test_a_hook_can_prevent_a_compile() -> None:
    knobs.runtime.jit_cache_hook = lambda **_: True
    assert kernel_of(1).warmup(POINTER, 16, tl.float32, grid=(1,)) is None


def test_what_a_hook_was_told_compiles_to_the_same_kernel() -> None:
    told: list[Any] = []
    knobs.runtime.jit_post_compile_hook = lambda **facts: told.append(facts["compile"])
    first = kernel_of(1).warmup(POINTER, 16, tl.float32, grid=(1,))
    again = kernel_of(1)
    assert again.preload(told[0]["specialization_data"]).hash == first.hash
    assert [t["is_warmup"] for t in told] == [True, True]
    assert again.warmup(POINTER, 16, tl.float32, grid=(1,)).hash == first.hash
    assert len(told) == 2


def test_after_the_compile_a_hook_is_told_the_warps_that_it_chose() -> None:
    told: list[Any] = []
    knobs.runtime.jit_post_compile_hook = lambda **facts: told.append(facts)

    @minitriton.jit
    def centred(x, BLOCK: tl.constexpr):
        row = tl.load(x + tl.arange(0, BLOCK))
        tl.store(x + tl.arange(0, BLOCK), row - tl.max(row, 0))

    made = centred.warmup(POINTER, 32768, grid=(1,))
    assert made.metadata.num_warps == told[0]["compile"]["num_warps"] == 8 and "num_warps=8" in told[0]["repr"]
    assert centred.preload(told[0]["compile"]["specialization_data"]).hash == made.hash


def test_data_of_another_kernel_is_refused() -> None:
    told: list[Any] = []
    knobs.runtime.jit_cache_hook = lambda **facts: told.append(facts["compile"]["specialization_data"])
    kernel_of(1).warmup(POINTER, 16, tl.float32, grid=(1,))

    @minitriton.jit
    def other(x):
        pass

    with pytest.raises(RuntimeError, match="Specialization data is for"):
        other.preload(told[0])


def test_a_listener_hears_of_compiles_and_of_hits() -> None:
    heard: list[Any] = []
    knobs.compilation.listener = lambda **facts: heard.append(facts)
    for _ in range(2):
        kernel_of(1).warmup(POINTER, 16, tl.float32, grid=(1,))
    assert [f["cache_hit"] for f in heard] == [False, True]
    times = heard[0]["times"]
    assert [stage for stage, _ in times.lowering_stages][:4] == ["ttir", "ttgir", "llir", "ptx"]
    assert times.total >= times.total_lowering > 0


def test_launch_metadata_is_worked_out_when_asked_for() -> None:
    seen: list[Any] = []
    metadata = LazyDict({"name": "fill"})
    metadata.add(lambda size: seen.append("asked") or {"bytes": size}, (64,))
    knobs.runtime.launch_enter_hook = lambda given: seen.append(given)
    knobs.runtime.launch_exit_hook = lambda given: seen.append(given.get())
    launch_with_hooks(lambda: seen.append("launch"), metadata)
    assert seen == [metadata, "launch", "asked", {"name": "fill", "bytes": 64}]


def test_launches_of_a_compiled_kernel_are_told_too() -> None:
    x = np.zeros(16, np.int32)
    kernel = kernel_of(0)[(1,)](x, 16, tl.int32)
    seen: list[Any] = []
    knobs.runtime.launch_enter_hook = lambda given: seen.append((given.get()["name"], x.sum()))
    knobs.runtime.launch_exit_hook = lambda given: seen.append(x.sum())
    x[:] = 0
    kernel[(1,)](x)
    assert seen == [("fill", 0), 48]
