"""Planted faults in the AMDGCN of the corpus's kernels: each must be found on the emulator, at the kernel's line. Needs no GPU.

    python benchmarks/amd_faults.py [PART OF A NAME] [--arch gfx942]

A fault changes one instruction. Of each: what kind of finding is expected first, and a text of the kernel's line that it must name. `numbers`
is a wrong result without a finding, as of a wrong row of DPP: the line is that of the first instruction which computes something else than in the right text.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from amd_emulated import assembly, worst

from minitriton.emulator import amdgcn
from minitriton.emulator.amdgcn.launch import translated
from minitriton.emulator.report import Report
from minitriton.errors import SourceLocation
from minitriton.host.source_text import line_at
from minitriton.lab import corpus
from minitriton_kernels.cases import Case

NOTHING = "s_nop 0"


@dataclass(frozen=True)
class Fault:
    """Of the instructions of `kernel` that match `old`, at the line that has `line`, number `which` has `new` there (as of `re.sub`). What is found
    first is a `kind`, at the line that has `at`; at that of the instruction where nothing is said."""

    kernel: str
    name: str
    line: str
    old: str
    new: str
    kind: str
    which: int = 0
    at: str = ""

    @property
    def id(self) -> str:
        return f"{self.kernel}: {self.name}"


WAIT, BARRIER, MASK = r"s_waitcnt .*", r"s_barrier", r"s_and_saveexec_b64 (s\[\d+:\d+\]), .*"
UNMASKED = r"s_mov_b64 \1, exec"
SOFTMAX, TRANSPOSE, DOT, SUMS = "bench_softmax", "bench_transpose", "tiled_dot", "running_sums"
NORM, SORT, SCATTER, LOCK = "layer_norm_backward", "sort_rows", "scatter_add", "spin_lock"
FAULTS = (
    Fault(SOFTMAX, "no wait for the row", "x = tl.load", r"s_waitcnt vmcnt.*", NOTHING, "missing-wait"),
    Fault(
        SOFTMAX,
        "a load beyond the array, within the buffer",
        "x = tl.load",
        r"(buffer_load_dwordx4 .*)",
        r"\1 offset:4080",
        "out-of-bounds",
        1,
    ),
    Fault(
        SOFTMAX,
        "a store beyond the array, within the buffer",
        "tl.store",
        r"(buffer_store_dwordx4 .*)",
        r"\1 offset:4080",
        "out-of-bounds",
        1,
    ),
    Fault(SOFTMAX, "no wait for what other waves found", "tl.max", WAIT, NOTHING, "missing-wait", 1),
    Fault(SOFTMAX, "no wait for the store before the barrier", "tl.max", WAIT, NOTHING, "shared-race"),
    Fault(SOFTMAX, "no barrier after the store", "tl.max", BARRIER, NOTHING, "shared-race"),
    Fault(SOFTMAX, "no barrier before the memory is used again", "tl.sum", BARRIER, NOTHING, "shared-race"),
    Fault(
        SOFTMAX, "row_bcast into no row", "tl.sum", "row_bcast:15 row_mask:0xa", "row_bcast:15 row_mask:0x0", "numbers"
    ),
    Fault(TRANSPOSE, "no barrier", "tl.store", BARRIER, NOTHING, "shared-race"),
    Fault(TRANSPOSE, "no wait before the barrier", "tl.store", r"s_waitcnt lgkmcnt.*", NOTHING, "shared-race"),
    Fault(TRANSPOSE, "no wait for the tile", "tl.store", r"s_waitcnt vmcnt.*", NOTHING, "missing-wait"),
    Fault(TRANSPOSE, "no wait before the store", "tl.store", r"s_waitcnt lgkmcnt.*", NOTHING, "missing-wait", 1),
    Fault(TRANSPOSE, "a store beyond LDS", "tl.store", r"(ds_write_b32 .*)", r"\1 offset:16384", "out-of-bounds"),
    Fault(
        TRANSPOSE,
        "a load beyond LDS",
        "tl.store",
        r"(ds_read2st64_b32 .*) offset1:16",
        r"\1 offset1:255",
        "out-of-bounds",
    ),
    Fault(
        TRANSPOSE,
        "two stores to one offset",
        "tl.store",
        r"ds_write_b32 v\d+, (v13)",
        r"ds_write_b32 v1, \1",
        "uninitialised",
    ),
    Fault(
        TRANSPOSE,
        "a load beyond the array",
        "tl.load",
        r"(global_load_dwordx4 .*)",
        r"\1 offset:4080",
        "out-of-bounds",
        3,
    ),
    Fault(
        TRANSPOSE,
        "a store elsewhere",
        "tl.store",
        r"(global_store_dwordx4 .*)",
        r"\1 offset:-4096",
        "thread-race",
        1,
    ),
    Fault(DOT, "no barrier between store and load", "tl.dot", BARRIER, NOTHING, "shared-race", 1),
    Fault(DOT, "no barrier between the operands", "tl.dot", BARRIER, NOTHING, "shared-race", 2),
    Fault(DOT, "no barrier between iterations", "tl.dot", BARRIER, NOTHING, "shared-race"),
    Fault(DOT, "no wait for the tiles", "tl.dot", r"s_waitcnt vmcnt.*", NOTHING, "missing-wait"),
    Fault(DOT, "a wait for too few", "tl.dot", r"lgkmcnt\(2\)", "lgkmcnt(3)", "missing-wait"),
    Fault(DOT, "a load beyond LDS", "tl.dot", r"offset0:6 offset1:7", "offset0:6 offset1:255", "out-of-bounds"),
    Fault(DOT, "a load without its mask", "a = tl.load", MASK, UNMASKED, "out-of-bounds"),
    Fault(DOT, "another load without its mask", "b = tl.load", MASK, UNMASKED, "out-of-bounds", 1),
    Fault(DOT, "a store without its mask", "tl.store", MASK, UNMASKED, "out-of-bounds", 3),
    Fault(SUMS, "a wait for too few", "tl.store(rows", r"vmcnt\(1\)", "vmcnt(2)", "missing-wait"),
    Fault(SUMS, "no wait for another lane's", "tl.store(rows", r"s_waitcnt lgkmcnt\(0\)", NOTHING, "missing-wait"),
    Fault(SUMS, "no barrier", "tl.store(columns", BARRIER, NOTHING, "shared-race"),
    Fault(SUMS, "half of the store", "tl.store(columns", r"(ds_write_b128 .*) offset:16", r"\1", "uninitialised"),
    Fault(NORM, "no wait for what other waves found", "rstd =", r"s_waitcnt lgkmcnt.*", NOTHING, "missing-wait", 1),
    Fault(NORM, "no barrier", "rstd =", BARRIER, NOTHING, "shared-race", 1),
    Fault(NORM, "row_shr of 5", "shift =", "row_shr:4", "row_shr:5", "numbers"),
    Fault(
        NORM,
        "row_bcast into one row of two",
        "mean =",
        "row_bcast:31 row_mask:0xc",
        "row_bcast:31 row_mask:0x4",
        "numbers",
    ),
    Fault(SORT, "lanes that keep their own", "tl.store(up", r"quad_perm:\[1,0,3,2\]", "quad_perm:[0,1,2,3]", "numbers"),
    Fault(SORT, "half of the distance", "tl.store(down", "row_ror:8", "row_ror:4", "numbers"),
    Fault(SCATTER, "no atomic", "tl.atomic_add", r"global_atomic_add", "global_store_dword", "thread-race|global-race"),
    Fault(SOFTMAX, "row_shr of 7", "tl.sum", "row_shr:8", "row_shr:7", "numbers"),
    Fault(SOFTMAX, "row_shl", "tl.sum", "row_shr:1 ", "row_shl:1 ", "numbers"),
    Fault(SOFTMAX, "the lane before the last", "tl.sum", r"(v_readlane.*), 63", r"\1, 62", "numbers"),
    Fault(LOCK, "no barrier after the lock is read", "tl.atomic_cas", BARRIER, NOTHING, "shared-race", 1),
    Fault(LOCK, "no barrier before", "tl.atomic_cas", BARRIER, NOTHING, "uninitialised"),
    Fault(SCATTER, "no wait for the index", "tl.atomic_add", r"s_waitcnt vmcnt\(1\)", NOTHING, "missing-wait"),
    Fault(SCATTER, "no wait for the number", "tl.atomic_add", r"s_waitcnt vmcnt\(0\)", NOTHING, "missing-wait"),
    Fault(
        SCATTER,
        "a load beyond the array, within the buffer",
        "index = tl.load",
        r"(buffer_load_dword .*)",
        r"\1 offset:4080",
        "out-of-bounds",
    ),
    Fault(SORT, "another pair of lanes", "tl.store(up", r"swizzle\(SWAP,16\)", "swizzle(SWAP,8)", "numbers"),
    Fault(SORT, "no wait for another lane's", "tl.store(up", r"s_waitcnt lgkmcnt\(1\)", NOTHING, "missing-wait"),
)


@cache
def compiled(kernel: str, arch: str) -> tuple[Case, str, int]:
    """The case, its text and its bytes of LDS."""
    case = corpus.find(kernel)
    return case, *assembly(case, arch, "minitriton")


def planted(fault: Fault, text: str) -> str:
    """The text with the fault."""
    (kernel,) = amdgcn.parse(text).kernels.values()
    found = [i for i in kernel.instructions if re.search(fault.old, i.text) and fault.line in shown(i.source)]
    if fault.which >= len(found):
        raise LookupError(f"{fault.id}: {len(found)} instructions match")
    changed, lines = found[fault.which].line - 1, text.split("\n")
    before = lines[changed]
    lines[changed] = re.sub(fault.old, fault.new, before)
    assert lines[changed] != before, fault.id
    return "\n".join(lines)


def shown(location: SourceLocation | None) -> str:
    """The kernel's line."""
    return (line_at(location.file, location.line) or "").strip() if location else ""


