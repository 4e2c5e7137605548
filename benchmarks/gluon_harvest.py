"""Triton's own Gluon tests and tutorials as a corpus: each kernel that they launch, compiled by Triton's wheel and by minitriton, compared.

    TRITON_SRC=... python benchmarks/gluon_harvest.py OUT [--arch 90] [--each N] [--jobs N] [--no-runs] [--only EXPRESSION] [FILE ...]

Of each test the first launch counts; `--each N` takes every Nth parameter set. Compared are:

- the frontend's IR and the TTGIR after Gluon's passes, letter by letter but for locations: the frontend is asked for each op of Triton's;
- the TTGIR that is compiled, whose frontend leaves out what nobody uses, with its constants in one order;
- the bits that the PTX of both leaves on the emulator (of large grids, of some programs);
- the processor time of both compiles without the assembler (not of the first in a process).

Needs no GPU, but torch (CPU), pytest and Triton's wheel. Files of a run stay in OUT: `report.jsonl` has a line a
kernel, texts that differ are in `different`. This file is also the pytest plugin that either compiler's process loads.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TESTS = ("test/gluon/test_core.py", "test/gluon/test_lowerings.py")
TUTORIALS = (
    "01-intro",
    "02-layouts",
    "03-async-copy",
    "04-tma",
    "05-wgmma",
    "07-persistence",
    "08-warp-specialization",
)
FILES = (*TESTS, *(f"tutorials/gluon/{name}.py" for name in TUTORIALS))
PROGRAMS = 4
"""Of a grid, how many programs run, spread evenly."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="*", default=FILES, help="below TRITON_SRC/python; default: all")
    parser.add_argument("--arch", type=int, default=90)
    parser.add_argument("--each", type=int, default=1, help="takes every Nth parameter set of a test")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once, each with a part of every file's tests")
    parser.add_argument("--no-runs", action="store_true", help="compiles only: nothing runs on the emulator")
    parser.add_argument("--again", action="store_true", help="keeps what Triton compiled in OUT by an earlier run")
    parser.add_argument("--only", default="", help="pytest's -k")
    options = parser.parse_intermixed_args()
    source = os.environ.get("TRITON_SRC")
    if not source:
        parser.error("set TRITON_SRC to a checkout of Triton 3.6.0")
    out = options.out.absolute()
    out.mkdir(parents=True, exist_ok=True)
    report = out / "report.jsonl"
    report.unlink(missing_ok=True)
    shutil.rmtree(out / "different", ignore_errors=True)
    settings = {
        "HARVEST_DIR": str(out), "HARVEST_SM": str(options.arch), "HARVEST_EVERY": str(options.each),
        "HARVEST_RUNS": str(int(not options.no_runs)), "TRITON_OVERRIDE_ARCH": f"sm{options.arch}",
        "TRITON_ALWAYS_COMPILE": "1", "TRITON_CACHE_DIR": str(out / "cache"), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    paths = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests/conformance"), os.environ.get("PYTHONPATH", "")]
    python = Path(source).absolute() / "python"
    prefixes = {"triton": [], "minitriton": ["-m", "minitriton.run_as_triton", "--cpu"]}
    for compiler, prefix in list(prefixes.items())[options.again :]:
        environment = {**os.environ, **settings, "HARVEST_COMPILER": compiler, "PYTHONPATH": os.pathsep.join(paths)}
        traceback = "--tb=line" if compiler == "triton" else "--tb=short"
        command = [
            sys.executable, *prefix, "-m", "pytest", "-q", traceback, "-p", "gluon_harvest", "-p", "no:cacheprovider",
            "--import-mode=importlib", f"--rootdir={python}", "-k", options.only,
        ]  # fmt: skip

        def harvest(
            file: str, part: int, command: list[str] = command, environment: dict[str, str] = environment
        ) -> None:
            of_part = {**environment, "HARVEST_PART": str(part), "HARVEST_PARTS": str(options.jobs)}
            with (out / f"{environment['HARVEST_COMPILER']}.{part}.log").open("a") as log:
                subprocess.run(
                    [*command, str(python / file)], cwd=out, env=of_part, stdout=log, stderr=log, check=False
                )

        with ThreadPoolExecutor(options.jobs) as pool:
            for done in [pool.submit(harvest, file, part) for file in options.files for part in range(options.jobs)]:
                done.result()
    print(summary([json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []))
    return 0


def summary(records: list[dict[str, Any]]) -> str:
    """Counts and times of a report."""
    lines: list[str] = [f"{len(records)} launches that Triton compiles"]
    for question in ("compiles", "source", "ttgir", "compiled ttgir", "bits"):
        answers = collections.Counter(r.get(question, "absent") for r in records)
        lines.append(f"{question}: " + "; ".join(f"{answer}: {count}" for answer, count in answers.most_common()))
    timed = [r for r in records if r["compiles"] == "yes" and not r["first"]]
    if timed:
        ours, theirs = ([r[name] for r in timed] for name in ("seconds", "triton_seconds"))
        ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
        lines.append(
            f"compile time, minitriton / Triton: median {statistics.median(ratios):.2f}, "
            f"total {sum(ours):.1f} s / {sum(theirs):.1f} s = {sum(ours) / sum(theirs):.2f}"
        )
    return "\n".join(lines)


# From here on: the plugin, in a process in which `triton` is either compiler.

OUT = Path(os.environ.get("HARVEST_DIR", "."))
test = ""
compiled: list[str] = []
"""Tests whose kernel has been compiled in this process."""
captured: dict[str, Any] = {}
"""Of the compile that runs: texts, and the seconds that taking them took."""


def key_of(nodeid: str) -> Path:
    return OUT / "triton" / f"{hashlib.sha256(nodeid.encode()).hexdigest()[:20]}.json"


def taking(name: str, text: Callable[[Any], str], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose result's text is captured as `name`."""

    def wrapped(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        since = time.process_time()
        captured[name] = text(result)
        captured["aside"] = captured.get("aside", 0.0) + time.process_time() - since
        return result

    return wrapped


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which compiles; notes its processor time."""

    def wrapped(*args: Any, **options: Any) -> Any:
        captured.clear()
        since = time.process_time()
        result = function(*args, **options)
        captured["seconds"] = time.process_time() - since - captured.get("aside", 0.0)
        return result

    return wrapped


def follow_triton() -> None:
    """Has each test end at its first launch, whose kernel is compiled and written down."""
    import pytest
    import torch
    import triton
    from harvest_plugin import SHARED_MEMORY, OnCpu, PretendedDriver, _Properties
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.experimental.gluon._runtime import GluonASTSource
    from triton.runtime import jit

    arch = int(os.environ["HARVEST_SM"])
    pretended: Any = PretendedDriver()
    triton.runtime.driver.set_active(pretended)
    torch.cuda.is_available = lambda: True
    torch.cuda.get_device_capability = lambda device=None: (arch // 10, arch % 10)
    torch.cuda.get_device_properties = lambda device=None: _Properties()
    torch.cuda.current_device = lambda: 0
    OnCpu().__enter__()
    GluonASTSource.make_ir = taking("source", lambda module: module.str_nodebug(), GluonASTSource.make_ir)
    CUDABackend.gluon_to_ttgir = taking("ttgir", lambda module: module.str_nodebug(), CUDABackend.gluon_to_ttgir)
    CUDABackend.make_cubin = lambda self, src, metadata, opt, capability: b""
    compiler = importlib.import_module("triton.compiler")
    compiler.compile = timed(compiler.compile)
    launch = jit.JITFunction.run

    def compile_only(self: Any, *args: Any, grid: Any, warmup: bool, **options: Any) -> None:
        if not self.is_gluon():
            pytest.skip("not Gluon")
        kernel = launch(self, *args, grid=grid, warmup=True, **options)
        metadata = kernel.metadata
        if metadata.shared > SHARED_MEMORY[arch]:
            pytest.skip("more shared memory than there is: Triton refuses it when it loads the kernel")
        record = {
            "test": test,
            "kernel": metadata.name,
            "ptx": kernel.asm["ptx"],
            "shared": metadata.shared,
            "first": not compiled,
            **captured,
        }
        compiled.append(test)
        key_of(test).write_text(json.dumps(record))
        pytest.skip("captured")

    jit.JITFunction.run = compile_only


def follow_minitriton() -> None:
    """Compares the first launch of each test that Triton compiled, and ends the test there."""
    import pytest
    from pass_comparison import settled_text

    from minitriton.dialects.context import make_context
    from minitriton.dialects.text import parse_module, print_module
    from minitriton.pipeline.pass_manager import PassManager, Pipeline
    from minitriton.pipeline.pipelines import gluon_passes
    from minitriton.runtime import fresh_compile
    from minitriton.runtime.on_cpu import emulation

    fresh = timed(fresh_compile.fresh_kernel)

    def triton_s_texts(request: Any) -> tuple[str, str]:
        """The frontend's IR with each op that Triton's has, and what Gluon's passes make of it."""
        context = make_context()
        module = request.source.make_ir(request.target, request.options, context, is_verbatim=True)
        first = print_module(module)
        PassManager(Pipeline.parse(",".join(gluon_passes()))).run(context, module)
        return tuple(
            text.replace("@minitriton.", "@triton.").replace('@"minitriton.', '@"triton.')
            for text in (first, print_module(module))
        )

    def fresh_kernel(request: Any, *args: Any) -> Any:
        if not key_of(test).exists():
            pytest.skip("Triton does not compile it")
        theirs = json.loads(key_of(test).read_text())
        found: dict[str, Any] = {
            "test": test,
            "kernel": theirs["kernel"],
            "compiles": "yes",
            "source": "absent",
            "ttgir": "absent",
            "bits": "not run",
        }
        found["triton_seconds"], found["first"] = theirs["seconds"], theirs["first"] or not compiled
        compiled.append(test)
        try:
            kernel = fresh(request, *args)
        except Exception as error:
            found["compiles"] = str(error).splitlines()[0]
            write(found)
            raise
        found["seconds"] = captured["seconds"]
        try:
            source, ttgir = triton_s_texts(request)
        except Exception as error:
            source = ttgir = f"{type(error).__name__}: {error}"
        found["source"], found["ttgir"] = compared(theirs, "source", source), compared(theirs, "ttgir", ttgir)
        settled = [settled_text(parse_module(text), "ttgir") for text in (theirs["ttgir"], kernel.asm["ttgir"])]
        found["compiled ttgir"] = "equal" if settled[0] == settled[1] else "different"
        if os.environ["HARVEST_RUNS"] == "0":
            write(found)
            pytest.skip("compiled")
        pending.append((found, theirs))
        return kernel

    pending: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def run_both(kernel: Any, grid: tuple[int, int, int], arguments: list[Any]) -> None:
        found, theirs = pending.pop()
        since = time.process_time()
        try:
            found["bits"] = bits(kernel, grid, arguments, theirs)
        except Exception as error:
            found["bits"] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        found["run_seconds"] = time.process_time() - since
        write(found)
        pytest.skip("compared")

    fresh_compile.fresh_kernel = fresh_kernel
    emulation.run_on_emulator = run_both


def write(found: dict[str, Any]) -> None:
    with (OUT / "report.jsonl").open("a") as file:
        file.write(json.dumps(found) + "\n")


def compared(theirs: dict[str, Any], stage: str, ours: str) -> str:
    if ours.strip() == theirs[stage].strip():
        return "equal"
    folder = OUT / "different"
    folder.mkdir(exist_ok=True)
    for name, text in (("triton", theirs[stage]), ("minitriton", ours)):
        (folder / f"{key_of(test).stem}.{name}.{stage}").write_text(text)
    return "different"


def bits(kernel: Any, grid: tuple[int, int, int], arguments: list[Any], theirs: dict[str, Any]) -> str:
    """Whether the PTX of both leaves the same bytes in every array."""
    from minitriton.runtime.on_cpu.emulation import emulator_value

    values = [emulator_value(argument) for argument in arguments]
    names = [argument.name for argument in arguments]
    grid = (grid[0] * kernel.metadata.num_ctas, *grid[1:])
    results: list[list[bytes]] = []
    for ptx, shared in ((theirs["ptx"], theirs["shared"]), (kernel.asm["ptx"], kernel.metadata.shared)):
        copies: dict[int, Any] = {}
        given = [own_memory(value, copies) for value in values]
        report = emulated(ptx, grid, given, shared, names)
        if report.findings:
            whose = "minitriton's" if results else "Triton's"
            return f"{whose} PTX: {report.findings[0].kind}"
        results.append([copy.tobytes() for copy in copies.values()])
    return "equal" if results[0] == results[1] else "different"


def emulated(ptx: str, grid: tuple[int, int, int], values: list[Any], shared: int, names: list[str]) -> Any:
    from minitriton import emulator

    return emulator.run(
        ptx, None, grid, values, shared, check=False, names=names, scratch=1 << 20, seconds=60, programs=PROGRAMS
    )


def own_memory(value: Any, copies: dict[int, Any]) -> Any:
    """`value` with a copy of its array in place of it: one copy of each array."""
    import dataclasses

    import numpy as np

    if isinstance(value, np.ndarray):
        return copies.setdefault(value.__array_interface__["data"][0], value.copy())
    return dataclasses.replace(value, array=own_memory(value.array, copies)) if hasattr(value, "map") else value


def pytest_configure(config: Any) -> None:
    (OUT / "triton").mkdir(exist_ok=True)
    sys.path += {str(Path(path).parent) for path in config.args}  # tutorials import each other
    follow_triton() if os.environ["HARVEST_COMPILER"] == "triton" else follow_minitriton()
    libtriton = importlib.import_module("triton._C.libtriton")
    libtriton.nvidia.cublas.CublasLt = lambda workspace: None  # some tutorials compare their speed with its


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Every Nth parameter set of each test, and of those this process's part."""
    seen: collections.Counter[str] = collections.Counter()
    every = int(os.environ["HARVEST_EVERY"])
    kept: list[Any] = []
    for item in items:
        name = getattr(item, "originalname", item.name)
        if seen[name] % every == 0:
            kept.append(item)
        seen[name] += 1
    items[:] = kept[int(os.environ["HARVEST_PART"]) :: int(os.environ["HARVEST_PARTS"])]


def pytest_runtest_call(item: Any) -> None:
    global test
    test = item.nodeid


if __name__ == "__main__":
    sys.exit(main())
