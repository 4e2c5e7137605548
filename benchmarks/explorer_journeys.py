"""27 tasks as somebody does them who has never seen the explorer, in a headless Chromium. Needs no GPU; needs Debian's chromium and chromium-driver.

    python benchmarks/explorer_journeys.py [TASK...] [--width 1280] [--pictures DIR]

Each begins at the page of `minitriton explore` alone, with nothing opened before, and uses only what can be seen there: buttons, fields and lines by
their text. It is done when its answer stands on the page; a row of the table has

    done           that the answer was seen; else what was missing
    actions        clicks, texts typed, keys
    seconds        from the start page to the answer: the machine's time alone, nobody thinks
    longest wait   of one action, until what it leads to was there

A task fails where its answer is not in sight, the console has an error, a request leaves the machine, the page is wider than its window, or
axe-core finds a fault of contrast, labels or reach by keyboard in how it ends.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))

from chromium import chromium
from driving import Page, wait_for
from explorer_speed import served
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.keys import Keys
from views import violations, wrong

LIMIT = 300.0
"""Seconds in which each task is to be done."""

FIND = """const [text, within, kinds] = arguments;
    const isSeen = (one) => one.checkVisibility({visibilityProperty: true}) && one.getClientRects().length > 0;
    const nameOf = (one) => (one.innerText || one.getAttribute("aria-label") || "").trim();
    const all = [...document.querySelectorAll(within)].flatMap((place) => [...place.querySelectorAll(kinds)]).filter(isSeen);
    return all.find((one) => nameOf(one) === text) ?? all.find((one) => nameOf(one).startsWith(text)) ?? null"""
FIELD = """const [name] = arguments;
    return [...document.querySelectorAll("input, select")].find((one) => one.checkVisibility() &&
        [one.placeholder, one.getAttribute("aria-label"), one.closest("label")?.innerText.trim()].some((text) => text?.startsWith(name))) ?? null"""
SEEN = "return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).map((one) => one.innerText).join('\\n')"
TYPE = "const v = document.querySelector(arguments[0]).cmView.view; v.dispatch({changes: {from: 0, to: v.state.doc.length, insert: arguments[1]}})"
READ = "return document.querySelector(arguments[0]).cmView.view.state.doc.toString()"


class Person(Page):
    """Somebody at the page: what can be seen is pressed, typed into and read."""

    def __init__(self, browser: Any, folder: Path) -> None:
        super().__init__(browser)
        self.folder = folder
        self.actions = 0
        self.longest = 0.0

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """What is waited for in it."""
        start = time.monotonic()
        yield
        self.longest = max(self.longest, time.monotonic() - start)

    def press_on(self, text: str, within: str = "body") -> None:
        """A button, tab, link or entry of a list that says `text`."""
        with self.waiting():
            kinds = "button, a, summary, li, label"
            found = wait_for(lambda: self.browser.execute_script(FIND, text, within, kinds), LIMIT)
            self.browser.execute_script("arguments[0].scrollIntoView({block: 'nearest'})", found)
            found.click()
        self.actions += 1

    def fill(self, name: str, text: str, *, enter: bool = True) -> None:
        """A field that is called `name`, or asks for it."""
        with self.waiting():
            field = wait_for(lambda: self.browser.execute_script(FIELD, name), LIMIT)
            field.clear()
            field.send_keys(text, *([Keys.ENTER] if enter else []))
        self.actions += 1

    def write(self, change: Callable[[str], str], editor: str = "#editor") -> None:
        """The text of an editor, which is typed anew in part."""
        content = f"{editor} .cm-content"
        wait_for(lambda: self.all(content))
        old = self.browser.execute_script(READ, content)
        assert change(old) != old, "there is nothing to change"
        self.browser.execute_script(TYPE, content, change(old))
        self.actions += 1

    def compile(self) -> None:
        """What is in the editor under What if."""
        self.browser.execute_script("document.getElementById('status').textContent = ''")
        self.press_on("Compile", ".whatif")
        with self.waiting():
            wait_for(lambda: self.text("#status") not in ("", "compiling…"), LIMIT)

    def look_at(self, pane: str, text: str) -> None:
        """Clicks a line of the source, or of the state that is shown."""
        # On a narrow page the panes are below each other; only what is in sight of the window is there.
        self.browser.execute_script("document.getElementById(arguments[0]).scrollIntoView({block: 'nearest'})", pane)
        with self.waiting():
            self.click_line(pane, text)
        self.actions += 1

    def key(self, *keys: str) -> None:
        """A key that the list of keys names."""
        self.press(*keys)
        self.actions += len(keys)

    def sees(self, *texts: str, within: str = "body") -> str:
        """Waits until all of `texts` are in sight; what is there then."""

        def found() -> str | None:
            shown = self.browser.execute_script(SEEN, within)
            missing[:] = [text for text in texts if text not in shown]
            return None if missing else shown

        missing: list[str] = []
        with self.waiting():
            try:
                return wait_for(found, LIMIT)
            except AssertionError:
                shown = self.browser.execute_script(SEEN, within)
                raise AssertionError(f"not to be seen: {missing}, but {shown[:300]!r}") from None

    def is_checked(self, verdict: str) -> None:
        """Waits for what the page says of all passes."""
        with self.waiting():
            wait_for(lambda: self.text("#check")[:1] in "✓✗?", LIMIT)
        assert self.text("#check") == verdict, self.text("#check")

    def opens(self, name: str) -> None:
        """Finds a kernel on the start page."""
        self.fill("find a kernel", name)
        self.is_open(name)

    def is_open(self, name: str) -> None:
        """Waits until a kernel is shown, with all its passes."""
        with self.waiting():
            wait_for(lambda: self.attribute("body", "data-ready") == "true", LIMIT)
        assert self.text("#kernel").startswith(name), self.text("#kernel")

    def types(self, kernel: str) -> None:
        """A kernel, on the start page."""
        self.press_on("Write or paste a kernel")
        self.write(lambda _: kernel, "#typed-kernel")
        self.press_on("Compile this text")

    def chooses(self, name: str) -> None:
        """A pass of the list."""
        self.press_on(name, "#passes")
        wait_for(lambda: self.text("#title").startswith(name))

    def state(self, side: str, text: str) -> None:
        """Another state at a side, of its menu."""
        self.select(side, text)
        self.actions += 1


def lines(*given: str) -> str:
    """The text of a file with a kernel."""
    return "\n".join(["import triton", "import triton.language as tl", "", "", *given, ""])


HEAD = ("@triton.jit", "def total(x_ptr, out_ptr, n, BLOCK: tl.constexpr):", "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)")  # fmt: skip
RACING = lines(*HEAD, "    x = tl.load(x_ptr + at, mask=at < n, other=0.0)", "    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, axis=0))")  # fmt: skip
UNMASKED = lines(*HEAD, "    x = tl.load(x_ptr + at, mask=at < n)", "    tl.atomic_add(out_ptr, tl.sum(x, axis=0))")
SUM = UNMASKED.replace("at < n)", "at < n, other=0.0)")
RIGHT = "✓ every pass keeps the numbers"


def first_matmul(one: Person) -> None:
    """newcomer: a first matmul: from Python to PTX, and whether it is right"""
    one.opens("small_matmul")
    one.is_checked(RIGHT)
    one.sees("def small_matmul(", within="#source")
    one.chooses("emit-ptx")
    one.sees("ptx", "lines", within="#after-head")
    assert one.line("after", "fma.rn.f32") is not None


def tour(one: Person) -> None:
    """newcomer: the tour, from one stop to the next"""
    one.press_on("Take the tour")
    one.press_on("A vector add", "#panel-learn")
    for stop in range(1, 8):
        one.sees(f"{stop}/8", within="#lesson")
        one.press_on("next", "#lesson")
    one.sees("8/8", within="#lesson")
    assert one.lines("after", "marked") or one.lines("after", "hovered")


def type_a_kernel(one: Person) -> None:
    """newcomer: type a kernel with a mistake, read which line it is, and correct it"""
    one.types(SUM.replace("tl.sum", "tl.summ"))
    one.sees("line 9", "did you mean 'sum'?", within="#typed-problem")
    one.write(lambda text: text.replace("tl.summ", "tl.sum"), "#typed-kernel")
    one.press_on("Compile this text")
    one.is_open("total")
    one.is_checked(RIGHT)


def exercise(one: Person) -> None:
    """newcomer: solve an exercise"""
    one.press_on("Take the tour")
    one.press_on("Make this load 16 bytes wide", "#panel-learn")
    one.sees("Edit the kernel under What if", within="#exercise")
    one.press_on("What if", "#tabs")
    one.write(
        lambda text: text.replace(
            "row = tl.program_id(0)\n    columns",
            "row = tl.program_id(0)\n    tl.assume(stride % 16 == 0)\n    columns",
        )
    )
    one.compile()
    one.press_on("Learn", "#tabs")
    one.press_on("Check", "#panel-learn")
    one.sees("Solved.", within="#graded")


def edit_and_compile(one: Person) -> None:
    """newcomer: edit the source, compile, and see what changed in the assembly"""
    one.opens("vector_add")
    one.press_on("What if", "#tabs")
    one.write(
        lambda text: (
            text.replace("x + y", "x + y * 2.5", 1)
            if "x + y" in text
            else text.replace(" + tl.load(", " + 2.5 * tl.load(", 1)
        )
    )
    one.compile()
    one.sees("1 change", "the kernel edited", within="#differs")
    one.press_on("what changed in the assembly", "#changes")
    assert wait_for(lambda: one.lines("after", "k-added") or one.lines("after", "k-changed"), 20)


def why_narrow(one: Person) -> None:
    """student: why is this load narrow, and what widens it"""
    one.opens("softmax")
    one.chooses("tritongpu-coalesce")
    one.look_at("source", "= tl.load(")
    one.sees(
        "4 bytes at a time, of at most 16",
        "limited by the alignment",
        "tl.assume(in_stride % 16 == 0)",
        within="#access",
    )


def who_decided(one: Person) -> None:
    """student: which pass decided on this layout"""
    one.opens("exact_attention")
    one.chooses("place-shared-memory")
    one.press_on("fold", "#after-head")
    one.look_at("after", "ttg.convert_layout")
    one.sees("introduced by", within="#history")
    name = one.text("#history button")
    one.press_on(name, "#history")
    wait_for(lambda: one.text("#title").startswith(name))


def what_did_it_change(one: Person) -> None:
    """student: what did a pass change"""
    one.opens("running_sums")
    one.fill("find a pass", "coalesce", enter=False)
    one.chooses("tritongpu-coalesce")
    one.sees("Gives each memory access the layout that coalesces it", within="#doc")
    one.sees("~", within="#passes [aria-selected='true'] .counts")
    assert wait_for(lambda: one.lines("after", "k-changed"))


def values(one: Person) -> None:
    """student: what does a tensor hold"""
    one.opens("softmax")
    one.press_on("Values", "#tabs")
    one.look_at("source", "= tl.load(")
    shown = one.sees("from ", " to ", "mean", within="#panel-values")
    assert "tensor<" in shown and one.all("#held canvas, #panel-values canvas")


def graph(one: Person) -> None:
    """student: which ops reach the same memory, and in which order"""
    one.opens("small_matmul")
    one.press_on("Graph", "#tabs")
    one.sees("memory keeps the order", "ops, ", within="#panel-graph")
    with one.waiting():
        wait_for(lambda: one.all("#graph-svg .e-order"), 20)


def accesses(one: Person) -> None:
    """student: which elements does each program read and write"""
    one.opens("small_matmul")
    one.press_on("Access", "#tabs")
    one.press_on("c_ptr written", "#panel-access")
    one.sees("elements of 4 bytes touched by 4 programs", "program 1, 0, 0", within="#panel-access")


def where_is_wgmma(one: Person) -> None:
    """researcher: where does wgmma come from"""
    one.opens("matmul")
    one.fill("find a pass", "wgmma")
    one.sees("which becomes wgmma, put in by tritongpu-accelerate-matmul", within="#found")
    assert wait_for(lambda: any("warp_group_dot" in line for line in one.lines("after", "hovered")))


def skip_and_move(one: Person) -> None:
    """researcher: leave a pass out, move another, and see the effect of each; then undo"""
    one.opens("running_sums")
    one.chooses("tritongpu-coalesce")
    one.press_on("leave out", "#pass-tools")
    one.sees("tritongpu-coalesce left out", within="#differs")
    one.press_on("Costs", "#tabs")
    one.sees("sectors of 32 bytes", "before", within="#totals")
    one.press_on("undo", "#differs")
    one.chooses("tritongpu-coalesce")
    one.press_on("earlier", "#pass-tools")
    with one.waiting():
        shown = wait_for(lambda: one.browser.execute_script(SEEN, "#differs, #banner").strip(), LIMIT)
    assert "moved before" in shown or "needs" in shown, shown


def own_kernel_in_a_sweep(one: Person) -> None:
    """researcher: one's own kernel in a sweep, with Triton's next to each"""
    one.types(SUM)
    one.is_open("total")
    one.press_on("Sweep", "#tabs")
    one.fill("values of BLOCK", "64, 128, 256", enter=False)
    one.press_on("Triton 3.6.0 next to each", "#sweep")
    one.press_on("Sweep", "#sweep")
    one.sees("9 tried, 9 right", within="#sweep-status")
    one.sees("num_warps=2, BLOCK=64", "cycles", "Triton", within="#sweep-results")


def pass_orders(one: Person) -> None:
    """researcher: a kernel by other orders of its passes, and one of them opened"""
    one.opens("running_sums")
    one.press_on("Sweep", "#tabs")
    one.fill("pass orders", "6")
    one.sees("tried, ", within="#sweep-status")
    one.sees("pass order 6", within="#sweep-results")
    one.press_on("compile", "#sweep-results")
    one.sees("1 change", within="#differs")


def two_versions(one: Person) -> None:
    """researcher: two versions compared: registers, cycles, results, text"""
    one.opens("small_matmul")
    one.press_on("What if", "#tabs")
    one.fill("num_stages", "1")
    one.sees("compiled in", within="#status")
    one.press_on("Compare", "#tabs")
    one.sees("num_stages=1", "registers a thread", "cycles of a CTA, by the model", "bit-equal", within="#compare")
    one.press_on("ttgir", "#compare")
    assert wait_for(
        lambda: one.lines("before", "k-removed") or one.lines("after", "k-old") or one.lines("after", "k-changed")
    )


def next_to_triton(one: Person) -> None:
    """researcher: ours and Triton's"""
    one.opens("softmax")
    one.press_on("Compare", "#tabs")
    one.press_on("Triton 3.6.0", "#compare-with")
    shown = one.sees("Triton 3.6.0", "cycles of a CTA, by the model", "after the run", within="#compare")
    assert "bit-equal" in shown or "elements differ" in shown


