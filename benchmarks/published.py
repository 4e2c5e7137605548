"""Kernels as projects publish them, under Triton and under minitriton from the same memory: `benchmarks/results/published-kernels-2026-11.md`. Needs a GPU.

    python benchmarks/published.py NAME=FOLDER[:tests/ops,tests/modules] ... [--out DIR] [--seconds N] [--jobs N] [--most N]

FOLDER: a copy of a project, which its tests can import. Each file of its tests (those below the paths given, else below `tests`) runs under Triton
by pytest with `published_recorder.py`, which keeps the first launches of each kernel; beside them `published_replayer.py` runs these
under minitriton and compares. `--out` gets `results.jsonl`, `sessions.jsonl` (what ran) and `kept-N.tar`: launches whose
results differ, or that gave an error, with their memory, at most 15 MiB a file. A kept launch runs again by

    python -m minitriton.run_as_triton [--cpu] benchmarks/published_replayer.py FOLDER

`--cpu` (no GPU, for trying this program): minitriton on the emulator takes both parts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
ORDER = ("equal", "close", "Triton differs from itself", "not found", "too long", "error", "differs")
"""Of a launch, the better first: a kernel is as good as its worst launch."""


@dataclass(frozen=True)
class Project:
    """A copy of a project. `sources`: what its tests import from."""

    name: str
    folder: Path
    tests: tuple[str, ...]

    @property
    def sources(self) -> list[str]:
        return [str(each) for each in (self.folder / "src", self.folder) if each.is_dir()]

    def files(self) -> list[Path]:
        """The files of its tests, in the order of the paths given."""
        found: dict[Path, None] = {}
        for path in self.tests:
            place = self.folder / path
            for file in [place] if place.is_file() else sorted(place.rglob("test_*.py")):
                found[file] = None
        return list(found)


@dataclass
class Job:
    """A process and when it has to be at its end."""

    process: subprocess.Popen[bytes]
    project: Project
    until: float
    what: str = ""
    started: float = field(default_factory=time.monotonic)

    def end(self) -> None:
        """With its children."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def project_of(text: str) -> Project:
    """NAME=FOLDER[:PATHS]."""
    name, _, rest = text.partition("=")
    folder, _, paths = rest.partition(":")
    return Project(name, Path(folder).resolve(), tuple((paths or "tests").split(",")))


