"""What a run costs, line by line: the emulator's counts on the kernel's source and on its PTX.

In: a `Report` of the emulator. Out: `LineCounts` for each source line, and for each line of the PTX's text.

    softmax.py:12    32 requests, 4.0 sectors each, 0 of 4096 bytes wasted
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from minitriton.emulator.memory.access_cost import SECTOR
from minitriton.emulator.ptx.program import Instruction
from minitriton.emulator.report import Report
from minitriton.explorer.wire import CountsJson

Number = Literal[
    "instructions", "requests", "sectors", "bytes", "wasted", "shared_requests", "wavefronts", "conflicts", "barriers"
]
NUMBERS: Final[tuple[Number, ...]] = (
    "instructions", "requests", "sectors", "bytes", "wasted", "shared_requests", "wavefronts", "conflicts", "barriers",
)  # fmt: skip


@dataclass
class LineCounts:
    """Sums over the instructions of a line. `instructions` are warp-level; `mix` has them by kind; `wasted` are bytes of sectors
    that were moved and not asked for; `wavefronts` are passes over shared memory's banks, `conflicts` those that conflicts cost."""

    instructions: int = 0
    requests: int = 0
    sectors: int = 0
    bytes: int = 0
    wasted: int = 0
    shared_requests: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    barriers: int = 0
    mix: Counter[str] = field(default_factory=Counter[str])
    findings: list[str] = field(default_factory=list[str])

    @property
    def sectors_per_request(self) -> float:
        """32-byte sectors that each request of a warp to global memory moves; 0 without any."""
        return self.sectors / self.requests if self.requests else 0.0

    def plain(self) -> CountsJson:
        """As JSON can hold it, without zeros."""
        shown = CountsJson()
        for name in NUMBERS:
            if (value := getattr(self, name)) != 0:
                shown[name] = value
        if self.mix:
            shown["mix"] = dict(self.mix.most_common())
        if self.findings:
            shown["findings"] = self.findings
        if self.requests:
            shown["sectors_per_request"] = round(self.sectors_per_request, 2)
        return shown


FileLine = tuple[str, int]


def counts_by_line(
    report: Report, locations: dict[int, FileLine]
) -> tuple[dict[FileLine, LineCounts], dict[int, LineCounts]]:
    """The counts by file and line of the source, and by line of the PTX text (from 1), `locations` having the user's locations."""
    sources: dict[FileLine, LineCounts] = {}
    ptx: dict[int, LineCounts] = {}
    findings: dict[int, list[str]] = {}
    for finding in report.findings:
        findings.setdefault(finding.line, []).append(f"{finding.kind}: {finding.message}")
    for instruction in report.kernel.instructions:
        location = locations.get(instruction.line)
        into = [ptx.setdefault(instruction.line, LineCounts())]
        if location is not None:
            into.append(sources.setdefault(location, LineCounts()))
        for counts in into:
            _add(counts, instruction, report)
            counts.findings += findings.get(instruction.line, [])
    for line in findings.keys() - ptx.keys():
        ptx[line] = LineCounts(findings=findings[line])
    return sources, ptx


def _add(counts: LineCounts, instruction: Instruction, report: Report) -> None:
    warps = int(report.warps[instruction.index]) if instruction.index < len(report.warps) else 0
    if not warps:
        return
    counts.instructions += warps
    counts.mix[kind_of(instruction.opcode)] += warps
    counts.barriers += warps if instruction.opcode.startswith(("bar.", "barrier.")) else 0
    traffic = report.traffic.get(instruction.index)
    if traffic is None:
        return
    if traffic.space == "global":
        counts.requests += traffic.requests
        counts.sectors += traffic.sectors
        counts.bytes += traffic.bytes
        counts.wasted += max(0, traffic.sectors * SECTOR - traffic.bytes)
    if traffic.wavefronts:
        counts.shared_requests += traffic.requests
        counts.wavefronts += traffic.wavefronts
        counts.conflicts += traffic.conflicts


_KINDS = (
    ("ld.global", "load"), ("st.global", "store"), ("ld.shared", "shared load"), ("st.shared", "shared store"), ("ldmatrix", "shared load"),
    ("stmatrix", "shared store"), ("cp.async", "async copy"), ("wgmma", "tensor core"), ("mma", "tensor core"), ("bar", "barrier"),
    ("mbarrier", "barrier"), ("shfl", "shuffle"), ("atom", "atomic"), ("red", "atomic"), ("bra", "control"), ("ret", "control"),
    ("setp", "predicate"), ("selp", "predicate"), ("cvt", "conversion"), ("ex2", "special function"), ("rsqrt", "special function"),
    ("rcp", "special function"), ("sqrt", "special function"), ("lg2", "special function"), ("sin", "special function"),
    ("cos", "special function"), ("tanh", "special function"), ("div", "division"), ("rem", "division"), ("mov", "move"),
    ("ld.param", "parameter"),
)  # fmt: skip


def kind_of(opcode: str) -> str:
    """What an instruction is, for the mix: "load", "tensor core", "float arithmetic", ..."""
    for start, kind in _KINDS:
        if (
            opcode == start
            or opcode.startswith((start + ".", start + "_"))
            or (start == "mma" and opcode.startswith("mma"))
        ):
            return kind
    last = opcode.rsplit(".", 1)[-1]
    return "float arithmetic" if last.startswith(("f", "bf")) else "integer arithmetic"


def total_of(counts: Mapping[int, LineCounts]) -> LineCounts:
    """The sum of all lines."""
    total = LineCounts()
    for one in counts.values():
        for name, value in vars(one).items():
            if name == "mix":
                total.mix.update(value)
            elif name == "findings":
                total.findings += value
            else:
                setattr(total, name, getattr(total, name) + value)
    return total
