"""How long the explorer lets a person wait, in a headless Chromium. Needs no GPU; needs Debian's chromium and chromium-driver.

    python benchmarks/explorer_speed.py [matmul] [attention] [--rounds N] [--json FILE]

For each kernel, medians and worst of all rounds:

    start     from the command to the page with the kernel's file, and with every stage and difference in it; the first time, and again
    click     from a click to the frame that shows its answer, for each kind of click, each target once; and what it takes of a processor
    edit      from "Compile" to the page of the new compile, what was looked at before and after its pass; less what the same
              compile takes in a warm process without the explorer; and until every other state and difference is there too
    file      bytes of the file that --html writes, and how long it takes to open

Other programs disturb wall time: the machine's load is printed, and `least` is the best of the rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from chromium import chromium
from driving import Page, wait_for

TOUR = "minitriton_kernels/lessons/tour.py:matmul"
TILES = "tensordesc<fp16[128,64]>,tensordesc<fp16[64,64]>,tensordesc<fp16[64,64]>,tensordesc<fp16[128,64]>"
KERNELS = {
    "matmul": (TOUR, "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,BM=128,BN=128,BK=64"),
    "attention": ("minitriton_kernels/attention.py:attention", f"{TILES},*fp32:16,i32:16,fp32,BM=128,BN=64,D=64,CAUSAL=True"),
}  # fmt: skip
OPTIONS = ("num_warps=8",)
LIMITS = {"start": 1.0, "edit beyond the compile": 0.3, "click": 0.1, "file": 5e6}

STAGE_LINES = "#after .cm-line:not(.k-filler):not(.k-fold)"

CLICK = """
const [selector, index, waits, done] = arguments;
const target = [...document.querySelectorAll(selector)][index];
target.scrollIntoView({ block: "nearest" });
const box = target.getBoundingClientRect();
const seen = performance.getEntriesByName("shown").length;
const at = { bubbles: true, cancelable: true, view: window, clientX: box.x + Math.min(box.width / 2, 40), clientY: box.y + box.height / 2 };
requestAnimationFrame(() => setTimeout(() => {
    const start = performance.now();
    for (const kind of ["mousemove", "mousedown", "mouseup", "click"]) target.dispatchEvent(new MouseEvent(kind, at));
    const look = () => {
        if (waits && performance.getEntriesByName("shown").length === seen) return requestAnimationFrame(look);
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
    };
    look();
}));
"""

EDIT = """
const [text, done] = arguments;
const editor = document.querySelector("#editor .cm-content").cmView.view;
editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text } });
const seen = performance.getEntriesByName("shown").length;
requestAnimationFrame(() => setTimeout(() => {
    const completed = performance.getEntriesByName("completed").length;
    const start = performance.now();
    [...document.querySelectorAll(".whatif button")].find((one) => one.textContent === "Compile").click();
    const once = (name, before, then) => {
        if (performance.getEntriesByName(name).length === before) return requestAnimationFrame(() => once(name, before, then));
        requestAnimationFrame(() => setTimeout(() => then(performance.now() - start)));
    };
    once("shown", seen, (first) => once("completed", completed, (all) => done([first, all])));
}));
"""


@dataclass
class Row:
    """What was measured of one thing, in seconds (of a file: bytes)."""

    kernel: str
    what: str
    values: list[float] = field(default_factory=list)
    limit: float | None = None

    def text(self) -> str:
        """As a row of a table."""
        of = (lambda x: f"{x / 1e6:.2f} MB") if self.what == "file" else (lambda x: f"{1e3 * x:.0f} ms")
        cells = [of(statistics.median(self.values)), of(max(self.values)), of(min(self.values)), str(len(self.values))]
        return f"| {self.kernel} | {self.what} | {' | '.join(cells)} | {of(self.limit) if self.limit else ''} |"


class Measured:
    """Rows by kernel and name."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Row] = {}

    def add(self, kernel: str, what: str, value: float, limit: float | None = None) -> None:
        """One more value."""
        self.rows.setdefault((kernel, what), Row(kernel, what, limit=limit)).values.append(value)

    def table(self) -> str:
        """All rows."""
        head = "| kernel | | median | worst | least | of | wanted |\n|---|---|---|---|---|---|---|"
        return "\n".join([head, *(row.text() for row in self.rows.values())])


