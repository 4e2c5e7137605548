"""A plugin of pytest for programs that run under Triton: keeps the first launches of each kernel. `published.py` starts it.

    pytest -p published_recorder tests/test_x.py        with PUBLISHED='{"out": ..., "project": ..., "most": 2, ...}'

A launch that is kept runs twice from the same memory, and its memory from before and after goes to a folder (`published_launches.py`). How many
launches of a kernel are kept is agreed between processes by files under `out`/seen. Autotuned kernels take their smallest configuration,
unmeasured. Tests run in an order in which every test function has its turn first with a case of middling size; one whose last cases
showed no new launch is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import signal
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import published_launches as launches
import pytest
import torch
import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction


@dataclass
class Settings:
    """`most`: launches of a kernel. `cases`: of a test function. Seconds of one test, and of the process; `largest`: bytes of the storages of a launch."""

    out: str
    project: str
    most: int = 2
    cases: int = 6
    test_seconds: float = 60
    seconds: float = 200
    largest: int = 64 << 20
    size: float = 2.0**17
    """Product of a case's numbers that counts as middling."""


SETTINGS = Settings(**json.loads(os.environ["PUBLISHED"]))
OUT = Path(SETTINGS.out)
UNDER_TRITON = triton.__name__ == "triton"


@dataclass
class State:
    """What this process has seen."""

    test: str = ""
    recorded: int = 0
    keys: set[tuple[Any, str, str]] = field(default_factory=set)
    per_function: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    outcomes: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    failures: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    not_kept: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    within: bool = False


STATE = State()
START = time.monotonic()


def _keys(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, str]:
    """Of a launch, in short: types and options; and with its sizes and constants."""
    given = {**dict(zip(kernel.arg_names, args, strict=False)), **kwargs}
    coarse: list[str] = []
    fine: list[str] = []
    for name, value in given.items():
        if launches.is_pointer(value):
            coarse.append(str(value.dtype))
        elif value is None or isinstance(value, (bool, str)):
            coarse.append(repr(value))
        elif isinstance(value, (int, float)) and name not in ("num_warps", "num_ctas"):
            coarse.append(type(value).__name__)
            constant = any(p.name == name and p.is_constexpr for p in kernel.params)
            fine.append(repr(value) if constant or not isinstance(value, int) else str((value == 1, value % 16 == 0)))
        else:
            coarse.append(repr(value)[:200])
    return ",".join(coarse), ",".join(fine)


def _claim(kernel: Any, named: launches.Named, coarse: str, fine: str) -> int | None:
    """The number of this launch among those of its kernel, or None if it is not to be kept."""
    digest = hashlib.sha256(f"{named.module}.{named.name}".encode()).hexdigest()[:16]
    if "_gen_module" in named.module:
        digest = hashlib.sha256(Path(named.file).read_bytes()).hexdigest()[:16]
    seen = OUT / "seen" / digest
    seen.mkdir(parents=True, exist_ok=True)
    kinds = [hashlib.sha256(each.encode()).hexdigest()[:12] for each in (coarse, coarse + fine)]
    known = [each.name.split("-") for each in seen.glob("kind-*")]
    if any(each[2] == kinds[1] for each in known) or sum(each[1] == kinds[0] for each in known) >= 2:
        return None
    for number in range(SETTINGS.most):
        with contextlib.suppress(FileExistsError):
            (seen / f"slot-{number}").touch(exist_ok=False)
            (seen / f"kind-{kinds[0]}-{kinds[1]}").touch()
            return number
    return None


def _original(kernel: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> Any:
    if UNDER_TRITON:
        return _RUN(kernel, *args, grid=grid, warmup=False, **kwargs)
    return _GETITEM(kernel, grid)(*args, **kwargs)


def _record(kernel: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]) -> Any:
    """Launches; keeps the launch if it is one of the first of its kernel."""
    key = (kernel, *_keys(kernel, args, kwargs))
    if key in STATE.keys or not any(
        launches.is_pointer(v) or hasattr(v, "block_shape") for v in launches.flattened([args, kwargs])
    ):
        return _original(kernel, args, grid, kwargs)
    STATE.keys.add(key)
    torch.cuda.synchronize()
    try:
        memory = launches.Memory()
        arguments = launches.dumps((args, kwargs), memory)
        named = launches.named(kernel)
        total = sum(each.nbytes() for each in memory.storages)
        if "<locals>" in named.name:
            raise launches.Unrecordable("a kernel made within a function")
        if total > SETTINGS.largest:
            STATE.keys.discard(key)
            raise launches.Unrecordable("memory too large")
        number = _claim(kernel, named, *key[1:])
        before = memory.read() if number is not None else []
    except Exception as error:
        STATE.not_kept[f"{kernel.__name__}: {type(error).__name__} {error}"[:200]] += 1
        return _original(kernel, args, grid, kwargs)
    if number is None:
        return _original(kernel, args, grid, kwargs)
    taken: list[Any] = []

    def watched(meta: Any) -> Any:
        taken.append(grid(meta) if callable(grid) else grid)
        return taken[-1]

    compiled = _original(kernel, args, watched if callable(grid) else grid, kwargs)
    torch.cuda.synchronize()
    after = memory.read()
    memory.write(before)
    _original(kernel, args, grid, kwargs)
    torch.cuda.synchronize()
    try:
        storages = []
        for now, then, first, dtype in zip(memory.read(), before, after, memory.dtypes, strict=True):
            repeat = None if torch.equal(now, first) else launches.difference(now, first, then, dtype)
            storages.append(launches.Storage(now.numel(), dtype, not torch.equal(first, then), repeat))
        launched = (taken[0] if callable(grid) else grid) or (1,)
        texts = {} if compiled is None else compiled.asm
        ttir = str(texts.get("ttir", ""))
        if "int_to_ptr" in ttir:
            raise launches.Unrecordable("addresses in memory")
        names = {**dict(zip(kernel.arg_names, args, strict=False)), **kwargs}
        launch = launches.Launch(
            SETTINGS.project, named, STATE.test, tuple(int(each) for each in launched), arguments, storages,
            rounding=launches.rounding_in(ttir), shared=getattr(getattr(compiled, "metadata", None), "shared", 0), shown={name: _shown(value) for name, value in names.items()},
        )  # fmt: skip
        name = re.sub(r"\W", "_", kernel.__name__)[:60]
        folder = OUT / "queue" / f"{number}-{SETTINGS.project}-{name}-{os.getpid()}-{STATE.recorded}"
        launches.save(folder, launch, str(texts.get("ptx", "")), before, after)
        STATE.recorded += 1
    except Exception as error:
        STATE.not_kept[f"{kernel.__name__}: {type(error).__name__} {error}"[:200]] += 1
    finally:
        memory.write(after)
    return compiled


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype}{list(value.shape)} strides {list(value.stride())}"
    return repr(value)[:100]


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
    capturing = torch.cuda.is_available() and UNDER_TRITON and torch.cuda.is_current_stream_capturing()
    if warmup or STATE.within or capturing or not STATE.test or self.is_gluon():
        return _RUN(self, *args, grid=grid, warmup=warmup, **kwargs)
    STATE.within = True
    try:
        return _record(self, args, grid, kwargs)
    finally:
        STATE.within = False


