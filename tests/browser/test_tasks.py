"""Ten tasks, done by a browser; `MINITRITON_SCREENSHOTS=docs/pictures` keeps the pictures that docs/explorer.md shows."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selenium", reason="needs selenium")
pytest.importorskip("uvicorn", reason="needs minitriton[explorer]")
from driving import Page, wait_for
from selenium.webdriver.common.keys import Keys
from turned_tile import TURNED_TILE

from minitriton.explorer import lessons
from minitriton.explorer.lessons.exercises import LESSON_KERNELS

SOFTMAX = ("minitriton_kernels/softmax.py:softmax", "--signature", "*fp32:16,*fp32:16,i32,i32,i32,i32:16,BLOCK=512", "--arg", "n_rows=3", "--arg", "in_stride=512", "--arg", "out_stride=512", "--arg", "n_cols=480")  # fmt: skip
Shoot = Callable[[str], None]


class Servers:
    """Servers that a test starts, each in a process of its own."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen[str]] = []
        self.addresses: list[str] = []

    def __call__(self, *arguments: str) -> str:
        """The address of one more."""
        command = [sys.executable, "-m", "minitriton", "explore", *arguments, "--port", "0", "--no-browser"]
        self.started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        stdout = self.started[-1].stdout
        assert stdout is not None
        self.addresses.append(stdout.readline().strip())
        return self.addresses[-1]

    def end(self) -> None:
        """Ends them all."""
        for process in self.started:
            with process:
                process.terminate()


@pytest.fixture
def serve() -> Iterator[Servers]:
    """Starts servers; their addresses."""
    servers = Servers()
    yield servers
    servers.end()


