"""Our passes beside Triton's on the kernels of Triton's own tests, pass by pass.

    TRITON_SRC=/path/to/triton python tests/conformance/pass_by_pass.py --harvest DIR [--dots] [--torch-python PYTHON]
    python tests/conformance/pass_by_pass.py --corpus [--arch gfx942] DIR [--only SUBSTRING]
    python tests/conformance/pass_by_pass.py --compare DIR [--only SUBSTRING]
    python tests/conformance/pass_by_pass.py --show PASS KERNEL DIR

`--harvest` gathers kernels of test_core into DIR (with `--dots` those that multiply matrices, of more files of tests) and records the IR before and after every pass of Triton's pipeline; `--corpus` records it for the kernels of `minitriton_kernels`, on NVIDIA (`--arch 90`) or AMD; `--compare` gives
our pass of the same name the IR before and compares with the IR after; `--show` prints one difference. `PASS` is a flag
(`canonicalize`) or a stage (`frontend`, `ttir`, `ttgir`); `KERNEL` a file's name without `.py`.

All needs Triton's wheel. Running Triton's tests, the first half of `--harvest`, also needs torch and scipy: `--torch-python` names a Python
that has them (default: this one). No GPU is needed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pass_comparison
from pass_comparison import Verdict
from triton_steps import steps_of, steps_of_source

HERE = Path(__file__).parent
CASES_OF_A_TEST = {90: 5, 80: 1}
"""How many cases of each test function are run, by architecture."""
CASES_WITH_DOTS = {90: 60, 80: 40}
TESTS = ("core",)
TESTS_WITH_DOTS = ("core", "pipeliner", "matmul", "tensor_descriptor")

KNOWN_DIFFERENCES = {
    "tritongpu-pipeline": ("tl_range_num_stages",),
    "ttgir": ("masked_load_shared_memory", "noinline", "tl_range_num_stages"),
}
"""Tests of whose kernels a pass or a stage may differ: all have dots, for which Triton chooses tensor cores."""


def record_path(kernel: Path) -> Path:
    return kernel.with_name(f"{kernel.name.removesuffix('.py')}.json.gz")


def kernels_of(folder: Path, only: str = "") -> list[Path]:
    """The kernels' files; those of the corpus have none there, only their record."""
    names = {
        p.name.removesuffix(".json.gz").removesuffix(".py") for p in folder.iterdir() if p.suffix in (".py", ".gz")
    }
    return [folder / f"{name}.py" for name in sorted(names) if only in name]


def harvest(folder: Path, source: Path, python: str, *, dots: bool) -> None:
    """Runs Triton's tests under `harvest_plugin.py`, then records Triton's passes on what was found."""
    tests = source / "python/test"
    files = [f"{tests}/unit/language/test_{name}.py" for name in (TESTS_WITH_DOTS if dots else TESTS)]
    for arch, cases in (CASES_WITH_DOTS if dots else CASES_OF_A_TEST).items():
        environment = {"HARVEST_DIR": str(folder), "HARVEST_SM": str(arch), "HARVEST_EACH": str(cases)}
        environment["HARVEST_DOTS"] = "1" if dots else ""
        options = ["-q", "-p", "harvest_plugin", "-p", "no:cacheprovider", "-c", os.devnull, "--tb=no", "-rN"]
        command = [python, "-m", "pytest", *options, f"--rootdir={tests}", *files]
        subprocess.run(command, env={**os.environ, **environment, "PYTHONPATH": str(HERE)}, stdout=subprocess.DEVNULL)
    kernels = kernels_of(folder)
    with ProcessPoolExecutor(2) as pool:
        for kernel, error in zip(kernels, pool.map(record, kernels, chunksize=8), strict=True):
            if error:
                print(f"{kernel.stem}: left out, Triton refuses it: {error}")
                kernel.unlink()
    kernels = kernels_of(folder)
    tests_seen = {k.stem.rsplit("-", 2)[0] for k in kernels}
    print(f"{len(kernels)} kernels of {len(tests_seen)} test functions in {folder}")


def record(kernel: Path) -> str:
    """Records Triton's passes beside a kernel's file; the error if Triton raises one."""
    try:
        found = steps_of(kernel)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:120]}"
    record_path(kernel).write_bytes(gzip.compress(json.dumps(found).encode(), 3))
    return ""


def read_record(kernel: Path) -> dict[str, Any]:
    return json.loads(gzip.decompress(record_path(kernel).read_bytes()))


