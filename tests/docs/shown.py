"""Blocks of pages that show a command and what it prints: found, run, and with `python tests/docs/shown.py` written anew.

    ```console
    $ minitriton compile add.py:add --emit ptx | grep ld.global
        ld.global.b32 	%r1, [%rd1];
    ```

The command runs in this process, at the root of the repository; what follows its first ` | ` runs in a shell.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from minitriton.commands import cli, opt

ROOT = Path(__file__).parents[2]
PAGES = (
    "from-a-call-to-a-kernel.md",
    "differences-from-triton.md",
    "tensor-cores.md",
    "lab.md",
    "sweep.md",
    "axis-info.md",
    "gluon.md",
    "layout-propagation.md",
    "layouts.md",
    "pipelining.md",
    "registers.md",
    "shared-memory.md",
    "tour.md",
)
TOOLS = {"minitriton": cli.main, "minitriton-opt": opt.main}
BLOCK = re.compile(r"```console\n\$ (.*)\n((?:.*\n)*?)```")


def blocks(page: str) -> list[tuple[str, str]]:
    """Each command of a page of docs/, with what the page says that it prints."""
    return BLOCK.findall((ROOT / "docs" / page).read_text())


def printed_by(command: str) -> str:
    """What a command prints, without the last newline."""
    own, _, rest = command.partition(" | ")
    tool, *arguments = shlex.split(own)
    out = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out):
        assert TOOLS[tool](arguments) == 0, command
    text = out.getvalue()
    if rest:
        text = subprocess.run(["bash", "-c", rest], input=text, capture_output=True, text=True, check=True).stdout
    return text.rstrip("\n")


def rewrite(page: str) -> None:
    """Writes what each command of a page prints today."""
    path = ROOT / "docs" / page
    path.write_text(BLOCK.sub(lambda m: f"```console\n$ {m[1]}\n{printed_by(m[1])}\n```", path.read_text()))


if __name__ == "__main__":
    os.environ["NO_COLOR"] = "1"
    for each in sys.argv[1:] or PAGES:
        rewrite(each)
