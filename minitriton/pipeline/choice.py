"""What a heuristic chose, among which candidates, at what cost and why, as data.

    with noting_choices() as made:
        compile(...)
    print(made[0].text())       elements a thread of tt.load: 4, by tritongpu-coalesce{width=4}; then 4, 2 and 1 with their costs and reasons

A pass takes the best candidate or the one that its option names, and notes what else there was. `minitriton explain` and the
laboratory's space of configurations read this, and `MLIR_ENABLE_DIAGNOSTICS=remarks,choices` prints them. Where nobody listens nothing is noted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from minitriton import knobs
from minitriton.errors import SourceLocation
from minitriton.pipeline.remarks import remark


@dataclass(frozen=True)
class Candidate:
    """One way. `cost` is in the unit that the choice names, less is better."""

    value: str
    cost: float
    reason: str


@dataclass(frozen=True)
class Choice:
    """What was chosen for the op at `location`. `option`: the step that takes another candidate, its value in place of `@`."""

    subject: str
    unit: str
    option: str
    candidates: tuple[Candidate, ...]
    taken: str
    location: SourceLocation | None = None

    @classmethod
    def of(cls, subject: str, unit: str, option: str, candidates: Iterable[Candidate], taken: str) -> Choice:
        """With the candidates sorted by cost, each value once."""
        by_value = {each.value: each for each in candidates}
        return cls(subject, unit, option, tuple(sorted(by_value.values(), key=lambda each: each.cost)), taken)

    def text(self) -> str:
        """A line with what was chosen, then one for each candidate, the one taken marked."""
        lines = [f"{self.subject}: {self.taken}, by {self.option.replace('@', self.taken)}"]
        for each in self.candidates:
            mark = "->" if each.value == self.taken else "  "
            lines.append(f"  {mark} {each.value:>10}  {each.cost:g} {self.unit}  {each.reason}")
        return "\n".join(lines)


_noted: ContextVar[list[Choice] | None] = ContextVar("_noted", default=None)


@contextlib.contextmanager
def noting_choices() -> Generator[list[Choice]]:
    """The choices of what is compiled in the block, as they are made."""
    made: list[Choice] = []
    token = _noted.set(made)
    try:
        yield made
    finally:
        _noted.reset(token)


def note(op: Operation, make: Callable[[], Choice | None]) -> None:
    """Notes what `make` gives for `op`, if somebody listens or remarks are to show choices."""
    made, is_shown = _noted.get(), "choices" in knobs.compilation.diagnostics.split(",")
    if made is None and not is_shown:
        return
    from minitriton.dialects.verification.verifier import source_location

    choice = make()
    if choice is not None and made is not None:
        made.append(replace(choice, location=source_location(op.location)))
    if choice is not None and is_shown:
        remark(op, choice.text())
