"""`minitriton run FILE.py:kernel`: compiles, runs on the emulator (or the GPU), and shows what each line of the kernel cost.

minitriton run minitriton_kernels/softmax.py:softmax --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024' --grid 4 --arg n_rows=8
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from minitriton.commands.shared_options import progress
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import asked_of
from minitriton.explorer.execution import Ran, launch_of, named_arrays, run_program, summary
from minitriton.explorer.session import ExplorerSession
from minitriton.explorer.terminal import BOLD, FAINT, RED, YELLOW, is_coloured, painted
from minitriton.lab.device_memory import run_on_gpu
from minitriton.lab.report import one_of_each
from minitriton.runtime.cuda_driver import get_cuda_driver, has_gpu
from minitriton.target import POISON

if TYPE_CHECKING:
    from minitriton.explorer.compiles import RecordedCompile


def run_run(given: argparse.Namespace) -> int:
    """Prints the counts by line. 1 if a fault was found, else 0."""
    if given.poison:
        given.option.append(f"instrumentation_mode={POISON!r}")
    asked = asked_of(given).with_own_launch()
    if given.gpu:
        if not has_gpu():
            raise MinitritonError("no GPU was found", help="leave out --gpu: the emulator counts, and needs none")
        if asked.arch is None and asked.launch is None and asked.source.partition(":")[0].endswith(".py"):
            # Code for another architecture than the device's may not load.
            driver = get_cuda_driver()
            asked = replace(asked, arch=driver.target(driver.current_device()).arch)
    with progress() as show:
        show("compiling")
        opened = ExplorerSession().opened(asked)
        show("running on the GPU" if given.gpu else "running on the emulator")
        ran = None if given.gpu else run_program(opened.program, opened.recording)
    if ran is None:
        return _on_gpu(opened, given)
    if given.json:
        print(json.dumps({**ran.plain(opened.files), "files": list(opened.files)}))
    else:
        print(text_of(ran, opened.recording.sources, colour=is_coloured(), kernel=opened.recording.kernel))
    return 1 if any(found.kind != "global-race" or given.races == "error" for found in ran.report.findings) else 0


def _on_gpu(opened: RecordedCompile, given: argparse.Namespace) -> int:
    """What the arrays hold after a run on the device, which counts nothing."""
    launch = launch_of(opened.program, opened.recording)
    start = time.perf_counter()
    where, outcome = run_on_gpu(launch, opened.recording.stage("ptx").raw or "")
    seconds = time.perf_counter() - start
    if not outcome.ran:
        raise outcome.why_not_run(f"the kernel did not run {where}")
    arrays = named_arrays(launch, outcome)
    if given.json:
        plain = {name: summary(array) for name, array in arrays.items()}
        device = where.removeprefix("on ")
        print(json.dumps({"device": device, "grid": list(launch.grid), "seconds": round(seconds, 3), "arrays": plain}))
        return 0
    grid = "x".join(map(str, launch.grid))
    print(painted(f"{opened.recording.kernel}, grid {grid}, {seconds:.2f} s {where} with copies", BOLD, is_coloured()))
    print("\n".join(_array_lines(arrays)))
    return 0


def _array_lines(arrays: dict[str, np.ndarray]) -> list[str]:
    """A line for each array: its length and first numbers."""
    lines: list[str] = []
    for name, array in arrays.items():
        shown = summary(array)
        first = ", ".join(f"{x:.4g}" if isinstance(x, float) else str(x) for x in shown["first"])
        lines.append(f"{name}: {shown['elements']} elements, {first}, ...")
    return lines


def text_of(ran: Ran, sources: dict[str, str], *, colour: bool, kernel: str) -> str:
    """The source with counts next to each line that cost something, and totals below."""
    lines = [
        painted(f"{kernel}, grid {'x'.join(map(str, ran.grid))}, {ran.seconds:.2f} s on the emulator", BOLD, colour)
    ]
    head = f"{'warps':>8} {'sect/req':>8} {'wasted':>8} {'conflicts':>9} {'barriers':>8}  line"
    lines += [painted(head, FAINT, colour)]
    most = max((one.instructions for one in ran.sources.values()), default=1)
    for path in sorted({path for path, _ in ran.sources}):
        text = sources.get(path, "").splitlines()
        lines.append(painted(Path(path).name, BOLD, colour))
        for (file, line), one in sorted(ran.sources.items()):
            if file != path or not (one.instructions or one.findings):
                continue
            per_request = f"{one.sectors_per_request:.2f}" if one.requests else ""
            cells = f"{one.instructions:>8} {per_request:>8} {one.wasted or '':>8} {one.conflicts or '':>9} {one.barriers or '':>8}"
            heat = RED if one.instructions > most / 2 else YELLOW if one.instructions > most / 8 else ""
            shown = text[line - 1].rstrip() if line <= len(text) else ""
            lines.append(f"{painted(cells, heat, colour)}  {line:>4} {shown}")
            lines += [painted(f"{'':45}  ^ {finding}", RED, colour) for finding in one_of_each(one.findings)]
    lines += [painted(f"{'':45}  {finding}", RED, colour) for finding in ran.elsewhere]
    if ran.doubt:
        lines.append(f"{'':45}  {ran.doubt}")
    total = ran.total
    lines += [
        "",
        f"global memory: {total.requests} requests, {total.sectors} sectors, {total.bytes} bytes asked for, {total.wasted} moved and not asked for",
    ]
    if total.shared_requests:
        lines.append(
            f"shared memory: {total.shared_requests} requests, {total.wavefronts} passes over the banks, {total.conflicts} for conflicts"
        )
    lines.append("instructions: " + ", ".join(f"{count} {kind}" for kind, count in total.mix.most_common()))
    lines += _array_lines(ran.arrays)
    return "\n".join([*lines, *ran.report.output])
