"""Sessions: what is profiled from `start` to `finalize`, and written to a file then.

start("run", hook="triton")         launches count under the name, flops and bytes of the kernel's `launch_metadata`
deactivate(0); activate(0)         nothing counts in between
finalize(0)                        writes run.hatchet

Scopes are names that a program gives to parts of its run, one within another, in each thread for itself:

with scope("layer 3", {"flops16": 2.0 * m * n * k}):        →    a node "layer 3" with its time and its flops
    torch.matmul(a, b)
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import ParamSpec, Protocol, SupportsFloat, TypeAlias, TypedDict, TypeVar, Unpack, overload

from minitriton import knobs
from minitriton.as_triton.profiler.viewer import Node, write
from minitriton.errors import MinitritonError
from minitriton.knobs.hook_types import LaunchMetadata
from minitriton.runtime.benchmarking import DeviceInterface, TimingEvent
from minitriton.runtime.on_cpu.emulation_cost import TIMING

_P = ParamSpec("_P")
_R = TypeVar("_R")
DEFAULT_PROFILE_NAME = "proton"

FLOPS = ("flops", "flops8", "flops16", "flops32", "flops64", "bytes")
"""What a kernel's `launch_metadata` may say of a launch."""


class Visit:
    """One run of a scope: it counts as a span itself unless something of ours is launched inside."""

    def __init__(self, session: Session, node: Node, outer: Visit | None) -> None:
        self.session, self.node, self.outer = session, node, outer
        self.launched = False
        self.end = session.clock.begin()

    def leave(self, metrics: Mapping[str, float]) -> None:
        """The scope ends."""
        self.node.add(metrics)
        if not self.launched:
            self.end(self.session.timing(self.node))
        if self.outer is not None:
            self.outer.launched = True
        self.session.current.visit = self.outer


class _Current(threading.local):
    """Where a thread is in the tree of a session."""

    def __init__(self) -> None:
        self.visit: Visit | None = None
        self.launch: tuple[Node, End] | None = None


class Session:
    """A tree that grows while its session is active."""

    def __init__(self, name: str, *, by_metadata: bool) -> None:
        self.path = Path(f"{name}.hatchet")
        self.by_metadata = by_metadata
        self.root = Node("ROOT")
        self.clock: Clock = clock_here()
        self.current = _Current()
        self.active = True

    def enter(self, name: str, metrics: Mapping[str, float]) -> Visit:
        """A scope begins in this thread."""
        outer = self.current.visit
        node = (outer.node if outer else self.root).child(name)
        node.add(metrics)
        self.current.visit = Visit(self, node, outer)
        return self.current.visit

    def timing(self, node: Node) -> Done:
        """What adds a span of so many nanoseconds to a node."""
        return lambda nanoseconds: node.add({"time (ns)": nanoseconds, "count": 1})

    def launch_begins(self, metadata: LaunchMetadata) -> None:
        """A hook before launches."""
        visit = self.current.visit
        facts = metadata.get() if self.by_metadata else metadata.data
        node = (visit.node if visit else self.root).child(str(facts["name"]))
        if self.by_metadata:
            node.add({name: n for name in FLOPS if isinstance(n := facts.get(name), SupportsFloat)})
        if visit is not None:
            visit.launched = True
        self.current.launch = node, self.clock.begin()

    def launch_ends(self, metadata: LaunchMetadata) -> None:
        """A hook after launches."""
        if self.current.launch is not None:
            node, end = self.current.launch
            end(self.timing(node))
            self.current.launch = None


_SESSIONS: dict[int, Session] = {}
_EMULATOR_KNOBS = ExitStack()
"""Undoes what counting sets."""


def active() -> list[Session]:
    """The sessions that count now."""
    return [session for session in _SESSIONS.values() if session.active]


def start(
    name: str | None = None,
    *,
    context: str | None = "shadow",
    data: str | None = "tree",
    backend: str | None = None,
    mode: object = None,
    hook: str | None = None,
) -> int | None:
    """Begins a session and returns its number; None where `TRITON_PROTON_DISABLE` says so.

    `name` is the path of what `finalize` writes, less its `.hatchet`. `hook="triton"` counts a launch under what the kernel's
    `launch_metadata` says. Raises `MinitritonError` for a context, kind of data or backend that there is not: scopes (`shadow`), a tree,
    and no backend of one's choice.
    """
    if knobs.proton.disable:
        return None
    for option, value, known in (("context", context, "shadow"), ("data", data, "tree"), ("mode", mode, None)):
        if value not in (known, None):
            raise MinitritonError(f"{option}={value!r} is not supported", help=f"only {option}={known!r} is")
    if backend not in (None, "cupti"):
        raise MinitritonError(f"backend={backend!r} is not supported", help="times come from CUDA events")
    if hook not in (None, "triton"):
        raise MinitritonError(f"hook={hook!r} is not known", help='hook="triton" or none')
    number = max(_SESSIONS, default=-1) + 1
    _SESSIONS[number] = session = Session(name or DEFAULT_PROFILE_NAME, by_metadata=hook == "triton")
    session.active = False
    activate(number)
    return number


