"""Processes that begin with everything imported: one process imports it once, and is copied for each worker.

    process = start("package.module", descriptor)       runs module.serve(descriptor) in a new process, after module.prepare() in the first
    process.kill()
    process.wait()                      its exit code
    copied()                            in a worker: once more True, in a copy of it, which is the server's as the worker is

Importing the compiler takes a second of processor time, a copy of a process that has done so milliseconds. The server is started with the
first worker, does nothing but copy itself, and ends with the process that started it; where environment, import path or working directory
are others than when it was started, another one takes its place.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from minitriton.host.interrupts import held_back

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Of a worker's linear algebra, where the user asks for no other number: the processors have a worker each."""

_MESSAGE_BYTES = 64
_PR_SET_CHILD_SUBREAPER = 36
_OUTPUTS = (1, 2)
"""What a worker prints goes where its starter prints."""


@dataclass
class ForkedProcess:
    """A process that the server has started."""

    pid: int
    server: _Server
    returncode: int | None = None

    def kill(self) -> None:
        """Ends it at once."""
        if self.returncode is None:
            self._ask(f"kill {self.pid}")

    def wait(self) -> int:
        """Its exit code, once it has ended: negative, the number of the signal that ended it; 255 where its server has ended before it."""
        if self.returncode is None:
            self.returncode = self._ask(f"wait {self.pid}")
        return self.returncode

    def _ask(self, message: str) -> int:
        try:
            return self.server.ask(message)
        except OSError:  # the server was killed; nobody else waits for the process
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)
            return 255


def start(module: str, descriptor: int) -> ForkedProcess:
    """A process that runs `serve(descriptor)` of `module`, whose `prepare()` the server has run. Raises `OSError` where the
    server ends before it says that there is one: there may be, so that another try needs another descriptor."""
    with _starting:
        server = _current_server(module)
        try:
            return ForkedProcess(server.ask("start", [descriptor, *_OUTPUTS]), server)
        except OSError:
            server.close()
            raise


@dataclass
class _Server:
    process: subprocess.Popen[bytes]
    control: socket.socket
    surroundings: tuple[object, ...]
    is_open: bool = True
    _asking: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, message: str, descriptors: list[int] | None = None) -> int:
        """The number that the server answers. Raises `OSError` where it does not."""
        answer = b""
        with self._asking, contextlib.suppress(ConnectionError):
            socket.send_fds(self.control, [message.encode().ljust(_MESSAGE_BYTES)], descriptors or [])
            answer = self.control.recv(_MESSAGE_BYTES, socket.MSG_WAITALL)
        if not answer:
            raise OSError("the process that starts workers has ended")
        return int(answer)

    def close(self) -> None:
        """Ends it; the processes that it has started go on."""
        if self.is_open:
            self.is_open = False
            self.control.close()
            if self.surroundings[0] == os.getpid():
                self.process.wait()


_servers: list[_Server] = []
"""The one in use, if any."""

_starting = threading.Lock()


def _current_server(module: str) -> _Server:
    """One of this process that was started in these surroundings."""
    surroundings = (os.getpid(), module, dict(os.environ), list(sys.path), os.getcwd())
    if _servers and _servers[0].is_open and _servers[0].surroundings == surroundings:
        return _servers[0]
    stop()
    ours, theirs = socket.socketpair()
    with theirs:
        command = f"from minitriton.lab.sweeping.fork_server import run; run({module!r}, {theirs.fileno()})"
        environment = {**ONE_THREAD, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with held_back():
            process = subprocess.Popen(
                [sys.executable, "-c", command], pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL
            )
    _servers.append(_Server(process, ours, surroundings))
    return _servers[0]


@atexit.register
def stop() -> None:
    """Ends the server; the next process is that of another one."""
    while _servers:
        _servers.pop().close()


def copied() -> bool:
    """Copies a process of the server: True in the copy, False in the process, whether or not there is one. The copy is the server's as
    its other processes are. Raises `OSError` where there are too many processes."""
    sys.stdout.flush()
    sys.stderr.flush()
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return False
    between = os.getpid()
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        os._exit(1)
    while os.getppid() == between:  # until the server has it: it may be asked at once to wait for the copy
        time.sleep(0.0005)
    return True


def _adopt_orphans() -> None:
    """Copies of this process's children become its own once their parents have ended, where the system has that (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run(module: str, descriptor: int) -> None:
    """What the server does until its starter has ended."""
    _adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, which ends the others
    copied = importlib.import_module(module)
    copied.prepare()
    gc.collect()
    gc.freeze()  # what is here is not looked through again, nor copied, by the processes to come
    control = socket.socket(fileno=descriptor)
    while True:
        message, descriptors = b"", list[int]()
        with contextlib.suppress(ConnectionError):
            message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 1 + len(_OUTPUTS), socket.MSG_WAITALL)
        if not message:
            os._exit(0)
        answer = str(_answer(message.split(), descriptors, control, copied.serve)).encode().ljust(_MESSAGE_BYTES)
        with contextlib.suppress(ConnectionError):  # the starter has ended: the next turn sees that
            control.sendall(answer)


def _answer(words: list[bytes], descriptors: list[int], control: socket.socket, serve: Callable[[int], None]) -> int:
    """Does what is asked: the pid of a process started, the exit code of one that ended."""
    if words[0] == b"start":
        pid = os.fork()
        if pid == 0:
            _become_worker(descriptors, control, serve)
        for descriptor in descriptors:
            os.close(descriptor)
        return pid
    pid = int(words[1])
    if words[0] == b"kill":
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        return 0
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:  # a copy, where orphans are not adopted
        return 255


def _become_worker(descriptors: list[int], control: socket.socket, serve: Callable[[int], None]) -> None:
    try:
        control.close()
        for given, own in zip(descriptors[1:], _OUTPUTS, strict=True):
            os.dup2(given, own)
            os.close(given)
        serve(descriptors[0])
    finally:
        os._exit(1)
