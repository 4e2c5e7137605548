"""A run of many fuzzed kernels over several processes: every kernel by its own seed, whatever one of them does to its process.

In: a seed, a count, oracles. Out: a `Summary`. A kernel that kills its process or takes too long is a finding; the run goes on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import faulthandler
import gc
import itertools
import multiprocessing
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.oracles import ENDED, end_this_process_after
from minitriton.host import interrupts

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
MOST_SERVED = 400
"""Kernels run by one process before another takes over: compilers keep some of everything they have seen."""
MOST_SECONDS = 60.0
"""For one kernel, before its process is given up."""
TRITON_SECONDS = 2.0
"""Of processor time for a stage of Triton's compiler: on 640 kernels the longest took 0.15 s, or they never end (2026-11-23)."""
_LOOK_EVERY = 0.25
"""Seconds between two looks at processes that say nothing."""
ENDLESS_IN_TRITON = "a pass of Triton's does not end"
"""The known difference of a kernel that Triton's compiler was given up on; the other oracles run again without it."""


@dataclass(frozen=True)
class KernelReport:
    """What became of kernel `number`."""

    number: int
    seconds: float
    findings: tuple[FuzzFinding, ...]
    known: tuple[str, ...]
    """Names of known differences from Triton that explain what was found."""
    compared: tuple[tuple[str, str], ...]
    agreeing: tuple[tuple[str, str], ...]
    features: tuple[str, ...]


@dataclass
class Summary:
    """Counts over a run, and the kernels with findings."""

    seed: int
    oracles: tuple[str, ...]
    count: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    compared: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    agreeing: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    features: Counter[str] = field(default_factory=Counter[str])
    known: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    findings: dict[FuzzFinding, list[int]] = field(default_factory=dict[FuzzFinding, list[int]])
    """By kind and signature (the text is the first kernel's): the kernels that show it."""

    def add(self, report: KernelReport) -> None:
        """Counts one kernel."""
        self.count += 1
        self.cpu_seconds += report.seconds
        self.compared.update(report.compared)
        self.agreeing.update(report.agreeing)
        self.features.update(report.features)
        for name in report.known:
            self.known.setdefault(name, []).append(report.number)
        for finding in report.findings:
            same = next(
                (f for f in self.findings if (f.kind, f.signature) == (finding.kind, finding.signature)), finding
            )
            self.findings.setdefault(same, []).append(report.number)

    @property
    def ok(self) -> bool:
        """Whether nothing was found but known differences."""
        return not self.findings


def failed(number: int, finding: FuzzFinding) -> KernelReport:
    """The report of a kernel that could not be compared."""
    return KernelReport(number, 0.0, (finding,), (), (), (), ())


Work = Callable[[int, int, Sequence[str]], KernelReport]
"""What is done for a run's seed, a kernel's number and oracles."""


def run(
    seed: int,
    numbers: Sequence[int],
    oracles: Sequence[str],
    jobs: int,
    watch: Callable[[KernelReport], None],
    *,
    work: Work,
    most_seconds: float | None = None,
) -> Summary:
    """Fuzzes the kernels `numbers` in `jobs` processes (0: in this one); `watch` sees every report.

    Ends early after `most_seconds`, or when interrupted; the summary says how many kernels there were.
    """
    summary = Summary(seed, tuple(oracles))
    start = time.monotonic()
    reports = _here(seed, numbers, oracles, work) if jobs == 0 else _in_processes(seed, numbers, oracles, jobs, work)
    with contextlib.closing(reports), contextlib.suppress(KeyboardInterrupt):
        for report in reports:
            summary.add(report)
            watch(report)
            if most_seconds is not None and time.monotonic() - start > most_seconds:
                break
    summary.seconds = time.monotonic() - start
    return summary


def _here(seed: int, numbers: Sequence[int], oracles: Sequence[str], work: Work) -> Generator[KernelReport]:
    for number in numbers:
        yield work(seed, number, oracles)


