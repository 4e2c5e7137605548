"""What a pass says of a kernel: what a heuristic chose and among which candidates (`note`), and an optimization that was not made, and why (`remark`).

    with noting_choices() as made:
        compile(...)
    print(made[0].text())       elements a thread of tt.load: 4, by tritongpu-coalesce{width=4}; then 4, 2 and 1 with their costs and reasons

    MLIR_ENABLE_REMARK=1        softmax.py:12:8: remark: not started ahead of its iteration: the loop stores through %p too

A pass takes the best candidate or the one that its option names, and notes what else there was. `minitriton explain` and the laboratory's space of configurations
read this, and `MLIR_ENABLE_DIAGNOSTICS=remarks,choices` prints both; with `operations` a note after each remark shows the op, with `stacktraces` where in the
compiler it was made. A kernel that is in the cache is compiled again, to have its remarks printed. Where nobody listens nothing is noted.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from dataclasses import replace

from xdsl.ir import Operation

from minitriton import knobs
from minitriton.errors import SourceLocation
from minitriton.host.frozen import frozen


@frozen
class Candidate:
    """One way. `cost` is in the unit that the choice names, less is better."""

    value: str
    cost: float
    reason: str


@frozen
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
    from minitriton.dialects.locations import source_location

    choice = make()
    if choice is not None and made is not None:
        made.append(replace(choice, location=source_location(op.location)))
    if choice is not None and is_shown:
        remark(op, choice.text())


def remark(op: Operation, text: str, see: Operation | None = None) -> None:
    """Prints a remark about `op` on standard error, if they are asked for; `see` is the other op it is about."""
    if not knobs.compilation.remarks_are_wanted:
        return
    from minitriton.dialects.locations import source_location
    from minitriton.dialects.text import print_module

    location = source_location(op.location)
    other = source_location(see.location) if see is not None else None
    begin = f"{location}: " if location else ""
    print(f"{begin}remark: {text}", *([f"(at {other})"] if other else []), file=sys.stderr)
    wanted = knobs.compilation.diagnostics.split(",")
    if "operations" in wanted:
        print(f"{begin}note: see current operation: {print_module(op).strip()}", file=sys.stderr)
    if "stacktraces" in wanted:
        import traceback

        print(f"{begin}note: diagnostic emitted with trace:", *traceback.format_stack()[:-1], sep="\n", file=sys.stderr)
