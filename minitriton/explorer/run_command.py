"""`minitriton run FILE.py:kernel`: compiles, runs on the emulator (or the GPU), and shows what each line of the kernel cost.

minitriton run examples/kernels/softmax.py:softmax --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024' --grid 4 --arg n_rows=8
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton.commands.progress import progress
from minitriton.errors import MinitritonError
from minitriton.explorer.arguments import asked_of
from minitriton.explorer.colours import BOLD, FAINT, RED, YELLOW, is_coloured, painted
from minitriton.explorer.execution import Ran, launch_of, run_program, summary
from minitriton.explorer.workshop import Workshop
from minitriton.lab.gpu import run_on_gpu
from minitriton.runtime.cuda_driver import has_gpu

if TYPE_CHECKING:
    from minitriton.explorer.compiles import Opened


def run_run(given: argparse.Namespace) -> int:
    """Prints the counts by line. 1 if a fault was found, else 0."""
    asked = asked_of(given)
    with progress() as show:
        show("compiling")
        opened = Workshop().opened(asked)
        show("running on the GPU" if given.gpu else "running on the emulator")
        ran = None if given.gpu else run_program(opened.program, opened.recording)
    if ran is None:
        return _on_gpu(opened, given)
    if given.json:
        print(json.dumps({**ran.plain(opened.files), "files": list(opened.files)}))
    else:
        print(text_of(ran, opened.recording.sources, colour=is_coloured(), kernel=opened.recording.kernel))
    return 1 if ran.report.findings else 0


def _on_gpu(opened: Opened, given: argparse.Namespace) -> int:
    if not has_gpu():
        raise MinitritonError("there is no GPU here", help="leave out --gpu: the emulator counts, and needs none")
    launch = launch_of(opened.program, opened.recording)
    start = time.perf_counter()
    name, outcome = run_on_gpu(launch, opened.recording.stage("ptx").raw or "")
    if not outcome.ran:
        raise MinitritonError(f"the GPU could not run it: {outcome.fault or outcome.gap}")
    arrays = {str(at): summary(array) for at, array in enumerate(outcome.arrays)}
    seconds = time.perf_counter() - start
    if given.json:
        print(json.dumps({"device": name, "seconds": seconds, "arrays": arrays}))
    else:
        print(f"{opened.recording.kernel} on {name}, {seconds:.2f} s with copies")
        for at, one in arrays.items():
            print(f"  {at}: {one['elements']} elements, {', '.join(map(str, one['first']))}, ...")
    return 0


def text_of(ran: Ran, sources: dict[str, str], *, colour: bool, kernel: str) -> str:
    """The source with counts beside each line that cost something, and totals below."""
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
            if file != path or not one.instructions:
                continue
            per_request = f"{one.sectors_per_request:.2f}" if one.requests else ""
            cells = f"{one.instructions:>8} {per_request:>8} {one.wasted or '':>8} {one.conflicts or '':>9} {one.barriers or '':>8}"
            heat = RED if one.instructions > most / 2 else YELLOW if one.instructions > most / 8 else ""
            shown = text[line - 1].rstrip() if line <= len(text) else ""
            lines.append(f"{painted(cells, heat, colour)}  {line:>4} {shown}")
            lines += [painted(f"{'':45}  ^ {finding}", RED, colour) for finding in dict.fromkeys(one.findings)]
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
    for name, array in ran.arrays.items():
        shown = summary(array)
        lines.append(
            f"{name}: {shown['elements']} elements, {', '.join(f'{x:.4g}' if isinstance(x, float) else str(x) for x in shown['first'])}, ..."
        )
    return "\n".join([*lines, *ran.report.output])
