"""Two processes with the same program, one with minitriton in Triton's place, one with Triton; their measurements take turns.

A benchmark's file calls `compare(...)` in the parent and `work(...)` in a worker. Host: a call that nobody waits for. Call: calls one after the other. Device: calls
that the GPU finds waiting when it begins. Microseconds.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CLOCK = 2_000_000
"""Cycles of the GPU in a millisecond, at most."""

PATIENCE = 60
"""Seconds for an answer; a worker that takes longer prints where it is and is ended."""


class Timing:
    """A case that is ready to be measured; `mean`: of the result's sizes, which both compilers' must share."""

    def __init__(self, call: Callable[[], Any]) -> None:
        import torch

        self.call, self.cuda = call, torch.cuda
        results = call()
        tensors = [r for r in (results if isinstance(results, tuple | list) else (results,)) if torch.is_tensor(r)]
        self.mean = [t.double().abs().mean().item() for t in tensors]
        del results, tensors
        self.seconds = self._each(3)
        self.seconds = self._each(max(3, min(20, int(0.02 / self.seconds))))
        self.host = self._each(5, to_the_end=False)

    def _each(self, count: int, *, to_the_end: bool = True) -> float:
        self.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            self.call()
        if to_the_end:
            self.cuda.synchronize()
        return (time.perf_counter() - start) / count

    def measure(self) -> dict[str, float]:
        host = min(self._each(8, to_the_end=False) for _ in range(4))
        whole = self._each(max(5, int(0.1 / self.seconds)))
        calls = max(2, min(20, int(0.01 / self.seconds)))
        device: list[float] = []
        for _ in range(max(3, min(20, int(0.06 / self.seconds / calls)))):
            first, last = self.cuda.Event(enable_timing=True), self.cuda.Event(enable_timing=True)
            self.cuda._sleep(int(CLOCK * 1e3 * 1.5 * self.host * calls) + CLOCK // 10)
            first.record()
            for _ in range(calls):
                self.call()
            last.record()
            last.synchronize()
            device.append(first.elapsed_time(last) / calls * 1e3)
        return {"host": host * 1e6, "call": whole * 1e6, "device": statistics.median(device)}


def work(call_of: Callable[[str], Callable[[], Any]]) -> None:
    """Answers lines: `begin CASE`, `measure`."""
    faulthandler.register(signal.SIGUSR1)
    timing: Timing | None = None
    for line in sys.stdin:
        what, _, case = line.strip().partition(" ")
        try:
            if what == "begin":
                timing = None
                timing = Timing(call_of(case))
                answer: Any = timing.mean
            else:
                assert timing is not None
                answer = timing.measure()
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:300], "at": traceback.format_exc()[-1500:]}
        print("ANSWER", json.dumps(answer), flush=True)


class Worker:
    """A process with one of the compilers: `arguments` are its command line's, `paths` what it may import."""

    def __init__(self, side: str, file: str, arguments: Iterable[str], paths: Iterable[str]) -> None:
        searched = [str(ROOT), *paths, os.environ.get("PYTHONPATH", "")]
        run = ["-m", "minitriton.run_as_triton"] if side == "minitriton" else []
        self.process = subprocess.Popen(
            [sys.executable, *run, file, *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(searched)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def begin(self, words: str) -> None:
        assert self.process.stdin is not None
        print(words, file=self.process.stdin, flush=True)

    def answer(self) -> Any:
        assert self.process.stdout is not None
        late = threading.Timer(PATIENCE, self._end)
        late.start()
        try:
            for line in self.process.stdout:
                if line.startswith("ANSWER "):
                    return json.loads(line[7:])
        finally:
            late.cancel()
        return {"failed": f"the worker ended: {self.process.wait()}", "at": ""}

    def _end(self) -> None:
        self.process.send_signal(signal.SIGUSR1)
        time.sleep(1)
        self.process.kill()

    def ask(self, words: str) -> Any:
        self.begin(words)
        return self.answer()


def agree(means: Iterable[list[float]]) -> bool:
    ours, theirs = means
    return len(ours) == len(theirs) and all(
        a == b or abs(a - b) <= 1e-3 * max(abs(a), abs(b)) or a != a for a, b in zip(ours, theirs, strict=True)
    )


def _failures(answers: dict[str, Any]) -> dict[str, Any]:
    return {side: each for side, each in answers.items() if isinstance(each, dict) and "failed" in each}


def compare(
    cases: Iterable[str],
    file: str,
    arguments: list[str],
    paths: list[str],
    rounds: int,
    out: Path | None,
    seconds: float,
) -> None:
    """Prints a line a case, writes them to `out`, and begins none after `seconds`."""
    sides = ("minitriton", "triton")
    workers = {side: Worker(side, file, arguments, paths) for side in sides}
    table: list[dict[str, Any]] = []
    end = time.monotonic() + seconds
    print(f"{'case':36}{'host':>20}{'call':>24}{'device':>24}    Triton's time to ours")
    for case in cases:
        if time.monotonic() > end:
            print("no time for", case)
            continue
        row: dict[str, Any] = {"case": case}
        table.append(row)
        for worker in workers.values():
            worker.begin(f"begin {case}")
        answers = [{side: worker.answer() for side, worker in workers.items()}]
        for number in range(rounds):
            if not _failures(answers[-1]):
                answers.append({side: workers[side].ask("measure") for side in sorted(sides, reverse=number % 2 == 0)})
        means, *found = answers
        if failed := _failures(answers[-1]):
            row["failed"] = failed
            print(
                f"{case:36} failed: " + "; ".join(f"{side}: {each['failed']}" for side, each in failed.items()),
                flush=True,
            )
            workers = {
                s: w if w.process.poll() is None else Worker(s, file, arguments, paths) for s, w in workers.items()
            }
        else:
            median = {
                what: {side: statistics.median(each[side][what] for each in found) for side in sides}
                for what in ("host", "call", "device")
            }
            row |= {"means": means, "median": median}
            columns = "".join(f"{m['minitriton']:12.1f} /{m['triton']:9.1f}" for m in median.values())
            ratios = "".join(f"{m['triton'] / m['minitriton']:7.3f}" for m in median.values())
            apart = "" if agree(means.values()) else f"{means}"[:300]
            print(f"{case:36}{columns}  {ratios}  {apart}", flush=True)
        if out:
            out.write_text(json.dumps(table, indent=1))
    timed = [row["median"] for row in table if "median" in row]
    for what in ("host", "call", "device") if timed else ():
        ratios_of = [m[what]["triton"] / m[what]["minitriton"] for m in timed]
        print(
            f"{what}: geometric mean {math.exp(statistics.fmean(map(math.log, ratios_of))):.3f}, least {min(ratios_of):.3f}"
        )
