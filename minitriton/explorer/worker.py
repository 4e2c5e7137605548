"""A process of its own that compiles and runs: what is wrong there does not end the server, and can be stopped.

    with Worker() as worker:
        worker.ask("compile", {"asked": {"source": "softmax.py:softmax"}})      JSON, as bytes

LLVM ends its process at some invalid IR, and a kernel's file may loop for ever: the next question then starts another process.
"""

from __future__ import annotations

import functools
import gc
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, cast

from minitriton.errors import MinitritonError
from minitriton.explorer.failures import error_bytes, most_memory
from minitriton.explorer.wire import Question
from minitriton.host import interrupts

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess

SECONDS = 300.0
"""That a question may take."""
_COLLECT_AFTER = 200_000
"""Objects made before the garbage collector looks for cycles among them: at its usual 700 it takes a third of an attention's
recording (0.62 s of processor time, 0.44 s without, 22 November 2026)."""


def collect_seldom() -> None:
    """Of this process: what is imported is no garbage, and what compiles make seldom is."""
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)


_NICE = 10
"""By how much one that yields does: it gets a tenth of a processor that another wants."""


class Asking:
    """A question that is being answered, or waits for it; who asked may give it up."""

    def __init__(self, *, is_waited_for: bool = True) -> None:
        self.is_waited_for = is_waited_for
        self.is_given_up = False
        self.worker: Worker | None = None

    def give_up(self) -> None:
        """Nobody waits for the answer: the process that computes it ends."""
        self.is_given_up = True
        worker = self.worker
        if worker is not None:
            worker.stop_answering(self)


class Worker:
    """One child process, which answers one question at a time."""

    def __init__(
        self, seconds: float = SECONDS, *, keeps: bool = True, scratch: str | None = None, yields: bool = False
    ) -> None:
        """`keeps`: its compiles have the modules of their states; `scratch`: the folder that it writes edited kernels to;
        `yields`: other processes go before it."""
        self.seconds = seconds
        self._given = keeps, scratch, yields
        self._lock = threading.Lock()
        self._answered = threading.Lock()
        self._asking: Asking | None = None
        self._process: ForkServerProcess | SpawnProcess | None = None
        self._pipe: Connection | None = None
        self._closed = False

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Starts the process, where there is none: it is then ready when the first question comes."""
        if self._process is not None and self._process.is_alive():
            return
        context = _context()
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, *self._given, dict(os.environ), os.getcwd()), daemon=True)
        interrupts.start(process)
        self._process = process
        theirs.close()

    def ask(self, name: str, given: Question, asking: Asking | None = None) -> bytes:
        """The answer of service `name`, as JSON: `{"ok": ...}` or `{"error": ...}`."""
        asking = asking or Asking()
        asking.worker = self
        with self._lock:
            if self._closed:
                return error_bytes(MinitritonError("the server has ended"))
            self.start()
            with self._answered:
                if asking.is_given_up:
                    return error_bytes(MinitritonError("the question was given up"))
                self._asking = asking
            try:
                return self._answer(name, given)
            finally:
                with self._answered:
                    self._asking = None

    def stop_answering(self, asking: Asking) -> None:
        """Ends the process where it answers `asking`, or what nobody waits for while `asking` waits for its turn."""
        with self._answered:
            current = self._asking
            if current is not None and (current is asking or not current.is_waited_for) and self._process is not None:
                self._process.kill()

    def _answer(self, name: str, given: Question) -> bytes:
        assert self._pipe is not None
        try:
            self._pipe.send((name, given))
            if self._pipe.poll(self.seconds):
                return self._pipe.recv_bytes()
            why = f"it took more than {self.seconds:.0f} s"
        except (EOFError, OSError):
            process = self._process
            assert process is not None
            process.join(1)
            why = f"its process ended with status {process.exitcode}"
        self._stop()
        return error_bytes(
            MinitritonError(
                f"the compiler could not answer: {why}", help="change what was asked; a new process answers now"
            )
        )

    def close(self) -> None:
        """Ends the process, whatever it does: who waits for its answer gets an error."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
        self._process = self._pipe = None


@functools.cache
def _context() -> SpawnContext | ForkServerContext:
    """How processes are started: where it can be, by forks of one that has imported everything."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["minitriton.explorer.preloaded"])
    return context


def _end_with_the_server(scratch: str | None) -> None:
    """Ends this process when the one that started it is gone, however it ended, and whatever is computed here."""
    server = multiprocessing.parent_process()
    assert server is not None
    server.join()
    _remove_after(scratch, 0)
    os._exit(0)


def _remove_after(scratch: str | None, seconds: float = 1) -> None:
    """Removes the folder of edited kernels where the server is gone within `seconds`: one that was killed leaves it."""
    server = multiprocessing.parent_process()
    assert server is not None
    server.join(seconds)
    if scratch is not None and not server.is_alive():
        shutil.rmtree(scratch, ignore_errors=True)


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = most_memory() if hard == resource.RLIM_INFINITY else min(most_memory(), hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _work(
    pipe: Connection, keeps: bool, scratch: str | None, yields: bool, environment: Mapping[str, str], folder: str
) -> None:
    """Answers until nobody asks: Ctrl-C in the terminal is for the server, which then closes the pipe. `environment` and `folder` are the server's of
    now: the process that this one is a fork of may have begun with others, and both name what is stored."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if yields and hasattr(os, "nice"):
        os.nice(_NICE)
    _limit_memory()
    from minitriton.explorer import program
    from minitriton.explorer.packing import packed
    from minitriton.explorer.read_files import forget_changed_modules, reading
    from minitriton.explorer.session import ExplorerSession
    from minitriton.explorer.stored_compiles import is_stored, store

    # Bytecode goes by the second in which a source changed: a file that is edited twice within one would be taken for what it was.
    sys.dont_write_bytecode = True

    if scratch is not None:
        program.write_edited_kernels_to(scratch)
    session = ExplorerSession(keeps=keeps)
    collect_seldom()
    threading.Thread(target=_end_with_the_server, args=(scratch,), daemon=True).start()
    while True:
        while not pipe.poll() and session.ahead():
            pass
        try:
            name, given = pipe.recv()
        except (EOFError, OSError):
            _remove_after(scratch)
            return
        found, read = None, None
        try:
            forget_changed_modules()
            with reading() as read:
                found = session.answer(name, given)
            answer = json.dumps({"ok": packed(found) if "states" in found else found}, separators=(",", ":")).encode()
        except Exception as error:
            answer = error_bytes(error)
        try:
            pipe.send_bytes(answer)
        except (OSError, ValueError):
            return
        if found is not None and read is not None and is_stored(name, given):
            store(given, answer, {**read.stamps, **cast("dict[str, str]", found.get("stamp"))})
