"""A headless Chromium, where there is one; `MINITRITON_BROWSER=required` makes its absence an error."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1600,900",
)  # fmt: skip


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        if os.environ.get("MINITRITON_BROWSER") == "required":
            raise RuntimeError("no chromium and chromedriver: install Debian's chromium and chromium-driver")
        pytest.skip("needs chromium and chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*QUIET, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options, webdriver.ChromeService(driver))
    yield session
    session.quit()


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a kernel of the corpus."""
    from minitriton.explorer.page_file import html
    from minitriton.explorer.recording import record
    from minitriton.lab import corpus

    subject = corpus.subject("log_sum_exp")
    path = tmp_path_factory.mktemp("page") / "log_sum_exp.html"
    path.write_text(html(record(subject.source, subject.target, subject.options)))
    return path
