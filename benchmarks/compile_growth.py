"""How compile time grows with the kernel: families of kernels, each at several sizes, beside Triton, by stage. Needs no GPU.

    python benchmarks/compile_growth.py [FAMILY ...] [--from N] [--up-to N] [--limit SECONDS] [--rounds N] [--without-triton] [--json FILE]
        [--own] [--jobs N] [--within SECONDS] [--patience FACTOR] [--markdown FILE]

Milliseconds of processor time, caches cold, processes warm; the least of the rounds counts. `own`: what is minitriton's own code, from
the frontend to LLVM IR as text; `LLVM`: its optimiser and code generator; `assembler`: PTX to cubin. Of Triton `to PTX` and `assembler`
(`ptxas`, a process of its own). `ratio`: minitriton's time to PTX, and to the cubin, over Triton's. `grows`: the exponent of growth of
`own` since the row above (1: in proportion; n log n reads up to 1.2). `--own` stops there, before LLVM, and collects garbage before. A compile over the limit ends its family for that compiler.
With `--jobs` families are measured beside each other, small sizes first, each compile by one processor; sizes for which `--within` leaves no
time are left out. Triton is given up at `--patience` times what minitriton took, though not before ten seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compile_time import processor_seconds
from growth_families import FAMILIES, Program
from scratch import scratch

from minitriton_kernels.cases import load_kernels

LLVM_STEPS = ("optimize-llvm-ir", "emit-ptx")


class _OwnCodeDone(Exception):
    """LLVM would come next, and is not wanted."""


def _minitriton(kernel: Any, program: Program, own_only: bool) -> dict[str, float]:
    """Seconds of `frontend`, of each pass, and of what becomes of them: `own`, `LLVM`, `assembler`."""
    import minitriton
    from minitriton.compiler import ASTSource
    from minitriton.pipeline.pass_manager import Hook
    from minitriton.pipeline.stages import assemble
    from minitriton.target import GPUTarget

    passes: dict[str, float] = {}

    class ProcessorTime(Hook):
        """Processor seconds of each pass, those of one name together."""

        start = 0.0

        def before(self, step: Any, value: Any) -> None:
            if own_only and step.name in LLVM_STEPS:
                raise _OwnCodeDone
            self.start = time.process_time()

        def after(self, step: Any, value: Any) -> None:
            passes[step.name] = passes.get(step.name, 0.0) + time.process_time() - self.start

    target = GPUTarget("cuda", 90, 32)
    if own_only:
        gc.collect()  # what the compile before left, a third of its size, would count as growth of this one
    start = time.process_time()
    source = ASTSource(kernel, program.signature, program.constexprs, program.attributes)
    options = {"num_warps": program.num_warps}
    try:
        compiled = minitriton.compile(source, target, options, hooks=[ProcessorTime()], assemble=False)
    except _OwnCodeDone:
        own = time.process_time() - start
        return {"own": own, "LLVM": 0.0, "to PTX": own, "assembler": 0.0, **passes}
    to_ptx = time.process_time() - start
    start = processor_seconds()
    assemble(compiled.asm["ptx"], compiled.metadata.pipeline)
    assembler = processor_seconds() - start
    llvm = sum(passes[name] for name in LLVM_STEPS)
    return {"own": to_ptx - llvm, "LLVM": llvm, "to PTX": to_ptx, "assembler": assembler, **passes}


def _triton(kernel: Any, program: Program) -> dict[str, float]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    children = _children_seconds()
    start = time.process_time()
    source = ASTSource(kernel, program.signature, program.constexprs, program.attributes)
    triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": program.num_warps})
    return {"to PTX": time.process_time() - start, "assembler": _children_seconds() - children}


def _children_seconds() -> float:
    return processor_seconds() - time.process_time()


def compile_once(compiler: str, program: Program, own_only: bool = False) -> dict[str, float] | str:
    """Seconds by column, or why it did not compile. With the name "" a small kernel is compiled first, so that all is loaded."""
    folder = tempfile.mkdtemp()
    os.environ["TRITON_CACHE_DIR"] = str(Path(folder) / "cache")
    path = Path(folder) / f"grown_{time.time_ns()}.py"
    path.write_text(program.text)
    try:
        with _deep_recursion():
            kernel = load_kernels(str(path.with_suffix("")), compiler).kernel
        return _minitriton(kernel, program, own_only) if compiler == "minitriton" else _triton(kernel, program)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:150]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _deep_recursion() -> Iterator[None]:
    """Python 3.11 compiles no chain of 3,000 `elif`s with the recursion it allows itself."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20000)
    yield
    sys.setrecursionlimit(before)


