"""Kernels and what is tried on them go to other processes: of the corpus, of a file, of a call."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from minitriton import lab
from minitriton.commands.kernel_files import load_kernel
from minitriton.lab import corpus
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.tuning_task import TuningTask

OWN = """
import numpy as np
import triton
import triton.language as tl
from minitriton.lab.corpus.case import collector, f32, normal

CASES, case = collector(__file__)

@case(inputs=lambda rng: [normal(rng, 500), f32(500), 500], expected=lambda x, *_: {1: x + 1}, grid=(4,), BLOCK=128)
@triton.jit
def pickled_add_one(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
"""


def own_file(folder: Path) -> Path:
    (folder / "own.py").write_text(OWN)
    return folder / "own.py"


def of_file(folder: Path) -> TuningTask:
    return Reference(
        f"{own_file(folder)}:pickled_add_one", signature="*fp32:16,*fp32:16,i32,BLOCK=128", grid=(4,)
    ).task()


def of_call(folder: Path) -> TuningTask:
    made = corpus.task("running_sums")
    return TuningTask.of_call(made.source.fn, made.arguments().values, made.grid, **made.constants)


def added(folder: Path) -> TuningTask:
    corpus.add(own_file(folder))
    return corpus.task("pickled_add_one")


@pytest.fixture(autouse=True)
def _corpus_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_added", [])


def instructions(pickled: bytes) -> float:
    task = pickle.loads(pickled)
    return lab.Evaluator(task, ["instructions"])(lab.Configuration(task.pipeline())).metrics["instructions"]


def test_subjects_are_the_same_in_a_process_that_knows_nothing_of_them(tmp_path: Path) -> None:
    tasks = [
        corpus.task("running_sums"), corpus.task("bench_softmax"), added(tmp_path), of_file(tmp_path), of_call(tmp_path),
    ]  # fmt: skip
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(instructions, map(pickle.dumps, tasks)))
    assert found == [lab.Evaluator(s, [])(lab.Configuration(s.pipeline())).metrics["instructions"] for s in tasks]


def test_a_variant_and_its_large_launch_go_too() -> None:
    task = corpus.task("bench_softmax").variant((("num_warps", 8),))
    again: TuningTask = pickle.loads(pickle.dumps(task))
    assert (again.options, again.timed_grid, again.footprint) == (
        task.options,
        task.timed_grid,
        task.footprint,
    )


def test_a_kernel_of_a_file_goes_by_the_file(tmp_path: Path) -> None:
    kernel = load_kernel(f"{own_file(tmp_path)}:pickled_add_one")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(repr, kernel).result() == "JITFunction(own:pickled_add_one)"


def test_a_case_of_the_corpus_is_found_again() -> None:
    case = corpus.find("bench_softmax")
    assert pickle.loads(pickle.dumps(case)) is case
