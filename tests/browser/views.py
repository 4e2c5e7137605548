"""The explorer's main views at four widths, light and dark: pictures for docs/, and what axe-core says of each.

    python tests/browser/views.py [VIEW...]       writes docs/pictures/views/, under 2.0 MB; stops where the console has an error or a request leaves

axe-core (`axe.min.js`, Mozilla Public License 2.0, https://github.com/dequelabs/axe-core) is used here only: no page has it.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from driving import Page, wait_for

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(__file__).with_name("axe.min.js").read_text("utf-8")
PICTURES = ROOT / "docs" / "pictures" / "views"
MOST_BYTES = 2_000_000
WIDTHS = (1280, 1024, 768, 520)
SHOWN = {
    "facts": ("1", "#panel-facts .card, #panel-facts p"),
    "layout": ("2", "#panel-layout canvas"),
    "time": ("7", "#timeline canvas"),
    "values": ("8", "#held canvas"),
    "compare": ("9", "#compare table"),
    "graph": ("0", "#graph-svg"),
    "tiles": ("t", "#tiles-ranking table"),
}
"""Views by name: the key that opens each, and what is there then."""
MATMUL = (
    "minitriton_kernels/lessons/tour.py:matmul", "--signature", "*fp16:16,*fp16:16,*fp32:16,i32:16,i32:16,i32:16,BM=128,BN=128,BK=64",
    "--arg", "m=128", "--arg", "n=128", "--arg", "k=512", "--option", "num_warps=8",
)  # fmt: skip
_AXE = """const done = arguments[arguments.length - 1];
    axe.run(document, { resultTypes: ["violations"] }).then((found) => done(found.violations.flatMap((one) => one.nodes.map((node) =>
        `${one.id}: ${node.target.join(" ")}: ${[...node.any, ...node.all, ...node.none][0]?.message ?? one.help}`))));"""


def scheme(browser: Any, name: str) -> None:
    """Light or dark, as a system says it."""
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]}
    )


def show(page: Page, view: str) -> None:
    """Opens a view by its key, and waits for what it shows."""
    key, selector = SHOWN[view]
    page.press(key)
    wait_for(lambda: page.all(selector), 120)
    wait_for(
        lambda: page.attribute("#panels", "aria-busy") != "true" and not page.all(f"#panel-{view} .hint[role=status]"),
        120,
    )


def violations(page: Page) -> list[str]:
    """What axe-core finds wrong: contrast, labels, roles, and what a keyboard cannot reach."""
    page.browser.set_script_timeout(60)
    page.browser.execute_script(AXE)
    return page.browser.execute_async_script(_AXE)


def wrong(browser: Any) -> list[str]:
    """Errors of the console, and requests that leave this machine."""
    found = [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    return found + [
        url
        for url in sent
        if url.startswith(("http", "ws")) and not url.startswith(("http://127.0.0.1:", "http://localhost:"))
    ]


def picture(browser: Any, path: Path, width: int) -> None:
    """A picture of the page as it is, small."""
    from PIL import Image

    with Image.open(io.BytesIO(browser.get_screenshot_as_png())) as whole:
        image = whole.convert("RGB")
        if width > 768:
            image = image.resize((whole.width * 2 // 3, whole.height * 2 // 3), Image.Resampling.LANCZOS)
        image.save(path, quality=22, method=6)


def main() -> int:
    from chromium import chromium

    sys.path.insert(0, str(ROOT / "benchmarks"))
    from explorer_speed import served

    PICTURES.mkdir(parents=True, exist_ok=True)
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as profile, chromium(Path(profile)) as browser:
        page = Page(browser)
        browser.get("about:blank")
        wrong(browser)
        with served(*MATMUL, "--against", "--option num_stages=1") as (address, _):
            page.open(address)
            page.choose("tritongpu-accelerate-matmul")
            page.click_line("after", "tt.load")
            for view in sys.argv[1:] or SHOWN:
                for width in WIDTHS:
                    page.size(width, 1100 if width < 900 else 860)
                    for name in ("light", "dark"):
                        scheme(browser, name)
                        show(page, view)
                        if width < 900:
                            browser.execute_script("document.querySelector('.drawer').scrollIntoView()")
                        if width in (max(WIDTHS), min(WIDTHS)):
                            bad += [f"{view}, {width} px, {name}: {text}" for text in violations(page)]
                        picture(browser, PICTURES / f"{view}-{width}-{name}.webp", width)
        bad += wrong(browser)
    size = sum(path.stat().st_size for path in PICTURES.iterdir())
    print("\n".join(bad) or "nothing wrong", f"\n{len(list(PICTURES.iterdir()))} pictures, {size / 1e6:.2f} MB")
    return 1 if bad or size > MOST_BYTES else 0


if __name__ == "__main__":
    import os

    os.chdir(ROOT)
    sys.exit(main())
