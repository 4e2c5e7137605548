"""Kernel speed over families of shapes on a GPU, minitriton beside Triton: the worst of each kernel, and of all.

    python benchmarks/speed_families.py [KERNEL ...] [--quick] [--warps-times F] [--rounds N] [--json FILE] [--markdown FILE]

The launches are those of `speed_shapes.py`. All kernels are compiled ahead, by as many processes as there are cores. Then each launch is
run once by either compiler, the results compared bit by bit, and timed in rounds that begin with the one and the other in turn; the
ratio is Triton's time over minitriton's, the median of the rounds. `--quick`: two launches of each kernel, one round. `--warps-times 2`:
each launch by twice as many warps as it was chosen for.

Launches are run by a process of their own: one that fails, crashes or hangs is a row that says so, and the rest goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from contest import resources
from requirements_here import has_gpu
from speed_shapes import LAUNCHES, Array, Launch, with_warps

from minitriton_kernels.cases import load_kernels

COMPILERS = ("minitriton", "triton")
TORCH_NAMES = {
    "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "i32": "int32", "i8": "int8",
    "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
}  # fmt: skip
LIMIT = 90
"""Seconds after which a launch counts as hanging."""


def contestants(assembler: str = "") -> dict[str, tuple[str, str]]:
    """Compiler and assembler of each: minitriton with another one too, if it is named."""
    found = {compiler: (compiler, "") for compiler in COMPILERS}
    return found | ({assembler: ("minitriton", assembler)} if assembler else {})


@contextlib.contextmanager
def assembling_by(assembler: str) -> Iterator[None]:
    """What minitriton compiles meanwhile is assembled by `assembler`, if one is named."""
    from minitriton import knobs

    before = knobs.nvidia.assembler
    if assembler:
        knobs.nvidia.assembler = assembler
    try:
        yield
    finally:
        if assembler:
            knobs.nvidia.assembler = before


def compile_ahead(launch: Launch, assembler: str = "") -> str | None:
    """Compiles it into the caches of the compilers; what went wrong, if something did."""
    import torch

    arguments = [getattr(torch, TORCH_NAMES[a.dtype]) if isinstance(a, Array) else a for a in launch.arguments]
    compiler = ""
    try:
        for compiler, other in contestants(assembler).values():
            kernel = getattr(load_kernels(launch.file, compiler), launch.kernel)
            with assembling_by(other):
                kernel.warmup(*arguments, grid=launch.grid, num_warps=launch.num_warps, **launch.constexprs)
    except Exception as error:
        return f"{compiler}: {type(error).__name__}: {error}"[:300]
    return None


def make(array: Array, torch: Any) -> Any:
    """The tensor of an argument; a result is filled with ones in every bit, so that what is not written shows."""
    dtype = getattr(torch, TORCH_NAMES[array.dtype])
    if array.fill == "below":
        return torch.randint(0, array.limit, array.shape, device="cuda", dtype=torch.int32).to(dtype)
    if array.fill == "random":
        if dtype.is_floating_point:
            return torch.randn(array.shape, device="cuda").to(dtype)
        return torch.randint(-100, 100, array.shape, device="cuda", dtype=torch.int32).to(dtype)
    found = torch.zeros(array.shape, device="cuda", dtype=torch.int32 if array.dtype == "i32" else dtype)
    if array.fill == "result":
        found.view(torch.uint8).fill_(0xFF)
    return found


def measure(launch: Launch, rounds: int, assembler: str = "") -> dict[str, Any]:
    """Microseconds of each contestant, the ratio, registers, spilled registers and bytes of shared memory of each, and whether results have
    the same bits (or how far they are apart)."""
    import torch
    from triton.testing import do_bench

    torch.manual_seed(0)
    inputs = [make(a, torch) if isinstance(a, Array) else a for a in launch.arguments]
    runs: dict[str, Any] = {}
    taken: dict[str, str] = {}
    results: dict[str, list[Any]] = {}
    for name, (compiler, other) in contestants(assembler).items():
        kernel = getattr(load_kernels(launch.file, compiler), launch.kernel)
        own = [
            a.clone() if isinstance(given, Array) and given.fill in ("result", "zeros") else a
            for a, given in zip(inputs, launch.arguments, strict=True)
        ]

        def run(kernel: Any = kernel, own: list[Any] = own) -> Any:
            return kernel[launch.grid](*own, num_warps=launch.num_warps, **launch.constexprs)

        with assembling_by(other):
            taken[f"{name} resources"] = resources(run())
        torch.cuda.synchronize()
        runs[name] = run
        results[name] = [
            a.clone() for a, given in zip(own, launch.arguments, strict=True) if a is not given and _is_result(given)
        ]
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds):
        for name in runs if turn % 2 else reversed(runs):
            with assembling_by(
                contestants(assembler)[name][1]
            ):  # not in each launch: a knob that changes costs the host 100 µs
                times[name].append(do_bench(runs[name], warmup=3, rep=15, return_mode="median") * 1e3)
    return {
        **{compiler: statistics.median(each) for compiler, each in times.items()},
        **taken,
        "ratio": statistics.median(t / m for m, t in zip(times["minitriton"], times["triton"], strict=True)),
        "apart": max(_apart(a, b, torch) for a, b in zip(results["minitriton"], results["triton"], strict=True)),
    }


def _is_result(given: Any) -> bool:
    return isinstance(given, Array) and given.fill in ("result", "zeros")


def _apart(a: Any, b: Any, torch: Any) -> float:
    """0 for the same bits, else the largest difference relative to the largest number."""
    if torch.equal(a.view(torch.uint8), b.view(torch.uint8)):
        return 0.0
    a, b = (each.float().nan_to_num() for each in (a, b))
    return max(((a - b).abs().max() / b.abs().max().clamp_min(1e-30)).item(), 1e-30)


def serve(connection: Any, rounds: int, assembler: str) -> None:
    """Answers each launch that comes with its row."""
    while (launch := connection.recv()) is not None:
        try:
            connection.send(measure(launch, rounds, assembler))
        except Exception as error:
            message = str(error).strip().splitlines() or [""]
            failed = {"failed": f"{type(error).__name__}: {message[0]}"[:200]}
            connection.send(failed | ({} if _gpu_works() else {"is_over": True}))


def _gpu_works() -> bool:
    """Whether this process may go on: after a bad access the GPU does nothing more for it."""
    import torch

    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


class Runner:
    """A process that runs launches; replaced where it ended, hangs, or has lost the GPU."""

    def __init__(self, rounds: int, assembler: str = "") -> None:
        self.arguments = rounds, assembler
        self.process: Any = None

    def row(self, launch: Launch) -> dict[str, Any]:
        """What `measure` found, or `failed` with the reason."""
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=serve, args=(other, *self.arguments), daemon=True)
            self.process.start()
            other.close()
        found: dict[str, Any]
        try:
            self.connection.send(launch)
            found = (
                self.connection.recv()
                if self.connection.poll(LIMIT)
                else {"failed": f"hangs for {LIMIT} s", "is_over": True}
            )
        except (EOFError, OSError):
            self.process.join(5)
            found = {"failed": f"the process ended with status {self.process.exitcode}", "is_over": True}
        if found.pop("is_over", False):
            self.close()
        return found

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def chosen(names: list[str], quick: bool) -> list[int]:
    """The launches of kernels whose name contains one of `names`; if `quick` the first and the last of each kernel."""
    found: dict[str, list[int]] = {}
    for index, launch in enumerate(LAUNCHES):
        if not names or any(name in launch.kernel for name in names):
            found.setdefault(launch.kernel, []).append(index)
    kept = [[of_kernel[0], of_kernel[-1]] if quick else of_kernel for of_kernel in found.values()]
    return [index for of_kernel in kept for index in dict.fromkeys(of_kernel)]


def table(rows: list[dict[str, Any]]) -> str:
    """In Markdown, for each kernel the worst, median and best ratio, and where the worst is; the worst kernel first."""
    by_kernel: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_kernel.setdefault(row["kernel"], []).append(row)
    lines = [
        "| kernel | shapes | worst | median | best | same bits | the worst is |",
        "|---|---|---|---|---|---|---|",
    ]
    summaries: list[tuple[float, str]] = []
    for kernel, of_kernel in by_kernel.items():
        timed = [row for row in of_kernel if "ratio" in row]
        failed = len(of_kernel) - len(timed)
        if not timed:
            summaries.append((0.0, f"| {kernel} | 0 of {len(of_kernel)} | failed | | | | {of_kernel[0]['failed']} |"))
            continue
        ratios = sorted(row["ratio"] for row in timed)
        worst = min(timed, key=lambda row: row["ratio"])
        same = sum(row["apart"] == 0 for row in timed)
        count = f"{len(timed)} of {len(of_kernel)}" if failed else str(len(timed))
        summaries.append(
            (
                ratios[0],
                f"| {kernel} | {count} | {ratios[0]:.3f} | {statistics.median(ratios):.3f} | {ratios[-1]:.3f} | {same} | {worst['label']} |",
            )
        )
    lines += [line for _, line in sorted(summaries)]
    timed = [row for row in rows if "ratio" in row]
    if timed:
        ratios = [row["ratio"] for row in timed]
        below = ", ".join(f"{sum(r < bound for r in ratios)} below {bound}" for bound in (1.0, 0.98, 0.95, 0.9))
        lines.append(
            f"\nAll {len(timed)} launches of {len(by_kernel)} kernels: worst {min(ratios):.3f}, median {statistics.median(ratios):.3f}, "
            f"geometric mean {statistics.geometric_mean(ratios):.3f}; {below}; {len(rows) - len(timed)} failed."
        )
    return "\n".join(lines)


def compile_all(launches: list[Launch], assembler: str = "") -> None:
    """Fills the caches, and says what does not compile."""
    start = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(compile_ahead, launch, assembler): launch for launch in launches}
        for done in as_completed(running):
            wrong = done.exception() or done.result()
            if wrong:
                print(f"{running[done].name}: {wrong}", flush=True)
    print(f"compiled in {time.perf_counter() - start:.0f} s", flush=True)


def described(launch: Launch) -> dict[str, Any]:
    return {"kernel": launch.kernel, "label": f"{launch.label}, {launch.num_warps} warps"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="only kernels whose name contains one of these")
    parser.add_argument("--quick", action="store_true", help="two launches of each kernel, one round")
    parser.add_argument(
        "--warps-times", type=float, default=1.0, metavar="F", help="so many times the warps of each launch"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="also write the rows to this file")
    parser.add_argument("--markdown", help="also write the table to this file")
    arguments = parser.parse_args()
    if not has_gpu():
        sys.exit(
            "speed is measured on a GPU beside Triton: install torch and triton (`pip install -e .[bench]`) where there is one"
        )
    launches = [
        with_warps(LAUNCHES[index], arguments.warps_times) for index in chosen(arguments.names, arguments.quick)
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        compile_all(launches)
        runner = Runner(1 if arguments.quick else arguments.rounds)
        rows: list[dict[str, Any]] = []
        try:
            for launch in launches:
                row = {**described(launch), **runner.row(launch)}
                rows.append(row)
                shown = row.get("failed") or (
                    f"{row['minitriton']:9.1f} µs {row['triton']:9.1f} µs  {row['ratio']:6.3f}  {row['apart']:.0e}"
                )
                print(f"{row['kernel'] + ' ' + row['label']:64} {shown}", flush=True)
                if arguments.json:
                    Path(arguments.json).write_text(json.dumps(rows, indent=1))
        finally:
            runner.close()
            text = table(rows)
            print("\n" + text)
            if arguments.markdown:
                Path(arguments.markdown).write_text(text + "\n")


if __name__ == "__main__":
    main()
