"""Runs Triton's lit tests of the passes that minitriton has, from a checkout of Triton, through `minitriton-opt`.

    TRITON_SRC=/path/to/triton python tests/conformance/lit_runner.py [--amd] [SUBSTRING ...]

`--amd`: the tests of AMD's passes, all of them; a pass that is not there fails its chunks.

A test's RUN lines are read from its file; each `// -----` chunk with expectations is run and checked by itself with
FileCheck (the one in Triton's wheel where installed, else the Python package), so that the table counts chunks.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from minitriton.commands.opt import Invocation, check_diagnostics, parse_arguments, run_chunk
from minitriton.errors import MinitritonError

sys.path.insert(0, str(Path(__file__).parents[1] / "plugins"))
import triton_test_passes  # noqa: F401

FILES = [
    "Hopper/WarpSpecialization/ws_code_partition.mlir",
    "Hopper/WarpSpecialization/ws_data_partition.mlir",
    "Hopper/WarpSpecialization/ws_task_id_propagation.mlir",
    "Hopper/WarpSpecialization/ws_task_partition.mlir",
    "Analysis/test-alias.mlir",
    "Analysis/test-alignment.mlir",
    "Analysis/test-allocation.mlir",
    "Analysis/test-membar-ttng.mlir",
    "Analysis/test-membar.mlir",
    "Gluon/auto_encoding.mlir",
    "Gluon/infer_coalesced_encoding.mlir",
    "Gluon/inlining.mlir",
    "Gluon/invalid_auto_encoding.mlir",
    "Gluon/invalid_infer_coalesced_encoding.mlir",
    "Triton/canonicalize.mlir",
    "Triton/combine.mlir",
    "Triton/invalid.mlir",
    "Triton/loop-invariant-code-motion.mlir",
    "Triton/loop-unroll.mlir",
    "Triton/loop_cse.mlir",
    "Triton/ops.mlir",
    "Triton/reorder-broadcast.mlir",
    "Triton/rewrite-tensor-descriptor-to-pointer.mlir",
    "Triton/rewrite-tensor-pointer.mlir",
    "Triton/vecadd.mlir",
    "Triton/verify-make-range.mlir",
    "TritonGPU/accelerate-matmul.mlir",
    "TritonGPU/bf16x3-matmul.mlir",
    "TritonGPU/canonicalize.mlir",
    "TritonGPU/coalesce-async-copy.mlir",
    "TritonGPU/coalesce.mlir",
    "TritonGPU/combine-select-if.mlir",
    "TritonGPU/combine.mlir",
    "TritonGPU/dot-operands.mlir",
    "TritonGPU/fence-inserstion.mlir",
    "TritonGPU/global_scratch_alloc.mlir",
    "TritonGPU/fuse-nested-loops.mlir",
    "TritonGPU/inline.mlir",
    "TritonGPU/invalid-attributes.mlir",
    "TritonGPU/invalid.mlir",
    "TritonGPU/ops.mlir",
    "TritonGPU/loop-pipeline.mlir",
    "TritonGPU/loop-pipeline-async-latencies.mlir",
    "TritonGPU/loop-pipeline-cuda.mlir",
    "TritonGPU/loop-pipeline-expand.mlir",
    "TritonGPU/loop-pipeline-hopper.mlir",
    "TritonGPU/loop-pipeline-hopper-remove-wait.mlir",
    "TritonGPU/loop-pipeline-indirect-load.mlir",
    "TritonGPU/loop-schedule.mlir",
    "TritonGPU/matmul-loop-pipeline.mlir",
    "TritonGPU/optimize-locality.mlir",
    "TritonGPU/pipeline-assign-latencies.mlir",
    "TritonGPU/pipeline-lower-loop.mlir",
    "TritonGPU/pipeline-schedule-loop.mlir",
    "TritonGPU/prefetch.mlir",
    "TritonGPU/prox_fence_insertion.mlir",
    "TritonGPU/reduce-data-duplication.mlir",
    "TritonGPU/reorder-instructions.mlir",
    "TritonGPU/tf32x3-matmul.mlir",
    "TritonGPU/verify-blocked-layout.mlir",
    "Conversion/allocate_shared_memory.mlir",
    "Conversion/triton_to_tritongpu.mlir",
    "TritonNvidiaGPU/membar.mlir",
    "TritonNvidiaGPU/optimize_descriptor_encoding.mlir",
    "TritonNvidiaGPU/tma_lowering.mlir",
]
"""The lit tests of the passes that minitriton has so far."""

KNOWN_DIFFERENCES = {
    (
        "TritonGPU/combine.mlir",
        "@scan_propagation(",
    ): "a scan along axis 1 of a tensor of one dimension, which is refused",
    (
        "TritonGPU/fuse-nested-loops.mlir",
        "@fuse_attr_speculate",
    ): "an inner loop is empty where its bounds are reversed, too (tt#11656), and narrow bounds are widened before their difference",
    ("TritonGPU/coalesce.mlir", "load_3D_contig_1"): "the wheel orders ties [0, 1, 2]; the wheel is followed",
    (
        "TritonGPU/loop-pipeline.mlir",
        "func public @nested_loops",
    ): "the loop stores through the pointer it loads from; Triton runs the load ahead",
}
"""Chunks that are not expected to pass, by a name that they contain, and why."""


OTHER_TARGETS = re.compile(r"amd_|amdg\.|hip:|tmem|tensor_memory|tcgen05|tc_gen5|cuda:1[0-9][0-9]")
"""What only chunks for AMD or Blackwell hold; they are out of scope and not counted, but for passes of Gluon, which know no target."""


@dataclass(frozen=True)
class Outcome:
    """One chunk of one RUN line."""

    file: str
    chunk: int
    passed: bool
    detail: str = ""
    excused: str = ""


def filecheck_binary() -> str | None:
    """The FileCheck of Triton's wheel, or None."""
    spec = importlib.util.find_spec("triton")
    for root in (spec.submodule_search_locations or []) if spec else []:
        path = Path(root) / "FileCheck"
        if path.exists():
            return str(path)
    return None


