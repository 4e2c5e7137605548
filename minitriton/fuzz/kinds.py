"""The kinds of kernels that `minitriton fuzz` makes, and what it does with each.

tiles           expressions over tiles, checked by an analysis and compared with Triton
control-flow    loops, branches, memory order and short dots, compared with plain Python
gluon           a tile through layouts, shared memory and asynchronous copies, compared with NumPy and Triton
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from minitriton.fuzz import gluon, reproducer
from minitriton.fuzz.control_flow import comparison as control_flow
from minitriton.fuzz.control_flow.generator import generate as generate_control_flow
from minitriton.fuzz.generation.generator import generate, kernel_seed
from minitriton.fuzz.running.agreement import FuzzFinding, run_case
from minitriton.fuzz.running.campaign import Work, guarded
from minitriton.fuzz.running.oracles import ORACLES

Oracles = Sequence[str]
P = TypeVar("P")


@dataclass(frozen=True)
class FuzzKind(Generic[P]):
    """`work` runs one kernel of a campaign; the rest is about one program: made of a seed, its findings, made smaller, as a file of its own,
    compared and printed."""

    oracles: tuple[str, ...]
    default: tuple[str, ...]
    work: Work
    generate: Callable[[int], P]
    findings: Callable[[P, Oracles], list[FuzzFinding]]
    shrink: Callable[[P, Callable[[P], bool], float], P]
    write: Callable[[Path, P, FuzzFinding, int, int, Oracles], Path]
    compare_again: Callable[[P, Oracles], int]

    def compare(self, seed: int, number: int, oracles: Oracles) -> int:
        """Runs one kernel by itself and prints it; 0 if all agree."""
        return self.compare_again(self.generate(kernel_seed(seed, number)), oracles)

    def reproduce(
        self, folder: Path, finding: FuzzFinding, seed: int, number: int, oracles: Oracles, seconds: float
    ) -> Path:
        """Shrinks a finding within some seconds and writes its file into a folder."""

        def same(program: P) -> list[FuzzFinding]:
            found = self.findings(program, oracles)
            return [f for f in found if (f.kind, f.signature) == (finding.kind, finding.signature)]

        small = self.shrink(self.generate(kernel_seed(seed, number)), lambda program: bool(same(program)), seconds)
        return self.write(folder, small, (same(small) or [finding])[0], seed, number, oracles)


KINDS: dict[str, FuzzKind[Any]] = {
    "tiles": FuzzKind(
        ORACLES, ("interpreter", "ttir", "ttgir", "emulator", "triton"), guarded, generate,
        lambda kernel, oracles: run_case(kernel, oracles).verdict.findings,
        reproducer.shrink, reproducer.write_reproducer, reproducer.compare_again,
    ),
    "control-flow": FuzzKind(
        control_flow.CONTROL_FLOW_ORACLES, ("python", "interpreter", "ttir", "emulator", "emulator-sm80"),
        control_flow.fuzz_control_flow, lambda seed: generate_control_flow(seed)[0],
        lambda program, oracles: control_flow.run_program(program, oracles)[0].findings,
        control_flow.shrink, control_flow.write_reproducer, control_flow.compare_again,
    ),
    "gluon": FuzzKind(
        gluon.GLUON_ORACLES, ("numpy", "interpreter", "emulator", "emulator-sm80", "triton"),
        gluon.fuzz_gluon, gluon.generate,
        lambda program, oracles: gluon.run_program(program, oracles)[0].findings,
        gluon.shrink, gluon.write_reproducer, gluon.compare_again,
    ),
}  # fmt: skip
