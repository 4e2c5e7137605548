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


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        if os.environ.get("MINITRITON_BROWSER") == "required":
            raise RuntimeError("no chromium and chromedriver: install Debian's chromium and chromium-driver")
        pytest.skip("needs chromium and chromedriver")
    pytest.importorskip("selenium", reason="needs selenium")
    from chromium import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as session:
        yield session


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a kernel of the corpus."""
    from minitriton.explorer.packing import html
    from minitriton.explorer.recording import record
    from minitriton.lab import corpus

    task = corpus.task("log_sum_exp")
    path = tmp_path_factory.mktemp("page") / "log_sum_exp.html"
    path.write_text(html(record(task.source, task.target, task.options)))
    return path