def two_targets(one: Person) -> None:
    """researcher: two GPUs compared"""
    one.opens("small_matmul")
    one.press_on("What if", "#tabs")
    one.fill("arch", "80")
    one.sees("compiled in", within="#status")
    one.press_on("Compare", "#tabs")
    one.sees("sm_90", "sm_80", "cycles of a CTA, by the model", "registers a thread", within="#compare")


def costliest_line(one: Person) -> None:
    """author: which line costs most"""
    one.opens("layer_norm")
    one.press_on("Costs", "#tabs")
    one.sees("instructions of warps", "sectors of 32 bytes", within="#totals")
    one.sees("next to a line: instructions that warps executed", within="#legend")
    assert wait_for(lambda: one.all("#source .heat")), "no line has its counts"


def tiles(one: Person) -> None:
    """author: choose tile sizes for a problem, and compile the best"""
    one.opens("matmul")
    one.press_on("Tune", "#tabs")
    one.sees("This compile: number", within="#own-tiles")
    one.fill("for the sizes", "m=4096,n=4096,k=4096")
    one.sees("m=4096", within="#tiles h4")
    one.press_on("compile", "#tiles-ranking")
    one.sees("This compile: number 1 of", within="#own-tiles")


def fix_a_race(one: Person) -> None:
    """author: find and fix a race in one's own kernel"""
    one.types(RACING)
    one.is_open("total")
    one.is_checked(f"{RIGHT}, but see the kernel: line 9")
    one.press_on(RIGHT, "header")
    one.sees("typed.py:9", "global-race", within="#banner")
    one.press_on("What if", "#tabs")
    one.write(lambda text: text.replace("tl.store(out_ptr, tl.load(out_ptr) + ", "tl.atomic_add(out_ptr, "))
    one.compile()
    one.is_checked(RIGHT)


