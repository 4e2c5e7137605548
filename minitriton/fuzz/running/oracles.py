"""Runs one kernel by every oracle, each on the same arguments.

interpreter     the frontend's TTIR on NumPy, before any pass
ttir            TTIR after all its passes on NumPy
ttgir           TTGIR after all its passes on NumPy
emulator        minitriton's PTX for sm_90, or AMDGCN for what `TRITON_OVERRIDE_ARCH` names, on the emulator, with its checks
emulator-sm80   minitriton's PTX for sm_80 on the emulator
triton          Triton's own assembly of the same source for the same target on the emulator (needs Triton's wheel, no GPU)
gpu             minitriton's cubin on the GPU (needs one)

Out: an `OracleOutcome` an oracle: the arrays after the run, or what stopped it, and what the emulator found.

A pass of a compiler in C++ that does not end cannot be interrupted within the process. `end_this_process_after` gives what is `limited` some processor
time, after which `SIGPROF` ends the process; whoever started it sees that in its exit code.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import signal
import tempfile
import traceback
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

import minitriton
import minitriton.language
from minitriton import knobs
from minitriton.as_triton.compiler import ASTSource, CompiledKernel
from minitriton.as_triton.compiler import compile as compile_kernel
from minitriton.dialects.context import make_context
from minitriton.dialects.narrowing import instance_of
from minitriton.emulator import device_functions, inline_assembly
from minitriton.errors import MinitritonError
from minitriton.fuzz.printing import KERNEL
from minitriton.fuzz.running.launch import FuzzedLaunch
from minitriton.interpreter import interpret
from minitriton.pipeline.pass_registry import Pass, Property, Step
from minitriton.pipeline.pipelines import pipeline_for
from minitriton.runtime.cuda_driver import has_gpu
from minitriton.target import CompileOptions, GPUTarget, default_arch, options_for, target_named
from minitriton.target.backends import backend

ENDED = -signal.SIGPROF
"""The exit code of a process that was ended."""

_seconds = 0.0


def end_this_process_after(seconds: float) -> None:
    """From now on, whatever runs `limited` and takes more than `seconds` of processor time ends this process."""
    global _seconds
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    _seconds = seconds


@contextlib.contextmanager
def limited() -> Generator[None]:
    """What is run within may take the seconds that this process was given, if it was given any."""
    signal.setitimer(signal.ITIMER_PROF, _seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


ORACLES = ("interpreter", "ttir", "ttgir", "emulator", "emulator-sm80", "triton", "gpu")
_ARCHITECTURES: dict[str, int | str] = {"emulator-sm80": 80}
"""Oracles of another architecture than `default_arch()`."""

_Made = TypeVar("_Made")


@dataclass
class OracleOutcome:
    """What one oracle gave. `error` is what stopped it (`stage`: while doing what); `findings` are the emulator's."""

    arrays: list[np.ndarray] = field(default_factory=list[np.ndarray])
    error: str | None = None
    stage: str = ""
    findings: tuple[str, ...] = ()
    finding_kinds: tuple[str, ...] = ()


def run_oracles(case: FuzzedLaunch, names: Sequence[str]) -> dict[str, OracleOutcome]:
    """Runs `case` by the oracles `names`."""
    outcomes: dict[str, OracleOutcome] = {}
    with written(case.source) as path:
        own = [name for name in names if name != "triton"]
        by_arch: dict[int | str, list[str]] = {}
        for name in own:
            by_arch.setdefault(_ARCHITECTURES.get(name, default_arch()), []).append(name)
        for arch, of_arch in by_arch.items():
            outcomes.update(_run_own(case, path, of_arch, arch))
        if "triton" in names:
            outcomes["triton"] = _run_triton(case, path)
    return {name: outcomes[name] for name in names}


