"""One folder for what a benchmark and the processes that it starts leave in temporary files; it goes with the benchmark, whatever ends them.

    with scratch():
        measure()        tempfile.mkdtemp(), here and in every process started meanwhile, makes folders below it

A process that is killed has no `finally`: its folder goes with that of the benchmark.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from types import FrameType

ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def scratch() -> Generator[Path]:
    """Has temporary files made in a folder of this process's own, by the processes it starts too; ends those and takes it away.

    `SIGTERM` and `SIGHUP` end this process like Ctrl-C, so that nothing stays behind. For the main thread.
    """

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    handlers = {each: signal.signal(each, end) for each in ENDING}
    variable, kept = os.environ.get("TMPDIR"), tempfile.tempdir
    try:
        with tempfile.TemporaryDirectory(prefix="minitriton-benchmark-", ignore_cleanup_errors=True) as folder:
            os.environ["TMPDIR"] = tempfile.tempdir = folder
            try:
                yield Path(folder)
            finally:
                for process in multiprocessing.active_children():
                    process.kill()
                    process.join()
                if variable is None:
                    del os.environ["TMPDIR"]
                else:
                    os.environ["TMPDIR"] = variable
                tempfile.tempdir = kept
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