def launch(case: Case, text: str, shared: int) -> tuple[Report, bool]:
    """What was found, and whether the numbers are right."""
    arguments = case.inputs(np.random.default_rng(0))
    expected = case.expected(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
    given = [a for a in arguments if isinstance(a, np.ndarray | int | float | np.generic)]
    report = amdgcn.run(text, None, case.grid, given, shared, seconds=30)
    return report, all(worst(np.asarray(arguments[n]), np.asarray(e), case.tolerance) <= 1 for n, e in expected.items())


def results(case: Case, text: str, shared: int) -> dict[int, list[bytes]]:
    """What each instruction writes into vector registers, by its line, in the order of the run."""
    found: dict[int, list[bytes]] = {}
    module = amdgcn.parse(text)
    program = translated(text, next(iter(module.kernels)))
    acts = []
    for block in program.blocks:
        for step in block.steps:
            acts.append((step, step.act))
            step.act = _noting(step, found)
    try:
        launch(case, text, shared)
    finally:
        for step, act in acts:
            step.act = act
    return found


def _noting(step, found):
    act = step.act
    registers = [r for r in step.writes if r < 512]

    def noted(x):
        act(x)
        lanes = x.lanes
        values = x.v[registers] if lanes is None else np.where(lanes, x.v[registers], 0)
        found.setdefault(step.instruction.line, []).append(values.tobytes())

    return noted


def first_difference(case: Case, right: str, wrong: str, shared: int) -> int:
    """The line of the first instruction whose results differ."""
    one, other = (results(case, text, shared) for text in (right, wrong))
    return next(line for line in sorted(one) if one[line] != other.get(line))


def verdict(fault: Fault, arch: str) -> tuple[bool, str]:
    """Whether it is found where it should be, and what was found."""
    case, right, shared = compiled(fault.kernel, arch)
    wrong = planted(fault, right)
    report, agrees = launch(case, wrong, shared)
    if report.findings:
        finding = report.findings[0]
        kind, source, text = finding.kind, finding.source, str(finding)
    elif agrees:
        return False, "not found"
    else:
        line = first_difference(case, right, wrong, shared)
        (kernel,) = amdgcn.parse(wrong).kernels.values()
        instruction = next(i for i in kernel.instructions if i.line == line)
        kind, source, text = (
            "numbers",
            instruction.source,
            f"{instruction.source}: other numbers\n    amdgcn:{line}: {instruction.text}",
        )
    is_found = kind in fault.kind.split("|") and (fault.at or fault.line) in shown(source)
    return is_found, f"{text}\n        {shown(source)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", default="")
    parser.add_argument("--arch", default="gfx942")
    options = parser.parse_args()
    faults = [fault for fault in FAULTS if options.part in fault.id]
    kernels = sorted({fault.kernel for fault in faults})
    clean = 0
    for kernel in kernels:
        report, agrees = launch(*compiled(kernel, options.arch))
        clean += report.ok and agrees
        print(f"{'clean' if report.ok and agrees else 'WRONG'}  {kernel}", *report.findings[:1], flush=True)
    kinds: Counter[str] = Counter()
    for fault in faults:
        good, what = verdict(fault, options.arch)
        kinds[fault.kind] += good
        print(f"{'found' if good else 'MISSED'}  {fault.id}\n        {what}", flush=True)
    print(
        f"{clean} of {len(kernels)} right kernels clean, {kinds.total()} of {len(faults)} faults found at their line: {dict(kinds)}"
    )
    return 0 if (clean, kinds.total()) == (len(kernels), len(faults)) else 1


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    sys.exit(main())
