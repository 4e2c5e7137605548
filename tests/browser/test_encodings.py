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

ROWS = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"
COLUMNS = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [1, 4], order = [0, 1]}>"
KERNEL = f"""#shared = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}}>
#rows = {ROWS}
#columns = {COLUMNS}
#smem = #ttg.shared_memory
module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @turn(%x: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %out: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
    %c = arith.constant dense<32> : tensor<32x1xi32, #rows>
    %i = tt.make_range {{end = 32 : i32, start = 0 : i32}} : tensor<32xi32, #ttg.slice<{{dim = 1, parent = #rows}}>>
    %j = tt.make_range {{end = 32 : i32, start = 0 : i32}} : tensor<32xi32, #ttg.slice<{{dim = 0, parent = #rows}}>>
    %i1 = tt.expand_dims %i {{axis = 1 : i32}} : tensor<32xi32, #ttg.slice<{{dim = 1, parent = #rows}}>> -> tensor<32x1xi32, #rows>
    %j1 = tt.expand_dims %j {{axis = 0 : i32}} : tensor<32xi32, #ttg.slice<{{dim = 0, parent = #rows}}>> -> tensor<1x32xi32, #rows>
    %i2 = arith.muli %i1, %c : tensor<32x1xi32, #rows>
    %i3 = tt.broadcast %i2 : tensor<32x1xi32, #rows> -> tensor<32x32xi32, #rows>
    %j3 = tt.broadcast %j1 : tensor<1x32xi32, #rows> -> tensor<32x32xi32, #rows>
    %at = arith.addi %i3, %j3 : tensor<32x32xi32, #rows>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #rows>
    %q = tt.addptr %p, %at : tensor<32x32x!tt.ptr<f32>, #rows>, tensor<32x32xi32, #rows>
    %v = tt.load %q : tensor<32x32x!tt.ptr<f32>, #rows>
    %m = ttg.local_alloc %v : (tensor<32x32xf32, #rows>) -> !ttg.memdesc<32x32xf32, #shared, #smem>
    %w = ttg.local_load %m : !ttg.memdesc<32x32xf32, #shared, #smem> -> tensor<32x32xf32, #columns>
    %z = ttg.convert_layout %w : tensor<32x32xf32, #columns> -> tensor<32x32xf32, #rows>
    %s = tt.splat %out : !tt.ptr<f32> -> tensor<32x32x!tt.ptr<f32>, #rows>
    %o = tt.addptr %s, %at : tensor<32x32x!tt.ptr<f32>, #rows>, tensor<32x32xi32, #rows>
    tt.store %o, %z : tensor<32x32x!tt.ptr<f32>, #rows>
    tt.return
  }}
}}
"""


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    (tmp_path / "turn.ttgir").write_text(KERNEL)
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
    server.terminate()
    server.wait(20)


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
    assert page.one("#compile-encoding").get_attribute("disabled")
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
