"""The page in a real browser: it opens from disk, shows what passes did, follows a line, and works by keyboard alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

selenium = pytest.importorskip("selenium", reason="needs selenium")
from driving import Page
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.fixture
def opened(browser: Any, page: Path) -> Iterator[Any]:
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get("about:blank")
    browser.get(f"file://{page}")
    wait_for(lambda: browser.find_element(By.TAG_NAME, "body").get_attribute("data-ready") == "true")
    yield browser
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [one["params"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    urls = {one["request"]["url"] for one in sent if one.get("documentURL", "").startswith("file:")}
    assert urls and all(url.startswith(("file:", "data:")) for url in urls)


def wait_for(condition: Any, seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def passes(browser: Any) -> list[str]:
    return [item.text for item in browser.find_elements(By.CSS_SELECTOR, "#passes .name")]


def title(browser: Any) -> str:
    return browser.find_element(By.ID, "title").text


def lines(browser: Any, pane: str, kind: str) -> list[str]:
    return [line.text for line in browser.find_elements(By.CSS_SELECTOR, f"#{pane} .cm-line.{kind}")]


def press(browser: Any, key: str) -> None:
    browser.find_element(By.TAG_NAME, "body").send_keys(key)


def choose(browser: Any, name: str) -> None:
    next(item for item in browser.find_elements(By.CSS_SELECTOR, "#passes li") if name in item.text).click()
    assert title(browser).startswith(name)


def test_passes_that_changed_nothing_are_folded_away_until_asked_for(opened: Any) -> None:
    few = passes(opened)
    assert "tritongpu-coalesce" in few and "triton-combine" not in few
    opened.find_element(By.ID, "unchanged").click()
    assert len(passes(opened)) > 2 * len(few)


def test_a_pass_is_found_by_its_name(opened: Any) -> None:
    opened.find_element(By.ID, "filter").send_keys("coal")
    assert passes(opened) == ["tritongpu-coalesce"]


def test_the_pass_that_introduced_an_op_shows_it_as_new(opened: Any) -> None:
    choose(opened, "tritongpu-coalesce")
    added = lines(opened, "after", "k-added")
    assert len(added) == 3 and all("ttg.convert_layout" in line for line in added)
    assert lines(opened, "before", "k-removed") == []
    assert any("tt.load" in line for line in lines(opened, "before", "k-changed"))


def test_a_click_on_a_line_marks_its_place_in_the_source_and_beyond(opened: Any) -> None:
    choose(opened, "tritongpu-coalesce")
    load = next(line for line in opened.find_elements(By.CSS_SELECTOR, "#after .k-changed") if "tt.load" in line.text)
    load.click()
    wait_for(lambda: any("tl.load" in line for line in lines(opened, "source", "marked")))
    wait_for(lambda: "line=" in opened.current_url)
    choose(opened, "emit-ptx")
    wait_for(lambda: lines(opened, "after", "marked"))
    assert "marked" in Page(opened).line("after", "ld.global").get_attribute("class")


def test_a_line_of_the_source_leads_to_the_ptx(opened: Any) -> None:
    choose(opened, "emit-ptx")
    store = next(
        line for line in opened.find_elements(By.CSS_SELECTOR, "#source .cm-line") if "top + tl.log" in line.text
    )
    store.click()
    wait_for(lambda: lines(opened, "after", "marked") and lines(opened, "before", "marked"))


def test_a_link_leads_back_to_the_same_view(opened: Any) -> None:
    choose(opened, "tritongpu-remove-layout")
    wait_for(lambda: "step=" in opened.current_url)
    link, shown = opened.current_url, title(opened)
    opened.get("about:blank")
    opened.get(link)
    wait_for(lambda: title(opened) == shown)


def test_the_keyboard_alone_is_enough(opened: Any) -> None:
    first = title(opened)
    press(opened, "j")
    second = title(opened)
    press(opened, "k")
    assert title(opened) == first != second
    press(opened, "/")
    opened.switch_to.active_element.send_keys("emit", Keys.ENTER)
    press(opened, "j")
    assert "emit-ptx" in passes(opened)
    press(opened, "u")
    assert opened.find_element(By.ID, "unchanged").is_selected()


def test_folding_shows_every_line_when_it_is_off(opened: Any) -> None:
    choose(opened, "tritongpu-coalesce")
    assert lines(opened, "after", "k-fold")
    press(opened, "f")
    assert not lines(opened, "after", "k-fold")


def test_another_pass_is_shown_within_100_ms(opened: Any) -> None:
    script = """
        const took = [];
        for (const item of [...document.querySelectorAll('#passes li')]) {
            const tries = [];
            for (let k = 0; k < 3; k++) {
                document.querySelector('#passes li').click();
                const start = performance.now();
                document.getElementById(item.id).click();
                document.body.offsetHeight;
                tries.push(performance.now() - start);
            }
            took.push(Math.min(...tries));
        }
        return took;
    """
    took = opened.execute_script(script)
    assert sorted(took)[len(took) // 2] < 100, took
