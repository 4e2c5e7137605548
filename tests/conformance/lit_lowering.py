"""Triton's lit tests that fix the text of its LLVM dialect: ours is another, so they are compiled and executed instead.

    TRITON_SRC=/path/to/triton python tests/conformance/lit_lowering.py [SUBSTRING ...]

Each function of each chunk is made a kernel (`lit_kernels.py`), lowered, optimised and assembled by `ptxas`; then its PTX runs on the
emulator and its TTGIR on the interpreter, and the memory they leave is compared. The table counts functions: assembled; run with
the same result; run with another; and those that cannot be run, for what reason.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from lit_kernels import CannotRun, RunnableFunction, runnable
from lit_runner import OTHER_TARGETS
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from minitriton.codegen.cubin import ptx_to_cubin
from minitriton.dialects import tt
from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.dialects.ttg_module import num_ctas, threads_per_warp
from minitriton.dialects.verifier import verify
from minitriton.errors import MinitritonError
from minitriton.lab.arguments import Arguments, as_numbers
from minitriton.lab.execution import Launch
from minitriton.pass_manager import PassManager, Pipeline
from minitriton.pass_registry import Property
from minitriton.pipelines import Switches, emission_steps
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


@dataclass(frozen=True)
class Result:
    """What became of one function: "equal", "differs", "assembled" (but not run), "refused"."""

    chunk: int
    function: str
    outcome: str
    detail: str = ""


def chunk_arch(chunk: str, whole: str) -> int:
    """The architecture that a chunk or its RUN line names; else 90 for what only Hopper has, and 80."""
    named = re.search(r'ttg\.target"? = "cuda:(\d+)', chunk) or re.search(r"compute-capability=(\d+)", whole)
    return max(int(named[1]) if named else 80, 90 if re.search(r"ttng\.|cluster", chunk) else 80)


def lower_file(root: Path, name: str) -> list[Result]:
    """One result for every function with a body in the chunks for sm_80 to sm_90; `@anchor` only keeps the others alive."""
    whole = (root / "test" / name).read_text()
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
    return [_in_child(module, f.sym_name.data, chunk, arch) for f in functions if f.sym_name.data != "anchor"]


def _in_child(module: ModuleOp, name: str, chunk: int, arch: int) -> Result:
    """`lower_function` in a process of its own: what LLVM cannot select ends the process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            pickle.dump(lower_function(module, name, chunk, arch), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else Result(chunk, name, "refused", "LLVM ended the process")


def lower_function(module: ModuleOp, name: str, chunk: int, arch: int) -> Result:
    """Compiles one function, and runs it; as it stands, and without a run, if it makes no kernel whose work can be seen."""
    target = GPUTarget("cuda", arch, 32)
    options = CUDAOptions.for_target(target)
    try:
        function = runnable(module, name)
        verify(function.module)
    except (CannotRun, MinitritonError) as reason:
        why = str(reason).splitlines()[0]
        try:
            _assemble(module, target, options)
        except Exception:
            return Result(chunk, name, "cannot run", why)
        return Result(chunk, name, "assembled", why)
    try:
        lowered = _assemble(function.module, target, options)
    except Exception as error:
        return Result(chunk, name, "refused", f"{type(error).__name__}: {str(error).splitlines()[0]}")
    return _run(function, lowered, chunk, target, options)


def _assemble(module: ModuleOp, target: GPUTarget, options: CUDAOptions) -> ModuleOp:
    """`module` in the LLVM dialect, once it has become a cubin. Raises what a step raises."""
    lowered = PassManager(Pipeline.parse("convert-triton-gpu-to-llvm")).run(make_context(), module.clone())
    steps = Pipeline.parse(",".join(emission_steps(target, options, Switches())))
    ptx_to_cubin(str(PassManager(steps).run(make_context(), lowered.clone())), target, options)
    return lowered


def _run(function: RunnableFunction, lowered: ModuleOp, chunk: int, target: GPUTarget, options: CUDAOptions) -> Result:
    if threads_per_warp(function.module) != 32:
        return Result(chunk, function.name, "assembled", "warps of 16 threads, which no NVIDIA GPU has")
    if any(op.name == "ttng.tensormap_create" for op in function.module.walk()):
        return Result(chunk, function.name, "assembled", "the interpreter keeps tensor maps as values, not as bytes")
    arguments = Arguments(function.values, function.elements)
    launch = Launch(function.name, arguments, (1, 1, 1), target, options)
    meant = launch.interpret(function.module)
    if not meant.ran:
        return Result(chunk, function.name, "assembled", f"interpreter: {meant.gap or meant.fault}")
    launch.grid = (num_ctas(function.module), 1, 1)
    found = launch.run(lowered, frozenset({Property.LLVM_DIALECT}))
    if not found.ran:
        return Result(chunk, function.name, "assembled", f"emulator: {found.gap or found.fault}")
    for number, (a, b) in enumerate(zip(meant.arrays, found.arrays, strict=True)):
        element = arguments.array_elements()[number]
        if not _close(as_numbers(a, element), as_numbers(b, element), _tolerance(function.module)):
            return Result(chunk, function.name, "differs", f"array {number}")
    return Result(chunk, function.name, "equal")


def _tolerance(module: ModuleOp) -> float:
    """Relative and absolute: tensor cores round their operands (tf32) or sums (fp8) in ways of their own."""
    return 2e-2 if any("dot" in op.name for op in module.walk()) else 1e-4


def _close(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    tolerance = max(tolerance, 1e-2 if a.dtype.itemsize == 2 else 0.0)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def main() -> int:
    import minitriton.codegen.all_passes
    import minitriton.passes.all_passes  # noqa: F401

    source = os.environ.get("TRITON_SRC")
    if not source:
        print("set TRITON_SRC to a checkout of Triton at the commit of 3.6.0", file=sys.stderr)
        return 2
    wanted = sys.argv[1:]
    total: Counter[str] = Counter()
    for name in FILES:
        if wanted and not any(w in name for w in wanted):
            continue
        results = lower_file(Path(source), name)
        counts = Counter(r.outcome for r in results)
        total += counts
        print(f"{name:55} " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
        if wanted:
            for r in results:
                if r.outcome != "equal":
                    print(f"  chunk {r.chunk:3} {r.function:40} {r.outcome}: {r.detail[:150]}")
    print("in total: " + ", ".join(f"{n} {outcome}" for outcome, n in sorted(total.items())))
    return 1 if total["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
