"""The file that `--html` writes: the tour and Triton's side are in it, opened from disk, without a server and without a request."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium")

from driving import Page, wait_for

from minitriton.commands.cli import main
from minitriton.explorer.lessons.tour import SHORT_TOUR

SOFTMAX = (
    "minitriton_kernels/softmax.py:softmax", "--signature", "*fp32:16,*fp32:16,i32,i32,i32,i32:16,BLOCK=256",
    "--arg", "n_rows=3", "--arg", "in_stride=256", "--arg", "out_stride=256", "--arg", "n_cols=240",
)  # fmt: skip
needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton's wheel")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("file") / "softmax.html"
    assert main(["explore", *SOFTMAX, "--html", str(path)]) == 0
    return path


@pytest.fixture
def page(browser: Any, file: Path) -> Iterator[Page]:
    browser.get_log("browser")
    browser.get_log("performance")
    page = Page(browser)
    page.open(file.as_uri())
    yield page
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    assert [url for url in sent if url.startswith(("http", "ws"))] == []


def shoot(page: Page, name: str) -> None:
    folder = os.environ.get("MINITRITON_SCREENSHOTS")
    if folder:
        page.shoot(Path(folder) / f"{name}.png")


def test_it_is_small(file: Path) -> None:
    assert file.stat().st_size < 2_500_000


def test_the_tour_is_walked_from_disk(page: Page) -> None:
    page.press("6")
    walks = wait_for(lambda: page.all("#tour button"))
    assert len(walks) == len(SHORT_TOUR)
    next(walk for walk in walks if "A matmul" in walk.text).click()
    titles = []
    while True:
        titles.append(wait_for(lambda seen=tuple(titles): (t := page.text("#lesson b")) not in seen and t))
        if "Tensor cores" in titles[-1]:
            wait_for(lambda: page.all("#layout canvas"))
            assert "warp_group_dot" in " ".join(page.lines("after", "k-added") or [page.text("#after")])
            shoot(page, "file-tour")
        following = [one for one in page.all("#lesson button") if one.text == "next"]
        if not following:
            break
        following[0].click()
    assert len(titles) == 6


IN_SIGHT = """const [pane, text] = arguments, box = document.querySelector(`#${pane} .cm-scroller`).getBoundingClientRect();
    return [...document.querySelectorAll(`#${pane} .cm-line`)].some((line) => {
        const { top, bottom } = line.getBoundingClientRect();
        return line.textContent.includes(text) && top >= box.top - 1 && bottom <= box.bottom + 1;
    })"""
SHOWN_BELOW = {"facts": ".card, .hint", "layout": "canvas", "access": "canvas", "costs": "#totals", "whatif": "section"}


@pytest.mark.parametrize(("width", "names"), [(1280, ""), (1700, "column_sum matmul")])
def test_each_stop_of_the_tour_shows_what_it_names(page: Page, width: int, names: str) -> None:
    page.size(width, 860)
    for walk in [one for one in SHORT_TOUR if not names or one.name in names.split()]:
        page.press("6")
        next(one for one in wait_for(lambda: page.all("#tour button")) if one.text == walk.title).click()
        for at, stop in enumerate(walk.stops):
            wait_for(lambda title=f"{at + 1}/{len(walk.stops)} {stop.title}.": page.text("#lesson b") == title)
            for pane, text in (("after", stop.op), ("source", stop.line)):
                seen = (pane, text)
                wait_for(lambda seen=seen: not seen[1] or page.browser.execute_script(IN_SIGHT, *seen), 10)
            wait_for(
                lambda tab=stop.tab: page.all(f"#panel-{tab} {SHOWN_BELOW[tab].replace(', ', f', #panel-{tab} ')}"), 10
            )
            if stop.step:
                assert page.text("#title").startswith(stop.step)
            next(one for one in page.all("#lesson button") if one.text in ("next", "another kernel")).click()
    page.size(1600, 900)


def test_a_layout_of_gluon_is_drawn_at_the_line_that_writes_it(browser: Any, tmp_path: Path) -> None:
    kernel = Path(__file__).parents[1] / "gluon" / "tool_kernels.py"
    path = tmp_path / "transpose.html"
    assert (
        main(["explore", f"{kernel}:transpose", "--signature", "*fp32:16,*fp32:16,SIZE=32", "--html", str(path)]) == 0
    )
    page = Page(browser)
    page.open(path.as_uri())
    page.click_line("source", "swizzled: gl.constexpr")
    assert "SwizzledSharedLayout(1, 1, 32, [1, 0])" in wait_for(lambda: page.text("#declared"))
    page.press("2")
    assert "SwizzledSharedLayout(1, 1, 32, [1, 0]) on 32" in wait_for(
        lambda: page.all("#layout canvas") and page.text("#layout")
    )
    page.click_line("source", "rows: gl.constexpr = gl.BlockedLayout([1, 1]")
    wait_for(lambda: "BlockedLayout([1, 1], [1, 32]" in page.text("#layout"))


@needs_triton
def test_tritons_passes_stand_beside_ours(page: Page) -> None:
    page.choose("tritongpu-coalesce")
    page.select("before", "Triton 3.6.0")
    wait_for(lambda: "lines alike" in page.text("#before"))
    # Both compilers do the same there; that they name values differently is no difference.
    assert "lines" in page.text("#before-size") and len(page.lines("after", "k-changed")) <= 3
    page.press("f")
    wait_for(lambda: "ttg.convert_layout" in page.text("#before") and "ttg.convert_layout" in page.text("#after"))
    page.click_line("after", "tt.load")
    wait_for(lambda: "16 bytes" in page.text("#panel-facts") or "at a time" in page.text("#panel-facts"))
    assert not page.one("#banner").is_displayed()
    shoot(page, "file-triton")


POINT = """const canvas = document.querySelector("#timeline canvas"), box = canvas.getBoundingClientRect();
    const at = (kind, x) => canvas.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: box.x + x, clientY: box.y + 6 }));
    at("mousemove", arguments[0]); if (arguments[1]) for (const kind of ["mousedown", "mouseup", "click"]) at(kind, arguments[0]);
    return document.querySelector("#timeline output").textContent"""


def test_the_timeline_says_what_each_warp_waits_for_and_a_click_goes_to_the_line(page: Page) -> None:
    page.press("7")
    wait_for(lambda: page.all("#timeline canvas"))
    assert "waits for a load" in page.text("#time-legend")
    found = {page.browser.execute_script(POINT, x, False) for x in range(100, 700, 10)}
    assert any("waits for a load" in text and "softmax.py:" in text for text in found), found
    page.browser.execute_script(POINT, 300, True)
    assert "line=" in wait_for(lambda: "line=" in page.browser.current_url and page.browser.current_url)
    l2 = page.text("#timeline h5")
    next(one for one in page.all("#time-data button") if one.text == "memory").click()
    wait_for(lambda: page.text("#timeline h5") != l2)
    page.one("#timeline canvas").send_keys("+")


def test_what_compiles_anew_says_how(page: Page) -> None:
    page.press("5")
    assert "minitriton explore" in wait_for(lambda: page.text("#panel-whatif"))


def test_exercises_with_few_answers_are_solved_from_disk_and_the_others_say_what_they_need(page: Page) -> None:
    page.press("6")
    assert "4 exercises have answers to choose from" in wait_for(lambda: page.text("#needs-server"))
    for name, wrong, right in (
        ("no-barrier", "num_warps = 2", "num_warps = 1"),
        ("which-pass", "exercise-tidy-constants", "exercise-tidy-quotients"),
        ("order", "as it is: before convert-triton-to-tritongpu", "after convert-triton-to-tritongpu"),
        ("swizzle", "maxPhase = 8", "maxPhase = 32"),
    ):
        page.one(f"button[data-exercise={name}]").click()
        page.one(f"button[data-answer='{wrong}']").click()
        assert "✗" in page.text("#graded") and "Solved." not in page.text("#graded")
        page.one(f"button[data-answer='{right}']").click()
        assert "Solved." in page.text("#graded") and "✗" not in page.text("#graded")
        if name == "no-barrier":
            shoot(page, "file-exercise")
        next(one for one in page.all("#exercise button") if one.text == "another").click()
    page.one("button[data-exercise=wide-load]").click()
    assert "must be compiled and run" in page.text("#needs-server")


def test_a_kernel_that_names_the_marks_of_the_page_is_shown(browser: Any, tmp_path: Path) -> None:
    kernel = tmp_path / "marks.py"
    kernel.write_text(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef marks(x_ptr):\n"
        '    """/*SCRIPT*/ /*DATA*/ /*NONCE*/ </script>"""\n    tl.store(x_ptr, 1.0)\n'
    )
    path = tmp_path / "marks.html"
    assert main(["explore", f"{kernel}:marks", "--signature", "*fp32", "--html", str(path)]) == 0
    browser.get_log("browser")
    page = Page(browser)
    page.open(path.as_uri())
    assert page.line("source", "/*SCRIPT*/ /*DATA*/ /*NONCE*/ </script>") is not None
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_what_tensors_and_arrays_hold_is_in_it(page: Page) -> None:
    page.choose("emit-ptx")
    page.press("8")
    wait_for(lambda: page.all("#held canvas"))
    assert "all are not finite" in page.text("#held p:not(.choices)")  # the -inf of lanes that are left out
    [one for one in page.all("#values-of button") if one.text.startswith("%")][-1].click()
    wait_for(lambda: "from" in page.text("#held p:not(.choices)"))
    assert "numbers from" in page.attribute("#histogram", "aria-label") and len(page.all("#histogram i")) == 32
    arrays = {one.text: one for one in page.all("#values-of button") if not one.text.startswith("%")}
    assert arrays.keys() == {"in_ptr", "out_ptr"}
    arrays["out_ptr"].click()
    wait_for(lambda: "before the run up to" in page.text("#held p:not(.choices)"))
    page.choose("frontend")
    wait_for(lambda: "This file holds" in page.text("#panel-values"))
