"""Of the best configuration the edits that matter are left, and the options that are printed make it of the default pipeline."""

from __future__ import annotations

import argparse
import random
import shlex

import pytest

from minitriton.commands.cli import main
from minitriton.commands.shared_options import add_pipeline_edits, edited
from minitriton.lab import Configuration, Space, corpus, search
from minitriton.lab.sweeping.reducing import minimal, options_of
from minitriton.lab.sweeping.search import difference
from minitriton.lab.sweeping.space import parse_steps


def of_options(text: str, default: str) -> str:
    parser = argparse.ArgumentParser()
    add_pipeline_edits(parser)
    return str(edited(parse_steps(default), parser.parse_args(shlex.split(text)).edits))


@pytest.mark.parametrize(
    ("default", "other", "options"),
    [
        ("inline,canonicalize,cse", "inline,cse", "--skip canonicalize"),
        ("inline,cse,sccp,cse", "inline,cse,sccp", "--skip 'cse#2'"),
        ("inline,cse,sccp", "sccp,inline,cse", "--move 'sccp before inline'"),
        ("inline,cse", "inline,cse,sccp", "--insert 'sccp after cse'"),
        ("cse,optimize-llvm-ir{level=3}", "cse,optimize-llvm-ir{level=1}", "--set 'optimize-llvm-ir{level=1}'"),
    ],
)
def test_the_options_are_those_of_the_edits(default: str, other: str, options: str) -> None:
    found = options_of(parse_steps(default), Configuration.parse(other))
    assert (found, of_options(found, default)) == (options, str(parse_steps(other)))


def test_settings_are_options_too_and_constants_are_named() -> None:
    found = options_of(parse_steps("cse"), Configuration.parse("[BLOCK=64 arch=80 num_warps=8] cse"))
    assert found == "--option num_warps=8 --arch 80 with BLOCK=64 in --signature or the launch"


def test_options_make_any_configuration_of_the_default_one() -> None:
    task, rng = corpus.task("running_sums"), random.Random(0)
    default = task.pipeline()
    for _ in range(20):
        other = Configuration(Space(insert=("cse", "sccp")).sample(default, task.facts, rng))
        assert of_options(options_of(default, other), str(default)) == str(other.pipeline)


def test_edits_that_do_not_matter_are_dropped() -> None:
    default = parse_steps("inline,canonicalize,cse,sccp")
    good = Configuration.parse("[num_warps=8] sccp,inline,cse,cse")

    def as_good(one: Configuration) -> bool:
        return "canonicalize" not in str(one)

    assert str(minimal(lambda settings: default, good, as_good)) == "inline,cse,sccp"


def test_a_search_leaves_what_matters_and_prints_options_that_reproduce_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = search("held_stencil", Space(), "instructions", budget=25, seed=0)
    assert found.gain > 0.2 and found.options.startswith("--insert 'tritongpu-coalesce before ")
    assert found.text().endswith(f"\n    {found.options}")
    assert main(["check", "held_stencil", *shlex.split(found.options), "--no-poison"]) == 0
    assert "78 steps, none wrong" in capsys.readouterr().out


def test_a_setting_is_not_said_again_as_an_option_of_a_pass() -> None:
    first, warps = (
        "cse,convert-triton-to-tritongpu{target=cuda:90}",
        "convert-triton-to-tritongpu{target=cuda:90 num-warps=1}",
    )
    assert difference(first, f"[num_warps=1] cse,{warps}") == ["  [] -> [num_warps=1]"]
    assert len(difference(first, f"[num_warps=2] cse,{warps}")) == 3
