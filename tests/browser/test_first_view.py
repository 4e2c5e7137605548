"""What a page shows first, on windows of several widths: whole lines, a legend, what was changed and made up; and the start page."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("selenium", reason="needs selenium")
pytest.importorskip("uvicorn", reason="needs minitriton[explorer]")
from driving import Page, wait_for
from test_tasks import Servers, page, serve  # noqa: F401

MATMUL = "minitriton_kernels/matmul.py:matmul"

WIDER_THAN_THEIR_PANE = """return [...document.querySelectorAll('.pane .cm-scroller')]
    .filter((one) => one.clientWidth && one.scrollWidth > one.clientWidth + 1).map((one) => one.parentElement.parentElement.id)"""
FIRST_LINE = """const pane = document.querySelector('#source .cm-scroller').getBoundingClientRect();
    return [...document.querySelectorAll('#source .cm-line')].find((one) => one.getBoundingClientRect().top >= pane.top - 2)?.innerText"""


def test_the_first_view_of_a_kernel_on_windows_of_three_widths(page: Page, serve: Servers) -> None:  # noqa: F811
    page.size(1280, 800)
    page.open(serve(MATMUL))
    assert page.text("#title").startswith("tritongpu-remove-layout-conversions")
    assert wait_for(lambda: page.browser.execute_script(FIRST_LINE)).startswith("def matmul(")
    assert page.browser.execute_script(WIDER_THAN_THEIR_PANE) == []
    assert page.lines("after", "k-old") and page.lines("after", "k-changed")
    assert "+ added" in page.text("#legend") and "copies and dots in flight" in page.text("#legend")
    page.press("4")
    wait_for(lambda: "instructions that warps executed" in page.text("#legend"))
    assert any("sect" in one.text for one in page.all("#source .heat"))
    page.choose("tritongpu-coalesce")
    page.click_line("after", "tt.load")
    wait_for(lambda: page.text("#place").startswith("line "))
    assert any("tt.load" in line for line in page.lines("after", "marked"))
    page.press("d")
    wait_for(lambda: page.lines("before", "k-changed"))
    assert page.lines("after", "k-old") == []
    page.press("d")
    for width in (768, 520):
        page.size(width, 900)
        wait_for(
            lambda limit=width: page.browser.execute_script("return document.documentElement.scrollWidth") <= limit
        )
        assert page.browser.execute_script(WIDER_THAN_THEIR_PANE) == []
        for pane in ("source", "panels"):
            assert page.one(f"#{pane}").rect["width"] > width - 40


def test_what_passes_put_in_is_found_and_a_line_goes_through_its_ops(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve(MATMUL))
    for word, place, line in (
        ("wgmma", "which becomes wgmma, put in by tritongpu-accelerate-matmul", "ttng.warp_group_dot"),
        ("swizzle", "put in by tritongpu-accelerate-matmul", "swizzling"),
        ("local_barrier", "put in by insert-barriers", "ttg.local_barrier"),
    ):
        page.find_pass(word)
        assert "Enter goes there" in page.text("#found")
        page.one("#filter").send_keys("\n")
        wait_for(lambda where=place: where in page.text("#found"))
        wait_for(lambda text=line: any(text in one for one in page.lines("after", "hovered")))
    page.find_pass("")
    page.choose("tritongpu-pipeline")
    page.click_line("source", "total = tl.dot")
    wait_for(lambda: any("warp_group_dot" in line for line in page.lines("after", "hovered")))
    assert page.text("#place").startswith("line 32 · 1 of ")
    page.press(".")
    wait_for(lambda: page.text("#place").startswith("line 32 · 2 of "))
    assert "ttng.warp_group_dot" in page.text("#help-card") and "nvmma_shared" not in page.text("#help-card")
    page.choose("emit-ptx")
    page.click_line("source", "total = tl.dot")
    wait_for(lambda: "Multiplies tiles on the tensor cores" in page.text("#help-card"))
    page.press("3")
    wait_for(lambda: "a_ptr copied to shared memory, line 32" in page.text("#panel-access"), 30)
    assert "program 0, 0, 0" in page.text("#access-legend") and "program 1, 0, 0" in page.text("#access-legend")


def test_what_differs_from_the_default_is_said_and_undone(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve("running_sums", "--skip", "tritongpu-coalesce", "--option", "num_warps=8"))
    assert "2 changes: tritongpu-coalesce left out" in page.text("#differs").replace("\n", " ")
    next(one for one in page.all("#differs button") if one.text == "undo").click()
    wait_for(lambda: page.text("#differs").replace("\n", " ").startswith("1 change: num_warps=8"))
    wait_for(lambda: any("tritongpu-coalesce" in one.text for one in page.all("#passes li")))


def test_made_up_inputs_are_fields(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve("minitriton_kernels/histogram.py:histogram"))
    assert "made up" in page.text("#differs")
    page.one("#differs button").click()
    field: Any = page.one("#inputs input[name='input-n']")
    wait_for(lambda: field.get_attribute("value") == "100")
    assert "made up" in page.text("#inputs")
    field.clear()
    field.send_keys("64\n")
    wait_for(lambda: "--arg n=64" in page.attribute("#command", "value"))


def test_the_start_page_finds_a_kernel_and_its_address_opens_it_again(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve())
    wait_for(lambda: page.text("#groups"))
    assert "Kernels in Gluon" in page.text("#groups") and page.one("#take-tour").is_displayed()
    page.one("#own-kernel").send_keys("nosuch\n")
    wait_for(lambda: "lacks a kernel 'nosuch'" in page.text("#status"))
    page.one("#find-kernel").send_keys("running_sums\n")
    wait_for(lambda: page.attribute("body", "data-ready") == "true", 60)
    assert page.text("#kernel").startswith("running_sums")
    page.open(page.browser.current_url)
    assert page.text("#kernel").startswith("running_sums")


BESIDE = """const lines = [...document.querySelectorAll('#source .cm-line')], top = (one) => Math.round(one.getBoundingClientRect().top);
    const at = new Map(lines.map((one, at) => [top(one), [at + 1, one.textContent]]));
    return [...document.querySelectorAll(`#source .${arguments[0]} .cm-gutterElement`)]
        .filter((one) => one.textContent && one.style.visibility !== 'hidden').map((one) => [one.textContent, ...(at.get(top(one)) ?? [0, ''])])"""


@pytest.mark.parametrize("height", [757, 1600])
def test_numbers_and_counts_stand_beside_their_lines(page: Page, serve: Servers, height: int) -> None:  # noqa: F811
    page.size(1600, height)
    page.open(serve("minitriton_kernels/vector_add.py:vector_add"))
    page.one("#tab-costs").click()

    def are_right() -> bool:
        numbers, counts = (page.browser.execute_script(BESIDE, gutter) for gutter in ("numbers", "heats"))
        of_accesses = [line for text, _, line in counts if "sect" in text]
        return (
            len(of_accesses) == 3
            and all("tl.load" in line or "tl.store" in line for line in of_accesses)
            and all(text == str(number) for text, number, _ in numbers)
        )

    wait_for(are_right, 20)
