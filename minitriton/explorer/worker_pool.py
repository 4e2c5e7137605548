"""Processes that answer, by what they answer and for which page: one that computes keeps no other page waiting.

pool = WorkerPool(scratch, stack)
pool.ask("compile", {"asked": ...}, page="tab-1", question=Question())
"""

from __future__ import annotations

import contextlib
import threading

from minitriton.explorer.wire import Question
from minitriton.explorer.worker import Asking, Worker

_ROLES = {
    "check": "checking", "triton": "checking", "run": "running", "pattern": "running", "exercise": "running",
    "inspect": "inspecting", "buffers": "inspecting", "states": "inspecting",
}  # fmt: skip
"""Services that take long have processes of their own, so that clicks and compiles need not wait; "answering" has the others.
Facts are asked of the modules of all states, which "inspecting" keeps: it compiles at the same time as "answering", whose answer does
not wait for it; after an edit "answering" prints the states that are looked at only, and those of "inspecting" follow."""
_BACKGROUND = "checking"
"""Nobody waits for it: it yields to those that somebody waits for."""
MOST_PAGES = 3
"""Pages with processes of their own; a further one shares those of the page that asked longest ago."""


class WorkerPool:
    """The processes of a server. `stack` ends them."""

    def __init__(self, scratch: str, stack: contextlib.ExitStack) -> None:
        self._scratch = scratch
        self._stack = stack
        self._lock = threading.Lock()
        self._seats: dict[str, int] = {}
        """The number of a page's processes, the page that asked last at the end."""
        self._workers: dict[tuple[str, int], Worker] = {}

    def ask(self, name: str, given: Question, page: str | None = None, asking: Asking | None = None) -> bytes:
        """The answer of service `name`, as JSON. Without `page`: by the processes that the first page will have."""
        return self._worker(_ROLES.get(name, "answering"), page).ask(name, given, asking)

    def _worker(self, role: str, page: str | None) -> Worker:
        with self._lock:
            key = role, 0 if page is None else self._seat(page)
            if key not in self._workers:
                made = Worker(keeps=role != "answering", scratch=self._scratch, yields=role == _BACKGROUND)
                self._workers[key] = self._stack.enter_context(made)
            return self._workers[key]

    def _seat(self, page: str) -> int:
        seat = self._seats.pop(page, None)
        if seat is None:
            free = sorted(set(range(MOST_PAGES)) - set(self._seats.values()))
            seat = free[0] if free else self._seats.pop(next(iter(self._seats)))
        self._seats[page] = seat
        return seat

    def close(self) -> None:
        """Ends what is still computed, so that nobody waits for it."""
        with self._lock:
            workers = list(self._workers.values())
        for worker in workers:
            threading.Thread(target=worker.close).start()
