"""Scopes: names that a program gives to parts of its run, one within another, in each thread for itself.

with scope("layer 3", {"flops16": 2.0 * m * n * k}):        →    a node "layer 3" with its time and its flops
    torch.matmul(a, b)
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from minitriton.as_triton.profiler import sessions
from minitriton.errors import MinitritonError

_P = ParamSpec("_P")
_R = TypeVar("_R")
Metrics = Mapping[str, float]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.open: list[tuple[str, list[sessions.Visit]]] = []


_STACK = _Stack()


def enter_scope(name: str, *, metrics: Metrics | None = None) -> int:
    """A scope begins; how deep it is. `metrics` are added to it."""
    _STACK.open.append((name, [session.enter(name, metrics or {}) for session in sessions.active()]))
    return len(_STACK.open)


def exit_scope(name: str | None = None, *, metrics: Metrics | None = None) -> int:
    """The innermost scope ends; how deep it lay. Raises `MinitritonError` if there is none, or if it has another name."""
    if not _STACK.open:
        raise MinitritonError("exit_scope: no scope is open")
    opened, visits = _STACK.open[-1]
    if name is not None and name != opened:
        raise MinitritonError(f"exit_scope: the innermost scope is {opened!r}, not {name!r}")
    _STACK.open.pop()
    for visit in reversed(visits):
        visit.leave(metrics or {})
    return len(_STACK.open) + 1


class scope:
    """A scope as a context or a decorator."""

    def __init__(self, name: str, metrics: Metrics | None = None) -> None:
        self.name, self.metrics = name, metrics

    def __enter__(self) -> scope:
        enter_scope(self.name, metrics=self.metrics)
        return self

    def __exit__(self, *exception: object) -> None:
        exit_scope(self.name)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with type(self)(self.name, self.metrics):
                return function(*args, **kwargs)

        return wrapped


class cpu_timed_scope(scope):
    """A scope whose time on the host is counted too, as `cpu_time (ns)`."""

    def __enter__(self) -> scope:
        self._start = time.perf_counter_ns()
        return super().__enter__()

    def __exit__(self, *exception: object) -> None:
        exit_scope(self.name, metrics={"cpu_time (ns)": time.perf_counter_ns() - self._start})


class state(scope):
    """A state of the program ("warm up"): a scope like any other here."""


def enter_state(name: str) -> None:
    """A state begins."""
    enter_scope(name)


def exit_state() -> None:
    """The innermost state ends."""
    exit_scope()
