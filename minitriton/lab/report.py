"""What a check found: a row for every pass, and what is known of each pass that is broken.

pass                 ms   ops before  after  numbers            since the first run  verified  sound
triton-combine     0.21           31     27  bit-equal          bit-equal            yes       -
my-pass            0.05           27     27  wrong              wrong                yes       -
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from minitriton.errors import SourceLocation
from minitriton.host.tables import aligned, coloured, table
from minitriton.lab.comparison import Verdict


@dataclass(frozen=True)
class Culprit:
    """The op of a broken pass's output that is wrong, and its location in the kernel."""

    op: str
    what: str
    location: SourceLocation | None
    source_line: str | None = None

    def __str__(self) -> str:
        where = f"{self.location}: " if self.location else ""
        line = f"\n        {self.source_line.strip()}" if self.source_line else ""
        return f"{where}{self.op}: {self.what}{line}"


@dataclass
class PassRow:
    """One pass: seconds, ops before and after (None for text), its numbers against the run before it and the first run."""

    name: str
    seconds: float
    ops_before: int | None
    ops_after: int | None
    level: str
    against_before: Verdict
    against_first: Verdict
    changed: bool
    invalid: str | None = None
    """Why the IR does not verify."""
    findings: tuple[str, ...] | None = None
    """What is wrong with barriers, waits and races; None where nothing looked."""
    error: str | None = None
    """The fault that stopped the run, the pass's own failure, or why it could not be run."""
    refusal: str | None = None
    """Why the pass does not take the kernel: what the target or the lowering lacks, at the kernel's line."""
    new_findings: tuple[str, ...] = ()
    rounding: str | None = None
    """The op that rounds more than the kernel as written, whatever its numbers on an interpreter that does not round."""
    of_a_race: bool = False
    """Whether the kernel itself races, so that numbers of this level mean nothing."""
    culprit: Culprit | None = None
    reproducer: Path | None = None

    @property
    def ok(self) -> bool:
        """Whether this pass took the kernel, kept the numbers and their precision, left valid IR, and added no fault."""
        refused = self.invalid or self.refusal or self.rounding
        return not self.wrong and refused is None and not self.new_findings

    @property
    def wrong(self) -> bool:
        """Whether this pass changed the numbers for the worse: one that comes back to those of the first run did not."""
        if self.of_a_race:
            return False
        return self.against_before is Verdict.WRONG and self.against_first not in (Verdict.BIT_EQUAL, Verdict.CLOSE)