@pytest.fixture
def page(browser: Any, serve: Servers) -> Iterator[Page]:
    """The page, left before its server ends; no error may be said in the console, and no request may leave the machine."""
    browser.get_log("browser")
    browser.get_log("performance")
    made = Page(browser)
    made.size(1440, 860)
    yield made
    browser.get("about:blank")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [one["params"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    urls = {one["request"]["url"] for one in sent if one.get("documentURL", "").startswith(("file:", "http:"))}
    assert all(url.startswith(("file:", "data:", "http://127.0.0.1:")) for url in urls), urls


@pytest.fixture
def shoot(page: Page) -> Shoot:
    """Keeps a picture, where they are asked for."""
    folder = os.environ.get("MINITRITON_SCREENSHOTS")

    def keep(name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            time.sleep(0.3)
            page.shoot(Path(folder) / f"explorer-{name}.png")

    return keep


def test_1_find_the_pass_that_introduced_an_op(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve("exact_attention"))
    page.choose("place-shared-memory")
    page.press("f")
    page.click_line("after", "ttg.convert_layout")
    found = wait_for(lambda: page.text("#history"))
    assert "ttg.convert_layout" in found and "introduced by" in found and "changed by" in found
    pass_name = page.text("#history button")
    page.one("#history button").click()
    wait_for(lambda: page.text("#title").startswith(pass_name))
    kinds = ("k-added", "k-changed")
    wait_for(lambda: any("ttg.convert_layout" in line for kind in kinds for line in page.lines("after", kind)), 20)
    page.press("f")
    page.wait_until_checked()
    shoot("1-introduced")


def test_2_see_why_a_load_is_scalar_and_mend_it_by_a_hint(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve(*SOFTMAX))
    page.wait_until_checked()
    page.choose("tritongpu-coalesce")
    assert any("ttg.convert_layout" in line for line in page.lines("after", "k-added"))
    shoot("pass")
    page.choose("tritongpu-remove-layout-conversions")
    page.click_line("after", "tt.load")
    access = wait_for(lambda: page.text("#access"))
    assert "4 bytes at a time, of at most 16" in access and "limited by the alignment" in access
    assert "argument in_stride" in access and "tl.assume(in_stride % 16 == 0)" in access
    shoot("2-scalar")
    page.press("4")
    assert "instructions of warps" in wait_for(lambda: page.text("#totals"))
    shoot("costs")
    page.press("5")
    page.edit(
        lambda text: text.replace(
            "    columns = tl.arange", "    tl.assume(in_stride % 16 == 0)\n    columns = tl.arange"
        ).replace("mask = columns < n_cols", "tl.assume(n_cols % 16 == 0)\n    mask = columns < n_cols")
    )
    assert "compiled in" in page.text("#status")
    page.press("1")
    page.choose("tritongpu-remove-layout-conversions")
    page.click_line("after", "tt.load")
    wait_for(lambda: "16 bytes at a time" in page.text("#access"))
    assert "as wide as can be" in page.text("#access")
    page.wait_until_checked()
    shoot("2-wide")


def test_3_find_a_bank_conflict_and_remove_it_by_another_encoding(
    page: Page, serve: Servers, shoot: Shoot, tmp_path: Path
) -> None:
    file = tmp_path / "turn.ttgir"
    file.write_text(TURNED_TILE)
    page.open(serve(str(file), "--grid", "1"))
    page.find_pass("frontend")
    page.choose("frontend")
    page.click_line("after", "ttg.local_load")
    assert "32 times the passes" in page.text("#movement")
    page.press("2")
    assert "32 times the passes" in page.text("#layout")
    page.wait_until_checked()
    next(one for one in page.all("#panel-layout .choices button") if one.text == "bank").click()
    shoot("3-conflicts")
    page.press("5")
    next(one for one in page.all(".whatif button") if "IR" in one.text).click()
    page.edit(lambda text: text.replace("maxPhase = 1,", "maxPhase = 32,"))
    page.find_pass("edited")
    page.choose("edited")
    page.press("f")
    page.click_line("after", "ttg.local_load")
    page.press("2")
    wait_for(lambda: "no conflicts" in page.text("#layout"))
    page.wait_until_checked()
    shoot("3-swizzled")
    page.press("4")
    totals = wait_for(lambda: page.text("#totals"), 120)
    assert "for bank conflicts" in totals and "\N{MINUS SIGN}" in totals


def test_4_break_a_kernel_by_skipping_a_pass_and_see_it_named(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve("exact_attention"))
    page.press("u")
    page.choose("insert-barriers")
    page.press("x")
    refused = wait_for(lambda: page.text("#banner"))
    assert "needs: barriers placed" in refused and "run one of these before it: insert-barriers" in refused
    shoot("4-refused")
    page.one("#anyway").click()
    wait_for(lambda: page.text("#check").startswith("✗"), 120)
    assert page.text("#check") == "✗ convert-triton-gpu-to-llvm without insert-barriers"
    page.one("#check").click()
    wait_for(lambda: page.text("#title") == "convert-triton-gpu-to-llvm")
    said = wait_for(lambda: page.text("#doc"))
    assert "needs: barriers placed" in said and "shared-race" in said and "networks.py:278" in said
    assert "without a barrier" in said
    shoot("4-anyway")
    page.press("5")
    assert "--skip insert-barriers --anyway" in (page.attribute("#command", "value") or "")
    tidy = Path(lessons.__file__).with_name("tidy_passes.py")
    kernel = LESSON_KERNELS / "exercises.py"
    page.open(
        serve(
            f"{kernel}:softmax_rows", "--signature", "*fp32:16,*fp32:16,N=128", "--load", str(tidy),
            "--insert", "exercise-tidy-quotients after triton-combine", "--insert", "exercise-tidy-constants after tritongpu-coalesce",
        )
    )  # fmt: skip
    wait_for(lambda: "exercise-tidy-quotients" in page.text("#check"), 120)
    page.one("#check").click()
    wait_for(lambda: page.text("#title") == "exercise-tidy-quotients")
    assert len(page.all("#passes .broken")) == 1 and any(
        "arith.divf" in line for line in page.lines("before", "k-removed")
    )
    shoot("4-broken")


def test_5_compare_ours_with_tritons_ttgir(page: Page, serve: Servers, shoot: Shoot) -> None:
    if importlib.util.find_spec("triton") is None:
        pytest.skip("needs Triton's wheel")
    page.open(serve(*SOFTMAX))
    page.choose("tritongpu-coalesce")
    page.select("before", "Triton 3.6.0")
    wait_for(
        lambda: (
            "tritongpu-coalesce" in (page.attribute("#before-title", "title") or "")
            and page.browser.current_url.count("left=1.")
        ),
        120,
    )
    assert not page.text("#banner")
    page.press("f")
    assert page.line("before", "tt.load") is not None and page.line("after", "tt.load") is not None
    page.click_line("source", "tl.load(")
    wait_for(lambda: any("tt.load" in line for line in page.lines("before", "marked")))
    assert any("tt.load" in line for line in page.lines("before", "k-same")), "values' names are no difference"
    page.wait_until_checked()
    shoot("5-triton")


def test_6_follow_a_line_to_sass_and_back(page: Page, serve: Servers, shoot: Shoot) -> None:
    from minitriton.codegen.assemblers import assembler_available
    from minitriton.tools.disasm import find_tool

    if not assembler_available() or find_tool("nvdisasm") is None:
        pytest.skip("needs ptxas and nvdisasm")
    page.open(serve(*SOFTMAX))
    page.choose("emit-ptx")
    page.select("after", "sass")
    wait_for(lambda: "sass" in (page.attribute("#after-title", "title") or ""))
    page.click_line("after", "LDG")
    wait_for(lambda: any("tl.load" in line for line in page.lines("source", "marked")))
    assert any("LDG" in line for line in page.lines("after", "marked")), "the line that was clicked stays in sight"
    page.wait_until_checked()
    shoot("6-sass")
    page.click_line("source", "tl.store(")
    wait_for(lambda: page.lines("after", "marked") and page.lines("before", "marked"))


def test_7_open_the_file_without_a_server(page: Page, shoot: Shoot, tmp_path: Path) -> None:
    from minitriton.commands.cli import main

    file = tmp_path / "attention.html"
    assert main(["explore", "exact_attention", "--html", str(file)]) == 0
    assert file.stat().st_size < 5e6
    page.open(f"file://{file}")
    page.choose("tritongpu-coalesce")
    page.click_line("after", "tt.load")
    assert page.text("#access")
    page.press("2")
    assert page.one("#layout canvas")
    page.press("3")
    assert page.one("#pattern canvas")
    page.press("4")
    assert "%" in page.text("#resources") and page.all("#liveness rect") and page.all("#source .heat")
    assert "every pass keeps the numbers" in page.text("#check")
    shoot("7-file")
    page.press("5")
    assert "minitriton explore exact_attention" in page.text("#panel-whatif")


def test_8_recompile_after_an_edit(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve(*SOFTMAX))
    page.press("5")
    page.edit(lambda text: text.replace("tl.exp(x)", "tl.exp(x) * 2"))
    assert "compiled in" in page.text("#status")
    page.wait_until_checked()
    shoot("8-edited")
    link = page.attribute("#link", "href")
    command = page.attribute("#command", "value") or ""
    assert command.startswith("minitriton explore --state ")
    page.edit(lambda text: text.replace("tl.exp(x)", "tl.nothing(x)"))
    assert "nothing" in page.text("#status") and page.all("#editor .wrong")
    shoot("8-error")
    page.open(link)
    wait_for(lambda: page.line("source", "tl.exp(x) * 2"))
    page.press("4")
    wait_for(lambda: "differ" in page.text("#panel-costs") or "same as before" in page.text("#panel-costs"), 60)


def test_9_open_a_kernel_of_2000_ops(page: Page, serve: Servers, shoot: Shoot, tmp_path: Path) -> None:
    body = "\n".join(f"    x = x * {1 + at % 7} + tl.load(p + {at} * 64 + at)" for at in range(280))
    file = tmp_path / "long.py"
    file.write_text(
        f"import triton\nimport triton.language as tl\n\n@triton.jit\ndef long(p, out):\n    at = tl.arange(0, 64)\n    x = tl.load(p + at)\n{body}\n    tl.store(out + at, x)\n"
    )
    page.open(serve(f"{file}:long", "--signature", "*fp32:16,*fp32:16", "--grid", "1"))
    page.choose("tritongpu-coalesce")
    assert int(page.text("#after-size").split()[0]) > 2000
    took = page.browser.execute_async_script(CLICKS)
    assert sorted(took)[len(took) // 2] < 250, took
    page.choose("tritongpu-coalesce")
    page.click_line("after", "tt.load")
    wait_for(lambda: page.text("#access"))
    page.wait_until_checked()
    shoot("9-long")


CLICKS = """
    const [done] = arguments;
    const took = [];
    const items = [...document.querySelectorAll('#passes li')].slice(0, 12);
    const next = () => {
        const item = items.shift();
        if (!item) return done(took);
        const start = performance.now();
        document.getElementById(item.id).click();
        requestAnimationFrame(() => setTimeout(() => { took.push(performance.now() - start); next(); }));
    };
    next();
"""


def test_10_by_keyboard_alone(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve(*SOFTMAX))
    page.wait_until_checked()
    page.press("/")
    page.focused.send_keys("coalesce", Keys.ENTER)
    page.press("j")
    wait_for(lambda: "coalesce" in page.text("#title"))
    page.press("a")
    wait_for(lambda: page.focused.get_attribute("aria-label") == "after")
    for _ in range(30):
        page.focused.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
        if page.all("#access"):
            break
    wait_for(lambda: "line=" in page.browser.current_url)
    page.press(Keys.ESCAPE, "2")
    wait_for(lambda: page.attribute("#tab-layout", "aria-selected") == "true")
    page.press("?")
    wait_for(lambda: page.attribute("#help", "open"))
    shoot("10-keys")
    page.focused.send_keys(Keys.ESCAPE)
    wait_for(lambda: not page.attribute("#help", "open"))
    page.press("e")
    wait_for(lambda: page.focused.get_attribute("aria-label") == "edited text")
    page.focused.send_keys(Keys.CONTROL, Keys.END)
    page.focused.send_keys("# typed")
    page.focused.send_keys(Keys.CONTROL, Keys.ENTER)
    wait_for(lambda: "compiled in" in page.text("#status"))
    page.focused.send_keys(Keys.ESCAPE)
    wait_for(lambda: "state=" in page.browser.current_url)
    before = len(page.all("#changes button[aria-pressed]"))
    page.press("x")
    wait_for(lambda: len(page.all("#changes button[aria-pressed]")) > before)


def test_the_drawer_is_made_higher_by_the_keyboard(page: Page, serve: Servers) -> None:
    page.open(serve("log_sum_exp"))
    before = page.one(".drawer").size["height"]
    page.one("#splitter").send_keys(Keys.ARROW_UP, Keys.ARROW_UP)
    wait_for(lambda: page.one(".drawer").size["height"] > before + 20)


def test_an_exercise_is_solved_in_the_browser(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve("log_sum_exp"))
    page.press("6")
    page.one("button[data-exercise=wide-load]").click()
    page.one("#check-answer").click()
    wait_for(lambda: "✗" in page.text("#graded"), 60)
    page.press("5")
    page.edit(
        lambda text: text.replace(
            "row = tl.program_id(0)\n    columns",
            "row = tl.program_id(0)\n    tl.assume(stride % 16 == 0)\n    columns",
        )
    )
    page.press("6")
    page.one("#check-answer").click()
    wait_for(lambda: "Solved." in page.text("#graded"), 60)
    shoot("exercise")


def test_the_tour_goes_from_stop_to_stop(page: Page, serve: Servers, shoot: Shoot) -> None:
    page.open(serve("log_sum_exp"))
    page.press("6")
    next(one for one in wait_for(lambda: page.all("#tour button")) if "vector add" in one.text).click()
    for stop in range(1, 8):
        wait_for(lambda stop=stop: page.text("#lesson").startswith(f"{stop}/8"))
        if stop == 4:
            wait_for(lambda: page.all("#layout canvas"))
            shoot("tour")
        if stop < 8:
            next(one for one in page.all("#lesson button") if one.text == "next").click()
    wait_for(lambda: page.text("#lesson").startswith("8/8"))


WRONG = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x):\n    tl.store(x, y)\n"


def test_a_kernel_that_does_not_compile_is_mended_on_the_page(
    page: Page, serve: Servers, shoot: Shoot, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)
    page.browser.get(serve(f"{file}:k", "--signature", "*fp32"))
    assert "wrong.py:6" in page.text("#failure") and "y is not defined" in page.text("#failure")
    assert [line.text for line in page.all("#editor .wrong")] == ["    tl.store(x, y)"]
    shoot("error")
    content = page.one("#editor .cm-content")
    page.browser.execute_script(
        "const v = arguments[0].cmView.view; v.dispatch({changes: {from: v.state.doc.toString().indexOf('y)'), to: v.state.doc.toString().indexOf('y)') + 1, insert: '1.0'}})",
        content,
    )
    page.one("#mend").click()
    wait_for(lambda: page.text("#kernel").startswith("k,") and page.all("#passes li"))
    assert file.read_text() == WRONG


SCALED = """import triton
import triton.language as tl

@triton.jit
def k(x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)
"""


def test_a_signature_of_wrong_types_is_mended_on_the_page_and_changed_in_what_if(
    page: Page, serve: Servers, tmp_path: Path
) -> None:
    file = tmp_path / "scaled.py"
    file.write_text(SCALED)
    page.browser.get(serve(f"{file}:k", "--signature", "i32,i32,BLOCK=128"))
    assert "Unsupported ptr type" in page.text("#failure")
    field = page.one("#failed input.signature")
    assert field.get_attribute("value") == "i32,i32,BLOCK=128"
    field.clear()
    field.send_keys("*fp32:16,i32,BLOCK=128", Keys.ENTER)
    wait_for(lambda: len(page.all("#passes li")) > 1)
    page.press("5")
    field = page.one(".whatif input.signature")
    assert field.get_attribute("value") == "*fp32:16,i32,BLOCK=128"
    field.clear()
    field.send_keys("*fp32:16,i32,BLOCK=512", Keys.ENTER)
    wait_for(lambda: "compiled in" in page.text("#status"))
    assert page.text("#changes h4") == "change 1: BLOCK=512"
    assert "BLOCK=512" in page.attribute("#command", "value")
    page.choose("frontend")
    assert page.line("after", "tensor<512xi32>") is not None


def test_two_tabs_and_a_file_that_changes(page: Page, serve: Servers, tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)
    address = serve(f"{file}:k", "--signature", "*fp32")
    page.browser.get(address)
    wait_for(lambda: "y is not defined" in page.text("#failure"))
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    file.write_text(WRONG.replace("y)", "1.0)"))
    page.open(address)
    assert page.line("source", "1.0") is not None
    file.write_text(WRONG.replace("y)", "2.0)"))
    page.choose("emit-ptx")
    page.press("4")
    wait_for(lambda: "has changed since this page" in page.text("#panel-costs"))
    page.browser.close()
    page.browser.switch_to.window(first)
    page.one("#again").click()
    wait_for(lambda: len(page.all("#passes li")) > 1)
    assert page.line("source", "2.0") is not None
    page.press("4")
    wait_for(lambda: page.text("#totals"))


def test_a_page_that_is_loaded_again_shows_what_was_edited_in_an_imported_helper(
    page: Page, serve: Servers, tmp_path: Path
) -> None:
    helper = tmp_path / "helper_of_k.py"
    helper.write_text("import triton\n\n@triton.jit\ndef twice(x):\n    return x * 2.5\n")
    file = tmp_path / "k.py"
    file.write_text(
        WRONG.replace("y)", "twice(tl.load(x)))").replace(
            "import triton\n", "import triton\nfrom helper_of_k import twice\n", 1
        )
    )
    address = serve(f"{file}:k", "--signature", "*fp32")
    page.open(address)
    page.choose("frontend")
    assert page.line("after", "2.5") is not None
    helper.write_text(helper.read_text().replace("2.5", "3.5"))
    page.choose("emit-ptx")
    page.press("4")
    wait_for(lambda: "helper_of_k.py has changed since this page" in page.text("#panel-costs"))
    page.browser.refresh()
    page.wait_until_ready()
    page.choose("frontend")
    assert page.line("after", "3.5") is not None
    # Another server opens it from the disk: the same page, compiled again and found to be the same.
    page.open(serve(f"{file}:k", "--signature", "*fp32"))
    page.choose("frontend")
    assert page.line("after", "3.5") is not None
    script = "return ['source', 'ready', 'verified'].map((name) => performance.getEntriesByName(name).length)"
    wait_for(lambda: page.browser.execute_script(script) == [1, 1, 1])


def test_the_page_says_when_its_server_has_ended_and_stays(page: Page, serve: Servers) -> None:
    page.open(serve("log_sum_exp"))
    page.wait_until_checked()
    serve.end()
    page.press("5", "4")
    wait_for(lambda: "the server does not answer" in page.text("#panel-costs"))
    page.choose("emit-ptx")
    assert page.lines("after", "k-same") or page.lines("after", "k-added")
    # The browser itself says that nobody listens there any more: that is what is tested.
    page.browser.get_log("browser")


def test_a_compile_that_does_not_end_is_cancelled(page: Page, serve: Servers, tmp_path: Path) -> None:
    file = tmp_path / "endless.py"
    file.write_text("while True: pass\n" + WRONG.replace("y)", "1.0)"))
    page.browser.get(serve(f"{file}:k", "--signature", "*fp32"))
    wait_for(lambda: not page.attribute("#busy", "hidden"))
    assert page.text("#busy-what").startswith("compiling, ")
    page.one("#cancel").click()
    wait_for(lambda: "cancelled" in page.text("#failure"))
    file.write_text(WRONG.replace("y)", "1.0)"))
    page.one("#again").click()
    wait_for(lambda: page.all("#passes li"))
    assert page.attribute("#busy", "hidden")


def test_the_address_opens_the_page_in_other_tabs_and_the_code_leaves_it(page: Page, serve: Servers) -> None:
    page.open(serve("log_sum_exp"))
    assert "code" not in page.browser.current_url
    page.browser.refresh()
    page.wait_until_ready()
    first = page.browser.current_window_handle
    page.browser.switch_to.new_window("tab")
    page.open(serve.addresses[-1].partition("#")[0])
    page.browser.close()
    page.browser.switch_to.window(first)


@pytest.mark.parametrize(
    ("kernel", "signature"),
    [
        ("matmul", "tensordesc<fp16[128,64]>,tensordesc<fp16[64,128]>,*fp32:16,i32:16,M=128,N=128,K=64"),
        ("attention", "tensordesc<fp16[128,64]>,tensordesc<fp16[64,64]>,tensordesc<fp16[64,64]>,*fp32:16,i32:16,M=128,N=64,D=64"),
    ],
)  # fmt: skip
def test_what_is_in_flight_stands_next_to_the_ops_of_ttgir(
    page: Page, serve: Servers, shoot: Shoot, kernel: str, signature: str
) -> None:
    page.open(serve(f"docs/examples/pipelined.py:{kernel}", "--signature", signature))
    page.choose("tritongpu-pipeline")
    page.click_line("after", "ttng.async_tma_copy_global_to_local")
    assert "copies %" in wait_for(lambda: page.text("#in-flight"))
    marks = wait_for(lambda: page.all("#after .heat"))
    assert "cop" in marks[0].text and "in flight after this op: copies %" in marks[0].get_attribute("title")
    shoot(f"in-flight-{kernel}")