@contextlib.contextmanager
def served(*arguments: str, cache: str | None = None) -> Iterator[tuple[str, float]]:
    """A server: its address, and when it was started (seconds since 1970); with a cache of its own."""
    start = time.time()
    command = [sys.executable, "-m", "minitriton", "explore", *arguments, "--port", "0", "--no-browser"]
    own = {} if cache is None else {"TRITON_CACHE_DIR": cache}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **own})
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), start
    finally:
        with process:
            process.send_signal(signal.SIGINT)


def given(kernel: str) -> list[str]:
    """The command line of a kernel."""
    source, signature = KERNELS[kernel]
    return [source, "--signature", signature, *(word for option in OPTIONS for word in ("--option", option))]


def plain_compile(kernel: str, clock: Callable[[], float] = time.perf_counter) -> Callable[[str], float]:
    """What gives the seconds that one compile of a text of the kernel's file takes, in this process, which is warm."""
    from minitriton.dialects.context import make_context
    from minitriton.explorer.compile_request import CompileRequest
    from minitriton.explorer.program import open_program
    from minitriton.pipeline.pass_manager import PassManager

    source, signature = KERNELS[kernel]

    def once(text: str) -> float:
        gc.collect()
        start = clock()
        program = open_program(CompileRequest(source, signature, options=OPTIONS, kernel_text=text))
        context = make_context()
        value = program.source.make_ir(program.target, program.options, context)
        PassManager(program.pipeline(), []).run(context, value)
        return clock() - start

    once(edited(kernel, 0))
    return once


def edited(kernel: str, number: int) -> str:
    """The kernel's file with a change that makes it another program."""
    text = Path(KERNELS[kernel][0].partition(":")[0]).read_text()
    return f"{text}\n# change {number}\n"


def measure_start(browser: Any, kernel: str, measured: Measured) -> None:
    """One start of the server."""
    with tempfile.TemporaryDirectory() as cache:
        for which in ("first opening", "opened again"):
            with served(*given(kernel), cache=cache) as (address, start):
                Page(browser).open(address)
                source, ready = browser.execute_script(
                    "return ['source', 'ready'].map((name) => performance.timeOrigin + performance.getEntriesByName(name)[0].startTime)"
                )
                measured.add(kernel, f"{which}: start to source", source / 1e3 - start, LIMITS["start"])
                limit = LIMITS["start"] if which == "opened again" else None
                measured.add(kernel, f"{which}: start to every state", ready / 1e3 - start, limit)
                # The compile is written to disk after it was answered.
                wait_for(lambda: list(Path(cache).glob("*/read.json")))


def main_thread_seconds(browser: Any) -> float:
    """Processor time that the page's main thread has taken: other programs disturb it less than the time to the frame."""
    metrics = browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def measure_clicks(browser: Any, kernel: str, measured: Measured) -> None:
    """Every kind of click, on each target that is in sight; first in a page that is new."""
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    with served(*given(kernel)) as (address, _):
        page = Page(browser)
        page.open(address)

        def click(what: str, selector: str, index: int = 0, *, waits: bool = True) -> None:
            before = main_thread_seconds(browser)
            took = browser.execute_async_script(CLICK, selector, index, waits) / 1e3
            measured.add(kernel, f"click: {what}", took, LIMITS["click"])
            measured.add(kernel, "any click: processor time", main_thread_seconds(browser) - before, LIMITS["click"])

        for index in range(len(page.all("#passes li"))):
            click("a pass", "#passes li", index)
        names = [item.text.split("\n")[0] for item in page.all("#passes li")]
        at = names.index("tritongpu-coalesce")
        for step in (at, at + 1, names.index("emit-ptx")):
            click("a pass", "#passes li", step)
            for index in range(min(12, len(page.all(STAGE_LINES)))):
                click("a line of a stage", STAGE_LINES, index)
        for index in range(min(20, len(page.all("#source .cm-line")))):
            click("a line of the kernel", "#source .cm-line", index)
        click("a pass", "#passes li", at)
        for index in range(min(25, len(page.all("#after .t-variable")))):
            click("a value, its facts", "#after .t-variable", index)
        click("a tab", "#tab-layout")
        for index in range(min(25, len(page.all("#after .t-variable")))):
            click("a value, its layout", "#after .t-variable", index)
        for index in range(len(page.all("#panel-layout .choices button"))):
            click("a layout's colours", "#panel-layout .choices button", index, waits=False)
        for tab in ("facts", "layout", "whatif", "learn", "facts"):
            click("a tab", f"#tab-{tab}")
        for _ in range(4):
            click("fold", "#fold", waits=False)
            click("passes that changed nothing", "#unchanged", waits=False)