@contextlib.contextmanager
def written(source: str) -> Generator[Path]:
    """The source as a file, where both front ends look for the text of a function."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
        path = Path(folder) / "kernel.py"
        path.write_text(source, "utf-8")
        yield path


def load(path: Path, triton: ModuleType, language: ModuleType) -> Any:
    """The kernel in the file `path`, made by the `jit` of `triton`."""
    # Both front ends look up the module by its name: an existing one is found at once.
    namespace: dict[str, Any] = {"triton": triton, "tl": language, "__name__": __name__}
    exec(_code(path), namespace)
    return namespace[KERNEL]


@functools.lru_cache(maxsize=1)
def _code(path: Path) -> CodeType:
    """What is in the file `path`, which nobody writes again, for both front ends."""
    return compile(path.read_text("utf-8"), str(path), "exec")


def _attempt(stage: str, action: Callable[[], _Made]) -> _Made | OracleOutcome:
    """What `action` gives, or an outcome that says why it failed."""
    try:
        return action()
    except Exception as error:
        return OracleOutcome(error=_described(error), stage=stage)


def _described(error: BaseException) -> str:
    if isinstance(error, MinitritonError):
        return f"{type(error).__name__}: {error}"
    while error.__cause__ is not None:
        error = error.__cause__
    where = traceback.extract_tb(error.__traceback__)
    at = f" at {Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
    return f"{type(error).__name__}: {error}{at}"


@dataclass
class Compilation:
    """A kernel that goes through minitriton's passes, and the launch that runs it at any level."""

    case: FuzzedLaunch
    source: ASTSource
    module: ModuleOp
    target: GPUTarget
    options: CompileOptions
    context: Context

    @staticmethod
    def of(case: FuzzedLaunch, path: Path, arch: int | str) -> Compilation:
        """The TTIR that the frontend makes of the kernel in `path`."""
        target = target_named(arch)
        options, context = options_for(target, **case.options), make_context()
        kernel = load(path, minitriton, minitriton.language)
        source = ASTSource.of(kernel, case.launch.signature, case.launch.constants, case.launch.attrs)
        return Compilation(case, source, source.make_ir(target, options, context), target, options, context)

    @property
    def steps(self) -> tuple[Step, ...]:
        """The passes from the frontend's TTIR to PTX or AMDGCN."""
        return pipeline_for(self.target, self.options, ext=self.source.ext).steps

    def interpreted(self, stage: str) -> OracleOutcome:
        """The arrays that the interpreter gives for the module as it is now."""
        arguments = self.case.launch.arguments
        ran = _attempt(
            stage,
            lambda: interpret(
                self.module,
                self.source.name,
                arguments.fresh(),
                self.case.grid,
                inline_assembly=inline_assembly.evaluate,
                device_functions=device_functions.evaluate,
                target=self.target.ttg_target,
                seconds=knobs.emulator.seconds,
            ),
        )
        return ran if isinstance(ran, OracleOutcome) else OracleOutcome(arguments.contents())

    def applied(self, step: Step, value: object) -> object:
        """`value` after a step; an outcome that says why, where that fails."""

        def apply() -> object:
            if not isinstance(step, Pass):
                return step.translate(value)
            step.apply(self.context, self.module)
            return self.module

        return _attempt(f"pass {step.name}", apply)


def _run_own(case: FuzzedLaunch, path: Path, names: Sequence[str], arch: int | str) -> dict[str, OracleOutcome]:
    outcomes: dict[str, OracleOutcome] = {}
    made = _attempt("frontend", lambda: Compilation.of(case, path, arch))
    if isinstance(made, OracleOutcome):
        return dict.fromkeys(names, made)
    if "interpreter" in names:
        outcomes["interpreter"] = made.interpreted("interpreter on the frontend's TTIR")
    value: object = made.module
    for step in made.steps:
        if "ttir" in names and Property.ENCODINGS in step.establishes:
            outcomes["ttir"] = made.interpreted("interpreter on TTIR")
        if "ttgir" in names and Property.LLVM_DIALECT in step.establishes:
            outcomes["ttgir"] = made.interpreted("interpreter on TTGIR")
        value = made.applied(step, value)
        if isinstance(value, OracleOutcome):
            return {name: outcomes.get(name, value) for name in names}
    shared = made.module.attributes.get("ttg.shared")
    shared_bytes = shared.value.data if isinstance(shared, IntegerAttr) else 0
    for name in ("emulator", "emulator-sm80"):
        if name in names:
            outcomes[name] = _emulated(str(value), case, shared_bytes, made.target)
    if "gpu" in names:
        arrays = _attempt("GPU", lambda: launch_on_gpu(case, made.source))
        outcomes["gpu"] = arrays if isinstance(arrays, OracleOutcome) else OracleOutcome(arrays)
    return outcomes


def _emulated(text: str, case: FuzzedLaunch, shared: int, target: GPUTarget) -> OracleOutcome:
    arguments, run = case.launch.arguments, backend(target.backend).load("emulator")
    report = _attempt(
        "emulator",
        lambda: run(text, None, case.grid, arguments.fresh(), shared, scratch=1 << 20, seconds=knobs.emulator.seconds),
    )
    if isinstance(report, OracleOutcome):
        return report
    return OracleOutcome(
        arguments.contents(),
        findings=tuple(map(str, report.findings)),
        finding_kinds=tuple(sorted({f.kind for f in report.findings})),
    )


