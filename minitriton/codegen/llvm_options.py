"""What LLVM is asked for one run: flags that are on, the IR before each pass, the times of its passes.

DISABLE_LLVM_OPT=disable-lsr      optimize-llvm-ir{flags=disable-lsr}: `-disable-lsr` is on while LLVM optimises and writes PTX
LLVM_IR_ENABLE_DUMP=1             `-print-before-all`: the IR before each of LLVM's passes, on standard error
LLVM_ENABLE_TIMING=1              the times of LLVM's passes, on standard error

LLVM's flags belong to the process: they are on within one run only, and runs hold LLVM's lock.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache

import llvmlite.binding as llvm

from minitriton import knobs
from minitriton.errors import PipelineError, did_you_mean

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
