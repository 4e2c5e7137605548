"""Debian's Chromium without a window, that keeps to itself and says what it logs and asks for."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selenium import webdriver

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1600,900",
)  # fmt: skip


@contextlib.contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A session of the browser with its profile in a folder; what it writes to the console and requests can be read from its logs."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in (*QUIET, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    session = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver") or "chromedriver"))
    try:
        yield session
    finally:
        session.quit()