class Contender:
    """A process that compiles with one compiler, and is started again when a compile takes too long."""

    def __init__(self, compiler: str, own_only: bool) -> None:
        self.compiler, self.own_only = compiler, own_only
        self.pool: Any = None

    def compile(self, program: Program, limit: float) -> dict[str, float] | str:
        """What `compile_once` found, or that it took longer than `limit` seconds."""
        if self.pool is None:
            self.pool = multiprocessing.get_context("spawn").Pool(1)
            self.pool.apply(compile_once, (self.compiler, FAMILIES["statements"].program(3)))
        asked = self.pool.apply_async(compile_once, (self.compiler, program, self.own_only))
        try:
            return asked.get(limit)
        except multiprocessing.TimeoutError:
            self.close()
            return f"over {limit:.0f} s"

    def close(self) -> None:
        """Ends the process."""
        if self.pool is not None:
            self.pool.terminate()
            self.pool.join()
            self.pool = None


def least(runs: list[dict[str, float] | str]) -> dict[str, float] | str:
    """The least of each column, or what went wrong."""
    wrong = next((run for run in runs if isinstance(run, str)), None)
    if wrong is not None:
        return wrong
    return {name: min(run[name] for run in runs if not isinstance(run, str)) for name in runs[0]}


def exponent(before: dict[str, Any] | None, row: dict[str, Any], name: str) -> float | None:
    """By which power of `n` the column `name` of minitriton grew since the row before."""
    now, then = row["minitriton"], before["minitriton"] if before else None
    if not isinstance(now, dict) or not isinstance(then, dict) or not then.get(name) or not now.get(name):
        return None
    return math.log(now[name] / then[name]) / math.log(row["n"] / before["n"])  # pyright: ignore[reportOptionalSubscript]


@dataclass
class Growing:
    """A family on its way: its rows so far, the sizes to come and the compilers that still take part."""

    name: str
    sizes: list[int]
    running: list[str]
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    busy: bool = False

    @property
    def seconds(self) -> float:
        """Processor time of the last row, both compilers."""
        found = [self.rows[-1].get(each) for each in self.running] if self.rows else []
        return sum(one["to PTX"] + one["assembler"] for one in found if isinstance(one, dict))


@dataclass(frozen=True)
class Patience:
    """How often a program is compiled, and how long is waited for it."""

    rounds: int
    limit: float
    """Seconds for one compile."""

    factor: float
    """Triton is given up at this many times what minitriton took."""

    end: float
    """When all is over, by `time.monotonic()`."""

    def seconds(self, compiler: str, runs: dict[str, list[Any]]) -> float:
        """How long `compiler` may take, after `runs`."""
        seconds = min(self.limit, self.end - time.monotonic())
        ours = least(runs["minitriton"]) if runs.get("minitriton") else ""
        if compiler != "minitriton" and isinstance(ours, dict):
            seconds = min(seconds, max(10.0, self.factor * (ours["to PTX"] + ours["assembler"])))
        return seconds


def measure(growing: Growing, contenders: dict[str, Contender], patience: Patience) -> str:
    """One row more, for the next size: `n`, by compiler what it took or why there is nothing, and the growth of each column. Its line."""
    n = growing.sizes.pop(0)
    program = FAMILIES[growing.name].program(n)
    runs: dict[str, list[Any]] = {each: [] for each in growing.running}
    for turn in range(patience.rounds):
        for each in reversed(growing.running) if turn % 2 else growing.running:
            if runs[each] and (isinstance(runs[each][-1], str) or runs[each][-1]["to PTX"] > 5):
                continue
            seconds = patience.seconds(each, runs)
            runs[each].append(contenders[each].compile(program, seconds) if seconds > 2 else "no time left")
    row: dict[str, Any] = {"family": growing.name, "n": n, **{each: least(found) for each, found in runs.items()}}
    before = growing.rows[-1] if growing.rows else None
    if isinstance(row.get("minitriton"), dict):
        row["grows"] = {column: exponent(before, row, column) for column in row["minitriton"]}
    growing.rows.append(row)
    growing.running = [each for each, found in runs.items() if not isinstance(least(found), str)]
    return line_of(row)