def fix_a_mask(one: Person) -> None:
    """author: find and fix a load without `other=`"""
    one.types(UNMASKED)
    one.is_open("total")
    one.is_checked(f"{RIGHT}, but see the kernel: line 9")
    one.press_on(RIGHT, "header")
    one.sees("poison", "give that load `other=`", within="#banner")
    one.press_on("What if", "#tabs")
    one.write(lambda text: text.replace("at < n)", "at < n, other=0.0)"))
    one.compile()
    one.is_checked(RIGHT)


def timeline(one: Person) -> None:
    """author: what do warps wait for"""
    one.opens("matmul")
    one.press_on("Time", "#tabs")
    one.sees("waits for a copy", "Lines that warps wait at", "The tensor cores work", within="#panel-time")
    assert one.all("#timeline canvas")


def amd(one: Person) -> None:
    """author: the same kernel for an AMD GPU"""
    one.opens("vector_add")
    one.press_on("What if", "#tabs")
    one.fill("arch", "gfx942")
    one.sees("compiled in", within="#status")
    one.sees("gfx942", within="#kernel")
    one.chooses("emit-amdgcn")
    assert one.line("after", "_load_dword") is not None
    one.is_checked(RIGHT)


def machine_code(one: Person) -> None:
    """author: from a line to its machine code"""
    one.opens("vector_add")
    one.chooses("emit-ptx")
    one.state("after", "sass")
    with one.waiting():
        wait_for(lambda: "sass" in (one.attribute("#after-title", "title") or ""), LIMIT)
    one.look_at("source", "tl.store(")
    assert wait_for(lambda: any("STG" in line for line in one.lines("after", "marked")))


