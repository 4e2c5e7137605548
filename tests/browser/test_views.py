"""The views have no fault of contrast, labels or reach by keyboard that axe-core finds, light and dark; passes are chosen by arrows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("selenium")

from driving import Page, wait_for
from views import scheme, show, violations, wrong

from minitriton import lab
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.kept_answers import compile_with_answers
from minitriton.explorer.packing import file_page
from minitriton.explorer.session import ExplorerSession


@pytest.fixture(scope="module")
def view(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("views") / "softmax.html"
    signature = "*fp32:16,*fp32:16,i32,i32,i32,i32:16,BLOCK=256"
    asked = CompileRequest("minitriton_kernels/softmax.py:softmax", signature, numbers=("n_cols=240",))
    path.write_text(file_page([compile_with_answers(ExplorerSession(), asked, triton=False)]))
    browser.get("about:blank")
    wrong(browser)
    page = Page(browser)
    page.open(path.as_uri())
    page.choose("tritongpu-coalesce")
    page.click_line("after", "tt.load")
    yield page
    scheme(browser, "light")
    assert wrong(browser) == []


@pytest.mark.parametrize("name", ["light", "dark"])
@pytest.mark.parametrize("tab", ["facts", "layout", "time", "compare", "graph", "tiles"])
def test_a_view_has_no_fault_that_axe_finds(view: Page, tab: str, name: str) -> None:
    scheme(view.browser, name)
    show(view, tab)
    assert violations(view) == []


def test_passes_are_chosen_by_arrows(view: Page) -> None:
    before = view.text("#title")
    view.one("#passes").send_keys("\ue015")
    wait_for(lambda: view.text("#title") != before)
    view.one("#passes").send_keys("\ue013")
    wait_for(lambda: view.text("#title") == before)


@pytest.fixture(scope="module")
def report(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("report")
    lab.sweep(
        ["log_sum_exp"], lab.Space(vary={"num_warps": (1, 2, 4)}), count=6, metrics=["cycles", "registers"],
        store=folder / "s.db", seed=1,
    )  # fmt: skip
    path = lab.write_page(folder / "s.db", folder / "s.html")
    browser.get("about:blank")
    wrong(browser)
    page = Page(browser)
    page.open(path.as_uri())
    yield page
    scheme(browser, "light")
    assert wrong(browser) == []


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_report_of_the_laboratory_has_no_fault_that_axe_finds(report: Page, name: str) -> None:
    scheme(report.browser, name)
    for width in (1280, 520):
        report.size(width, 900)
        wait_for(lambda limit=width: report.browser.execute_script(WIDTH) <= limit)
        assert violations(report) == []
    assert report.all("canvas[role=img]") and "nothing" not in report.text("main nav")
    head = report.one("table.sorts th button")
    head.click()
    assert report.one("table.sorts th").get_attribute("aria-sort") in ("ascending", "descending")


WIDTH = "return document.documentElement.scrollWidth"
