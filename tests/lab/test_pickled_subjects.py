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
from minitriton.lab.sweeping.subject import Subject

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


def of_file(folder: Path) -> Subject:
    return Reference(
        f"{own_file(folder)}:pickled_add_one", signature="*fp32:16,*fp32:16,i32,BLOCK=128", grid=(4,)
    ).subject()


def of_call(folder: Path) -> Subject:
    made = corpus.subject("running_sums")
    return Subject.of_call(made.source.fn, made.arguments().values, made.grid, **made.constants)


def added(folder: Path) -> Subject:
    corpus.add(own_file(folder))
    return corpus.subject("pickled_add_one")


@pytest.fixture(autouse=True)
def _corpus_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_added", [])


def instructions(pickled: bytes) -> float:
    subject = pickle.loads(pickled)
    return lab.Evaluator(subject, ["instructions"])(lab.Point(subject.pipeline())).metrics["instructions"]


def test_subjects_are_the_same_in_a_process_that_knows_nothing_of_them(tmp_path: Path) -> None:
    subjects = [
        corpus.subject("running_sums"), corpus.subject("bench_softmax"), added(tmp_path), of_file(tmp_path), of_call(tmp_path),
    ]  # fmt: skip
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(instructions, map(pickle.dumps, subjects)))
    assert found == [lab.Evaluator(s, [])(lab.Point(s.pipeline())).metrics["instructions"] for s in subjects]


def test_a_variant_and_its_large_launch_go_too() -> None:
    subject = corpus.subject("bench_softmax").variant((("num_warps", 8),))
    again: Subject = pickle.loads(pickle.dumps(subject))
    assert (again.options, again.timed_grid, again.footprint) == (
        subject.options,
        subject.timed_grid,
        subject.footprint,
    )


def test_a_kernel_of_a_file_goes_by_the_file(tmp_path: Path) -> None:
    kernel = load_kernel(f"{own_file(tmp_path)}:pickled_add_one")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(repr, kernel).result() == "JITFunction(own:pickled_add_one)"


def test_a_case_of_the_corpus_is_found_again() -> None:
    case = corpus.find("bench_softmax")
    assert pickle.loads(pickle.dumps(case)) is case
