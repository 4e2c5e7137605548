"""NVIDIA's compute-sanitizer on the kernels of `tests/emulator/sanitizer_kernels.py`, beside the emulator's verdict.

    python tests/gpu/sanitizer.py                    a line for each kernel, and whether all agree
    python tests/gpu/sanitizer.py --json FILE        the same as JSON, with the tools' own words
    python tests/gpu/sanitizer.py --tools racecheck

One process a tool, all kernels in it; where a fault ends or hangs the process, another one takes the rest. Needs an NVIDIA GPU, its driver and
`compute-sanitizer` (of the CUDA toolkit; `COMPUTE_SANITIZER` names another than the one on the path or in /usr/local/cuda/bin).
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "parity"), str(ROOT / "tests" / "emulator")]

import numpy as np

SECONDS_A_PROCESS = 60
OPTIONS = {
    "memcheck": ("--destroy-on-device-error", "kernel"),
    "racecheck": ("--racecheck-report", "all", "--racecheck-detect-level", "warn"),
    "synccheck": (),
}
_REPORT = re.compile(
    r"^=========\s+(?:(?:Error|Warning|Info): )?(?!COMPUTE-SANITIZER|ERROR SUMMARY|RACECHECK SUMMARY)(\S.*)$"
)
_KERNEL = re.compile(r"\b(k_\w+?)(?:\+0x|\()")


@dataclass
class Reports:
    """What one tool said: by kernel, the lines that name it. `lost` are kernels that ended or hung their process."""

    by_kernel: dict[str, list[str]] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    """What the driver answered in the end, by kernel; 0 is success."""
    seconds: float = 0.0
    log: str = ""


def sanitizer() -> str | None:
    """The program, or None."""
    named = os.environ.get("COMPUTE_SANITIZER")
    return named or shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")


def packed(sample: Any) -> dict[str, Any]:
    """A sample as the runner takes it."""
    from minitriton import emulator

    kernel = next(iter(emulator.parse(sample.ptx).kernels.values()))
    parameters: list[dict[str, str]] = []
    for position, parameter in enumerate(kernel.parameters):
        value = sample.arguments[position] if position < len(sample.arguments) else 0
        if isinstance(value, np.ndarray):
            parameters.append({"array": base64.b64encode(value.tobytes()).decode()})
        else:
            number = (
                np.float32(value).tobytes()
                if parameter.type == "f32"
                else int(value).to_bytes(parameter.size, "little", signed=True)
            )
            parameters.append({"raw": base64.b64encode(number).decode()})
    return {
        "kernel": kernel.name, "ptx": sample.ptx, "grid": list(sample.grid), "threads": int(np.prod(kernel.threads)),
        "shared": sample.shared, "parameters": parameters,
    }  # fmt: skip


def run_tool(tool: str, samples: list[dict[str, Any]], folder: Path) -> Reports:
    """Runs every sample under one tool."""
    program = sanitizer()
    assert program is not None, "compute-sanitizer was not found"
    path = folder / f"{tool}.json"
    path.write_text(json.dumps(samples))
    reports = Reports()
    start = time.perf_counter()
    first = 0
    while first < len(samples):
        command = [
            program,
            "--tool",
            tool,
            "--print-limit",
            "0",
            *OPTIONS[tool],
            sys.executable,
            str(HERE / "sanitizer_runner.py"),
            str(path),
            str(first),
        ]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_A_PROCESS, text=True
            )
            text = done.stdout
        except subprocess.TimeoutExpired as late:
            text = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        reports.log += text
        ended = {int(n): int(code) for n, code in re.findall(r"^end (\d+) (-?\d+)", text, re.M)}
        reports.codes |= {samples[n]["kernel"]: code for n, code in ended.items()}
        begun = [int(n) for n in re.findall(r"^begin (\d+)", text, re.M)]
        if not begun:
            raise RuntimeError(f"{' '.join(command)} launched nothing:\n{text[-3000:]}")
        if len(ended) < len(begun):
            reports.lost.append(samples[begun[-1]]["kernel"])
        first = begun[-1] + 1
    reports.seconds = time.perf_counter() - start
    for line in reports.log.splitlines():
        if _REPORT.match(line):
            for name in _KERNEL.findall(line):
                reports.by_kernel.setdefault(name, []).append(line)
    return reports


def run_all(samples: Sequence[Any], tools: Sequence[str]) -> dict[str, Reports]:
    """Every tool over every sample, the tools beside each other."""
    texts = [packed(s) for s in samples]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(tools)) as pool:
        return dict(zip(tools, pool.map(lambda t: run_tool(t, texts, Path(folder)), tools), strict=True))


def reported(reports: dict[str, Reports], kernel: str) -> set[str]:
    """The tools that said something of a kernel."""
    return {tool for tool, one in reports.items() if kernel in one.by_kernel}


def all_samples() -> list[Any]:
    """Every kernel of the set, compiled ones included."""
    import building
    from sanitizer_kernels import beyond_samples, from_examples, small_samples

    from minitriton_kernels.cases import CASES

    def compiled(name: str, compiler: str, capability: int) -> tuple[str, int]:
        made = building.compiled(next(c for c in CASES if c.name == name), compiler, capability)
        return made.asm["ptx"], made.metadata.shared

    return [*small_samples(), *beyond_samples(), *from_examples(compiled)]


def main() -> int:
    """Prints the table."""
    from sanitizer_kernels import TOOLS, verdict

    from minitriton import emulator

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", nargs="*", default=list(TOOLS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    samples = all_samples()
    reports = run_all(samples, options.tools)
    rows = []
    for sample in samples:
        kernel = next(iter(emulator.parse(sample.ptx).kernels))
        arguments = [a.copy() if isinstance(a, np.ndarray) else a for a in sample.arguments]
        found = {f.kind for f in emulator.run(sample.ptx, None, sample.grid, arguments, sample.shared).findings}
        said = {tool: one.by_kernel.get(kernel, [])[:3] for tool, one in reports.items()}
        lost = [tool for tool, one in reports.items() if kernel in one.lost]
        rows.append(
            {
                "name": sample.name,
                "kernel": kernel,
                "planted": sample.planted,
                "emulator": sorted(found),
                "sanitizer": sorted(reported(reports, kernel)),
                "agrees": verdict(found) & set(options.tools) == reported(reports, kernel),
                "lost": lost,
                "said": said,
            }
        )
        row = rows[-1]
        mark = "ok  " if row["agrees"] else "DIFF"
        print(f"{mark} {sample.planted or '-':10} {sample.name:60} emulator: {','.join(row['emulator']) or '-':30} sanitizer: {','.join(row['sanitizer']) or '-'}"
              + (f"   lost under {','.join(lost)}" if lost else ""))  # fmt: skip
    for tool, one in reports.items():
        print(f"{tool}: {one.seconds:.0f} s")
    agree = sum(r["agrees"] for r in rows)
    print(f"{agree} of {len(rows)} agree")
    if options.json:
        logs = {tool: one.log for tool, one in reports.items()}
        options.json.write_text(json.dumps({"rows": rows, "logs": logs}, indent=1))
    return 0 if agree == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
