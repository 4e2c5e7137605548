"""Mutated texts and command lines: a short run, and that the judge sees what must not happen."""

from __future__ import annotations

import resource
from pathlib import Path
from random import Random
from typing import Any

import pytest

from minitriton.commands import cli, opt
from minitriton.errors import MinitritonError
from minitriton.fuzz.mutation import verdict as mutant_verdict
from minitriton.fuzz.mutation.mutants import KINDS, MUTATIONS, Mutant, mutant, mutated
from minitriton.fuzz.mutation.verdict import evaluate, run

TOOLS = {"minitriton": cli.main, "minitriton-opt": opt.main}


def test_a_short_run_finds_nothing() -> None:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    reports = [evaluate(90, number, KINDS, tools=TOOLS) for number in range(21)]
    assert resource.getrlimit(resource.RLIMIT_AS) == limits
    assert [f.text for r in reports for f in r.findings] == []
    assert len({name for r in reports for name in r.features}) > 5, "every kind is run"


def test_mutants_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first, again = (mutant("ttir", 3, 4, tmp_path).path for _ in range(2))
    assert first is not None and again is not None
    text = first.read_bytes()
    mutant("ttir", 3, 5, tmp_path)
    assert first.read_bytes() != text
    mutant("ttir", 3, 4, tmp_path)
    assert first.read_bytes() == text


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[m.__name__ for m in MUTATIONS])
def test_every_mutation_takes_every_text(mutation: object) -> None:
    assert callable(mutation)
    for seed, text in enumerate(["", "a", "1", "\n", "%x", "@k", "i32", '"', "module { tt.func @k() }\n", "\0ä"] * 3):
        assert isinstance(mutation(text, Random(seed)), str)
        assert isinstance(mutated(text, Random(seed)), str)


JUDGED = {
    "traceback": (KeyError("x"), "", "traceback"),
    "error that names no place": (MinitritonError("it is wrong"), "", "unlocated"),
    "error at its place": (MinitritonError("k.ttir:1:1: it is wrong"), "", None),
    "an error of a pass": (None, "internal error in pass 'cse'", "internal"),
    "a pass that changes numbers": (None, "pass 'cse' is broken", "wrong"),
    "a pass that fails": (None, "pass 'cse' is broken\n  it failed: KeyError", "internal"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_the_judge_tells_what_must_not_happen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error, said, kind = JUDGED[name]

    def main(arguments: list[str]) -> int:
        if isinstance(error, MinitritonError):
            import sys

            print(error, file=sys.stderr)
            return 1
        if error is not None:
            raise error
        print(said)
        return 1

    path = tmp_path / "k.ttir"
    _, finding = run(Mutant("ttir", "minitriton", ("compile", str(path)), path), {"minitriton": main})
    assert (None if finding is None else finding.kind) == kind


def test_a_file_outside_the_folder_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def stray(made: Mutant, tools: Any) -> tuple[str, None]:
        Path("..", "stray").write_text("")
        return "accepted", None

    monkeypatch.setattr(mutant_verdict, "run", stray)
    (finding,) = evaluate(1, 0, ["pipeline"], tools=TOOLS).findings
    assert finding.kind == "escape"