def _serve(connection: Connection, said: str, seed: int, oracles: Sequence[str], work: Work) -> None:
    """A process: says that it has begun, then answers each kernel with its report and whether it takes another. What it writes to standard
    error goes to the file `said`, its temporary files next to that: they go with the campaign where this process is killed."""
    # Modules and caches stay; what one kernel leaves need not be looked for at each of its allocations.
    gc.set_threshold(300_000, 20, 100)
    os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    os.environ["TMPDIR"] = tempfile.tempdir = str(Path(said).parent)
    end_this_process_after(TRITON_SECONDS)
    connection.send((None, True))
    goes_on, served = True, 0
    while goes_on:
        item = connection.recv()
        os.ftruncate(2, 0)
        faulthandler.dump_traceback_later(0.9 * MOST_SECONDS, file=2)
        if item >= 0:
            report = work(seed, item, oracles)
        else:
            report = work(seed, ~item, [each for each in oracles if each != "triton"])
            report = dataclasses.replace(report, known=(*report.known, ENDLESS_IN_TRITON))
        faulthandler.cancel_dump_traceback_later()
        served += 1
        # After a fault nothing runs on the GPU in this process any more.
        faulted = any(f.signature.startswith("minitriton: GPU:") for f in report.findings)
        goes_on = served < MOST_SERVED and not faulted
        connection.send((report, goes_on))