def save(one: Person) -> None:
    """author: a file to send to somebody, which needs no server"""
    one.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(one.folder)})
    one.opens("vector_add")
    one.press_on("Compare", "#tabs")
    one.press_on("save as a file", "#compare")
    one.sees("saved as vector_add.html", within="#compare")
    file = one.folder / "vector_add.html"
    wait_for(lambda: file.is_file() and "</html>" in file.read_text("utf-8", "replace")[-200:])
    one.open(file.as_uri())
    one.sees("vector_add, sm_90", within="#kernel")


def keyboard(one: Person) -> None:
    """author: by keyboard alone: open, find a pass, costs, edit, compile, compare, sweep"""
    one.focused.send_keys("small_matmul", Keys.ENTER)
    one.is_open("small_matmul")
    one.key("/")
    one.focused.send_keys("wgmma", Keys.ESCAPE)
    one.key("/")
    one.focused.send_keys(Keys.CONTROL, "a")
    one.focused.send_keys("coalesce", Keys.ENTER)
    one.sees("tritongpu-coalesce", within="#title")
    one.focused.send_keys(Keys.ESCAPE)
    one.key("4")
    one.sees("instructions of warps", within="#totals")
    one.key("e")
    wait_for(lambda: one.focused.get_attribute("aria-label") == "edited text")
    one.focused.send_keys(Keys.CONTROL, Keys.END)
    one.focused.send_keys("# typed")
    one.focused.send_keys(Keys.CONTROL, Keys.ENTER)
    one.sees("the kernel edited", within="#differs")
    one.focused.send_keys(Keys.ESCAPE)
    one.key("9")
    one.sees("bit-equal", within="#compare")
    one.key("w")
    one.sees("and pass orders", within="#sweep")
    one.one("#panels").send_keys(Keys.TAB)
    one.focused.send_keys(Keys.ENTER)
    one.actions += 16
    one.sees("3 tried, 3 right", within="#sweep-status")