@dataclass
class CheckReport:
    """All rows of a check, in the order the passes ran."""

    kernel: str
    rows: list[PassRow] = field(default_factory=list[PassRow])
    races: tuple[str, ...] | None = None
    """Races of the kernel itself; None where no run looked for them."""
    races_between_threads: bool = False
    """Whether some are within a program; those between programs may be meant."""
    races_are_errors: bool = False
    """Whether those between programs fail the check, whatever the numbers."""
    made_up: str = ""
    """What of the inputs nobody gave, in words."""
    poison: tuple[str, ...] = ()
    """What in the kernel itself depends on lanes that a mask turns off, or on arrays that nothing has written."""

    @property
    def nothing_ran(self) -> bool:
        """Whether no step could be run: then nothing is known of any."""
        return bool(self.rows) and all(row.against_before is Verdict.NOT_RUN for row in self.rows)

    @property
    def ok(self) -> bool:
        """Whether something ran, no pass is broken, the threads of a program do not race, and it uses only what has a value."""
        if self.nothing_ran:
            return False
        races = self.races_between_threads or self.numbers_of_a_race or (self.races_are_errors and self.races)
        return all(row.ok for row in self.rows) and not races and not self.poison

    @property
    def numbers_of_a_race(self) -> bool:
        """Whether a race of the kernel has changed its numbers."""
        return any(row.of_a_race and row.against_before is Verdict.WRONG for row in self.rows)

    @property
    def broken(self) -> list[PassRow]:
        """The passes that refused the kernel, changed the numbers, left invalid IR or added a fault."""
        return [row for row in self.rows if not row.ok]

    def _repr_html_(self) -> str:
        """In a notebook: the table, broken passes marked."""
        rows = [
            [
                escape(row.name),
                f"{1e3 * row.seconds:.2f}",
                escape(row.against_before.value if row.changed else "unchanged"),
            ]
            for row in self.rows
        ]
        return (
            f"<b>{escape(self.kernel)}</b>"
            + table(["pass", "ms", "numbers"], rows, ["" if row.ok else "#fde0de" for row in self.rows])
            + coloured(self.text().partition("\n\n")[2])
        )

    def text(self) -> str:
        """The table, and below it what is known of each broken pass."""
        heads = ("pass", "ms", "before", "after", "ran on", "numbers", "since first", "verified", "sound")
        lines = aligned([heads, *map(_cells, self.rows)], right=(1, 2, 3))
        for row in self.broken:
            lines += ["", *_details(row)]
        if self.races:
            lines += [
                "",
                self._of_races(),
                *(f"  {r}" for r in one_of_each(self.races)),
            ]
        lines += ["", *self.poison] if self.poison else []
        others = self._other_findings()
        lines += ["", *(f"not sound: {finding}" for finding in others)] if others else []
        gaps = [row.error for row in self.rows if row.against_before is Verdict.NOT_RUN and row.error]
        lines += ["", *(f"not executable: {gap}" for gap in dict.fromkeys(gaps))] if gaps else []
        lines += ["", f"{self.kernel}: {self._summary()}"]
        return "\n".join(lines)

    def _of_races(self) -> str:
        between = "no barrier or atomic of the program is between these accesses"
        if not self.made_up:
            return f"your kernel races here: {between}"
        return f"a race, of inputs that were made up ({self.made_up}), so it may be they that are wrong: {between}"

    def _other_findings(self) -> list[str]:
        """What made rows unsound and is not said elsewhere, each once; lines of PTX differ between rows."""
        named = {_first_line(f) for row in self.broken for f in row.new_findings} | {
            _first_line(f) for f in self.races or ()
        }
        found: dict[str, str] = {}
        for row in self.rows:
            for finding in row.findings or ():
                found.setdefault(_first_line(finding), finding)
        return [finding for line, finding in found.items() if line not in named]

    def _summary(self) -> str:
        not_run = sum(row.against_before is Verdict.NOT_RUN and row.refusal is None for row in self.rows)
        left_out = f"; {not_run} could not be run" if not_run else ""
        if self.ok:
            races = "; its programs race" if self.races else ""
            return f"{len(self.rows)} steps, none wrong{races}{left_out}"
        if self.nothing_ran and not self.broken:
            return f"nothing was checked: none of {len(self.rows)} steps could be run"
        if not self.broken and self.poison:
            return f"{len(self.rows)} steps, no pass wrong; the kernel uses what has no value{left_out}"
        if not self.broken:
            return f"{len(self.rows)} steps, no pass wrong; the kernel races{' on made-up inputs' if self.made_up else ''}{left_out}"
        if all(row.refusal for row in self.broken):
            return f"refused by {', '.join(row.name for row in self.broken)}{left_out}"
        return f"broken: {', '.join(row.name for row in self.broken)}{left_out}"


_KIND = re.compile(r"^(?:.*:\d+:\d+: )?[\w-]+(?=: )")


def one_of_each(findings: Sequence[str]) -> list[str]:
    """The first of each kind at each location, with how many more there are."""
    alike: dict[str, list[str]] = {}
    for finding in dict.fromkeys(findings):
        kind = _KIND.match(finding)
        alike.setdefault(kind[0] if kind else finding, []).append(finding)
    more = {first: f" and {len(rest)} more of this kind" if rest else "" for first, *rest in alike.values()}
    return [re.sub(r"(?=\n|$)", more[first], first, count=1) for first in more]


def _first_line(finding: str) -> str:
    return finding.partition("\n")[0]


def _cells(row: PassRow) -> tuple[str, ...]:
    count = ["-" if n is None else str(n) for n in (row.ops_before, row.ops_after)]
    sound = "-" if row.findings is None else "no" if row.findings else "yes"
    numbers = row.against_before.value if row.changed else "unchanged"
    verified = "-" if row.ops_after is None else "no" if row.invalid else "yes"
    return (
        row.name, f"{row.seconds * 1e3:.2f}", *count, row.level, numbers, row.against_first.value, verified, sound,
    )  # fmt: skip


def _details(row: PassRow) -> list[str]:
    lines = [f"pass {row.name!r} {'refuses the kernel' if row.refusal else 'is broken'}"]
    if row.refusal:
        lines += [f"  {line}" for line in row.refusal.splitlines()]
    if row.error:
        lines.append(f"  {row.error}")
    if row.rounding:
        lines.append(f"  {row.rounding}")
    if row.invalid:
        lines.append(f"  it left invalid IR: {row.invalid}")
    lines += [f"  new: {finding}" for finding in row.new_findings]
    if row.culprit:
        lines.append(f"  first wrong op: {row.culprit}")
    if row.reproducer:
        lines.append(f"  reproducer: {row.reproducer}")
    return lines
