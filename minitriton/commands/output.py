"""Standard output of a command whose reader may leave before its end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def until_the_reader_leaves() -> Iterator[None]:
    """Lets the output end where its reader stops reading, as in `minitriton compile ... | head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
