"""Triton's lit tests that fix the text of its LLVM dialect: ours is another, so they are compiled and executed instead.

    TRITON_SRC=/path/to/triton python tests/conformance/lit_lowering.py [SUBSTRING ...]

Each function of each chunk is made a kernel (`lit_kernels.py`), lowered, optimised and assembled by `ptxas`; then its PTX runs on the
emulator and its TTGIR on the interpreter, and the memory they leave is compared. The table counts functions: assembled; run with
the same result; run with another; and those that cannot be run, for what reason.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from lit_kernels import CannotRun, RunnableFunction
from lit_observation import emulate, said, settle_tensor_map
from lit_runner import OTHER_TARGETS
from lit_surroundings import cases_of, without_assembly
from lit_triton import triton_ptx
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from minitriton.dialects import tt
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.dialects.verification.verifier import verify
from minitriton.errors import MinitritonError
from minitriton.lab.arguments import Arguments, as_numbers
from minitriton.lab.execution import Launch
from minitriton.passes.fence_insertion import FenceInsertion
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pipelines import assembly_step, emission_steps, llvm_passes
from minitriton.pipeline.request import Switches
from minitriton.pipeline.stages import assemble
from minitriton.target import CUDAOptions, GPUTarget

FILES = [
    "Conversion/atomic_ldst.mlir",
    "Conversion/cvt_to_llvm.mlir",
    "Conversion/dedup-by-constancy.mlir",
    "Conversion/divide-by-0.mlir",
    "Conversion/reduce_to_llvm.mlir",
    "Conversion/scan_to_llvm.mlir",
    "Conversion/tritongpu_to_llvm.mlir",
    "Conversion/tritongpu_to_llvm_block_dot_shortcut.mlir",
    "Conversion/tritongpu_to_llvm_hopper.mlir",
    "Conversion/tritongpu_to_llvm_hopper_ptx80.mlir",
    "Conversion/tritongpu_to_ptx.mlir",
    "Conversion/tritonnvidiagpu_to_llvm.mlir",
    "TritonGPU/atomic-cas.mlir",
    "TritonGPU/global_scratch_to_llvm.mlir",
    "TritonNvidiaGPU/bf16-atomics.mlir",
]


LOWERING = [step for step in llvm_passes() if not step.startswith("minitriton-")]
"""The lowering and what it needs, without what is better than Triton's: a test's function is run as it stands."""


@dataclass(frozen=True)
class Result:
    """What became of one function here: "equal", "differs", "assembled" (but not judged), "cannot run", "refused".

    `ptxas` is why no cubin came of its PTX, and `triton` what became of it through Triton's own lowering: "equal" to ours, "differs",
    "refused", or "" where it was not tried.
    """

    chunk: int
    function: str
    outcome: str
    detail: str = ""
    ptxas: str = ""
    triton: str = ""
    triton_detail: str = ""


def chunk_arch(chunk: str, whole: str) -> int:
    """The architecture that a chunk or its RUN line names; else 90 for what only Hopper has, 89 for fp8 on tensor cores, and 80."""
    named = re.search(r'ttg\.target"? = "cuda:(\d+)', chunk) or re.search(r"compute-capability=(\d+)", whole)
    needed = 90 if re.search(r"ttng\.|cluster", chunk) else 89 if re.search(r"tt\.dot .*f8E", chunk) else 80
    return max(int(named[1]) if named else 80, needed)


def lower_file(root: Path, name: str) -> list[Result]:
    """`lower_text` of one of the lit tests."""
    return lower_text((root / "test" / name).read_text(), name)


def lower_text(whole: str, name: str) -> list[Result]:
    """One result for every function with a body in the chunks for sm_80 to sm_90; `@anchor` only keeps the others alive."""
    results: list[Result] = []
    for number, chunk in enumerate(re.split(r"^// ?-----.*$", whole, flags=re.MULTILINE)):
        arch = chunk_arch(chunk, whole)
        if OTHER_TARGETS.search(chunk) or arch >= 100:
            continue
        try:
            module = parse_module(chunk, name)
        except MinitritonError as error:
            results.append(Result(number, "", "refused", str(error).splitlines()[0]))
            continue
        nested = [op for op in module.body.block.ops if isinstance(op, ModuleOp)]
        for each in [op.clone() for op in nested] or [module]:
            results += _lower_module(each, number, arch)
    return results


def _lower_module(module: ModuleOp, chunk: int, arch: int) -> list[Result]:
    """The results of the functions of one module, for the target that it names, at least `arch`."""
    attributes = module.attributes
    attributes.setdefault("ttg.target", StringAttr(f"cuda:{arch}"))
    for attribute, value in (("ttg.num-warps", 4), ("ttg.num-ctas", 1), ("ttg.threads-per-warp", 32)):
        attributes.setdefault(attribute, IntegerAttr(value, i32))
    target = attributes["ttg.target"]
    arch = max(arch, int(target.data.removeprefix("cuda:")) if isinstance(target, StringAttr) else 0)
    functions = [op for op in module.body.block.ops if isinstance(op, tt.FuncOp) and op.body.blocks]
    return [_judge(module, f.sym_name.data, chunk, arch) for f in functions if f.sym_name.data != "anchor"]


def _judge(module: ModuleOp, name: str, chunk: int, arch: int) -> Result:
    """One function, by ours and then by Triton's lowering, each in a process of its own: what LLVM cannot select ends the process."""
    ours = in_child(lambda: lower_function(module, name, chunk, arch))
    if ours is None:
        return Result(chunk, name, "refused", "LLVM ended the process")
    if ours.outcome not in ("equal", "differs"):
        return ours
    outcome, detail = in_child(lambda: run_through_triton(module, name, arch)) or ("refused", "it ended the process")
    return replace(ours, triton=outcome, triton_detail=detail)


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a process of its own; None if that ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            pickle.dump(work(), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def prepared_cases(module: ModuleOp, name: str, arch: int) -> list[RunnableFunction]:
    """The kernels that are run for a function, with the fences that products on Hopper need. Raises `CannotRun`, or what is invalid."""
    cases = cases_of(module, name)
    for case in cases:
        verify(case.module)
        if arch >= 90:
            FenceInsertion(compute_capability=arch).apply(make_context(), case.module)
    return cases


def lower_function(module: ModuleOp, name: str, chunk: int, arch: int) -> Result:
    """Compiles one function, and runs it; as it stands, and without a run, if it makes no kernel whose work can be seen."""
    target = GPUTarget("cuda", arch, 32)
    options = CUDAOptions.for_target(target)
    try:
        cases = prepared_cases(module, name, arch)
    except (CannotRun, MinitritonError) as reason:
        why = str(reason).splitlines()[0]
        try:
            assemble(_to_ptx(module, target, options)[0], assembly_step(target, options, Switches()))
        except Exception:
            return Result(chunk, name, "cannot run", why)
        return Result(chunk, name, "assembled", why)
    complaint = ""
    for case in cases:
        try:
            ptx, shared = _to_ptx(case.module, target, options)
        except Exception as error:
            return Result(chunk, name, "refused", f"{type(error).__name__}: {str(error).splitlines()[0]}")
        try:
            assemble(ptx, assembly_step(target, options, Switches()))
        except MinitritonError as error:
            complaint = str(error).splitlines()[0]
        outcome, why = _run(case, ptx, shared, target, options)
        if outcome != "equal":
            return Result(chunk, name, outcome, why, complaint)
    return Result(chunk, name, "equal", "", complaint)


def _to_ptx(module: ModuleOp, target: GPUTarget, options: CUDAOptions) -> tuple[str, int]:
    """The PTX of `module`, optimised, and its bytes of shared memory. Raises what a step raises."""
    lowered = PassManager(Pipeline.parse(",".join(LOWERING))).run(make_context(), module.clone())
    shared = lowered.attributes.get("ttg.shared")
    steps = Pipeline.parse(",".join(emission_steps(target, options, Switches())))
    ptx = str(PassManager(steps).run(make_context(), lowered))
    return ptx, shared.value.data if isinstance(shared, IntegerAttr) else 0


def _run(function: RunnableFunction, ptx: str, shared: int, target: GPUTarget, options: CUDAOptions) -> tuple[str, str]:
    """The outcome of one case against the interpreter, and why."""
    arguments = Arguments(function.values, function.elements, function.passed)
    launch = Launch(function.name, arguments, (1, 1, 1), target, options)
    printed = io.StringIO()
    try:
        meaning = without_assembly(function.module)
    except CannotRun as reason:
        return "assembled", str(reason)
    with contextlib.redirect_stdout(printed):
        meant = launch.interpret(meaning)
    if meant.gap is not None:
        return "assembled", f"interpreter: {meant.gap}"
    try:
        found = emulate(function, ptx, shared, arguments)
    except MinitritonError as error:
        return "assembled", f"emulator: {error}"
    wrong = [str(finding) for finding in found.findings]
    if function.is_wrong:
        return ("equal", "") if meant.fault and wrong else ("differs", f"told of the fault: {meant.fault}, {wrong}")
    if meant.fault is not None:
        return "assembled", f"interpreter: {meant.fault}"
    if wrong:
        return "differs", f"emulator: {wrong[0]}"
    if said(printed.getvalue().splitlines()) != said(found.output):
        return "differs", f"printed {found.output[:1]}"
    arrays = arguments.contents()
    if why := settle_tensor_map(function, meant.arrays, arrays):
        return "differs", why
    why = _difference(function, arguments, meant.arrays, arrays)
    return ("differs", why) if why else ("equal", "")


def run_through_triton(module: ModuleOp, name: str, arch: int) -> tuple[str, str]:
    """The same kernels by Triton's lowering and by ours, both on the emulator: whether they leave the same memory, findings and prints."""
    target = GPUTarget("cuda", arch, 32)
    options = CUDAOptions.for_target(target)
    for function in prepared_cases(module, name, arch):
        try:
            theirs = triton_ptx(function.module, arch)
        except Exception as error:
            return "refused", f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        ours = _to_ptx(function.module, target, options)
        arguments = Arguments(function.values, function.elements, function.passed)
        reports, arrays = [], []
        for ptx, shared in (ours, theirs):
            try:
                reports.append(emulate(function, ptx, shared, arguments))
            except MinitritonError as error:
                return "refused", f"emulator: {error}"
            arrays.append(arguments.contents())
        kinds = [{finding.kind for finding in report.findings} for report in reports]
        if kinds[0] != kinds[1]:
            return "differs", f"findings: ours {sorted(kinds[0])}, Triton's {[str(f) for f in reports[1].findings]}"
        if function.is_wrong:
            continue
        if said(reports[0].output) != said(reports[1].output):
            return "differs", f"printed: ours {reports[0].output[:1]}, Triton's {reports[1].output[:1]}"
        if why := _difference(function, arguments, *arrays):
            return "differs", why
    return "equal", ""


def _difference(
    function: RunnableFunction, arguments: Arguments, meant: list[np.ndarray], found: list[np.ndarray]
) -> str:
    """Where two runs have left different memory; empty if they have not."""
    for number, (a, b) in enumerate(zip(meant, found, strict=True)):
        x, y = (as_numbers(array, arguments.array_elements()[number]) for array in (a, b))
        if not _close(x, y, _tolerance(function.module)):
            at = np.nonzero(x.reshape(-1) != y.reshape(-1))[0]
            first = int(at[0])
            return f"array {number}: {len(at)} of {x.size} elements, element {first} is {y.reshape(-1)[first]}, not {x.reshape(-1)[first]}"
    return ""


def _tolerance(module: ModuleOp) -> float:
    """Relative and absolute: tensor cores round their operands (tf32) or sums (fp8) in ways of their own."""
    return 2e-2 if any("dot" in op.name for op in module.walk()) else 1e-4


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    tolerance = max(tolerance, 1e-2 if a.dtype.itemsize == 2 else 0.0)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def main() -> int:
    source = os.environ.get("TRITON_SRC")
    if not source:
        print("set TRITON_SRC to a checkout of Triton at the commit of 3.6.0", file=sys.stderr)
        return 2
    wanted = sys.argv[1:]
    total: Counter[str] = Counter()
    triton: Counter[str] = Counter()
    for name in FILES:
        if wanted and not any(w in name for w in wanted):
            continue
        results = lower_file(Path(source), name)
        counts = Counter(r.outcome for r in results)
        total += counts
        triton += Counter(r.triton for r in results if r.triton)
        print(f"{name:55} " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
        for r in results:
            if r.outcome != "equal":
                print(f"  chunk {r.chunk:3} {r.function:40} {r.outcome}: {r.detail[:200]}")
            if r.ptxas:
                print(f"  chunk {r.chunk:3} {r.function:40} {r.ptxas[:200]}")
            if r.triton not in ("", "equal"):
                print(f"  chunk {r.chunk:3} {r.function:40} Triton {r.triton}: {r.triton_detail[:300]}")
    print("in total: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(total.items())))
    print("Triton's lowering: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(triton.items())))
    return 1 if total["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