def activate(session: int | None = None) -> None:
    """Counts again, in one session or in all."""
    for each in _chosen(session):
        if not each.active:
            each.active = True
            knobs.runtime.launch_enter_hook.add(each.launch_begins)
            knobs.runtime.launch_exit_hook.add(each.launch_ends)
    if active():
        _EMULATOR_KNOBS.close()
        _EMULATOR_KNOBS.enter_context(knobs.emulator.scope())
        knobs.emulator.check = "1"


def deactivate(session: int | None = None) -> None:
    """Counts no more, in one session or in all, until `activate`."""
    for each in _chosen(session):
        if each.active:
            each.active = False
            knobs.runtime.launch_enter_hook.remove(each.launch_begins)
            knobs.runtime.launch_exit_hook.remove(each.launch_ends)
    if not active():
        _EMULATOR_KNOBS.close()


def finalize(session: int | None = None, output_format: str | None = "") -> None:
    """Ends one session or all, and writes their files. Raises `MinitritonError` for a format other than `hatchet`."""
    if output_format not in (None, "", "hatchet"):
        raise MinitritonError(f"output_format={output_format!r} is not supported", help='"hatchet" is')
    deactivate(session)
    for each in _chosen(session):
        each.clock.settle()
        write(each.root, each.path, {"CUDA": {}})
    for number in [session] if session is not None else list(_SESSIONS):
        del _SESSIONS[number]


class Options(TypedDict, total=False):
    """Those of `start`."""

    name: str | None
    context: str | None
    data: str | None
    backend: str | None
    mode: object
    hook: str | None


@overload
def profile(function: Callable[_P, _R], **options: Unpack[Options]) -> Callable[_P, _R]: ...


@overload
def profile(**options: Unpack[Options]) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def profile(function: Callable[..., object] | None = None, **options: Unpack[Options]) -> Callable[..., object]:
    """A decorator: each call of the function is a session, with the options of `start`."""
    if function is None:
        return functools.partial(_profiled, **options)
    return _profiled(function, **options)


def _profiled(function: Callable[_P, _R], **options: Unpack[Options]) -> Callable[_P, _R]:
    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        session = start(**options)
        try:
            return function(*args, **kwargs)
        finally:
            if session is not None:
                finalize(session)

    return wrapped


def _chosen(session: int | None) -> list[Session]:
    if session is None or (session == 0 and not _SESSIONS and knobs.proton.disable):
        return list(_SESSIONS.values())
    if session not in _SESSIONS:
        raise MinitritonError(f"unknown session {session}", help="proton.start() gives its number")
    return [_SESSIONS[session]]


# How long what is launched takes: pairs of CUDA events, or the emulator's estimates where there is no GPU.

MOST_PENDING = 4096
"""Pairs of events that wait to be read."""


Done: TypeAlias = Callable[[float], None]
"""Is given how many nanoseconds a span took."""
End: TypeAlias = Callable[[Done], None]
"""Ends the span that it was given for."""


class Clock(Protocol):
    """Tells how long each span took, when it ends or when `settle` is called."""

    def begin(self) -> End:
        """A span begins on the current stream; what ends it."""
        ...

    def settle(self) -> None:
        """Waits until every span is known."""
        ...


class EventClock:
    """CUDA events on torch's current stream."""

    def __init__(self, device: DeviceInterface) -> None:
        self._device = device
        self._pending: list[tuple[TimingEvent, TimingEvent, Done]] = []

    def begin(self) -> End:
        start = self._now()

        def end(done: Done) -> None:
            self._pending.append((start, self._now(), done))
            if len(self._pending) >= MOST_PENDING:
                self.settle()

        return end

    def _now(self) -> TimingEvent:
        event = self._device.Event(enable_timing=True)
        event.record()
        return event

    def settle(self) -> None:
        self._device.synchronize()
        for start, end, done in self._pending:
            done(1e6 * start.elapsed_time(end))
        self._pending.clear()


class EmulatorClock:
    """The emulator's estimates."""

    def begin(self) -> End:
        start = TIMING.now()
        return lambda done: done(1e6 * (TIMING.now() - start))

    def settle(self) -> None:
        """Every span is known when it ends."""


def clock_here() -> Clock:
    """The clock of this machine."""
    from minitriton.runtime import driver

    torch = driver.torch_module()
    return EventClock(torch.cuda) if torch is not None and torch.cuda.is_available() else EmulatorClock()


Metrics = Mapping[str, float]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.open: list[tuple[str, list[Visit]]] = []


_STACK = _Stack()


def enter_scope(name: str, *, metrics: Metrics | None = None) -> int:
    """A scope begins; how deep it is. `metrics` are added to it."""
    _STACK.open.append((name, [session.enter(name, metrics or {}) for session in active()]))
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
