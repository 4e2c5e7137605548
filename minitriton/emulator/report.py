"""What a run found and counted, per instruction and source line.

report.findings        [Finding("race", ..., line=42, source=softmax.py:13, count=96)]
report.to_json()       the same, with counts, as a dict of plain values
report.listing()       the kernel's PTX with counts next to each instruction and findings below it
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Protocol

import numpy as np

from minitriton.emulator.memory.access_cost import Reach
from minitriton.emulator.warp_trace import WarpTrace
from minitriton.errors import SourceLocation
from minitriton.host.source_text import text_at
from minitriton.host.tables import folded, table

KINDS = (
    "out-of-bounds", "misaligned", "uninitialised", "shared-race", "thread-race", "global-race", "barrier", "deadlock", "async-read",
    "async-write", "wgmma-fence", "proxy-fence", "inactive-lane", "trap", "assert", "read-only",
    "cta-lifetime", "endless", "poison",
)  # fmt: skip


class Reported(Protocol):
    """An instruction of any instruction set: its `parts` are its name and what qualifies it, in the words of PTX."""

    @property
    def opcode(self) -> str: ...
    @property
    def ptx_opcode(self) -> str:
        """What PTX calls such an instruction: what it is counted as."""
        ...

    @property
    def parts(self) -> list[str]: ...
    @property
    def line(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def source(self) -> SourceLocation | None: ...
    @property
    def index(self) -> int: ...


class ReportedKernel(Protocol):
    """A kernel of any instruction set."""

    @property
    def name(self) -> str: ...
    @property
    def threads(self) -> tuple[int, int, int]: ...

    @property
    def warp_size(self) -> int: ...

    @property
    def instructions(self) -> Sequence[Reported]: ...


@dataclass
class Finding:
    """One kind of fault at one instruction; `count` threads (or accesses) showed it, the first one is described."""

    kind: str
    message: str
    line: int
    text: str
    source: SourceLocation | None
    count: int = 1
    language: str = "ptx"
    """Of `text`."""

    def __str__(self) -> str:
        where = f"{self.source}: " if self.source else ""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{where}{self.kind}: {self.message}{times}\n    {self.language}:{self.line}: {self.text}"


@dataclass
class Traffic:
    """Accesses of one memory instruction: warp-level `requests`, `bytes` asked for, 32-byte `sectors` and 128-byte `lines` touched in
    global memory, `wavefronts` (passes over the banks) in shared memory and how many of them conflicts cost. `space` is that of the address
    first accessed: a `cp.async` has sectors in global memory and passes over the banks that it writes."""

    space: str
    requests: int = 0
    threads: int = 0
    bytes: int = 0
    sectors: int = 0
    lines: int = 0
    wavefronts: int = 0
    conflicts: int = 0


@dataclass
class Report:
    """All of one run."""

    kernel: ReportedKernel
    grid: tuple[int, int, int]
    findings: list[Finding] = field(default_factory=list[Finding])
    traffic: dict[int, Traffic] = field(default_factory=dict[int, Traffic])
    """By index of the instruction."""
    warps: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Warps that issued each instruction."""
    threads: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    """Threads that executed each instruction (its guard not counted)."""
    output: list[str] = field(default_factory=list[str])
    """What the kernel printed."""
    reach: Reach | None = None
    """What of global memory each CTA read and wrote, where that was asked for."""
    trace: WarpTrace | None = None
    """What the warps of the first CTA executed, where that was asked for."""
    share: float = 1.0
    """Of the CTAs of the grid, how many ran: counts are of these."""
    language: str = "ptx"
    """Of the kernel's text."""
    _by_key: dict[tuple[str, int], Finding] = field(default_factory=dict[tuple[str, int], Finding], repr=False)

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    def add(self, kind: str, instruction: Reported, message: str, count: int = 1) -> None:
        """Records a finding, or one more of the same kind at the same instruction."""
        key = (kind, instruction.index)
        if (found := self._by_key.get(key)) is not None:
            found.count += count
            return
        found = Finding(kind, message, instruction.line, instruction.text, instruction.source, count, self.language)
        self._by_key[key] = found
        self.findings.append(found)

    def mix(self, *, in_ptx: bool = False) -> dict[str, int]:
        """Warp-level dynamic count by opcode, most frequent first; `in_ptx`: by what PTX calls it."""
        counts: dict[str, int] = {}
        for instruction, count in zip(self.kernel.instructions, self.warps, strict=False):
            if count:
                opcode = instruction.ptx_opcode if in_ptx else instruction.opcode
                counts[opcode] = counts.get(opcode, 0) + int(count)
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def total(self, space: str) -> Traffic:
        """The traffic of a state space (`global`, `shared`) over all instructions."""
        total = Traffic(space)
        for one in self.traffic.values():
            if one.space == space:
                for name in ("requests", "threads", "bytes", "sectors", "lines", "wavefronts", "conflicts"):
                    setattr(total, name, getattr(total, name) + getattr(one, name))
        return total

    def by_source_line(self) -> dict[str, dict[str, int]]:
        """Counts summed by the kernel's source line: warp-level instructions, bytes, sectors, conflicts."""
        lines: dict[str, dict[str, int]] = {}
        for instruction in self.kernel.instructions:
            where = instruction.source
            key = f"{where.file}:{where.line}" if where else "?"
            entry = lines.setdefault(key, {"instructions": 0, "bytes": 0, "sectors": 0, "conflicts": 0})
            if instruction.index < len(self.warps):
                entry["instructions"] += int(self.warps[instruction.index])
            if (traffic := self.traffic.get(instruction.index)) is not None:
                entry["bytes"] += traffic.bytes
                entry["sectors"] += traffic.sectors
                entry["conflicts"] += traffic.conflicts
        return lines

    def _repr_html_(self) -> str:
        """In a notebook: what was found, totals, and the PTX with counts to be opened."""
        total = self.total("global")
        rows = [["requests", str(total.requests)], ["sectors", str(total.sectors)], ["bytes", str(total.bytes)]]
        rows += [[escape(opcode), str(count)] for opcode, count in list(self.mix().items())[:12]]
        found = "".join(f"<pre>{escape(str(finding))}</pre>" for finding in self.findings)
        title = f"<b>{escape(self.kernel.name)}</b>, grid {'x'.join(map(str, self.grid))}"
        return (
            title + found + table(["", "count"], rows) + folded(f"{self.language.upper()} with counts", self.listing())
        )

    def to_json(self) -> dict[str, object]:
        """Plain dicts, lists, strings and numbers."""
        return {
            "kernel": self.kernel.name,
            "grid": list(self.grid),
            "findings": [
                {
                    "kind": f.kind, "message": f.message, "count": f.count, f"{self.language}_line": f.line, self.language: f.text,
                    "source": str(f.source) if f.source else None,
                }
                for f in self.findings
            ],
            "mix": self.mix(),
            "totals": {space: _plain(self.total(space)) for space in ("global", "shared")},
            "instructions": [
                {
                    "line": i.line, "text": i.text, "source": str(i.source) if i.source else None,
                    "warps": int(self.warps[i.index]), "threads": int(self.threads[i.index]),
                    **({"traffic": _plain(self.traffic[i.index])} if i.index in self.traffic else {}),
                }
                for i in self.kernel.instructions
                if i.index < len(self.warps)
            ],
            "source_lines": self.by_source_line(),
            "output": self.output,
        }  # fmt: skip

    def listing(self) -> str:
        """The kernel line by line: warps, sectors a request, bank conflicts, and findings; source lines between."""
        rows = [f"{'warps':>8} {'sect/req':>8} {'conflicts':>9}  {self.kernel.name}"]
        by_line: dict[int, list[Finding]] = {}
        for finding in self.findings:
            by_line.setdefault(finding.line, []).append(finding)
        texts: dict[str, list[str]] = {}
        where = ""
        for i in self.kernel.instructions:
            if i.source and f"{i.source.file}:{i.source.line}" != where:
                where = f"{i.source.file}:{i.source.line}"
                rows.append(f"{'':28}-- {Path(i.source.file).name}:{i.source.line}{_source_text(i.source, texts)}")
            warps = int(self.warps[i.index]) if i.index < len(self.warps) else 0
            traffic = self.traffic.get(i.index)
            sectors = f"{traffic.sectors / traffic.requests:.1f}" if traffic and traffic.sectors else ""
            conflicts = str(traffic.conflicts) if traffic and traffic.conflicts else ""
            rows.append(f"{warps or '':>8} {sectors:>8} {conflicts:>9}  {i.text};")
            rows += [f"{'':28}^^ {f.kind}: {f.message} (x{f.count})" for f in by_line.get(i.line, ())]
        return "\n".join(rows) + "\n"


def _plain(traffic: Traffic) -> dict[str, object]:
    return dict(vars(traffic).items())


def _source_text(where: SourceLocation, texts: dict[str, list[str]]) -> str:
    if where.file not in texts:
        texts[where.file] = (text_at(where.file) or "").split("\n")
    lines = texts[where.file]
    return "    " + lines[where.line - 1].strip() if 0 < where.line <= len(lines) else ""
