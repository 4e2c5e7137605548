"""Proofs of the rules of `minitriton-algebra`: each holds, its digest is up to date, and what is wrong or not proved does not load."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.errors import PipelineError
from minitriton.passes.algebra import rule as rules
from minitriton.passes.algebra.proving import NotProved, prove
from minitriton.passes.algebra.rule import FAMILIES, Rule, proved_rules

pytest.importorskip("z3")
ALL = [each for family in FAMILIES.values() for each in family.rules]


def test_every_rule_was_proved_as_it_stands() -> None:
    assert proved_rules() == ALL
    assert len({each.name for each in ALL}) == len(ALL) >= 70


@pytest.mark.parametrize("rule", ALL, ids=lambda each: each.name)
def test_a_rule_holds(rule: Rule) -> None:
    """With fewer numbers and widths than `minitriton passes minitriton-algebra --prove`."""
    prove(rule, thorough=False)


WRONG = [
    Rule("doubled", "addi(x, x)", "x"),
    Rule("overflowing", "divsi(muli(x, A), A)", "x", when="0 < A"),
    Rule("unguarded", "divsi(divsi(x, A), B)", "divsi(x, muli(A, B))", when="0 < A and 0 < B"),
    Rule("traps", "muli(x, 0)", "muli(0, divsi(x, x))"),
    Rule("loses-zero", "subf(0.0, x)", "negf(x)", over="float"),
    Rule("third", "divf(x, C)", "mulf(x, divf(1.0, C))", when="normal(C)", over="f16"),
    Rule("loses-nan", "minnumf(x, maxnumf(x, y))", "x", over="f32"),
    Rule("zeros", "select(cmpf_ogt(x, y), x, y)", "maxnumf(x, y)", over="f32"),
    Rule("associative", "addf(addf(x, A), B)", "addf(x, addf(A, B))", over="f32"),
    Rule("cancels", "exp(addf(x, y))", "mulf(exp(x), y)", over="f32", level="fast", within=64.0),
    Rule("of-negative", "max(mulf(x, C))", "mulf_rn(max(x), C)", over="float", when="normal(C)"),
]


@pytest.mark.parametrize("rule", WRONG, ids=lambda each: each.name)
def test_a_wrong_rule_is_not_proved(rule: Rule) -> None:
    with pytest.raises(NotProved, match=rule.name):
        prove(rule, thorough=False)


def test_a_digest_is_of_all_that_a_proof_depends_on() -> None:
    rule = Rule("doubled", "addi(x, x)", "muli(x, 2)")
    changes = {
        "before": "addi(x, y)",
        "after": "x",
        "when": "0 < x",
        "over": "any",
        "level": "fast",
        "ops": {"F": "addi"},
        "within": 2.0,
    }
    assert len({rule.digest, *(replace(rule, **{name: value}).digest for name, value in changes.items())}) == 1 + len(
        changes
    )


OUTSIDE = """
from minitriton.passes.algebra.rule import Rule, register_rules

register_rules(__file__, [Rule("{name}", "addi(x, x)", "{after}", over="integer")])
"""


DOUBLES = """
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a = tl.load(x + offsets)
    tl.store(y + offsets, a + a)
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    monkeypatch.setattr(rules, "FAMILIES", rules.FAMILIES)
    known = dict(FAMILIES)
    request.addfinalizer(lambda: (FAMILIES.clear(), FAMILIES.update(known)))
    FAMILIES.clear()
    return tmp_path / f"{request.node.name}_rules.py"


def test_a_rule_from_outside_loads_once_it_is_proved(outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside.write_text(OUTSIDE.format(name="doubled-twice", after="muli(x, 2)"))
    load = ["passes", "minitriton-algebra", "--load", str(outside)]
    assert main(load) == 0
    assert "not proved" in capsys.readouterr().out
    with pytest.raises(PipelineError, match="rule doubled-twice is not proved"):
        proved_rules()
    assert main([*load, "--prove"]) == 0
    assert [each.name for each in proved_rules()] == ["doubled-twice"]
    outside.with_suffix(".proved").write_text("0123456789abcdef by hand\n")
    with pytest.raises(PipelineError, match="minitriton passes minitriton-algebra --prove --load"):
        proved_rules()


def test_the_recipe_of_the_page_works_as_it_stands(
    outside: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`my_rules.py` of docs/algebra.md, and the two commands below it."""
    page = (Path(__file__).parents[3] / "docs" / "algebra.md").read_text()
    recipe = page.split("## Rules of your own")[1]
    folder = outside.parent
    (folder / "my_rules.py").write_text(recipe.split("```python\n")[1].split("```")[0])
    (folder / "kernel.py").write_text(DOUBLES)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MLIR_ENABLE_REMARK", "1")
    commands = [line.split() for line in recipe.split("\n## ")[0].splitlines() if line.startswith("    minitriton ")]
    assert [words[1] for words in commands] == ["passes", "compile"]
    for _, *words in commands:
        assert main([("*i32,*i32,BLOCK=128" if word == "'...'" else word) for word in words]) == 0
    assert "remark: doubled: addi(x, x) => muli(x, 2)" in capfd.readouterr().err


def test_the_prover_says_for_which_numbers_a_rule_is_wrong(outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outside.write_text(OUTSIDE.format(name="tripled", after="muli(x, 3)"))
    assert main(["passes", "minitriton-algebra", "--load", str(outside), "--prove"]) == 1
    assert "not proved tripled: rule tripled is wrong for integers of 1 bits" in capsys.readouterr().out
    assert outside.with_suffix(".proved").read_text() == ""


def test_without_the_solver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from minitriton.passes.algebra import proving

    proving._z3.cache_clear()
    monkeypatch.setitem(sys.modules, "z3", None)
    with pytest.raises(NotProved, match="SMT solver"):
        prove(Rule("doubled", "addi(x, x)", "muli(x, 2)"))
    proving._z3.cache_clear()
