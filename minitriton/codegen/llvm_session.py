"""The one module that talks to LLVM (llvmlite).

LLVM's options are global to the process and llvmlite is not safe to enter twice: options are set here, under one lock, before
anything else is done with LLVM. Bad IR aborts the process, so text that is not our own is checked in a child process first.

What LLVM is asked for one run: flags that are on, the IR before each pass, the times of its passes.

DISABLE_LLVM_OPT=disable-lsr      optimize-llvm-ir{flags=disable-lsr}: `-disable-lsr` is on while LLVM optimises and writes PTX
LLVM_IR_ENABLE_DUMP=1             `-print-before-all`: the IR before each of LLVM's passes, on standard error
LLVM_ENABLE_TIMING=1              the times of LLVM's passes, on standard error

LLVM's flags belong to the process: they are on within one run only, and runs hold LLVM's lock.
"""

import re
import sys
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache

import llvmlite.binding as llvm

from minitriton import knobs
from minitriton.errors import IRError, MinitritonError, PipelineError, SourceLocation, did_you_mean
from minitriton.host import locks

TRIPLE = "nvptx64-nvidia-cuda"

LOCK = locks.LLVM
"""Held around every call into LLVM."""

# llvmlite's own, which modules take when they are freed
locks.held_across_forks(llvm.ffi.lib._lock._lock)  # pyright: ignore[reportPrivateUsage]

_initialized = False


def initialize() -> None:
    """Sets up LLVM's NVPTX target, once. Short pointers must be chosen before any data layout is made."""
    global _initialized
    if _initialized:
        return
    llvm.set_option("", "-nvptx-short-ptr")
    llvm.set_option("", "-nvptx-mad-wide-opt")
    # No straight-line strength reduction: of rows at `i * stride` it makes a chain of additions, each waiting for the one
    # before (64 rows of 64-bit addresses: some 600 cycles until the last load starts, where dots start at once). It and the
    # reassociation that follows it take time with the square of a chain.
    llvm.set_option("", "-opt-disable=slsr,nary-reassociate")
    # After a change CodeGenPrepare looks again at the blocks that changed, not at all: the same PTX, 65,536 masked elements at
    # 4 warps in 0.2 s for 0.9 s (2026-11-22).
    llvm.set_option("", "-cgpp-huge-func=0")
    # How many instructions and stores of a block are looked at, for each load and store, for one that makes it needless. A tile has hundreds,
    # it does none of that: 512 registers a thread, loaded and stored, 0.11 s for 0.20 s, added up 0.07 s for 0.13 s (2026-11-23).
    llvm.set_option("", "-memdep-block-scan-limit=30")
    llvm.set_option("", "-dse-memoryssa-scanlimit=30")
    llvm.set_option("", "-dse-memoryssa-walklimit=20")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    _initialized = True


@lru_cache(maxsize=16)
def target_machine(cpu: str, features: str) -> llvm.TargetMachine:
    """LLVM's code generator for a GPU. The lowest level spills; the highest numbers values twice more, in time with the square of a
    block's loads, for the same PTX (78 of 80 kernels; 2026-11-22)."""
    initialize()
    if cpu not in _KNOWN_PROCESSORS:
        _check_processor(cpu, features)
    return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=cpu, features=features, opt=2)


