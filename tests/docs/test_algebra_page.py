"""The table of rules in docs/algebra.md is that of the code. `python tests/docs/test_algebra_page.py` writes it anew."""

from __future__ import annotations

from pathlib import Path

from minitriton.passes.algebra import FAMILIES

PAGE = Path(__file__).parents[2] / "docs" / "algebra.md"
BEGIN = "## The rules\n"


def table() -> str:
    """All rules, as text."""
    lines = ["", "```text"]
    for family in FAMILIES.values():
        for rule in family.rules:
            lines.append(f"{rule.level:5} {rule.name:32} {rule.before} => {rule.after}")
            lines += [f"{'':38} when {rule.when}"] if rule.when else []
            lines += [f"{'':38} where {rule.profit}"] if rule.profit else []
            lines += [f"{'':38} {name} = {ops}" for name, ops in rule.ops.items()]
    return "\n".join([*lines, "```", ""])


def test_the_page_has_the_rules() -> None:
    before, _, after = PAGE.read_text().partition(BEGIN)
    assert before
    assert after == table(), "write it anew: python tests/docs/test_algebra_page.py"


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(BEGIN)[0] + BEGIN + table())
