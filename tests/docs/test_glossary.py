"""Every term of the glossary has one line and a name that the sources have; there are as many as a reader reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/glossary.md").read_text()
TERMS = re.findall(r"^\| ([^|`]+) \| ([^|]+) \| `([^`]+)` \|$", PAGE, re.MULTILINE)
WORDS = frozenset(word for path in (ROOT / "minitriton").rglob("*.py") for word in re.findall(r"\w+", path.read_text()))
ELSEWHERE = {"ratchet": "tests/ratchets/test_ratchets.py", "parity": "tests/parity"}
"""Terms of the tests."""


@pytest.mark.parametrize(("term", "name"), [(term, name) for term, _, name in TERMS], ids=[term for term, *_ in TERMS])
def test_the_code_has_what_a_term_names(term: str, name: str) -> None:
    assert (ROOT / ELSEWHERE[term]).exists() if term in ELSEWHERE else name in WORDS


def test_terms_are_in_order_and_few() -> None:
    names = [term for term, *_ in TERMS]
    assert names == sorted(names, key=str.lower)
    assert 38 <= len(names) <= 48


def test_a_meaning_is_one_line() -> None:
    assert not [term for term, meaning, _ in TERMS if len(meaning.split()) > 25]