class Measurement:
    """Families one after another; beside each other a free worker takes the smallest next size, of these the one that took longest before."""

    def __init__(
        self, growing: list[Growing], patience: Patience, beside: bool, json_path: str | None, page_path: str | None
    ) -> None:
        self.growing, self.patience, self.beside = growing, patience, beside
        self.json_path, self.page_path = json_path, page_path
        self.lock = threading.Condition()
        self.shown = ""

    def next(self) -> Growing | None:
        """What to measure next; waits while others may leave something; None at the end."""
        with self.lock:
            while True:
                left = [each for each in self.growing if each.sizes and each.running]
                free = [each for each in left if not each.busy]
                if free:
                    chosen = min(free, key=lambda each: (len(each.rows), -each.seconds)) if self.beside else free[0]
                    chosen.busy = True
                    return chosen
                if not left:
                    return None
                self.lock.wait()

    def done(self, growing: Growing, line: str) -> None:
        """Says what was found and keeps it."""
        with self.lock:
            growing.busy = False
            if growing.name != self.shown:
                self.shown = growing.name
                print(f"\n{growing.name}: {(FAMILIES[growing.name].program.__doc__ or '').strip()}")
            print(line, flush=True)
            if self.json_path:
                Path(self.json_path).write_text(json.dumps(self.rows(), indent=1))
            if self.page_path:
                Path(self.page_path).write_text(page(self.rows()))
            self.lock.notify_all()

    def rows(self) -> list[dict[str, Any]]:
        """All rows, by family."""
        return [row for each in self.growing for row in each.rows]

    def work(self, contenders: dict[str, Contender]) -> None:
        """Measures with a process for each compiler, until there is nothing more."""
        while (growing := self.next()) is not None:
            self.done(growing, measure(growing, contenders, self.patience))


def ratio(row: dict[str, Any], *columns: str) -> float | None:
    """minitriton's time over Triton's, of the sum of `columns`."""
    ours, theirs = row.get("minitriton"), row.get("triton")
    if not isinstance(ours, dict) or not isinstance(theirs, dict):
        return None
    return sum(ours[c] for c in columns) / max(sum(theirs[c] for c in columns), 1e-9)


def line_of(row: dict[str, Any]) -> str:
    """One line of the table, with the passes that grow fastest."""

    def milliseconds(compiler: str, columns: tuple[str, ...]) -> str:
        found = row.get(compiler)
        if not isinstance(found, dict):
            return (f"{found or '':>{9 * len(columns)}}")[: 9 * len(columns)]
        return "".join(f"{found[column] * 1e3:9.1f}" for column in columns)

    def number(value: float | None) -> str:
        return "      " if value is None else f"{value:6.2f}"

    grows = row.get("grows", {})
    ours = row.get("minitriton")
    steep = ""
    if isinstance(ours, dict) and grows.get("own") is not None:
        worst = sorted(
            (p for p in ours if p not in _COLUMNS and ours[p] > 0.05 * ours["to PTX"]), key=lambda p: -ours[p]
        )
        steep = ", ".join(f"{p} {ours[p] * 1e3:.0f} ({grows[p] or 0:.2f})" for p in worst[:4])
    return (
        f"{row['n']:7}{milliseconds('minitriton', _COLUMNS)}{milliseconds('triton', ('to PTX', 'assembler'))}"
        f"{number(ratio(row, 'to PTX'))}{number(ratio(row, 'to PTX', 'assembler'))}{number(grows.get('own'))}  {steep}"
    )


_COLUMNS = ("own", "LLVM", "to PTX", "assembler")


def verdict(rows: list[dict[str, Any]]) -> None:
    """The worst growth and ratios, by family."""
    print(
        f"\n{'family':22}{'largest n':>10}{'grows':>8}{'ratio to PTX':>14}{'to cubin':>10}   (worst ratio from the size where Triton's time is the measure)"
    )
    for name in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == name and isinstance(row.get("minitriton"), dict)]
        if not own:
            continue
        last, first = own[-1], next((r for r in own if r["minitriton"]["own"] > 0.1), None)
        growth = ""
        if first is not None and first is not last:
            power = math.log(last["minitriton"]["own"] / first["minitriton"]["own"]) / math.log(last["n"] / first["n"])
            growth = f"{power:.2f}"
        compared = [row for row in own if row["n"] >= FAMILIES[name].compared_from]
        ratios = [
            max((r for row in compared if (r := ratio(row, *c)) is not None), default=None)
            for c in (("to PTX",), ("to PTX", "assembler"))
        ]
        shown = "".join(
            f"{'' if r is None else f'{r:.2f}':>{width}}" for r, width in zip(ratios, (14, 10), strict=True)
        )
        print(f"{name:22}{last['n']:>10}{growth:>8}{shown}")