def triton_stages(case: FuzzedLaunch, path: Path) -> Iterator[tuple[str, object, dict[str, Any]]]:
    """Triton's own "ttir" (none of Gluon), "ttgir", "llir" and assembly of the kernel in `path` (`str` makes texts of them), each made when it is
    asked for, with the metadata so far. No assembler and no cache take part."""
    import triton
    import triton.language
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget as TritonTarget
    from triton.compiler import ASTSource as TritonSource
    from triton.compiler import make_backend

    launch = case.launch
    kernel = load(path, triton, triton.language)
    kind: Any = TritonSource
    if kernel.is_gluon():
        kind = importlib.import_module("triton.experimental.gluon._runtime").GluonASTSource
    source = kind(kernel, launch.signature, launch.constants, launch.attrs)
    own = target_named(default_arch())
    arch: Any = own.arch
    target = TritonTarget(own.backend, arch, own.warp_size)
    compiler: Any = make_backend(target)
    options = compiler.parse_options(case.options)
    context = ir.context()
    ir.load_dialects(context)
    compiler.load_dialects(context)
    functions = compiler.get_codegen_implementation(options)
    module = source.make_ir(target, options, functions, compiler.get_module_map(), context)
    metadata: dict[str, Any] = {}
    stages: dict[str, Callable[[object, dict[str, Any]], object]] = {}
    compiler.add_stages(stages, options, source.language)
    for stage in [name for name in stages if name != backend(own.backend).binary]:
        with limited():
            module = stages[stage](module, metadata)
        yield stage, module, metadata


def triton_ttgir(case: FuzzedLaunch) -> str:
    """What Triton lowers to LLVM IR."""
    with written(case.source) as path:
        return next(str(module) for stage, module, _ in triton_stages(case, path) if stage == "ttgir")


def _triton_assembly(case: FuzzedLaunch, path: Path) -> tuple[str, int]:
    """Triton's PTX or AMDGCN, and its bytes of shared memory."""
    *_, (_, text, metadata) = triton_stages(case, path)
    return str(text), metadata["shared"]


def _run_triton(case: FuzzedLaunch, path: Path) -> OracleOutcome:
    made = _attempt("Triton's compiler", lambda: _triton_assembly(case, path))
    if isinstance(made, OracleOutcome):
        return made
    return _emulated(made[0], case, made[1], target_named(default_arch()))


def available(name: str) -> bool:
    """Whether an oracle can run here."""
    import importlib.util

    if name == "triton":
        return importlib.util.find_spec("triton") is not None and importlib.util.find_spec("triton._C") is not None
    if name == "gpu":
        return has_gpu()
    return True


# A fuzzed launch on the GPU, by the ordinary compiler and runtime.
#
# In: a case and its source. Out: copies of the arrays after the run. Needs a driver, and torch for device memory.

SLACK = 256
"""Bytes on either side of an array, so that its address can be as aligned, or not, as the host's."""


def launch_on_gpu(case: FuzzedLaunch, source: ASTSource) -> list[np.ndarray]:
    """Compiles, copies the arrays to the device, launches, copies them back. Raises what the launch raises."""
    import torch

    compiled = _compiled(case, source, _capability())
    values: list[object] = []
    arrays: list[tuple[Any, np.ndarray]] = []
    for value in case.launch.arguments.fresh():
        if not instance_of(value, np.ndarray):
            values.append(value)
            continue
        # Device allocations begin at multiples of 512 bytes.
        start = value.__array_interface__["data"][0] % 128
        memory = torch.zeros(start + value.nbytes + SLACK, dtype=torch.uint8, device="cuda")
        part = memory[start : start + value.nbytes]
        part.copy_(torch.from_numpy(value.view(np.uint8).copy()))
        values.append(part)
        arrays.append((part, value))
    compiled[(*case.grid, 1, 1)[:3]](*values)
    torch.cuda.synchronize()
    return [part.cpu().numpy().view(value.dtype).copy() for part, value in arrays]


def _compiled(case: FuzzedLaunch, source: ASTSource, capability: int) -> CompiledKernel:
    """The kernel; the user's cache is left alone, as no fuzzed kernel comes twice."""
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder, knobs.cache.scope():
        knobs.cache.dir = folder
        return compile_kernel(source, target_named(capability), case.options)


def _capability() -> int:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return 10 * major + minor
