"""Reading files that anything may have happened to: what is no plain file, or no JSON, is an error that can be caught.

A pipe in place of a file would be waited for, JSON nested a thousand deep would end in `RecursionError`.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any


def read_regular(path: Path) -> bytes:
    """The contents of a plain file. Raises `OSError` for what is none, without waiting for it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no plain file")
        return file.read()


def parse_json(text: str | bytes) -> Any:
    """What JSON says. Raises `ValueError`, for what is nested too deeply too."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