def page(rows: list[dict[str, Any]]) -> str:
    """The rows as a Markdown table: milliseconds to the cubin and in brackets the ratio to Triton; how the own code grows."""

    def cell(row: dict[str, Any] | None) -> str:
        if row is None or row.get("minitriton") in (None, "no time left"):
            return ""
        ours, theirs, against = row["minitriton"], row.get("triton"), ratio(row, "to PTX", "assembler")
        if isinstance(ours, str):
            return ours
        beside = f" ({against:.2f})" if against is not None else f" (T {theirs[:40]})" if theirs else ""
        return f"{(ours['to PTX'] + ours['assembler']) * 1e3:.0f}{beside}"

    lines: list[str] = []
    before: tuple[int, ...] = ()
    for name in dict.fromkeys(row["family"] for row in rows):
        sizes = FAMILIES[name].sizes
        if sizes != before:
            lines += [
                "",
                "| family | " + " | ".join(f"{n:,}" for n in sizes) + " | own code grows |",
                "|---" * (len(sizes) + 2) + "|",
            ]
            before = sizes
        found = {row["n"]: row for row in rows if row["family"] == name}
        powers = [
            row["grows"]["own"]
            for row in found.values()
            if row["n"] > FAMILIES[name].compared_from and row.get("grows")
        ]
        grows = ", ".join(f"{power:.2f}" for power in powers if power is not None)
        lines.append(f"| {name} | " + " | ".join(cell(found.get(n)) for n in sizes) + f" | {grows} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only families whose name contains one of these")
    parser.add_argument("--from", dest="least", type=float, default=0, help="leave out smaller sizes")
    parser.add_argument("--up-to", type=float, default=math.inf, help="leave out larger sizes")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a compile is given up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-triton", action="store_true")
    parser.add_argument(
        "--own", action="store_true", help="minitriton's own code alone: no LLVM, no assembler, no Triton"
    )
    parser.add_argument("--json", help="also write the figures to this file")
    parser.add_argument("--jobs", type=int, default=1, help="how many programs are compiled at once")
    parser.add_argument(
        "--within", type=float, default=math.inf, help="seconds after which nothing is measured any more"
    )
    parser.add_argument(
        "--patience", type=float, default=math.inf, help="give Triton up at this many times minitriton's time"
    )
    parser.add_argument("--markdown", help="also write a table to this file")
    arguments = parser.parse_args()
    compilers = ["minitriton"] if arguments.without_triton or arguments.own else ["minitriton", "triton"]
    growing = [
        Growing(name, [n for n in family.sizes if arguments.least <= n <= arguments.up_to], list(compilers))
        for name, family in FAMILIES.items()
        if not arguments.names or any(each in name for each in arguments.names)
    ]
    print(f"{'':7}{'minitriton':>{9 * len(_COLUMNS)}}{'Triton':>18}{'ratio to':>12}")
    print(
        f"{'n':>7}"
        + "".join(f"{c:>9}" for c in (*_COLUMNS, "to PTX", "assembler"))
        + "   PTX cubin grows  passes (growth)"
    )
    patience = Patience(arguments.rounds, arguments.limit, arguments.patience, time.monotonic() + arguments.within)
    measurement = Measurement(growing, patience, arguments.jobs > 1, arguments.json, arguments.markdown)
    with scratch(), contextlib.ExitStack() as ending:
        workers: list[threading.Thread] = []
        for _ in range(arguments.jobs):
            contenders = {each: Contender(each, arguments.own) for each in compilers}
            for contender in contenders.values():
                ending.callback(contender.close)
            # One that waits for a compile does not keep the program, which is ended, from ending.
            workers.append(threading.Thread(target=measurement.work, args=(contenders,), daemon=True))
            workers[-1].start()
        for worker in workers:
            worker.join()
    verdict(measurement.rows())


if __name__ == "__main__":
    main()