def measure_edits(browser: Any, kernel: str, rounds: int, measured: Measured) -> None:
    """Edits of the kernel's file, compiled by the page and without it in turn."""
    once = plain_compile(kernel)
    with served(*given(kernel)) as (address, _):
        page = Page(browser)
        page.open(address)
        page.press("5")
        page.one("#editor .cm-content")
        browser.set_script_timeout(60)
        for number in range(1, rounds + 2):
            text = edited(kernel, number)
            compile_alone = once(text)
            took, whole = (one / 1e3 for one in browser.execute_async_script(EDIT, text))
            assert "compiled in" in page.text("#status"), page.text("#status")
            if number == 1:
                continue
            measured.add(kernel, "edit to page", took)
            measured.add(kernel, "the compile alone", compile_alone)
            measured.add(kernel, "edit beyond the compile", took - compile_alone, LIMITS["edit beyond the compile"])
            measured.add(kernel, "edit to every state", whole)
            measured.add(kernel, "every state beyond the compile", whole - compile_alone)


def measure_processor(kernel: str, rounds: int, measured: Measured) -> None:
    """Processor time of what an edit takes in the process that answers it, beyond the compile: other programs disturb it less."""
    from minitriton.explorer.compile_request import CompileRequest
    from minitriton.explorer.packing import packed
    from minitriton.explorer.session import ExplorerSession

    once = plain_compile(kernel, time.process_time)
    session = ExplorerSession(keeps=False)
    source, signature = KERNELS[kernel]
    gc.freeze()
    gc.set_threshold(200_000)
    for number in range(1, rounds + 2):
        text = edited(kernel, number)
        alone = once(text)
        start = time.process_time()
        asked = CompileRequest(source, signature, options=OPTIONS, kernel_text=text).plain()
        question = {"asked": asked, "look": ["tritongpu-coalesce", 14]}
        json.dumps(packed(session.answer("compile", question)), separators=(",", ":"))
        took = time.process_time() - start
        if number > 1:
            measured.add(kernel, "edit: processor time of the compile alone", alone)
            measured.add(kernel, "edit: processor time beyond it", took - alone, LIMITS["edit beyond the compile"])


def measure_file(browser: Any, kernel: str, rounds: int, measured: Measured) -> None:
    """The file that needs no server."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{kernel}.html"
        command = [sys.executable, "-m", "minitriton", "explore", *given(kernel), "--html", str(path)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        measured.add(kernel, "file", path.stat().st_size, LIMITS["file"])
        for _ in range(rounds):
            start = time.time()
            Page(browser).open(f"file://{path}")
            ready = browser.execute_script(
                "return performance.timeOrigin + performance.getEntriesByName('ready')[0].startTime"
            )
            measured.add(kernel, "file to page", ready / 1e3 - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help=", ".join(KERNELS))
    parser.add_argument("--only", choices=("start", "clicks", "edits", "file"), help="measure only this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    os.chdir(Path(__file__).parents[1])
    measured = Measured()
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as browser:
        for kernel in arguments.kernels or KERNELS:
            for _ in range(arguments.rounds if arguments.only in (None, "start") else 0):
                measure_start(browser, kernel, measured)
            if arguments.only in (None, "clicks"):
                measure_clicks(browser, kernel, measured)
            if arguments.only in (None, "edits"):
                measure_edits(browser, kernel, arguments.rounds, measured)
                measure_processor(kernel, arguments.rounds, measured)
            if arguments.only in (None, "file"):
                measure_file(browser, kernel, arguments.rounds, measured)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    print(measured.table())
    if arguments.json:
        arguments.json.write_text(json.dumps([vars(row) for row in measured.rows.values()], indent=1))


if __name__ == "__main__":
    main()
