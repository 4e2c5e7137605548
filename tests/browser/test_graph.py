"""The graph of ops: what is drawn, folded and found, and that it and the lines follow each other, with a server and in a file."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("selenium", reason="needs selenium")
pytest.importorskip("uvicorn", reason="needs minitriton[explorer]")
from driving import Page, wait_for
from selenium.webdriver.common.keys import Keys
from test_tasks import Servers, page, serve  # noqa: F401
from views import violations

ATTENTION = (
    "minitriton_kernels/attention.py:attention", "--signature",
    "tensordesc<fp16[128,64]>,tensordesc<fp16[64,64]>,tensordesc<fp16[64,64]>,tensordesc<fp16[128,64]>,*fp32:16,i32:16,fp32,BM=128,BN=64,D=64,CAUSAL=False",
    "--option", "num_warps=8",
)  # fmt: skip
CENTER = """const canvas = document.querySelector('#graph').getBoundingClientRect(), one = document.querySelector(arguments[0]).getBoundingClientRect();
    return one.left > canvas.left && one.right < canvas.right && one.top > canvas.top && one.bottom < canvas.bottom"""
CLICK = "document.querySelector(arguments[0]).dispatchEvent(new MouseEvent('click', { bubbles: true }))"


def nodes(page: Page, text: str = "") -> list[Any]:  # noqa: F811
    return [one for one in page.all("#graph .g-node") if text in one.get_attribute("aria-label")]


def press(page: Page, *keys: str) -> None:  # noqa: F811
    page.one("#graph").send_keys(*keys)


def test_the_graph_of_attention_follows_lines_and_folds(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve(*ATTENTION))
    page.choose("insert-barriers")
    page.press("0")
    wait_for(lambda: page.all("#graph .e-order"))
    dots = nodes(page, "ttng.warp_group_dot,")
    assert dots and len(nodes(page)) < 150 and page.all("#graph .e-again") and page.all("#graph .g-box")
    # A node leads to its line, a line to its node, which is brought into sight.
    page.browser.execute_script(CLICK, f"#{dots[0].get_attribute('id')}")
    wait_for(lambda: any("warp_group_dot" in line for line in page.lines("after", "marked")))
    assert "in flight after it" in page.text("#graph-card") and "128x64xf32" in page.text("#graph-card")
    page.click_line("source", "tl.exp2(score)")
    wait_for(lambda: [one for one in nodes(page, "exp2") if "chosen" in one.get_attribute("class")])
    assert page.browser.execute_script(CENTER, "#graph .chosen")
    # What is sought is marked; Enter goes there.
    page.one("#graph-find").send_keys("local_barrier", Keys.ENTER)
    assert "Enter goes there" in page.text("#graph-tools")
    assert all("local_barrier" in one.get_attribute("aria-label") for one in page.all("#graph .g-node.hit"))
    assert page.browser.execute_script(CENTER, "#graph .at")
    page.one("#graph-find").clear()
    # By keyboard: the loop is folded and opened again, and a value followed.
    loop = nodes(page, "scf.for")[0]
    page.browser.execute_script(CLICK, f"#{loop.get_attribute('id')}")
    many = len(nodes(page))
    press(page, " ")
    wait_for(lambda: len(nodes(page)) < many - 20)
    assert "scf.for" in page.one("#graph .at").get_attribute("aria-label") and "folded" in page.one(
        "#graph .at"
    ).get_attribute("aria-label")
    press(page, " ")
    wait_for(lambda: len(nodes(page)) == many)
    before = page.one("#graph .at").get_attribute("id")
    press(page, Keys.ARROW_DOWN)
    assert page.one("#graph .at").get_attribute("id") != before
    moved = page.one("#graph-moved").get_attribute("transform")
    press(page, "+")
    assert page.one("#graph-moved").get_attribute("transform") != moved
    press(page, "0")
    wait_for(lambda: page.browser.execute_script(CENTER, "#graph-moved"))
    assert violations(page) == []
    page.choose("emit-ptx")
    wait_for(lambda: "TTIR and TTGIR" in page.text("#graph"))
