"""Bisection: the smallest pipeline and the smallest kernel that show a fault, here or against another version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.other_version import compare_versions

KERNEL = "running_product"
TREE = Path(__file__).parents[2]

LOSES = '''
from dataclasses import dataclass
from minitriton.dialects import arith
from minitriton.pipeline.pass_registry import Pass, register_pass

@register_pass
@dataclass(frozen=True)
class Loses(Pass):
    """Products become sums."""
    name = "test-bisect-loses"
    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, arith.MulfOp):
                made = arith.AddfOp(inner.lhs, inner.rhs)
                inner.parent.insert_op_before(made, inner)
                inner.result.replace_all_uses_with(made.result)
                inner.detach()
                inner.erase()
'''


@pytest.fixture
def wrong_pass(tmp_path: Path) -> Path:
    path = tmp_path / "loses.py"
    path.write_text(LOSES)
    return path


def default_pipeline() -> str:
    return str(corpus.task(KERNEL).pipeline())


def test_pipeline_and_kernel_become_small(wrong_pass: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = default_pipeline().replace("symbol-dce,", "symbol-dce,test-bisect-loses,", 1)
    small = tmp_path / "small.ttir"
    arguments = ["--pipeline", broken, "--load", str(wrong_pass), "--kernel-to", str(small), "--seconds", "4"]
    assert main(["bisect", KERNEL, *arguments]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[0] == "test-bisect-loses" or "test-bisect-loses" in said.partition("\n\n")[0]
    counts = re.search(r"(\d+) ops before and (\d+) now", said)
    assert counts and int(counts[2]) < int(counts[1])
    assert "arith.mulf" in small.read_text()


def test_more_of_a_metric_than_the_default_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    narrow = "minitriton-choose-layout{access=0 size-per-thread=1,1 order=0,1}"
    configuration = str(corpus.task("bench_transpose").pipeline()).replace(
        "coalesce-by-width,", f"coalesce-by-width,{narrow},"
    )
    assert main(["bisect", "bench_transpose", "--pipeline", configuration, "--more", "sectors"]) == 0
    left, _, shown = capsys.readouterr().out.partition("\n\n")
    assert len(left.splitlines()) < 12
    assert float(shown.split("sectors ")[-1]) > 2000


def test_the_same_version_shows_nothing_against_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", KERNEL, "--against", str(TREE)]) != 0
    assert "does not show it" in capsys.readouterr().err
    change = compare_versions(TREE, [KERNEL])[0]
    assert (change.ratio, change.before.program) == (1.0, change.after.program)
    assert "+0.0 %" in change.text()


def test_what_is_broken_here_and_right_there_is_found(wrong_pass: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = default_pipeline().replace("symbol-dce,", "symbol-dce,test-bisect-loses,", 1)
    arguments = ["--pipeline", broken, "--load", str(wrong_pass), "--more", "instructions=1"]
    assert main(["bisect", KERNEL, *arguments[:4], "--against", str(TREE)]) != 0
    assert "does not show it" in capsys.readouterr().err, "the other version loads the same pass"


def test_what_cannot_be_reduced_is_said() -> None:
    with pytest.raises(MinitritonError, match="is not a checkout"):
        compare_versions("/nowhere", [KERNEL])