def environment_of(project: Project, work: Path) -> dict[str, str]:
    """Caches of this run alone, and where to import from."""
    path = [str(HERE), *project.sources, str(ROOT)] + ([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(path), "FLAGGEMS_CACHE_DIR": str(work / "flaggems"), "FLAGGEMS_ENABLE_DISK_CACHE": "0",
        "FLA_CACHE_RESULTS": "0", "OMP_NUM_THREADS": "2", "TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "",
        "HF_HUB_OFFLINE": "1", "GEMS_VENDOR": "nvidia",
    }  # fmt: skip


def start_recorder(project: Project, file: Path, work: Path, args: argparse.Namespace, until: float) -> Job:
    """pytest on one file, under Triton."""
    seconds = min(args.file_seconds, until - time.monotonic())
    settings = {
        "out": str(work), "project": project.name, "most": args.most, "cases": args.cases, "test_seconds": args.test_seconds,
        "seconds": seconds, "size": args.size,
    }  # fmt: skip
    environment = environment_of(project, work) | {
        "PUBLISHED": json.dumps(settings),
        "TRITON_CACHE_DIR": str(work / "triton-cache"),
    }
    begin = ["-m", "minitriton.run_as_triton", "--cpu"] if args.cpu else []
    command = [
        sys.executable, *begin, "-m", "pytest", "-p", "published_recorder", "-p", "no:cacheprovider", "-p", "no:minitriton", "-q", "--no-header", "--tb=no",
        "-W", "ignore", *args.pytest, str(file.relative_to(project.folder)),
    ]  # fmt: skip
    return _start(command, environment, project, work, f"{project.name}-{file.stem}", seconds + 20)


def start_replayer(project: Project, work: Path, args: argparse.Namespace, number: int) -> Job:
    """A process that launches under minitriton."""
    environment = environment_of(project, work) | {"TRITON_CACHE_DIR": str(work / "minitriton-cache")}
    begin = ["-m", "minitriton.run_as_triton", *(["--cpu"] if args.cpu else [])]
    command = [
        sys.executable, *begin, str(HERE / "published_replayer.py"), str(work), project.name, str(args.launch_seconds),
    ]  # fmt: skip
    return _start(command, environment, project, work, f"replay-{project.name}-{number}", 1e9)


def _start(
    command: list[str], environment: dict[str, str], project: Project, work: Path, what: str, seconds: float
) -> Job:
    log = (work / "logs" / f"{what}.log").open("wb")
    process = subprocess.Popen(
        command, cwd=project.folder, env=environment, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
    )  # fmt: skip
    return Job(process, project, time.monotonic() + seconds, what)


def run(projects: list[Project], work: Path, args: argparse.Namespace) -> None:
    """Records and replays until all is done or the time is over."""
    end = time.monotonic() + args.seconds
    record_until = end - args.seconds * 0.25
    lists = [
        [(project, file) for file in project.files() if not any(s in str(file) for s in args.skip)]
        for project in projects
    ]
    waiting = [each for rank in range(max(map(len, lists))) for files in lists for each in files[rank : rank + 1]]
    recorders: list[Job] = []
    replayers: list[Job] = []
    started = said = 0
    while time.monotonic() < end:
        now = time.monotonic()
        for job in [each for each in recorders if each.process.poll() is not None or now > each.until]:
            job.end()
            recorders.remove(job)
        if now > record_until:
            for job in recorders:
                job.end()
            waiting, recorders = [], []
        most = args.jobs if not replayers else args.jobs * 5 // 8
        while waiting and len(recorders) < max(most, 1):
            project, file = waiting.pop(0)
            recorders.append(start_recorder(project, file, work, args, record_until))
        if not waiting and not recorders:
            (work / "recorded").touch()
        recorded = (work / "recorded").exists()
        _end_stuck(replayers, work, args)
        for job in [each for each in replayers if each.process.poll() is not None]:
            replayers.remove(job)
        queued = {project.name: len(list((work / "queue").glob(f"[0-9]*-{project.name}-*"))) for project in projects}
        for project in sorted(projects, key=lambda each: -queued[each.name]):
            mine = sum(each.project is project for each in replayers)
            if queued[project.name] > (1 if recorded else 2) * mine and len(replayers) + len(recorders) < args.jobs + 2:
                started += 1
                replayers.append(start_replayer(project, work, args, started))
        if recorded and not replayers and not any(queued.values()):
            return
        if now - said > 20:
            said = now
            print(
                f"{end - now:5.0f} s left: {len(waiting)} files wait, {len(recorders)} run, {queued} launches wait, {len(replayers)} replay",
                flush=True,
            )
        time.sleep(0.5)
    for job in recorders + replayers:
        job.end()


def _end_stuck(replayers: list[Job], work: Path, args: argparse.Namespace) -> None:
    """Ends processes whose launch does not return, and writes down what of ended ones was under way."""
    for folder in (work / "taken").iterdir():
        name, _, process = folder.name.partition("@")
        job = next((each for each in replayers if each.process.pid == int(process)), None)
        try:
            age = time.time() - folder.stat().st_ctime
        except OSError:
            continue
        if job is not None and job.process.poll() is None and age <= args.launch_seconds + 30:
            continue
        if job is not None:
            job.end()
        if folder.exists():
            folder.rename(work / "kept" / name)
            why = "the launch did not return" if age > args.launch_seconds else "the process ended"
            facts = {
                "project": name.split("-")[1],
                "kernel": name.split("-")[2],
                "module": "",
                "folder": name,
                "status": "error",
                "error": why,
            }
            with (work / "results-0.jsonl").open("a") as file:
                file.write(json.dumps(facts) + "\n")


def gather(work: Path, out: Path) -> list[dict[str, Any]]:
    """Writes `out`; returns the results."""
    rows = [json.loads(line) for file in sorted(work.glob("results-*.jsonl")) for line in file.read_text().splitlines()]
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    sessions = [file.read_text() + "\n" for file in sorted((work / "sessions").glob("*.json"))]
    (out / "sessions.jsonl").write_text("".join(sessions))
    _pack(work, out, rows)
    return rows


def _pack(work: Path, out: Path, rows: list[dict[str, Any]]) -> None:
    """Launches to look at into `kept-N.tar`, those that differ first, the smaller first, at most three of a kernel and 45 MiB."""
    import numpy as np

    status = {each["folder"]: each for each in rows}
    folders = sorted(
        (work / "kept").iterdir(),
        key=lambda each: (
            status.get(each.name, {}).get("status") != "differs",
            sum(f.stat().st_size for f in each.iterdir()),
        ),
    )
    per_kernel: dict[tuple[str, str], int] = defaultdict(int)
    number, total, archive, written = 0, 0, None, 0
    for folder in folders:
        row = status.get(folder.name, {})
        kernel = (row.get("project", ""), row.get("kernel", ""))
        per_kernel[kernel] += 1
        if per_kernel[kernel] > 3:
            continue
        with tempfile.TemporaryDirectory() as place:
            packed = Path(place) / folder.name
            packed.mkdir()
            arrays = {each.stem: np.load(each) for each in folder.glob("*.npy")}
            np.savez_compressed(packed / "memory.npz", **arrays)
            for each in folder.iterdir():
                if each.suffix != ".npy":
                    shutil.copy(each, packed)
            size = sum(each.stat().st_size for each in packed.iterdir())
            if size > 8 << 20:
                (packed / "memory.npz").unlink()
                size = sum(each.stat().st_size for each in packed.iterdir())
            if total + size > 45 << 20:
                continue
            if archive is None or written + size > 15 << 20:
                if archive is not None:
                    archive.close()
                number, written = number + 1, 0
                archive = tarfile.open(out / f"kept-{number}.tar", "w")  # noqa: SIM115
            archive.add(packed, folder.name)
            written, total = written + size, total + size
    if archive is not None:
        archive.close()
    with tarfile.open(out / "logs.tar.gz", "w:gz") as logs:
        for file in sorted((work / "logs").iterdir()):
            if file.stat().st_size < 1 << 20:
                logs.add(file, file.name)


def print_table(rows: list[dict[str, Any]]) -> None:
    """Kernels by project and by their worst launch; then each that differs, or failed."""
    worst: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["project"], row["module"], row["kernel"])
        if key not in worst or ORDER.index(row["status"]) > ORDER.index(worst[key]["status"]):
            worst[key] = row
    print(f"\n{len(rows)} launches of {len(worst)} kernels")
    print("| project | kernels | " + " | ".join(ORDER) + " |")
    for project in sorted({each["project"] for each in worst.values()}):
        mine = [each for each in worst.values() if each["project"] == project]
        counts = [sum(each["status"] == status for each in mine) for status in ORDER]
        print(f"| {project} | {len(mine)} | " + " | ".join(map(str, counts)) + " |")
    for status in ORDER[3:]:
        errors: dict[str, list[str]] = defaultdict(list)
        for row in worst.values():
            if row["status"] != status:
                continue
            name = f"{row['project']} {row['module']}.{row['kernel']}"
            if status == "differs":
                again = "" if row.get("same again", True) else ", another result again"
                print(
                    f"differs: {name} {row['folder']}: {row['relative']:.3g} ({row['dtype']}, {row['differing']} of {row['of']}, "
                    f"{row['values']}), Triton again {row['Triton again']:.3g}{again}"
                )
            else:
                errors[row.get("error", "").strip().splitlines()[-1][:200] if row.get("error") else ""].append(name)
        for error, names in errors.items():
            print(f"{status}: {len(names)}: {', '.join(names[:4])}: {error}")


def main() -> int:
    """1 if a kernel differs or gave an error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=project_of, metavar="NAME=FOLDER[:PATHS]")
    parser.add_argument("--out", type=Path, default=Path("published"))
    parser.add_argument("--seconds", type=float, default=500, help="all in all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--most", type=int, default=2, help="launches of a kernel")
    parser.add_argument("--cases", type=int, default=6, help="of a test function")
    parser.add_argument("--size", type=float, default=2.0**17, help="product of a case's numbers that comes first")
    parser.add_argument("--test-seconds", type=float, default=45)
    parser.add_argument("--file-seconds", type=float, default=150)
    parser.add_argument("--launch-seconds", type=float, default=120)
    parser.add_argument("--skip", action="append", default=[], help="part of the path of files of tests")
    parser.add_argument("--pytest", action="append", default=[], help="an argument for pytest")
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    for name in ("queue", "taken", "kept", "logs", "seen", "sessions"):
        (work / name).mkdir()
    try:
        run(args.projects, work, args)
        rows = gather(work, args.out)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print_table(rows)
    return int(any(each["status"] in ("differs", "error") for each in rows))


if __name__ == "__main__":
    sys.exit(main())