def check_text(output: str, expectations: str, flags: list[str]) -> str:
    """What FileCheck says of `output`; empty if it is satisfied."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(expectations)
        file.flush()
        binary = filecheck_binary()
        command = [binary, "--allow-unused-prefixes"] if binary else [sys.executable, "-m", "filecheck"]
        done = subprocess.run([*command, file.name, *flags], input=output, capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr or done.stdout)[:2000]


@dataclass(frozen=True)
class Run:
    """One RUN line: what is run, FileCheck's flags if the output is checked, and whether that has the remarks too."""

    invocation: Invocation
    flags: list[str] | None
    with_remarks: bool
    error: str = ""
    """Why the command line cannot be run."""
    text: str = ""
    """What is run: the test, or the parts of it that are joined."""


def is_for_amd(line: str) -> bool:
    """Whether a RUN line is one of AMD's passes."""
    return "tritonamdgpu" in line or "amdgpu" in line.partition("|")[0]


def amd_files(root: Path) -> list[str]:
    """The lit tests of AMD's passes, attributes and ops."""
    files = sorted((root / "test").rglob("*.mlir"))
    return [
        str(f.relative_to(root / "test"))
        for f in files
        if "amd" in f.parts or any(map(is_for_amd, run_texts(f.read_text())))
    ]


def run_texts(text: str) -> list[str]:
    """The RUN lines, whole."""
    joined = re.sub(r"\\\n\s*//\s*RUN:", "", text)
    return re.findall(r"^\s*//\s*RUN:\s*(.*)$", joined, re.MULTILINE)


def run_lines(text: str, amd: bool = False, in_amd_folder: bool = False) -> list[Run]:
    """The RUN lines that are not for AMD, or those that are. Raises for passes we do not have; those of AMD fail later."""
    found: list[Run] = []
    for line in run_texts(text):
        if is_for_amd(line) is not amd and not in_amd_folder:
            continue
        command, _, check = line.partition("|")
        words = [w for w in shlex.split(command) if w not in ("triton-opt", "2>&1") and "%" not in w]
        # One pass lowers for every target, which the module names.
        target = re.search(r"convert-triton-amdgpu-to-llvm=\"?.*?(arch=\w+)", command)
        words = [re.sub(r"convert-triton-amdgpu-to-llvm.*", "convert-triton-gpu-to-llvm", w) for w in words]
        words = [f"--test-name-target={target[1]}", *words] if target else words
        if words[:1] == ["split-file"] or words[:1] == ["cat"]:
            continue
        parts = re.findall(r"%t/\S+", command)
        flags: list[str] | None = None
        if check:
            joined = re.sub(r"(-check-prefix(?:es)?) +", r"\1=", check)
            flags = [w for w in shlex.split(joined) if w != "FileCheck" and "%" not in w]
        try:
            invocation, error = parse_arguments(words), ""
        except MinitritonError as caught:
            if not amd:
                raise
            invocation, error = Invocation(split="split-input-file" in command), caught.message
        found.append(Run(invocation, flags, "2>&1" in command, error, joined_parts(text, parts[0]) if parts else text))
    return found


def joined_parts(text: str, name: str) -> str:
    """The file `name` that RUN lines put together of the parts of a test (`split-file`, `cat`)."""
    sections = re.split(r"^//--- (\S+)$", text, flags=re.MULTILINE)
    parts = {f"%t/{title}": part for title, part in zip(sections[1::2], sections[2::2], strict=True)}
    for line in run_texts(text):
        made = re.fullmatch(rf"cat (.*) > {re.escape(name)}", line.strip())
        if made is not None:
            return "".join(parts[each] for each in made[1].split())
    return parts[name]


def prefixes(flags: list[str]) -> list[str]:
    """The check prefixes that FileCheck is told to use."""
    for flag in flags:
        match = re.match(r"-?-check-prefix(?:es)?=(.*)", flag)
        if match:
            return match[1].split(",")
    return ["CHECK"]