_KNOWN_PROCESSORS = {"sm_70", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90a", "sm_100a", "sm_120a"}
"""Processors that LLVM is known to know: no process is started to ask."""

_EMIT_NOTHING = """
import sys
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, cpu, features = sys.argv[1:]
machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2)
module = llvm.parse_assembly("define ptx_kernel void @k() { ret void }")
module.triple, module.data_layout = triple, str(machine.target_data)
machine.emit_assembly(module)
"""


def _check_processor(cpu: str, features: str) -> None:
    """Raises `MinitritonError` for a processor that LLVM does not know, or not with `features`: it would end the process, or write code for
    another one. Asked of a child process."""
    import subprocess

    result = subprocess.run(
        [sys.executable, "-c", _EMIT_NOTHING, TRIPLE, cpu, features], capture_output=True, text=True, check=False
    )
    if result.returncode or "not a recognized" in result.stderr:
        why = result.stderr.strip().splitlines() or [f"it ended with status {result.returncode}"]
        raise MinitritonError(
            f"LLVM cannot compile for {cpu}: {why[-1]}",
            help="correct `sm` and `first_ptx_version` of its entry in minitriton/target/architectures.py, or install a newer llvmlite",
        )


_contexts: dict[int, llvm.ContextRef] = {}
"""Of each module that `parsed_alone` gave and that is still there, by its `id`: the garbage collector must not take them in one go, as a
context that goes first takes its module with it."""


def parsed_alone(text: str) -> llvm.ModuleRef:
    """The module of `text`, in a context of its own. Raises `RuntimeError`.

    In a context that modules share, the second type of a name gets another, and constants stay for ever.
    """
    context = llvm.create_context()
    module = llvm.parse_assembly(text, context)
    _contexts[id(module)] = context
    weakref.finalize(module, _contexts.pop, id(module)).atexit = False
    return module


def context_of(module: llvm.ModuleRef) -> llvm.ContextRef | None:
    """What a module must be in that is to be linked to `module`; None is LLVM's global context."""
    return _contexts.get(id(module))


class CheckedLLVMIR(str):
    """LLVM IR text that may be given to LLVM in this process: minitriton wrote it, or `check_in_child` has passed it.

    `arch` is the compute capability times ten whose instructions it may have; LLVM ends the process at those of a later one.
    """

    arch: int | None = None


MOST_SECONDS = 50
"""That LLVM may take in a child process."""

_CHECK = """
import sys
import llvmlite.binding as llvm
llvm.set_option("", "-nvptx-short-ptr")
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
try:
    module = llvm.parse_assembly(sys.stdin.read())
    module.verify()
    if sys.argv[1:]:
        triple, cpu, features = sys.argv[1:]
        machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, features=features, opt=2)
        module.triple, module.data_layout = triple, str(machine.target_data)
        tuning = llvm.create_pipeline_tuning_options(speed_level=3)
        tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        machine.emit_assembly(module)
except RuntimeError as error:
    print(error)
    sys.exit(1)
"""


def check_in_child(
    text: str, name: str = "<string>", machine: tuple[str, str] | None = None, triple: str = TRIPLE
) -> None:
    """Raises `IRError`, with the location in file `name` if LLVM names one, if LLVM cannot read `text`, nor, with a `machine`
    (a CPU and features), optimise it and make assembly of it. Takes a process start (about 150 ms)."""
    import subprocess

    target = (triple, *machine) if machine else ()
    try:
        result = subprocess.run(
            [sys.executable, "-c", _CHECK, *target],
            input=text.encode(errors="replace"), capture_output=True, timeout=MOST_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise IRError(f"{name}: LLVM takes more than {MOST_SECONDS} s", help="compile a smaller module") from None
    if not result.returncode:
        return
    why = (result.stdout or result.stderr).decode(errors="replace").strip()
    why = why or f"LLVM ended with status {result.returncode}"
    found = re.search(r"<string>:(\d+):(\d+): error: (.*)", why)
    if found:
        line, column = int(found[1]), int(found[2])
        raise IRError(
            f"this is not valid LLVM IR: {found[3]}",
            SourceLocation(name, line, column),
            help="correct the text at this location",
            source_line=(text.split("\n") + [""] * line)[line - 1],
        )
    lines = "\n".join(why.splitlines()[:4])
    raise IRError(
        f"LLVM cannot compile {name}:\n{lines}", help="this is what LLVM's verifier or code generator refuses"
    )


_LIST_FLAGS = """
import llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
llvm.set_option("", "-help-hidden")
"""


@cache
def llvm_flags() -> frozenset[str]:
    """The flags of LLVM that take no value. It prints them, and ends, in a child process."""
    import subprocess

    result = subprocess.run([sys.executable, "-c", _LIST_FLAGS], capture_output=True, text=True, check=False)
    lines = (line.split() for line in result.stdout.splitlines())
    return frozenset(
        words[0].lstrip("-") for words in lines if words[1:2] == ["-"] and words[0][0] == "-" and "=" not in words[0]
    )


def check_llvm_flags(flags: Sequence[str]) -> None:
    """Raises `PipelineError` for a name that is not a flag of LLVM."""
    for flag in flags:
        if flag not in llvm_flags():
            raise PipelineError(
                f"LLVM lacks the flag {flag!r}",
                help=f"{did_you_mean(flag, llvm_flags())} name flags without dashes and values, with commas between them, as in disable-lsr".lstrip(),
            )


@contextmanager
def one_run(flags: Sequence[str] = ()) -> Generator[None]:
    """One run of LLVM with `flags` on, and with the dumps and times that the environment asks for. Raises `PipelineError`."""
    check_llvm_flags(flags)
    on = [*flags, *(["print-before-all"] if knobs.compilation.dump_llvm_ir else [])]
    is_timed = knobs.compilation.time_llvm_passes
    for flag in on:
        llvm.set_option("", f"-{flag}")
    if is_timed:
        llvm.set_time_passes(True)
    try:
        yield
    finally:
        for flag in on:
            llvm.set_option("", f"-{flag}=false")
        if is_timed:
            print(llvm.report_and_reset_timings(), file=sys.stderr, flush=True)
            llvm.set_time_passes(False)


# LLVM's own passes one by one, by the names that `opt` knows them by.
#
# optimize-llvm-ir{passes=sroa,instcombine,simplifycfg,gvn,adce}
#
# What a kernel needs to be lowered at all (functions inlined that came from a device library, declarations dropped that nothing
# uses) runs before and after those that are named.

LLVM_PASSES = {
    "adce": "aggressive_dce",
    "aggressive-instcombine": "aggressive_instcombine",
    "dce": "dead_code_elimination",
    "dse": "dead_store_elimination",
    "gvn": "new_gvn",
    "instcombine": "instruction_combine",
    "ipsccp": "ipsccp",
    "jump-threading": "jump_threading",
    "lcssa": "lcssa",
    "loop-deletion": "loop_deletion",
    "loop-rotate": "loop_rotate",
    "loop-simplify": "loop_simplify",
    "loop-strength-reduce": "loop_strength_reduce",
    "loop-unroll": "loop_unroll",
    "memcpyopt": "mem_copy_opt",
    "mergefunc": "merge_functions",
    "reassociate": "reassociate",
    "sccp": "sccp",
    "simplifycfg": "simplify_cfg",
    "sink": "sinking",
    "sroa": "sroa",
}
"""By `opt`'s name, what llvmlite's pass manager calls it in `add_..._pass`. Its `gvn` is LLVM's newer one."""


def check_llvm_passes(names: Sequence[str]) -> None:
    """Raises `PipelineError` for a name that is none of LLVM's passes."""
    for name in names:
        if name not in LLVM_PASSES:
            hint = f"{did_you_mean(name, LLVM_PASSES)} its passes: {', '.join(LLVM_PASSES)}".lstrip()
            raise PipelineError(f"LLVM lacks the pass {name!r} here", help=hint)


def chosen_passes(names: Sequence[str]) -> llvm.ModulePassManager:
    """A manager that runs the passes `names`."""
    check_llvm_passes(names)
    manager = llvm.create_new_module_pass_manager()
    manager.add_always_inliner_pass()
    for name in names:
        getattr(manager, f"add_{LLVM_PASSES[name]}_pass")()
    manager.add_global_dead_code_eliminate_pass()
    manager.add_strip_dead_prototype_pass()
    return manager