def _getitem(self: Any, grid: Any) -> Any:
    if STATE.within:
        return _GETITEM(self, grid)
    return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)


def _bench(self: Any, *args: Any, config: Any, **meta: Any) -> list[float]:
    """In place of a measurement: how large a configuration is."""
    numbers = [each for each in config.kwargs.values() if isinstance(each, int) and not isinstance(each, bool)]
    return [float(math.prod(max(each, 1) for each in numbers) * config.num_warps * config.num_stages)] * 3


_RUN, _GETITEM = JITFunction.run, JITFunction.__getitem__
JITFunction.run = _run
if not UNDER_TRITON:
    JITFunction.__getitem__ = _getitem
Autotuner._bench = _bench


def _size(item: Any) -> float:
    """The distance of a case from a middling one, in powers of two."""
    callspec = getattr(item, "callspec", None)
    numbers = [
        each for each in launches.flattened(dict(callspec.params) if callspec else {})
        if isinstance(each, int) and not isinstance(each, bool) and each > 0
    ]  # fmt: skip
    return abs(math.log2(max(math.prod(numbers), 1)) - math.log2(SETTINGS.size)) if numbers else 0.0


def _function(item: Any) -> str:
    return item.nodeid.partition("[")[0]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Every function's most middling case first, then every function's second."""
    by_function: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        by_function[_function(item)].append(item)
    ranked: list[tuple[int, int, Any]] = []
    for order, cases in enumerate(by_function.values()):
        chosen = sorted(cases, key=_size)[: SETTINGS.cases]
        ranked += [(rank, order, item) for rank, item in enumerate(chosen)]
    items[:] = [item for _, _, item in sorted(ranked, key=lambda each: each[:2])]


class TooLong(BaseException):
    """A test that is stopped."""


def _stop(*_: Any) -> None:
    raise TooLong


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Any:
    """Records what the test launches, and stops it in time."""
    past = STATE.per_function[_function(item)]
    left = SETTINGS.seconds - (time.monotonic() - START)
    if left < 5:
        pytest.skip("no time left")
    if len(past) >= 2 and not any(past[-2:]):
        pytest.skip("nothing new")
    before = STATE.recorded
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, min(SETTINGS.test_seconds, left))
    STATE.test = item.nodeid
    try:
        return (yield)
    except TooLong:
        pytest.fail("stopped: took too long")
    except Exception as error:
        STATE.failures[f"{item.name[:60]}: {type(error).__name__}: {str(error).strip()[:160]}"] += 1
        if "CUDA error" in str(error) or "illegal memory" in str(error):
            pytest.exit("the device is lost")
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        STATE.test = ""
        past.append(STATE.recorded - before)
        if torch.cuda.is_available() and UNDER_TRITON:
            with contextlib.suppress(Exception):
                torch.cuda.empty_cache()


def pytest_runtest_logreport(report: Any) -> None:
    """Counts outcomes."""
    if report.when == "call" or report.outcome != "passed":
        STATE.outcomes[report.outcome] += 1


def pytest_collectreport(report: Any) -> None:
    """A file that cannot be imported, or skips itself."""
    if report.outcome != "passed":
        STATE.failures[f"collection {report.outcome}: {str(report.longrepr)[-300:]}"] += 1


def pytest_sessionfinish() -> None:
    """What this process did, for `published.py`'s table."""
    facts = {
        "recorded": STATE.recorded, "outcomes": STATE.outcomes, "failures": STATE.failures, "not kept": STATE.not_kept,
        "seconds": time.monotonic() - START, "arguments": sys.argv[1:],
    }  # fmt: skip
    (OUT / "sessions").mkdir(exist_ok=True)
    (OUT / "sessions" / f"{os.getpid()}.json").write_text(json.dumps(facts))
