"""Processes that are copied from one that has imported what they need."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from minitriton.lab.sweeping import fork_server

MODULE = """
import os, socket
MADE = []
def prepare():
    MADE.append(os.getpid())
def serve(descriptor):
    connection = socket.socket(fileno=descriptor)
    print("here", flush=True)
    connection.sendall(f"{MADE[0]} {os.getppid()} {os.environ.get('SAID', '')}".encode())
    if connection.recv(1):
        os._exit(7)
    os._exit(0)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "served_here.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return "served_here"


def started(module: str) -> tuple[fork_server.ForkedProcess, socket.socket, list[str]]:
    """A process, the way to it, and what it says: who has prepared it, who started it, its environment."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = fork_server.start(module, theirs.fileno())
    return process, ours, ours.recv(100).decode().split(" ")


def test_processes_are_copies_of_one_that_was_prepared(module: str, capfd: pytest.CaptureFixture[str]) -> None:
    first, to_first, said_by_first = started(module)
    second, to_second, said_by_second = started(module)
    assert said_by_first == said_by_second
    assert said_by_first[0] == said_by_first[1] != str(os.getpid())
    to_first.sendall(b"!")
    to_second.close()
    assert (first.wait(), second.wait()) == (7, 0)
    to_first.close()
    assert capfd.readouterr().out == "here\nhere\n"


def test_a_process_that_is_killed_says_so(module: str) -> None:
    process, connection, _ = started(module)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert connection.recv(1) == b""
    process.kill()
    connection.close()


def test_another_environment_has_another_server(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, to_one, before = started(module)
    monkeypatch.setenv("SAID", "so")
    other, to_other, after = started(module)
    assert (before[2], after[2]) == ("", "so")
    assert before[0] != after[0]
    for connection in (to_one, to_other):
        connection.close()
    assert other.wait() == 0
    one.wait()


def test_a_server_that_was_killed_is_replaced(module: str) -> None:
    first, to_first, before = started(module)
    os.kill(int(before[1]), signal.SIGKILL)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(OSError, match="has ended"):
        fork_server.start(module, theirs.fileno())
    second, to_second, after = started(module)
    assert before[0] != after[0]
    for connection in (to_first, to_second):
        connection.close()
    assert first.wait() == 255
    assert second.wait() == 0


def test_what_cannot_be_prepared_is_an_error(module: str, tmp_path: Path) -> None:
    (tmp_path / "not_served.py").write_text("def prepare(): raise SystemExit(3)\n")
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(OSError, match="has ended"):
        fork_server.start("not_served", theirs.fileno())


COPIED = """
import os, socket
from minitriton.lab.sweeping.fork_server import copied
def prepare(): pass
def serve(descriptor):
    connection = socket.socket(fileno=descriptor)
    first = os.getpid()
    is_copy = copied()
    connection.sendall(f"{is_copy} {os.getpid()} {os.getppid()}\\n".encode())
    connection.recv(1)
    os._exit(7 if is_copy else 5)
"""


def test_a_copy_of_a_process_is_the_servers_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "copied_here.py").write_text(COPIED)
    monkeypatch.syspath_prepend(tmp_path)
    ours, theirs = socket.socketpair()
    with theirs:
        process = fork_server.start("copied_here", theirs.fileno())
    said = ours.makefile("r")
    found = {is_copy: (int(pid), int(parent)) for is_copy, pid, parent in (said.readline().split() for _ in range(2))}
    assert found["True"][1] == found["False"][1]
    assert found["False"][0] == process.pid
    copy = fork_server.ForkedProcess(found["True"][0], process.server)
    ours.sendall(b"!!")
    assert (process.wait(), copy.wait()) == (5, 7)
    said.close()
    ours.close()


def test_what_is_no_process_of_the_server_is_waited_for_without_harm(module: str) -> None:
    process, connection, _ = started(module)
    assert fork_server.ForkedProcess(os.getpid(), process.server).wait() == 255
    connection.close()
    assert process.wait() == 0
