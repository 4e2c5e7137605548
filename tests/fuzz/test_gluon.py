"""Drawn kernels in Gluon: NumPy, interpreter and emulator agree, and a missing wait is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.fuzz.generation.elements import INT32
from minitriton.fuzz.generation.generator import kernel_seed
from minitriton.fuzz.gluon import KIND, GluonProgram, GluonStep, generate, run_program, source_of

ORACLES = ("numpy", "interpreter", "emulator")


@pytest.mark.parametrize("number", range(6))
def test_the_levels_agree_with_numpy(number: int) -> None:
    verdict, outcomes = run_program(generate(kernel_seed(3, number)), ORACLES)
    assert not verdict.findings and set(outcomes) <= {*ORACLES}


def _copies() -> GluonProgram:
    """A program with an asynchronous copy that lacks its wait."""
    drawn = (generate(kernel_seed(0, number)) for number in range(400))
    return next(p for p in drawn if p.lacks_wait and len(p.steps) > 2)


def test_a_missing_wait_is_found_by_all_levels() -> None:
    verdict, outcomes = run_program(_copies(), ORACLES)
    assert not verdict.findings
    assert "may still write" in str(outcomes["interpreter"].error) and outcomes["emulator"].findings


def test_one_that_goes_unnoticed_is_a_finding() -> None:
    """A program that is said to lack a wait, and does not."""
    program = _copies()
    verdict, _ = run_program(replace(program, steps=tuple(_with_wait(step) for step in program.steps)), ORACLES)
    assert {finding.kind for finding in verdict.findings} == {"missed"}


def _with_wait(step: GluonStep) -> GluonStep:
    wait = "async_copy.wait_group(0)"
    return replace(
        step,
        lines=tuple(
            line for each in step.lines for line in ((each, "async_copy.wait_group(0) ") if each == wait else (each,))
        ),
    )


def test_a_wrong_number_is_a_finding_that_is_made_smaller(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = GluonStep(("v = v + 1",), "v = v + 2")
    right = GluonStep(
        ("v = gl.convert_layout(v, gl.SliceLayout(2, gl.BlockedLayout([1, 1, 1], [4, 4, 2], [4, 1, 1], [2, 1, 0])))",)
    )
    program = GluonProgram(1, (16, 16), INT32, 4, (right, wrong, right))

    def shows(candidate: GluonProgram) -> bool:
        return any(f.kind == "difference" for f in run_program(candidate, ORACLES)[0].findings)

    small = KIND.shrink(program, shows, 60.0)
    assert small.steps == (wrong,) and "v + 1" in source_of(small)
    finding = run_program(small, ORACLES)[0].findings[0]
    path = KIND.write(tmp_path, small, finding, 1, 2, ORACLES)
    scope: dict[str, object] = {"__name__": "reproducer"}
    exec(path.read_text(), scope)
    assert scope["PROGRAM"] == small


def test_the_command_draws_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--kind", "gluon", "--count", "2", "--jobs", "0", "--oracles", "numpy,emulator"]) == 0
    assert "findings: 0" in capsys.readouterr().out
