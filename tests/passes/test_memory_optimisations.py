"""Passes of our own that make accesses wider or arithmetic shorter: the same bits with and without them, for less."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from emulated import compiled, equal, launches, run
from host_arrays import HostArrays
from workload import Workload
from workloads import small_workloads

WORKLOADS = {workload.name: workload for workload in small_workloads()}


def named(part: str) -> Workload:
    return next(workload for name, workload in WORKLOADS.items() if part in name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("part", "without", "cost", "factor"),
    [
        ("untile", "minitriton-enumerate-indices", "requests", 4),
        ("rotary pairs", "minitriton-merge-tile-axes", "requests", 4),
        ("vector add f32 4093", "minitriton-coalesce-by-width", "sectors", 3.9),
        ("vector add f32 4093", "minitriton-coalesce-by-width", "requests", 3),
        ("cast f16 to e4m3 8189", "minitriton-coalesce-by-width", "sectors", 8),
        ("cast f16 to e4m3 8189", "minitriton-coalesce-by-width", "instructions", 2),
        ("cast e4m3 to f16", "minitriton-coalesce-by-width", "instructions", 1.1),
        ("sort", "minitriton-simplify-integers", "instructions", 1.2),
        ("top 8", "minitriton-simplify-integers", "instructions", 1.15),
        ("softmax", "minitriton-use-free-shared-memory", "barriers", 2),
        ("layer norm f16", "minitriton-use-free-shared-memory", "barriers", 1.5),
    ],
)
def test_a_pass_saves_and_changes_no_bit(part: str, without: str, cost: str, factor: float) -> None:
    workload = named(part)
    tensors, (found,) = run(workload, "minitriton", {}, resources=False)
    others, (before,) = run(workload, "minitriton", {"without": without}, resources=False)
    assert equal(workload, tensors, others)
    assert before[cost] >= factor * found[cost]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "part",
    [
        "vector add f32 4096",
        "softmax",
        "layer norm f16",
        "rms norm",
        "transpose",
        "sum axis 1",
        "cross",
        "halves",
        "cab",
    ],
)
def test_kernels_that_gain_nothing_keep_their_code(part: str) -> None:
    workload = named(part)
    everywhere = "minitriton-use-free-shared-memory,minitriton-sink-widening-casts,minitriton-cache-reused-loads"
    for launch in launches(workload, workload.make(HostArrays(0))):
        ours = compiled(workload.file, launch, "minitriton", {"without": everywhere})
        without = compiled(workload.file, launch, "minitriton", {"without": "minitriton"})
        assert ours.asm["ptx"] == without.asm["ptx"]


@pytest.mark.sampled(3)
@pytest.mark.oracle
@pytest.mark.parametrize(
    "part", ["untile", "rotary pairs", "sort", "top 8", "bac", "gather rows", "gather axis", "cumulative"]
)
def test_results_have_the_bits_of_triton_s(part: str) -> None:
    pytest.importorskip("triton")
    workload = named(part)
    ours, _ = run(workload, "minitriton", {}, resources=False)
    theirs, _ = run(workload, "triton", {}, resources=False)
    assert equal(workload, ours, theirs)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 127, 1023, 1025, 4093])
def test_a_split_mask_moves_every_element_and_no_other(n: int) -> None:
    def make(torch) -> dict:
        return {
            "x": torch.randn(4096, device="cuda"),
            "y": torch.randn(4096, device="cuda"),
            "out": torch.zeros(4096, device="cuda"),
        }

    launch = lambda k, t: k.vector_add[(-(-n // 1024),)](t["x"], t["y"], t["out"], n, BLOCK=1024)  # noqa: E731
    tensors, _ = run(Workload("add", "vector_add", make, launch, lambda t: None), "minitriton", {}, resources=False)
    t = {key: tensor.array for key, tensor in tensors.items()}
    np.testing.assert_array_equal(t["out"], np.where(np.arange(4096) < n, t["x"] + t["y"], np.float32(0)))


def numbers(part: str) -> dict[str, np.ndarray]:
    tensors, _ = run(named(part), "minitriton", {}, resources=False)
    return {key: tensor.array for key, tensor in tensors.items()}


def test_sorted_rows_are_numpy_s() -> None:
    t = numbers("sort")
    np.testing.assert_array_equal(t["out"], np.sort(t["x"], axis=1))


def test_the_largest_are_numpy_s() -> None:
    t = numbers("top 8")
    np.testing.assert_array_equal(t["out"], -np.sort(-t["x"], axis=1)[:, :8])


def test_untiled_rows_are_numpy_s() -> None:
    t = numbers("untile")
    np.testing.assert_array_equal(t["out"], t["x"].transpose(0, 2, 1, 3).reshape(t["out"].shape))


def test_turned_pairs_are_numpy_s() -> None:
    t = {key: array.astype(np.float32) for key, array in numbers("rotary pairs").items()}
    cos, sin = t["cos"][:, None], t["sin"][:, None]
    a, b = t["x"][..., 0::2], t["x"][..., 1::2]
    expected = np.stack((a * cos - b * sin, b * cos + a * sin), axis=-1).reshape(t["x"].shape)
    np.testing.assert_allclose(t["out"], expected, rtol=2e-3, atol=2e-3)