TASKS = (
    first_matmul, tour, type_a_kernel, exercise, edit_and_compile, why_narrow, who_decided, what_did_it_change, values, graph, accesses,
    where_is_wgmma, skip_and_move, own_kernel_in_a_sweep, pass_orders, two_versions, next_to_triton, two_targets, costliest_line, tiles,
    fix_a_race, fix_a_mask, timeline, amd, machine_code, save, keyboard,
)  # fmt: skip


@dataclass
class Done:
    """How a task went."""

    task: str
    missing: str
    actions: int
    seconds: float
    longest: float

    def text(self, number: int) -> str:
        """As a row of the table."""
        who, _, what = self.task.partition(": ")
        done = "yes" if not self.missing else f"no: {self.missing}"
        return f"| {number} | {who} | {what} | {done} | {self.actions} | {self.seconds:.1f} | {self.longest:.1f} |"


def attempt(task: Callable[[Person], None], browser: Any, address: str, folder: Path, width: int) -> Done:
    """One task from the start page on."""
    one, missing = Person(browser, folder), ""
    one.size(width, 800)
    browser.get("about:blank")
    wrong(browser)
    one.browser.get(address)
    wait_for(lambda: one.all("#groups button"))
    start = time.monotonic()
    try:
        task(one)
    except (AssertionError, WebDriverException, StopIteration) as error:
        missing = " ".join(str(error).split())[:200] or type(error).__name__
    seconds = time.monotonic() - start
    overflow = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
    found = [*violations(one), *wrong(browser), *([f"{overflow} px wider than the window"] if overflow > 0 else [])]
    found += [f"{seconds:.0f} s"] if seconds > LIMIT else []
    return Done(
        (task.__doc__ or "").strip(), "; ".join(filter(None, [missing, *found])), one.actions, seconds, one.longest
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=", ".join(task.__name__ for task in TASKS))
    parser.add_argument("--width", type=int, default=1280, help="of the window, in pixels (default: %(default)s)")
    parser.add_argument("--pictures", type=Path, metavar="DIR", help="keep a picture of how each task ends")
    given = parser.parse_args()
    os.chdir(Path(__file__).parents[1])
    chosen = [task for task in TASKS if not given.tasks or task.__name__ in given.tasks]
    print("| | who | task | done | actions | seconds | longest wait (s) |\n|---|---|---|---|---|---|---|")
    failed = 0
    with tempfile.TemporaryDirectory() as scratch, chromium(Path(scratch) / "profile") as browser:
        for task in chosen:
            # Somebody else each time: nothing was opened or compiled before.
            with served(cache=str(Path(scratch) / task.__name__)) as (address, _):
                done = attempt(task, browser, address, Path(scratch), given.width)
                if given.pictures:
                    given.pictures.mkdir(parents=True, exist_ok=True)
                    browser.get_screenshot_as_file(str(given.pictures / f"{task.__name__}-{given.width}.png"))
                browser.get("about:blank")
            failed += bool(done.missing)
            print(done.text(1 + TASKS.index(task)), flush=True)
    print(f"\n{len(chosen) - failed} of {len(chosen)} done, window {given.width} px wide", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