def record_corpus(folder: Path, arch: str, only: str, is_small: bool) -> None:
    """Records Triton's passes on the corpus's kernels; `is_small`: as for arrays of less than 2 GiB on AMD."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from minitriton.lab import corpus
    from minitriton_kernels.cases import load_kernels

    sys.path.insert(0, str(HERE.parent / "parity"))
    from building import source_parts

    folder.mkdir(parents=True, exist_ok=True)
    is_amd = arch.startswith("gfx")
    target = (
        GPUTarget("hip", arch, 64 if arch.startswith("gfx9") else 32) if is_amd else GPUTarget("cuda", int(arch), 32)
    )
    for case in corpus.cases():
        kernel = folder / f"{Path(case.file).stem}.{case.name}.py"
        if only not in kernel.stem or (is_amd and case.num_ctas > 1):
            continue
        signature, constants, attributes = source_parts(case)
        if is_small:
            for index, kind in enumerate(signature.values()):
                if kind.startswith("*"):
                    attributes.setdefault((index,), []).append(["tt.pointer_range", 32])
        source = ASTSource(getattr(load_kernels(case.file, "triton"), case.kernel), signature, constants, attributes)
        try:
            found = steps_of_source(source, target, case.launch_options)
        except Exception as error:
            print(f"{kernel.stem}: left out, Triton refuses it: {type(error).__name__}: {str(error).strip()[:120]}")
            continue
        record_path(kernel).write_bytes(gzip.compress(json.dumps(found).encode(), 3))
    print(f"{len(kernels_of(folder))} kernels in {folder}")


def judge(kernel: Path, of_passes: str = "") -> list[Verdict]:
    found = read_record(kernel)
    if of_passes:
        found["steps"] = [step for step in found["steps"] if of_passes in pass_comparison.flag_of(step)]
    if of_passes or not kernel.exists():
        return pass_comparison.judge_steps(found)
    stages = pass_comparison.judge_stages(pass_comparison.load_case(kernel), found)
    return [*stages, *pass_comparison.judge_steps(found)]


def compare(folder: Path, only: str, of_passes: str, verbose: bool) -> int:
    """Prints the table, one row a pass. 0 if every pass we have is equal wherever `KNOWN_DIFFERENCES` names no exception."""
    kernels = kernels_of(folder, only)
    if not kernels:
        print(f"no kernels in {folder}: run --harvest first", file=sys.stderr)
        return 2
    start = time.perf_counter()
    counts: dict[str, Counter[str]] = {}
    others: list[str] = []
    unknown: list[str] = []
    with ProcessPoolExecutor(2) as pool:
        for kernel, verdicts in zip(
            kernels, pool.map(partial(judge, of_passes=of_passes), kernels, chunksize=8), strict=True
        ):
            for v in verdicts:
                counts.setdefault(v.name, Counter())[v.outcome] += 1
                if v.outcome == "fails" or (v.outcome == "differs" and not is_known(v.name, kernel)):
                    unknown.append(f"{v.name} of {kernel.stem}")
                if v.outcome in ("differs", "fails"):
                    others.append(
                        f"{v.name:45} {kernel.stem:45} {v.step:3} {v.outcome} {v.detail.splitlines()[0] if v.detail else ''}"
                    )
    (folder / "differences.txt").write_text("".join(line + "\n" for line in sorted(others)))
    print(f"{len(kernels)} kernels, {time.perf_counter() - start:.0f} s; differences in {folder}/differences.txt\n")
    print(f"{'pass':48}{'steps':>7}{'equal':>7}{'differ':>8}{'fail':>6}{'equal %':>9}")
    for name, found in counts.items():
        total = found.total()
        if found["absent"]:
            print(f"{name:48}{total:7}   absent here")
            continue
        share = found["equal"] / total
        print(f"{name:48}{total:7}{found['equal']:7}{found['differs']:8}{found['fails']:6}{100 * share:9.1f}")
    if verbose:
        print("\n" + "\n".join(sorted(others)))
    print("\nnot expected: " + ", ".join(unknown) if unknown else "\nall differences are known")
    return 1 if unknown else 0


def is_known(name: str, kernel: Path) -> bool:
    """Whether `KNOWN_DIFFERENCES` allows that pass or stage to differ on a kernel."""
    return kernel.stem.rsplit("-", 2)[0] in KNOWN_DIFFERENCES.get(name, ())


def show(name: str, kernel: Path) -> int:
    """Prints every difference between Triton's pass and ours on one kernel."""

    found = read_record(kernel)
    if name in ("frontend", "ttir", "ttgir"):
        from minitriton.dialects.text import parse_module

        for stage, theirs, ours in pass_comparison.stage_texts(pass_comparison.load_case(kernel), found):
            if stage == name:
                if isinstance(ours, Exception):
                    raise ours
                print(pass_comparison.difference(pass_comparison.settled_text(parse_module(theirs), name), ours))
        return 0
    for number, step in enumerate(found["steps"]):
        if pass_comparison.flag_of(step) == name:
            before, theirs, ours = pass_comparison.texts_of_step(found, number)
            if theirs != ours:
                print(
                    f"==== step {number}: before\n{before}\n==== difference\n"
                    + pass_comparison.difference(theirs, ours)
                )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--harvest", action="store_true")
    what.add_argument("--corpus", action="store_true")
    what.add_argument("--compare", action="store_true")
    what.add_argument("--show", nargs=2, metavar=("PASS", "KERNEL"))
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--dots", action="store_true", help="with --harvest: kernels that multiply matrices, and no others"
    )
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--arch", default="gfx942", help="with --corpus")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    parser.add_argument("--small", action="store_true", help="with --corpus: arrays have less than 2 GiB (AMD)")
    parser.add_argument("--passes", default="", help="with --compare: only passes whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="list every difference")
    arguments = parser.parse_args()
    if arguments.harvest:
        source = os.environ.get("TRITON_SRC")
        if not source:
            print("set TRITON_SRC to a checkout of Triton at the commit of 3.6.0", file=sys.stderr)
            return 2
        harvest(arguments.folder, Path(source), arguments.torch_python, dots=arguments.dots)
        return 0
    if arguments.corpus:
        record_corpus(arguments.folder, arguments.arch, arguments.only, arguments.small)
        return 0
    if arguments.compare:
        return compare(arguments.folder, arguments.only, arguments.passes, arguments.verbose)
    return show(arguments.show[0], arguments.folder / f"{arguments.show[1]}.py")


if __name__ == "__main__":
    sys.exit(main())