class _CampaignWorker:
    """A process, the kernel that is its own, and since when it has been at it: None before the process has begun."""

    def __init__(self, item: int, said: Path, *given: object) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["minitriton.fuzz.running.preloaded"])
        self.item, self.said = item, said
        self.since: float | None = None
        self.spent = 0.0
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, str(said), *given), daemon=True)
        with _one_thread():
            interrupts.start(self.process)
        theirs.close()

    def begin(self, item: int) -> None:
        """Has the process run a kernel: its number, `~number` of one that is to run without Triton."""
        self.item, self.since = item, time.monotonic()
        self.spent = _state_and_processor_seconds(self.process.pid)[1]
        with contextlib.suppress(OSError):  # a process that has ended is noticed by its silence
            self.connection.send(item)

    def is_late(self) -> bool:
        """Whether its kernel has taken `MOST_SECONDS`, of a processor or asleep: a process that waits for a processor is not late."""
        if self.since is None or time.monotonic() - self.since <= MOST_SECONDS:
            return False
        state, spent = _state_and_processor_seconds(self.process.pid)
        return state == "S" or spent - self.spent > MOST_SECONDS

    def failed(self, kind: str, signature: str, text: str = "") -> KernelReport:
        """The report of the kernel that the process is at, with its last words."""
        last = self.said.read_text(errors="replace")[-2000:] if self.said.exists() else ""
        return failed(self.item if self.item >= 0 else ~self.item, FuzzFinding(kind, signature, text + last))

    def end(self) -> None:
        """Ends the process, and waits for it."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _state_and_processor_seconds(pid: int | None) -> tuple[str, float]:
    """Whether a process runs or is ready to (`R`) or sleeps (`S`), and what it has had of processors; "" and the time where nothing says so."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "", time.monotonic()
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def _one_thread() -> Generator[None]:
    """Processes started meanwhile compute NumPy's dots in one thread: each has a processor, and more threads than processors
    would wait for each other."""
    added = [variable for variable in _THREADS if variable not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for variable in added:
            del os.environ[variable]


def _in_processes(
    seed: int, numbers: Sequence[int], oracles: Sequence[str], jobs: int, work: Work
) -> Generator[KernelReport]:
    pending, again = iter(numbers), list[int]()
    workers: list[_CampaignWorker] = []
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    files = (folder / f"{number}.txt" for number in itertools.count())

    def next_item() -> int | None:
        return again.pop() if again else next(pending, None)

    try:
        while True:
            while len(workers) < jobs and (item := next_item()) is not None:
                workers.append(_CampaignWorker(item, next(files), seed, tuple(oracles), work))
            if not workers:
                return
            ready = wait([worker.connection for worker in workers], timeout=_LOOK_EVERY)
            for worker in list(workers):
                if worker.connection in ready:
                    report, goes_on = _answer(worker, again)
                elif worker.is_late():
                    text = f"more than {MOST_SECONDS:.0f} s\n"
                    report, goes_on = worker.failed("timeout", "a kernel takes too long", text), False
                else:
                    continue
                if report is not None:
                    yield report
                item = worker.item if report is None else next_item() if goes_on else None
                if goes_on and item is not None:
                    worker.begin(item)
                else:
                    worker.end()
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.end()
        shutil.rmtree(folder, ignore_errors=True)


def _answer(worker: _CampaignWorker, again: list[int]) -> tuple[KernelReport | None, bool]:
    """What a process says: a report, or none yet, and whether it takes another kernel. Its silence is a finding, unless it has not begun,
    or had enough of Triton's compiler: then its kernel is to run `again`, without that."""
    try:
        return worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join()
    code = worker.process.exitcode
    if worker.since is None:
        again.append(worker.item)
    elif code == ENDED and worker.item >= 0:
        again.append(~worker.item)
    else:
        return worker.failed("crash", f"a process ended with {code}"), False
    return None, False


def as_json(summary: Summary) -> dict[str, object]:
    """The account of a run for the record."""
    return {
        "seed": summary.seed,
        "count": summary.count,
        "oracles": list(summary.oracles),
        "seconds": round(summary.seconds, 1),
        "cpu_seconds_a_kernel": round(summary.cpu_seconds / max(summary.count, 1), 4),
        "pairs": {
            f"{a} = {b}": {"compared": n, "agreeing": summary.agreeing[(a, b)]}
            for (a, b), n in summary.compared.items()
        },
        "known_differences": {name: sorted(numbers) for name, numbers in summary.known.items()},
        "findings": [
            {"kind": f.kind, "signature": f.signature, "kernels": sorted(numbers), "text": f.text}
            for f, numbers in summary.findings.items()
        ],
        "features": dict(sorted(summary.features.items())),
    }


def as_text(summary: Summary) -> str:
    """The account of a run for the screen, as tables."""
    each = 1000 * summary.cpu_seconds / max(summary.count, 1)
    lines = [
        f"{summary.count} kernels of seed {summary.seed} by {', '.join(summary.oracles)}: {summary.seconds:.0f} s, {each:.0f} ms of CPU a kernel",
        "",
        f"{'pair':32} {'compared':>9} {'agreeing':>9}",
    ]
    lines += [f"{f'{a} = {b}':32} {n:9} {summary.agreeing[(a, b)]:9}" for (a, b), n in summary.compared.items()]
    lines += ["", "kernels with:"]
    counts = sorted(summary.features.items(), key=lambda item: (-item[1], item[0]))
    columns = [f"{name} {n}" for name, n in counts]
    for start in range(0, len(columns), 6):
        lines.append("  " + " · ".join(columns[start : start + 6]))
    if summary.known:
        lines += ["", "known differences from Triton (docs/differences-from-triton.md):"]
        lines += [f"  {len(n):6}  {name}: kernels {_some(n)}" for name, n in sorted(summary.known.items())]
    lines += ["", f"findings: {len(summary.findings)}"]
    for finding, numbers in sorted(summary.findings.items(), key=lambda item: -len(item[1])):
        lines += [f"  {len(numbers):6}  {finding.kind}: {finding.signature}: kernels {_some(numbers)}"]
        lines += [f"            {line}" for line in finding.text.splitlines()[:8]]
    return "\n".join(lines)


def _some(numbers: list[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:8]))
    return f"{shown}, ..." if len(numbers) > 8 else shown
