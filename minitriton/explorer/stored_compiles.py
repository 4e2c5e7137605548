"""Compiles on disk, as a page is sent them: what was opened once opens at once, in any later process, while nothing that it depends on has changed.

    store({"asked": {...}}, answer, stamps)
    stored({"asked": {...}})                     the answer; None where there is none, or a file that was read is not what it was

An entry is named by the question, the compiler, Python, its libraries, the folder that the command runs in and the environment; `read_files` says which
files it holds for. A page that is given one has it compiled all the same, and compared: what no key can name (the time, a new file that an
import would find first) changes the page a second later.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib

from minitriton.explorer.read_files import Stamps, changed, installed
from minitriton.explorer.wire import Question
from minitriton.lab.launches.own_launch import RECORDED
from minitriton.runtime.cache import KernelCache, compiler_fingerprint

_ANSWER, _READ = "answer", "read.json"
_OF_A_TERMINAL = {
    "_", "COLUMNS", "DISPLAY", "INVOCATION_ID", "JOURNAL_STREAM", "LINES", "OLDPWD", "PWD", "PYTEST_CURRENT_TEST", "SHLVL", "STY", "TERM", "TMUX",
    "TMUX_PANE", "WAYLAND_DISPLAY", "WINDOWID",
}  # fmt: skip
"""Names in the environment that differ from terminal to terminal and say nothing to a kernel."""
_OF_TERMINALS = ("DBUS_", "GPG_", "SSH_", "TERM_", "VTE_", "XDG_SESSION_")
"""And how others begin."""


def is_stored(name: str, given: Question) -> bool:
    """Whether the answer to a question may be: of a whole compile, from files as they are."""
    asked = given.get("asked")
    is_whole = name in ("compile", "states") and given.keys() <= {"asked", "opens"}
    return is_whole and isinstance(asked, dict) and not {"kernel_text", "states"} & asked.keys()


def stored(given: Question) -> bytes | None:
    """The answer to a question that `is_stored`, with `stored` in it."""
    cache, key = KernelCache(), _key(given)
    files = cache.load(key) or {}
    try:
        if changed(json.loads(files[_READ])) is None:
            return zlib.decompress(files[_ANSWER]).replace(b'{"ok":{', b'{"ok":{"stored":true,', 1)
    except (KeyError, ValueError, zlib.error):
        pass
    return None


def store(given: Question, answer: bytes, read: Stamps) -> None:
    """Stores an answer instead of what was there."""
    cache, key = KernelCache(), _key(given)
    cache.remove(key)
    cache.store(key, {_ANSWER: zlib.compress(answer, 1), _READ: json.dumps(read).encode()})


def _key(given: Question) -> str:
    own = sorted(
        one for one in os.environ.items() if one[0] not in _OF_A_TERMINAL and not one[0].startswith(_OF_TERMINALS)
    )
    recorded = os.stat(RECORDED).st_mtime_ns if RECORDED.is_dir() else 0
    # In whatever way it is asked, it is opened.
    parts = given.get("asked"), compiler_fingerprint(), sys.version, installed(), os.getcwd(), recorded, own
    return hashlib.sha256(f"explorer {json.dumps(parts, sort_keys=True)}".encode()).hexdigest()
