"""Rounds of the benchmarks on a GPU: what runs before a contender changes its clock, so each must run after each of the others."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from contest import balanced_orders, time_in_turns
from matmul import arguments_of, changed_options
from matmul_cases import LARGE, Tile

from minitriton.passes.accelerate_matmul import AccelerateMatmul
from minitriton.passes.pipelining.pipeline import PipelineLoops
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.target import CUDAOptions, GPUTarget


@pytest.mark.parametrize("count", range(1, 8))
def test_each_comes_in_each_place_and_after_each_other_equally_often(count: int) -> None:
    names = [str(number) for number in range(count)]
    orders = balanced_orders(names)
    assert all(sorted(order) == names for order in orders)
    places = Counter((name, place) for order in orders for place, name in enumerate(order))
    after = Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert len(places) == count * count and len(set(places.values())) == 1
    assert len(after) == count * (count - 1) and len(set(after.values())) <= 1


def test_a_contender_that_slows_what_follows_slows_all_others_alike() -> None:
    before = "cool"

    def time(run: Callable[[], str]) -> float:
        nonlocal before
        milliseconds = 2.0 if before == "hot" else 1.0
        before = run()
        return milliseconds

    times = time_in_turns({name: (lambda name=name: name) for name in ("ours", "theirs", "hot")}, time)
    assert len(times["ours"]) == 6 and abs(sum(times["ours"]) - sum(times["theirs"])) <= 1


def test_a_contender_may_have_a_pass_with_other_options() -> None:
    instead = ["tritongpu-accelerate-matmul{swap-tf32=true}", "tritongpu-pipeline{num-stages=2 slice-from=1}"]
    asked = arguments_of(["float32", "--instead", instead[0], "--instead", instead[1]])
    assert asked.names == ["float32"] and arguments_of([]).instead == []
    given = changed_options(Tile(128, 256, 32, 4, 2), asked.without, asked.instead)
    steps = Pipeline.parse(given["pipeline"]).steps
    assert [step.swap_tf32 for step in steps if isinstance(step, AccelerateMatmul)] == [True]
    assert [(step.num_stages, step.slice_from) for step in steps if isinstance(step, PipelineLoops)] == [(2, 1)]
    own = pipeline_for(GPUTarget("cuda", 90, 32), CUDAOptions(num_warps=4, num_stages=2))
    assert len(steps) == len(own.steps)
    assert changed_options(LARGE, "minitriton-share-pointer-steps", []) == {"without": "minitriton-share-pointer-steps"}
    assert changed_options(LARGE, "", []) == {}
