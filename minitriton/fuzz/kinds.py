"""The kinds of kernels that `minitriton fuzz` makes, and what it does with each.

tiles           expressions over tiles, checked by an analysis and compared with Triton
control-flow    loops, branches, memory order and short dots, compared with plain Python
gluon           a tile through layouts, shared memory and asynchronous copies, compared with NumPy and Triton
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from minitriton.fuzz import gluon, reproducer
from minitriton.fuzz.control_flow import comparison as control_flow
from minitriton.fuzz.control_flow.comparison import compare_again as compare_control_flow
from minitriton.fuzz.control_flow.comparison import shrink as shrink_control_flow
from minitriton.fuzz.control_flow.comparison import write_reproducer as write_control_flow
from minitriton.fuzz.control_flow.generator import generate as generate_control_flow
from minitriton.fuzz.control_flow.program import Program
from minitriton.fuzz.generation.generator import generate, kernel_seed
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.campaign import Work, guarded
from minitriton.fuzz.running.case import run_case
from minitriton.fuzz.running.oracles import ORACLES
from minitriton.fuzz.tree import Kernel

Oracles = Sequence[str]


@dataclass(frozen=True)
class FuzzKind:
    """`work` runs one kernel of a campaign; `compare` runs one by itself and prints it, 0 if all agree; `reproduce` shrinks a finding
    within some seconds and writes its file into a folder."""

    oracles: tuple[str, ...]
    default: tuple[str, ...]
    work: Work
    compare: Callable[[int, int, Oracles], int]
    reproduce: Callable[[Path, FuzzFinding, int, int, Oracles, float], Path]


def _compare_tiles(seed: int, number: int, oracles: Oracles) -> int:
    kernel = generate(kernel_seed(seed, number))
    print(f"grid {kernel.grid}, {kernel.num_warps} warps, fusion {'on' if kernel.fp_fusion else 'off'}")
    return reproducer.compare_again(kernel, oracles)


def _reproduce_tiles(
    folder: Path, finding: FuzzFinding, seed: int, number: int, oracles: Oracles, seconds: float
) -> Path:
    def same(kernel: Kernel) -> list[FuzzFinding]:
        return _alike(run_case(kernel, oracles).verdict.findings, finding)

    small = reproducer.shrink(generate(kernel_seed(seed, number)), lambda kernel: bool(same(kernel)), seconds)
    return reproducer.write_reproducer(folder, small, (same(small) or [finding])[0], seed, number, oracles)


def _compare_control_flow(seed: int, number: int, oracles: Oracles) -> int:
    program, _ = generate_control_flow(kernel_seed(seed, number))
    print(f"{program.programs} programs, {program.num_warps} warps")
    return compare_control_flow(program, oracles)


def _reproduce_control_flow(
    folder: Path, finding: FuzzFinding, seed: int, number: int, oracles: Oracles, seconds: float
) -> Path:
    def same(program: Program) -> list[FuzzFinding]:
        return _alike(control_flow.run_program(program, oracles)[0].findings, finding)

    program, _ = generate_control_flow(kernel_seed(seed, number))
    small = shrink_control_flow(program, lambda candidate: bool(same(candidate)), seconds)
    return write_control_flow(folder, small, (same(small) or [finding])[0], seed, number, oracles)


def _reproduce_gluon(
    folder: Path, finding: FuzzFinding, seed: int, number: int, oracles: Oracles, seconds: float
) -> Path:
    def same(program: gluon.GluonProgram) -> list[FuzzFinding]:
        return _alike(gluon.run_program(program, oracles)[0].findings, finding)

    small = gluon.shrink(gluon.generate(kernel_seed(seed, number)), lambda program: bool(same(program)), seconds)
    return gluon.write_reproducer(folder, small, (same(small) or [finding])[0], seed, number, oracles)


def _alike(findings: Sequence[FuzzFinding], finding: FuzzFinding) -> list[FuzzFinding]:
    return [f for f in findings if (f.kind, f.signature) == (finding.kind, finding.signature)]


KINDS = {
    "tiles": FuzzKind(
        ORACLES, ("interpreter", "ttir", "ttgir", "emulator", "triton"), guarded, _compare_tiles, _reproduce_tiles
    ),
    "control-flow": FuzzKind(
        control_flow.CONTROL_FLOW_ORACLES,
        ("python", "interpreter", "ttir", "emulator", "emulator-sm80"),
        control_flow.fuzz_control_flow,
        _compare_control_flow,
        _reproduce_control_flow,
    ),
    "gluon": FuzzKind(
        gluon.GLUON_ORACLES,
        ("numpy", "interpreter", "emulator", "emulator-sm80", "triton"),
        gluon.fuzz_gluon,
        lambda seed, number, oracles: gluon.compare_again(gluon.generate(kernel_seed(seed, number)), oracles),
        _reproduce_gluon,
    ),
}
