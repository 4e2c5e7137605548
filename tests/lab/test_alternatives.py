"""Optuna's samplers choose all that a space says: passes put in, their options, LLVM's passes, layouts and memory."""

from __future__ import annotations

import sys

import pytest

from minitriton import lab
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.samplers import alternatives

KERNEL = "bench_softmax"
ONLY_ALTERNATIVES = {
    "insert": lab.Space(order=False, omit=False, duplicate=False, insert=("cse",)),
    "option": lab.Space(order=False, omit=False, duplicate=False, vary={"optimize-llvm-ir{level}": (1, 2)}),
    "llvm": lab.Space(order=False, omit=False, duplicate=False, llvm=True),
    "layouts": lab.Space(order=False, omit=False, duplicate=False, layouts=True),
    "memory": lab.Space(order=False, omit=False, duplicate=False, memory=True),
}


@pytest.mark.parametrize("which", ONLY_ALTERNATIVES)
def test_every_alternative_makes_another_pipeline_that_reads_back(which: str) -> None:
    candidates = Candidates(ONLY_ALTERNATIVES[which], corpus.task(KERNEL))
    own = candidates.first.pipeline
    made = [str(change(own)) for changes in alternatives(candidates).values() for change in changes]
    assert len(made) >= 2
    assert str(own) not in made
    for text in made:
        assert str(lab.Configuration.parse(text)) == text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("which", ONLY_ALTERNATIVES)
@pytest.mark.parametrize("sampler", ["tpe", "cma-es", "nsga2"])
def test_a_sampler_finds_them(which: str, sampler: str) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("cmaes")
    objective = "ptx_bytes"
    found = lab.search(KERNEL, ONLY_ALTERNATIVES[which], objective, sampler=sampler, budget=5, seed=2)
    assert len({record.pipeline for record in found.records}) > 1


def test_what_is_missing_for_cma_es_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(MinitritonError, match="needs cmaes"):
        lab.search(KERNEL, lab.Space(), "ptx_bytes", sampler="cma-es", budget=3)


def test_a_pass_goes_before_the_one_that_it_was_meant_for_wherever_that_is() -> None:
    candidates = Candidates(ONLY_ALTERNATIVES["insert"], corpus.task(KERNEL))
    own = candidates.first.pipeline
    name = "tritongpu-coalesce"
    changes = alternatives(candidates)["insert cse"]
    put_in = next(p for p in (change(own) for change in changes) if f"cse,{name}," in str(p))
    assert len(put_in.steps) == len(own.steps) + 1
    without = lab.Configuration.parse(str(own).replace(f"{name},", "", 1)).pipeline
    assert any(change(without) == without for change in changes)
