"""The planted faults of `gluon_faults.py` on a GPU, under each tool of NVIDIA's compute-sanitizer: what it sees of what the emulator finds.

    python benchmarks/gluon_faults_sanitized.py [PART OF A NAME] [--jobs N] [--seconds S] [--out FILE]

Each kernel that compiles, right or with a fault, runs in a process of its own, without a tool and under memcheck, racecheck and synccheck.
A process that is not over after `--seconds` counts as a deadlock. Printed are a line a kernel (what the emulator says, what each tool says,
whether the result is right), and a table: by kind of the emulator's finding, how many faults there are, how many a tool reports, how many
show as a deadlock, an error of the driver or a wrong result, and how many leave the right result in silence. Exit code 1 where a tool reports
something of a right kernel, or one of those gives a wrong result. Needs torch, a GPU and `compute-sanitizer`.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from gluon_faults import FAULTS, LAUNCHES, SOURCE, complaint, kernels, planted
from requirements_here import need_gpu

from minitriton.experimental.gluon.nvidia.hopper import TensorDescriptor

TOOLS = {
    "alone": (),
    "memcheck": ("--tool", "memcheck"),
    "racecheck": ("--tool", "racecheck", "--racecheck-report", "all", "--racecheck-detect-level", "warn"),
    "synccheck": ("--tool", "synccheck"),
}
KINDS = (
    "out-of-bounds",
    "uninitialised",
    "thread-race",
    "shared-race",
    "async-read",
    "async-write",
    "proxy-fence",
    "deadlock",
)
_SILENT = ("COMPUTE-SANITIZER", "ERROR SUMMARY: 0 errors", "RACECHECK SUMMARY: 0 hazards displayed")


class OnGpu:
    """A kernel whose arrays, and those of its descriptors, are copied to the GPU for a launch and back after it."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        import torch

        def launch(*arguments: Any, **constants: Any) -> None:
            copies: list[tuple[np.ndarray, Any]] = []

            def copied(argument: Any) -> Any:
                if isinstance(argument, TensorDescriptor):
                    return dataclasses.replace(argument, base=copied(argument.base))
                if not isinstance(argument, np.ndarray):
                    return argument
                copies.append((argument, torch.from_numpy(argument).cuda()))
                return copies[-1][1]

            self._kernel[grid](*map(copied, arguments), **constants)
            torch.cuda.synchronize()
            for array, tensor in copies:
                array[...] = tensor.cpu().numpy()

        return launch


def launch(kernel: str, text: str) -> None:
    """What a process runs."""
    with tempfile.TemporaryDirectory() as folder:
        found, expected = LAUNCHES[kernel](OnGpu(getattr(kernels(Path(folder), text), kernel)))
    print("right" if np.allclose(found, expected, rtol=2e-2, atol=2e-2) else "wrong", flush=True)


@dataclasses.dataclass(frozen=True)
class Subject:
    """A kernel's text, and what the emulator says of it: one of `KINDS`, another text, or None for a right kernel."""

    name: str
    kernel: str
    text: str
    kind: str | None


def subjects(part: str) -> Iterable[Subject]:
    """The right kernels, and those with a fault that the compiler does not refuse."""
    for name in LAUNCHES:
        if part in name:
            yield Subject(name, name, SOURCE.read_text(), None)
    with tempfile.TemporaryDirectory() as folder:
        for fault in FAULTS:
            if part not in fault.id:
                continue
            text, _ = planted(fault)
            error = complaint(fault.kernel, text, Path(folder))
            said = str(error)
            kinds = [kind for kind in KINDS if kind in said]
            if kinds:
                yield Subject(fault.id, fault.kernel, text, kinds[0])


def outcome(subject: Subject, tool: str, seconds: float) -> str:
    """What a process with the kernel, under a tool, ends with: "right", "wrong", "deadlock", "driver: ..." or "reported: ..."."""
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    with tempfile.TemporaryDirectory() as folder:
        text, output = Path(folder, "kernel.txt"), Path(folder, "output.txt")
        text.write_text(subject.text)
        program = [sys.executable, __file__, "--launch", subject.kernel, str(text)]
        watched = [sanitizer, *TOOLS[tool], "--kernel-name", f"kns={subject.kernel}"] if TOOLS[tool] else []
        # torch keeps no memory to itself: what lies beside a tensor is nobody's
        environment = os.environ | {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
        with output.open("w") as file:
            process = subprocess.Popen(
                watched + program, stdout=file, stderr=file, env=environment, start_new_session=True
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.wait()
                code = None
        lines = output.read_text(errors="replace").splitlines()
    reports = [line for line in lines if line.startswith("=========") and not any(quiet in line for quiet in _SILENT)]
    if reports:
        return "reported: " + reports[0].strip("= ")
    if code is None:
        return "deadlock"
    if code or not lines:
        return "driver: " + (lines[-1] if lines else f"exit code {code}")
    return lines[-1] if lines[-1] in ("right", "wrong") else next((w for w in ("right", "wrong") if w in lines), "?")


def seen(outcomes: dict[str, str]) -> str:
    """The column of the table."""
    if any(what.startswith("reported") for what in outcomes.values()):
        return "reported"
    if "deadlock" in outcomes.values():
        return "deadlock"
    if any(what.startswith("driver") for what in outcomes.values()):
        return "driver"
    return "wrong" if "wrong" in outcomes.values() else "right"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 4, help="processes at once (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=60, help="for one process (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="also write all outcomes to this file, as JSON")
    parser.add_argument("--launch", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.launch:
        launch(given.launch[0], Path(given.launch[1]).read_text())
        return 0
    need_gpu()
    found: dict[str, dict[str, str]] = {}
    table: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    bad = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        waiting = [
            (subject, {tool: pool.submit(outcome, subject, tool, given.seconds) for tool in TOOLS})
            for subject in subjects(given.part)
        ]
        for subject, running in waiting:
            found[subject.name] = {tool: future.result() for tool, future in running.items()}
            verdict = seen(found[subject.name])
            table[subject.kind or "right kernels"][verdict] += 1
            bad += subject.kind is None and verdict != "right"
            said = ", ".join(f"{tool} {what[:60]}" for tool, what in found[subject.name].items())
            print(f"{verdict:8}  {subject.name} ({subject.kind or 'no fault'}): {said}", flush=True)
            if given.out:
                given.out.write_text(json.dumps(found, indent=1))
    columns = ("reported", "deadlock", "driver", "wrong", "right")
    print(f"\n{'the emulator says':18}{'faults':>8}" + "".join(f"{name:>10}" for name in columns))
    for kind, counts in table.items():
        print(f"{kind:18}{counts.total():8}" + "".join(f"{counts[name]:10}" for name in columns))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
