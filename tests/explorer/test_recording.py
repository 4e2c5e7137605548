"""A compile watched pass by pass, and what the terminal shows of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.explorer.recording import Recording, record
from minitriton.lab import corpus
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Pass, register_pass

KERNEL = "log_sum_exp"


@pytest.fixture(scope="module")
def recording() -> Recording:
    task = corpus.task(KERNEL)
    return record(task.source, task.target, task.options)


def test_it_leads_to_the_ptx_that_a_compile_gives(recording: Recording) -> None:
    import minitriton

    task = corpus.task(KERNEL)
    ptx = minitriton.compile(task.source, task.target, task.options, assemble=False).asm["ptx"]
    instructions = [line for line in ptx.splitlines() if line.startswith("\t") and line.endswith(";")]
    shown = [line.text for line in recording.stage("ptx").lines]
    assert [line for line in shown if line.startswith("\t") and line.endswith(";")] == instructions


def test_every_pass_is_there_with_its_level(recording: Recording) -> None:
    assert recording.steps[0].name == "frontend"
    assert ",".join(step.text for step in recording.steps[1:]) == recording.pipeline
    levels = [step.after.level for step in recording.steps]
    assert list(dict.fromkeys(levels)) == ["ttir", "ttgir", "llvm dialect", "llir", "ptx"]


def test_unchanged_passes_change_nothing_and_changed_ones_do(recording: Recording) -> None:
    for index, step in enumerate(recording.steps[1:], 1):
        assert (set(recording.difference(index).counts()) == {"same"}) != step.changed


def test_every_level_leads_back_to_the_kernels_lines(recording: Recording) -> None:
    path = next(path for path in recording.sources if path.endswith("reducing.py"))
    lines = recording.sources[path].splitlines()
    for level in ("ttgir", "llir", "ptx"):
        named = {line.source[1] for line in recording.stage(level).lines if line.source and line.source[0] == path}
        assert any("tl.load" in lines[number - 1] for number in named), level
        assert any("tl.store" in lines[number - 1] for number in named), level


@register_pass
@dataclass(frozen=True)
class Refuses(Pass):
    """A pass that raises."""

    name = "test-refuses"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise MinitritonError("not this module")


def test_a_failing_pass_ends_the_recording_with_its_error() -> None:
    task = corpus.task(KERNEL)
    steps = task.pipeline().steps
    broken = record(task.source, task.target, task.options, Pipeline((*steps[:2], Refuses(), *steps[2:])))
    assert [step.name for step in broken.steps] == ["frontend", steps[0].name, steps[1].name, "test-refuses"]
    assert "not this module" in str(broken.steps[-1].error)


def test_a_pass_that_never_ran_is_not_found(recording: Recording) -> None:
    with pytest.raises(MinitritonError, match="ran 0 times"):
        recording.find("limit-registers")


def test_the_command_lists_passes_and_shows_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", KERNEL]) == 0
    table = capsys.readouterr().out
    assert "tritongpu-coalesce" in table and "triton-combine" not in table
    assert main(["diff", KERNEL, "--pass", "tritongpu-coalesce"]) == 0
    text = capsys.readouterr().out
    assert "+     %" in text and "ttg.convert_layout" in text and "\x1b[" not in text
    assert main(["diff", KERNEL, "--pass", "canonicalize:2"]) == 0
    assert "changed nothing" in capsys.readouterr().out
    assert main(["diff", KERNEL, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[1]["pass"] == "inline"


@pytest.mark.parametrize("wrong", [["--pass", "no-such-pass"], ["--pass", "cse:99"], ["--pass", "cse:x"]])
def test_a_pass_that_did_not_run_is_named(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", KERNEL, *wrong]) == 1
    assert "--pass" in (error := capsys.readouterr().err) or "passes: inline" in error


@pytest.mark.parametrize("kernel", ["log_sum_exp", "exact_attention", "tensor_while", "tiled_dot_of_clusters"])
def test_what_is_remembered_of_ops_gives_the_text_that_printing_anew_gives(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minitriton.explorer.module_lines import ModuleLines

    states = 0
    remembering = ModuleLines.lines

    def both(self: ModuleLines, module: Any, names: Any, rows: Any) -> Any:
        nonlocal states
        found = remembering(self, module, names, rows)
        assert found == remembering(ModuleLines(self._identities), module, names, rows)
        states += 1
        return found

    monkeypatch.setattr(ModuleLines, "lines", both)
    task = corpus.task(kernel)
    record(task.source, task.target, task.options)
    assert states > 8


@pytest.mark.parametrize("kernel", ["log_sum_exp", "nested_for", "exact_attention"])
def test_ops_and_values_are_called_the_same_whether_or_not_modules_are_kept(kernel: str) -> None:
    def lines(keep: bool) -> list[Any]:
        task = corpus.task(kernel)
        made = record(task.source, task.target, task.options, keep=keep)
        return [step.after.lines for step in made.steps]

    assert lines(True) == lines(False)
