"""The page with what it shows inside: marks of the page in a kernel's text stay text."""

from __future__ import annotations

import re

from minitriton.explorer.page import live_page
from minitriton.explorer.page import page_with as page


def test_marks_in_what_is_shown_stay_as_they_are() -> None:
    text, nonce = page({"compiles": ["/*SCRIPT*/ /*NONCE*/ </script><!--"]}, "'none'")
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data and data[1] == '{"compiles":["/*SCRIPT*/ /*NONCE*/ <\\/script><\\u0021--"]}'
    assert text.count(f'nonce="{nonce}"') == 2


def test_what_a_page_holds_decides_its_nonce() -> None:
    assert page({"compiles": ["a"]}, "'none'")[1] != page({"compiles": ["b"]}, "'none'")[1]
    text, policy = live_page()
    assert "unsafe" not in policy and policy in text
