"""A kernel that no block of the target can hold, and a target that there is not, are refused by the compile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.commands import cli
from minitriton.compiler import ASTSource, default_target
from minitriton.errors import OutOfResources
from minitriton.pipeline.pass_manager import Hook
from minitriton.pipeline.pass_registry import Step
from minitriton.target import GPUTarget

HUGE = """#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
#blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @f(%x: !tt.ptr<f32>) {
    %value = arith.constant dense<1.0> : tensor<512x512xf32, #blocked>
    %buffer = ttg.local_alloc %value : (tensor<512x512xf32, #blocked>) -> !ttg.memdesc<512x512xf32, #shared, #smem>
    %loaded = ttg.local_load %buffer : !ttg.memdesc<512x512xf32, #shared, #smem> -> tensor<512x512xf32, #blocked>
    tt.print " x: " {hex = false, isSigned = array<i32: 0>} : %loaded : tensor<512x512xf32, #blocked>
    tt.return
  }
}
"""


@triton.jit
def transposes(x, out, N: tl.constexpr):
    rows = tl.arange(0, N)[:, None]
    columns = tl.arange(0, N)[None, :]
    block = tl.load(x + rows * N + columns)
    tl.store(out + rows * N + columns, tl.trans(block))


def source(n: int) -> ASTSource:
    return ASTSource(transposes, {"x": "*fp64", "out": "*fp64", "N": "constexpr"}, {"N": n})


def test_a_buffer_larger_than_shared_memory_is_refused(
    tmp_path: Path, refused: Callable[..., Any], fails: Callable[..., str]
) -> None:
    path = tmp_path / "huge.ttgir"
    path.write_text(HUGE)
    pieces = (f"{path}:5:", "shared memory, Required: 1048576, Hardware limit: 232448", "help: Reducing block sizes")
    error = refused(lambda: triton.compile(path, GPUTarget("cuda", 90)), *pieces)
    assert isinstance(error, OutOfResources)
    assert (error.required, error.limit, error.name) == (1048576, 232448, "shared memory")
    fails(cli.main, ["compile", str(path)], *pieces)


def test_a_tile_whose_scratch_does_not_fit_is_refused_at_the_kernels_line(refused: Callable[..., Any]) -> None:
    error = refused(lambda: triton.compile(source(256), GPUTarget("cuda", 90)), "shared memory, Required:", "help: ")
    assert isinstance(error, OutOfResources) and error.required > error.limit == 227 * 1024
    assert error.location is not None and error.location.file == __file__


def test_the_limit_is_that_of_the_target(refused: Callable[..., Any]) -> None:
    assert triton.compile(source(128), GPUTarget("cuda", 90)).metadata.shared > 99 * 1024
    error = refused(lambda: triton.compile(source(128), GPUTarget("cuda", 86)), "Hardware limit: 101376")
    assert isinstance(error, OutOfResources)


def test_more_threads_than_a_block_has_are_refused(refused: Callable[..., Any]) -> None:
    error = refused(
        lambda: triton.compile(source(32), GPUTarget("cuda", 90), {"num_warps": 64}),
        "threads, Required: 2048, Hardware limit: 1024",
    )
    assert isinstance(error, OutOfResources)


@pytest.mark.parametrize(
    ("backend", "arch", "message"),
    [
        ("metal", 90, "unknown backend 'metal'"),
        ("hip", 90, "unsupported architecture hip:90"),
        ("cuda", 60, "unsupported architecture sm_60"),
        ("cuda", "gfx942", "unsupported architecture sm_gfx942"),
    ],
)
def test_a_target_that_is_not_supported_is_refused(
    backend: str, arch: Any, message: str, refused: Callable[..., Any]
) -> None:
    refused(lambda: GPUTarget(backend, arch), message, "help: ")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("hopper", "TRITON_OVERRIDE_ARCH is 'hopper', which names no architecture"),
        ("sm_90", "TRITON_OVERRIDE_ARCH is 'sm_90', which names no architecture"),
        ("sm60", "unsupported architecture sm_60"),
    ],
)
def test_a_wrong_override_of_the_architecture_is_refused(
    value: str, message: str, refused: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", value)
    refused(lambda: transposes.warmup(*[triton.MockTensor(tl.float64)] * 2, N=16, grid=(1,)), message, "help: ")


@pytest.mark.parametrize(("value", "arch"), [("sm80", 80), ("sm90a", 90), ("89", 89)])
def test_the_architecture_can_be_overridden(value: str, arch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", value)
    assert default_target() == GPUTarget("cuda", arch)


def test_what_does_not_fit_can_be_read_up_to_the_stage_where_it_is_placed_and_is_not_lowered(
    refused: Callable[..., Any],
) -> None:
    ran: list[str] = []

    class Noting(Hook):
        def before(self, step: Step, value: Any) -> None:
            ran.append(step.name)

    kernel = triton.compile(source(256), GPUTarget("cuda", 90), until="ttgir")
    assert list(kernel.asm) == ["ttir", "ttgir"]
    refused(lambda: triton.compile(source(256), GPUTarget("cuda", 90), hooks=[Noting()]), "shared memory, Required:")
    assert ran[-1] == "place-shared-memory"
