"""Ablation of passes: the metrics of a kernel without each of them, next to those with it.

ablation = leave_one_out(["log_sum_exp", "running_sums"])
print(ablation.text("instructions"))

                           log_sum_exp  running_sums
tritongpu-coalesce              +12.5%             =        twelve percent more instructions without it
triton-combine                       =             =
inline                         refused       refused        the pass is needed

And which passes commute: `print(commutation(["running_sums", "tiled_dot"]).text())`. For each two passes of a level that the default pipeline has, run from
the state in which the first of them stands in it:

    =      the same program in either order                       A B = B A
    >      the one above changes something only after the other   enables
    <      it changes something only before the other              destroyed by it
    x      both pass orders change something, and differ
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from minitriton.errors import MinitritonError
from minitriton.host.tables import ShownAsText, aligned
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.references import Inputs, references_of
from minitriton.lab.sweeping.space import is_fixed, segments
from minitriton.lab.sweeping.states import State, States, StepFailure
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step

SAME, ENABLED, DESTROYED, DIFFER, FAILS = "=", ">", "<", "x", "!"


@dataclass
class Commutation(ShownAsText):
    """How often, over kernels and states, two passes (`row` run after or before `column`) were in each relation."""

    counts: dict[tuple[str, str], Counter[str]] = field(default_factory=dict[tuple[str, str], Counter[str]])

    def passes(self) -> list[str]:
        """The passes, in the order in which they were met."""
        return list(dict.fromkeys(name for pair in self.counts for name in pair))

    def relation(self, row: str, column: str) -> str:
        """The relation that was seen, other than that they commute, most often; empty if they were never of one level."""
        counts = self.counts.get((row, column))
        if not counts:
            return ""
        rest = [(count, name) for name, count in counts.items() if name != SAME]
        return max(rest)[1] if rest else SAME

    def commuting(self) -> float:
        """The share of pairs that commute everywhere."""
        return sum(set(c) == {SAME} for c in self.counts.values()) / max(len(self.counts), 1)

    def text(self, *, changed_only: bool = True) -> str:
        """A row and a column a pass; those that commute with all others are left out unless asked for."""
        names = self.passes()
        if changed_only:
            names = [n for n in names if any(self.relation(n, o) not in (SAME, "") for o in names)]
        width = max(map(len, names), default=0)
        lines = [
            f"{i:>3} {name.ljust(width)}  " + " ".join(self._cell(name, other) for other in names)
            for i, name in enumerate(names)
        ]
        head = " " * (width + 6) + " ".join(f"{i:>2}" for i in range(len(names)))
        return "\n".join(
            [head, *lines, "", f"{100 * self.commuting():.0f} % of {len(self.counts)} pairs commute everywhere"]
        )

    def _cell(self, row: str, column: str) -> str:
        return (" ." if row == column else self.relation(row, column)).rjust(2)


def commutation(kernels: object, *, inputs: Inputs | None = None, grid: tuple[int, ...] = (1,)) -> Commutation:
    """Runs every two passes of each level both ways on each kernel; `kernels`, `inputs` and `grid` as `sweep` takes them."""
    found = Commutation()
    for reference in references_of(kernels, inputs, grid):
        task = reference.task()
        states = States(task.context, task.make_ir, task.facts)
        at = 0
        steps = task.pipeline().steps
        for segment in segments(steps):
            if not any(map(is_fixed, segment)):
                _of_level(found, states, steps, at, segment)
            at += len(segment)
    return found


def _of_level(found: Commutation, states: States, steps: Sequence[Step], at: int, segment: Sequence[Step]) -> None:
    for i, first in enumerate(segment):
        start = states.run(Pipeline(tuple(steps[: at + i])))
        if isinstance(start, StepFailure):
            return
        for second in segment[i + 1 :]:
            if first.name != second.name:
                _note(found, states, start, first, second)


def _note(found: Commutation, states: States, start: State, a: Step, b: Step) -> None:
    if not (a.can_run(start.facts) and b.can_run(start.facts)):
        return
    alone = {step: states.follow(start, step) for step in (a, b)}
    both = {(a, b): _after(states, alone[a], b), (b, a): _after(states, alone[b], a)}
    for row, column in ((a, b), (b, a)):
        counts = found.counts.setdefault((row.name, column.name), Counter())
        counts[_relation(start, alone[row], alone[column], both[row, column], both[column, row])] += 1


def _relation(
    start: State,
    row: State | StepFailure,
    column: State | StepFailure,
    row_first: State | StepFailure | None,
    column_first: State | StepFailure | None,
) -> str:
    ends = (row, column, row_first, column_first)
    if any(end is None or isinstance(end, StepFailure) for end in ends):
        return FAILS
    if row_first is column_first:
        return SAME
    changes_before, changes_after = row is not start, column_first is not column
    if changes_after and not changes_before:
        return ENABLED
    return DESTROYED if changes_before and not changes_after else DIFFER


def _after(states: States, state: State | StepFailure, step: Step) -> State | StepFailure | None:
    if isinstance(state, StepFailure) or not step.can_run(state.facts):
        return None
    return states.follow(state, step)


@dataclass
class Ablation:
    """Records by kernel: `whole` with every pass, `without` by the name of the pass that is left out everywhere."""

    whole: dict[str, Evaluation] = field(default_factory=dict[str, Evaluation])
    without: dict[str, dict[str, Evaluation]] = field(default_factory=dict[str, dict[str, Evaluation]])

    def passes(self) -> list[str]:
        """The passes that were left out, in the order of the pipeline."""
        return list(dict.fromkeys(name for found in self.without.values() for name in found))

    def change(self, kernel: str, name: str, metric: str) -> float | None:
        """By how much `metric` changes without the pass: 0.1 for a tenth more; None where the program is not right then."""
        record, before = self.without[kernel].get(name), self.whole[kernel].metrics.get(metric)
        if before is None:
            raise MinitritonError(
                f"{metric!r} was not measured", help="measured: " + ", ".join(self.whole[kernel].metrics)
            )
        if record is None or record.result is not Class.RIGHT:
            return None
        after = record.metrics[metric]
        return after / before - 1 if before else float(after > 0)

    def text(self, metric: str, *, changed_only: bool = True) -> str:
        """A row a pass, a column a kernel; passes that change nothing anywhere are left out unless asked for."""
        kernels = list(self.whole)
        rows = [["", *kernels]]
        for name in self.passes():
            cells = [self._cell(kernel, name, metric) for kernel in kernels]
            if not changed_only or any(cell != "=" for cell in cells):
                rows.append([name, *cells])
        return "\n".join(aligned(rows, right=range(1, len(rows[0]))))

    def _cell(self, kernel: str, name: str, metric: str) -> str:
        if name not in self.without[kernel]:
            return "-"
        change = self.change(kernel, name, metric)
        if change is None:
            return str(self.without[kernel][name].result)
        return "=" if change == 0 else f"{100 * change:+.1f}%"


def leave_one_out(
    kernels: object, metrics: Sequence[str] = (), *, inputs: Inputs | None = None, grid: tuple[int, ...] = (1,)
) -> Ablation:
    """Evaluates each kernel with its target's default pipeline, and without each pass that stays within its level (wherever it stands).

    `metrics`: what is measured in addition to text and counts, by name or group. Raises `MinitritonError` for what cannot be measured here.
    """
    ablation = Ablation()
    for reference in references_of(kernels, inputs, grid):
        evaluator = Evaluator(reference.task(), metrics)
        steps = evaluator.task.pipeline().steps
        ablation.whole[reference.name] = evaluator.record(Pipeline(steps))
        ablation.without[reference.name] = {
            name: evaluator.record(Pipeline(tuple(step for step in steps if step.name != name)))
            for name in dict.fromkeys(step.name for step in steps if not is_fixed(step))
        }
    return ablation