_DIRECTIVE = r"(-(LABEL|NEXT|SAME|NOT|DAG|EMPTY|COUNT-\d+))?(\{[A-Z,]+\})?:"
"""What follows the prefix of an expectation."""


def run_file(root: Path, name: str, amd: bool = False) -> list[Outcome]:
    """The outcome of every chunk with expectations in one lit test."""
    text = (root / "test" / name).read_text()
    outcomes: list[Outcome] = []
    for run in run_lines(text, amd, amd and "amd" in Path(name).parts):
        invocation, flags = run.invocation, run.flags
        whole = run.text
        chunks = re.split(r"^// ?-----.*$", whole, flags=re.MULTILINE) if invocation.split else [whole]
        for number, chunk in enumerate(chunks):
            if flags is not None and not re.search(rf"\b({'|'.join(prefixes(flags))}){_DIRECTIVE}", chunk):
                continue
            if OTHER_TARGETS.search(chunk) and not name.startswith("Gluon/") and not amd:
                continue
            detail = run.error or _run_chunk(chunk, name, run)
            if number and "undefined variable" in detail:
                # FileCheck reads the whole file: a chunk may use what an earlier one has matched.
                detail = _run_chunk("// -----\n".join(chunks[number - 1 : number + 1]), name, run)
            excused = next((why for (f, part), why in KNOWN_DIFFERENCES.items() if f == name and part in chunk), "")
            outcomes.append(Outcome(name, number, not detail, detail, excused))
    return outcomes


def _run_chunk(chunk: str, name: str, run: Run) -> str:
    """What is wrong with our answer to one chunk; empty if nothing is."""
    error: MinitritonError | None = None
    output, remarks = "", io.StringIO()
    if run.invocation.verify_diagnostics:
        os.environ["MLIR_ENABLE_DIAGNOSTICS"] = "remarks"
    try:
        with contextlib.redirect_stderr(remarks):
            parts = re.split(r"^// ?-----.*$", chunk, flags=re.MULTILINE) if run.invocation.split else [chunk]
            output = "\n".join(str(run_chunk(part, name, run.invocation, [])) for part in parts)
    except MinitritonError as caught:
        error = caught
    except Exception as caught:
        return f"{type(caught).__name__}: {caught}"
    finally:
        os.environ.pop("MLIR_ENABLE_DIAGNOSTICS", None)
    if run.invocation.verify_diagnostics:
        problems = check_diagnostics(chunk, error) + missing_remarks(chunk, remarks.getvalue())
        if problems:
            return "\n".join(problems)
    elif error is not None:
        return str(error)
    output = remarks.getvalue() + output if run.with_remarks else output
    return check_text(output, chunk, run.flags) if run.flags is not None else ""


_EXPECTED_REMARK = re.compile(r"expected-remark(?:-re)?\s*(@below|@[+-]\d+)?\s*\{\{(.*?)\}\}")


def missing_remarks(chunk: str, printed: str) -> list[str]:
    """The `expected-remark`s of a chunk that are not among the remarks `printed` for their line."""
    said: dict[int, list[str]] = {}
    for number, text in re.findall(r"^[^\n]*?:(\d+):\d+: remark: (.*)$", printed, re.MULTILINE):
        said.setdefault(int(number), []).append(text)
    problems: list[str] = []
    pending: list[str] = []
    for number, line in enumerate(chunk.split("\n"), start=1):
        expected = _EXPECTED_REMARK.findall(line)
        below = [text for place, text in expected if place == "@below"]
        wanted = [(number + int(place[1:] or 0), text) for place, text in expected if place != "@below"]
        if below:
            pending += below
        elif pending and line.strip():
            wanted += [(number, text) for text in pending]
            pending = []
        problems += [
            f"line {at}: no remark {text!r}" for at, text in wanted if not any(text in s for s in said.get(at, ()))
        ]
    return problems


def main() -> int:

    source = os.environ.get("TRITON_SRC")
    if not source:
        print("set TRITON_SRC to a checkout of Triton at the commit of 3.6.0", file=sys.stderr)
        return 2
    amd = "--amd" in sys.argv
    wanted = [each for each in sys.argv[1:] if each != "--amd"]
    total = passed = 0
    for name in amd_files(Path(source)) if amd else FILES:
        if wanted and not any(w in name for w in wanted):
            continue
        try:
            outcomes = [o for o in run_file(Path(source), name, amd) if not o.excused]
        except MinitritonError as error:
            print(f"{name:45} {error.message}")
            continue
        good = sum(o.passed for o in outcomes)
        total, passed = total + len(outcomes), passed + good
        failing = ", ".join(str(o.chunk) for o in outcomes if not o.passed)
        print(f"{name:45} {good:3}/{len(outcomes):3}" + (f"  failing chunks: {failing}" if failing else ""))
        if wanted:
            for outcome in outcomes:
                if not outcome.passed:
                    print(f"--- chunk {outcome.chunk}\n{outcome.detail}")
    print(f"{passed} of {total} chunks pass ({100 * passed / max(total, 1):.1f} %)")
    return 0 if passed == total else 1


if __name__ == "__main__":
    sys.exit(main())
