"""An encoding is changed in a form beside its picture: the picture and the cost follow, and the kernel is compiled on with it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="needs selenium")
pytest.importorskip("uvicorn", reason="needs minitriton[explorer]")
from driving import Page, wait_for
from selenium.webdriver.common.keys import Keys
from turned_tile import TURNED_TILE


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "turn.ttgir").write_text(TURNED_TILE)
    command = [
        sys.executable,
        "-m",
        "minitriton",
        "explore",
        str(tmp_path / "turn.ttgir"),
        "--port",
        "0",
        "--no-browser",
    ]
    server = subprocess.Popen([*command, "--grid", "1"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    browser.get_log("browser")
    page = Page(browser)
    page.open(server.stdout.readline().strip())
    yield page
    browser.get("about:blank")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    with server:
        server.terminate()


def field(page: Page, name: str) -> Any:
    """A field of the form, by the name of the number."""
    return page.one(f".encoding input[aria-label='{name}']")


def shown_first(page: Page, op: str) -> None:
    """The drawing of an op of the state that was read."""
    page.choose("frontend")
    page.press("2")
    page.click_line("after", op)
    wait_for(lambda: page.all("#layout canvas"))


def test_a_swizzle_is_written_beside_its_banks_and_compiled(page: Page) -> None:
    shown_first(page, "ttg.local_load")
    assert "32 times the passes" in page.text("#layout")
    assert [one.text.split()[0] for one in page.all(".encoding legend")] == ["#shared", "#blocked1"]
    wanted = field(page, "maxPhase")
    for _ in range(5):
        wanted.send_keys(Keys.ARROW_UP)
    assert wanted.get_attribute("value") == "32"
    wait_for(lambda: "no conflicts" in page.text("#layout"))
    assert "maxPhase = 32" in page.text("#layout figcaption")
    folder = os.environ.get("MINITRITON_SCREENSHOTS")
    if folder:
        page.shoot(Path(folder) / "explorer-encoding.png")
    page.one("#compile-encoding").click()
    wait_for(lambda: page.text("#title") == "edited")
    assert any("maxPhase = 32" in line for line in page.lines("after", "k-changed"))
    wait_for(lambda: page.all("#layout canvas") and "no conflicts" in page.text("#layout"), 20)
    page.press("4")
    totals = wait_for(lambda: page.text("#totals"), 120)
    assert "for bank conflicts" in totals and "\N{MINUS SIGN}" in totals


def test_numbers_that_make_no_layout_say_why_and_are_not_compiled(page: Page) -> None:
    shown_first(page, "tt.load")
    threads = field(page, "threadsPerWarp 1")
    threads.send_keys(Keys.ARROW_UP)
    assert "32" in wait_for(lambda: page.text("#encoding-error"))
    assert page.attribute("#compile-encoding", "disabled")
    threads.send_keys(Keys.ARROW_DOWN)
    wait_for(lambda: page.text("#encoding-error") == "")
    field(page, "order 0").send_keys(Keys.ARROW_DOWN)
    assert wait_for(lambda: page.text("#encoding-error"))


def test_a_blocked_layout_is_widened_and_the_kernel_runs_with_it(page: Page) -> None:
    shown_first(page, "tt.load")
    for name, key in (("sizePerThread 1", Keys.ARROW_UP), ("sizePerThread 1", Keys.ARROW_UP), ("threadsPerWarp 1", Keys.ARROW_DOWN),
                      ("threadsPerWarp 1", Keys.ARROW_DOWN), ("threadsPerWarp 0", Keys.ARROW_UP), ("threadsPerWarp 0", Keys.ARROW_UP)):  # fmt: skip
        field(page, name).send_keys(key)
    wait_for(lambda: "sizePerThread = [1, 4], threadsPerWarp = [4, 8]" in page.text("#layout code.type"))
    page.one("#compile-encoding").click()
    wait_for(lambda: page.text("#title") == "edited")
    page.choose("emit-ptx")
    assert page.line("after", "ld.global.v4") is not None
