"""Ctrl-C ends every command with one line, however early it comes; a port that there is not is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from minitriton.commands.cli import main
from minitriton.host.interrupts import held_back

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("command", ["sweep", "explore", "record", "compile"])
def test_ctrl_c_while_a_command_is_imported_is_one_line(command: str) -> None:
    """The signal comes when the module of commands that is asked for is imported."""
    program = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == sys.argv[-1]:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from minitriton.__main__ import main\n"
        "sys.exit(main())\n"
    )
    for module in ("minitriton.errors", "minitriton.host.garbage"):
        ran = subprocess.run(
            [sys.executable, "-c", program, command, module], capture_output=True, text=True, cwd=ROOT, timeout=60
        )
        assert (ran.returncode, ran.stderr) == (130, "stopped\n"), (module, ran.stderr)


def test_processes_started_in_the_block_do_not_see_ctrl_c_and_the_command_does_after_it() -> None:
    child = "import time; print('began', flush=True); time.sleep(0.5); print('ended')"
    with pytest.raises(KeyboardInterrupt), held_back():
        running = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
        assert running.stdout is not None and running.stdout.readline() == "began\n"
        running.send_signal(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
    assert running.communicate()[0] == "ended\n" and running.returncode == 0


@pytest.mark.parametrize("port", ["99999", "-1"])
def test_a_port_that_there_is_not_is_said(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", "running_sums", f"--port={port}", "--no-browser"]) == 1
    assert capsys.readouterr().err == f"{port} is not a port\nhelp: give --port from 0 (any) to 65535\n"
