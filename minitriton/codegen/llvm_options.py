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
