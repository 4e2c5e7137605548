"""What people who had never seen the page looked for and did not find at first."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("selenium", reason="needs selenium")
pytest.importorskip("uvicorn", reason="needs minitriton[explorer]")
from driving import Page, wait_for
from selenium.webdriver.common.keys import Keys
from test_tasks import Servers, page, serve  # noqa: F401

NOTES = "return [...document.querySelectorAll(`#${arguments[0]} .cm-line[data-note]`)].map((one) => [one.dataset.note, one.textContent])"


def test_wgmma_leads_to_the_pass_that_decides_on_it_and_says_which_dot_it_is(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve("minitriton_kernels/attention.py:attention"))
    page.find_pass("wgmma")
    page.one("#filter").send_keys(Keys.ENTER)
    wait_for(lambda: page.text("#title").startswith("tritongpu-accelerate-matmul"))
    assert "ttng.warp_group_dot, which becomes wgmma, put in by tritongpu-accelerate-matmul" in page.text("#found")
    assert "ttng.warp_group_dot" in wait_for(lambda: page.text("#help-card"))
    assert "Dot 1 of 2, line 19: score = tl.dot(" in page.text("#which-dot")
    page.one("#filter").send_keys(Keys.ENTER)
    wait_for(lambda: "Dot 2 of 2, line 33: total = tl.dot(" in page.text("#which-dot"))
    assert {note for note, text in page.browser.execute_script(NOTES, "after") if "warp_group_dot" in text} >= {"dot 2"}
    assert [note for note, text in page.browser.execute_script(NOTES, "source") if "score = tl.dot" in text] == [
        "dot 1"
    ]
    page.find_pass("")
    page.choose("emit-ptx")
    page.click_line("after", "wgmma.mma_async")
    wait_for(lambda: "line 19: score = tl.dot(" in page.text("#which-dot"))
    assert "Multiplies tiles on the tensor cores" in page.text("#help-card")
    of_instructions = [note for note, text in page.browser.execute_script(NOTES, "after") if "wgmma.mma_async" in text]
    assert of_instructions and set(of_instructions) <= {"dot 1", "dot 2"}


def test_two_compiles_say_how_far_their_results_are_apart(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve("log_sum_exp", "--against", "--option num_warps=8"))
    said = wait_for(lambda: "after the run" in page.text("#compare") and page.text("#compare"))
    assert "x_ptr, after the run" in said and "bit-equal" in said
    assert "of 37 elements differ, by up to" in said and "1 ulp" in said and "at [" in said
    assert "each within what rounding in another order does" in said


def test_the_tiles_of_a_compile_are_ranked_and_the_first_is_compiled(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve("minitriton_kernels/matmul.py:matmul"))
    page.press("t")
    assert re.search(r"This compile: number \d+ of \d+: ", wait_for(lambda: page.text("#own-tiles")))
    field = page.one("input[name='tile-sizes']")
    assert field.get_attribute("value").startswith("m=128,n=128,k=256,")
    field.clear()
    field.send_keys("m=512,n=512,k=512", Keys.ENTER)
    wait_for(lambda: "m=512" in page.text("#tiles h4"))
    assert "are dropped" in page.text("#tiles-dropped") and "for registers" in page.text("#tiles-dropped")
    first = next(one for one in page.all("#tiles-ranking button") if one.text == "compile")
    grid = first.get_attribute("title").rpartition("grid ")[2].replace("x", ",")
    assert re.fullmatch(r"\d+,1,1", grid)
    first.click()
    wait_for(lambda: page.text("#own-tiles").startswith("This compile: number 1 of "))
    assert f"grid {grid}" in page.text("#differs") and grid != "4,1,1"
    page.press("5")
    assert page.attribute("input[name='grid']", "value") == grid


def test_a_check_that_could_run_nothing_is_not_shown_as_right(page: Page, serve: Servers, tmp_path: str) -> None:  # noqa: F811
    kernel = f"{tmp_path}/unknown.py"
    with open(kernel, "w", encoding="utf-8") as file:
        file.write(
            "import triton\nimport triton.language as tl\n\n@triton.jit\ndef unknown(x, N: tl.constexpr):\n    i = tl.arange(0, N)\n"
            "    y = tl.inline_asm_elementwise('frobnicate.b32 $0, $1;', '=r,r', [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1)\n"
            "    tl.store(x + i, y)\n"
        )
    page.open(serve(f"{kernel}:unknown", "--signature", "*i32:16,N=128", "--size", "x=128"))
    wait_for(lambda: page.text("#check") == "? no pass could be run")
    assert "does not know the instruction `frobnicate.b32`" in page.attribute("#check", "title")


def test_faults_of_the_kernel_are_said_next_to_the_verdict(page: Page, serve: Servers, tmp_path: str) -> None:  # noqa: F811
    kernel = f"{tmp_path}/sums.py"
    with open(kernel, "w", encoding="utf-8") as file:
        file.write(
            "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef sums(x_ptr, out_ptr, n, BLOCK: tl.constexpr):\n"
            "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n    x = tl.load(x_ptr + i, mask=i < n)\n"
            "    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, axis=0))\n"
        )
    page.open(serve(f"{kernel}:sums"))
    wait_for(lambda: page.text("#check") == "✓ every pass keeps the numbers, but see the kernel: line 9")
    page.one("#check").click()
    said = page.text("#banner")
    assert "give that load `other=`" in said and "global-race" in said and "inputs were made up" in said


RACING = """import triton
import triton.language as tl

@triton.jit
def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, axis=0))
"""


def test_a_race_in_a_kernel_that_is_typed_is_mended_and_the_kernel_swept(page: Page, serve: Servers) -> None:  # noqa: F811
    page.open(serve())
    wait_for(lambda: page.text("#groups"))
    page.one("#typed summary").click()
    content = page.one("#typed-kernel .cm-content")
    page.browser.execute_script(
        "const v = arguments[0].cmView.view; v.dispatch({changes: {from: 0, to: v.state.doc.length, insert: arguments[1]}})",
        content, RACING,
    )  # fmt: skip
    next(one for one in page.all("#typed button") if one.text == "Compile this text").click()
    wait_for(lambda: page.text("#check") == "✓ every pass keeps the numbers, but see the kernel: line 8", 60)
    page.one("#check").click()
    assert page.text("#banner").startswith("typed.py:8") and "global-race" in page.text("#banner")
    page.press("5")
    page.edit(lambda text: text.replace("tl.store(out_ptr, tl.load(out_ptr) + ", "tl.atomic_add(out_ptr, "))
    wait_for(lambda: page.text("#check") == "✓ every pass keeps the numbers", 60)
    changes = len(page.all("#changes button[aria-pressed]"))
    page.press("w")
    field = page.one("input[name='vary-BLOCK']")
    field.clear()
    field.send_keys("64, 128", Keys.ENTER)
    wait_for(lambda: page.text("#sweep-status") == "6 tried, 6 right", 60)
    assert "num_warps=2, BLOCK=64" in page.text("#sweep-results") and "cycles" in page.text("#sweep-results")
    # What is there already is shown, not compiled again.
    next(one for one in page.all("#differs button") if one.text == "undo").click()
    wait_for(lambda: page.attribute("#differs", "innerText").startswith("types and inputs"))
    page.press("5")
    assert len(page.all("#changes button[aria-pressed]")) == changes
