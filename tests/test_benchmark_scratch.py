"""Benchmarks leave nothing in the folder of temporary files: not where a process of theirs is killed, nor where they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import scratch

PROGRAM = """
import multiprocessing, sys, tempfile, time
from pathlib import Path
from scratch import scratch

def work():
    (Path(tempfile.mkdtemp()) / "left.txt").write_text("by one that is killed")
    time.sleep(60)

if __name__ == "__main__":
    with scratch() as folder:
        process = multiprocessing.get_context("spawn").Process(target=work)
        process.start()
        while not list(folder.rglob("left.txt")):
            time.sleep(0.01)
        if sys.argv[1] == "kill":
            process.kill()
        else:
            print(process.pid, flush=True)
            time.sleep(60)
"""


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return [sys.executable, str(path)]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "temporary").mkdir()
    found = [str(Path(scratch.__file__).parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    return os.environ | {"TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": os.pathsep.join(found)}


def test_what_a_killed_process_leaves_goes_with_the_benchmark(
    program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    subprocess.run([*program, "kill"], env=environment, check=True)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_benchmark_that_is_ended_takes_its_processes_and_files_along(
    sign: signal.Signals, program: list[str], environment: dict[str, str], tmp_path: Path
) -> None:
    with subprocess.Popen(
        [*program, "wait"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.send_signal(sign)
        assert process.wait(30) != 0
    assert list((tmp_path / "temporary").iterdir()) == []
    end = time.monotonic() + 10
    while Path(f"/proc/{child}").exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_folder_of_temporary_files_is_the_old_one_afterwards() -> None:
    before = tempfile.gettempdir(), os.environ.get("TMPDIR")
    with scratch.scratch() as folder:
        assert tempfile.gettempdir() == str(folder)
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before
    assert not folder.exists()
