"""What tests of the page do with a browser: open, wait, click, read."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By


def wait_for(condition: Callable[[], Any], seconds: float = 90.0) -> Any:
    """What `condition` gives once it is true. What the page draws anew while it is read is read again."""
    end = time.monotonic() + seconds
    while not (found := _unless_drawn_anew(condition)):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


def _unless_drawn_anew(condition: Callable[[], Any]) -> Any:
    with contextlib.suppress(StaleElementReferenceException):
        return condition()


class Page:
    """The explorer in a browser."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, url: str) -> None:
        """Opens an address and waits until the page is ready."""
        self.browser.get("about:blank")
        self.browser.get(url)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Waits for what the page says of itself."""
        wait_for(
            lambda: self.browser.find_element(By.TAG_NAME, "body").get_attribute("data-ready") not in (None, "source")
        )

    def wait_until_checked(self) -> None:
        """Waits for the verdicts on all passes."""
        wait_for(lambda: self.text("#check")[:1] in "✓✗", 180)

    def all(self, selector: str) -> list[Any]:
        """Elements by a CSS selector."""
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        """The first of them, once there is one."""
        return wait_for(lambda: next(iter(self.all(selector)), None))

    @property
    def focused(self) -> Any:
        """The element that has the keyboard."""
        return self.browser.switch_to.active_element

    def text(self, selector: str) -> str:
        """The text in sight of an element, read in one step: the page may put another in its place meanwhile."""
        script = "const found = document.querySelector(arguments[0]); return found && [found.innerText.trim()]"
        return wait_for(lambda: self.browser.execute_script(script, selector))[0]

    def attribute(self, selector: str, name: str) -> Any:
        """A property of an element, or else what it has of that name, read in one step, as `text` does."""
        script = """const [selector, name] = arguments, found = document.querySelector(selector);
            return found && [found[name] ?? found.getAttribute(name)]"""
        return wait_for(lambda: self.browser.execute_script(script, selector, name))[0]

    def press(self, *keys: str) -> None:
        """Keys, for the page."""
        for key in keys:
            self.browser.find_element(By.TAG_NAME, "body").send_keys(key)

    def find_pass(self, text: str) -> None:
        """Shows passes of a name, or with a word in their documentation, by the field for it."""
        field = self.one("#filter")
        field.clear()
        field.send_keys(text)

    def choose(self, name: str) -> None:
        """A pass of the list."""
        script = "const found = [...document.querySelectorAll('#passes li')].find((one) => one.textContent.includes(arguments[0])); found?.click(); return Boolean(found);"
        assert self.browser.execute_script(script, name), f"the list has no pass {name!r}"
        wait_for(lambda: self.text("#title").startswith(name))

    def line(self, pane: str, text: str) -> Any:
        """A line of a pane that has `text`, scrolled into sight where need be."""
        script = "const found = [...document.querySelectorAll(`#${arguments[0]} .cm-line`)].find((one) => one.textContent.includes(arguments[1])); return found ?? null;"
        scroll = "const s = document.querySelector(`#${arguments[0]} .cm-scroller`); s.scrollTop = arguments[1]; return s.scrollTop >= s.scrollHeight - s.clientHeight - 1;"

        def look() -> Any:
            """States behind an edit follow when their texts are there: so this is asked again."""
            found = self.browser.execute_script(script, pane, text)
            for top in range(0, 200000, 300):
                if found is not None:
                    return found
                last = self.browser.execute_script(scroll, pane, top)
                time.sleep(0.03)
                found = self.browser.execute_script(script, pane, text)
                if last:
                    return found
            return found

        end = time.monotonic() + 20
        while (found := look()) is None:
            assert time.monotonic() < end, f"{pane} has no line with {text!r}"
        return found

    def click_line(self, pane: str, text: str) -> None:
        """Clicks a line at its value, where it has one."""
        line = self.line(pane, text)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center', inline: 'start'})", line)
        words = line.find_elements(By.CSS_SELECTOR, ".t-variable")
        (words[0] if words else line).click()

    def lines(self, pane: str, kind: str) -> list[str]:
        """The lines in sight that have a class."""
        return [line.text for line in self.all(f"#{pane} .cm-line.{kind}")]

    def select(self, side: str, text: str) -> None:
        """Shows another state at a side, by a part of its title."""
        script = """const menu = document.getElementById(`${arguments[0]}-title`);
            const option = [...menu?.options ?? []].find((one) => one.text.includes(arguments[1]));
            if (!option) return false;
            menu.value = option.value;
            menu.dispatchEvent(new Event('change'));
            return true"""
        wait_for(lambda: self.browser.execute_script(script, side, text))

    def edit(self, change: Callable[[str], str]) -> None:
        """Changes the text of the editor under What if, and compiles."""
        content = self.one("#editor .cm-content")
        old = self.browser.execute_script("return arguments[0].cmView.view.state.doc.toString()", content)
        new = change(old)
        assert new != old
        self.browser.execute_script(
            "const v = arguments[0].cmView.view; v.dispatch({changes: {from: 0, to: v.state.doc.length, insert: arguments[1]}})",
            content,
            new,
        )
        self.one("#status")
        self.browser.execute_script("document.getElementById('status').textContent = ''")
        next(one for one in self.all(".whatif button") if one.text == "Compile").click()
        wait_for(lambda: self.text("#status") not in ("", "compiling…"))

    def size(self, width: int, height: int) -> None:
        """The window's."""
        given = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", given)

    def shoot(self, path: Path) -> None:
        """A picture of the page as it is, of few colours, which keeps it small."""
        from PIL import Image

        with Image.open(io.BytesIO(self.browser.get_screenshot_as_png())) as whole:
            few = whole.convert("RGB").quantize(128, dither=Image.Dither.NONE)
            few.save(path, optimize=True)
