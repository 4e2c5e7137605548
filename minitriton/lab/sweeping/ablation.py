"""Ablation of passes: the metrics of a kernel without each of them, next to those with it.

ablation = leave_one_out(["log_sum_exp", "running_sums"])
print(ablation.text("instructions"))

                           log_sum_exp  running_sums
tritongpu-coalesce              +12.5%             =        twelve percent more instructions without it
triton-combine                       =             =
inline                         refused       refused        the pass is needed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.references import Reference, references_of
from minitriton.lab.sweeping.space import is_fixed
from minitriton.pipeline.pass_manager import Pipeline


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
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
        return "\n".join(lines)

    def _cell(self, kernel: str, name: str, metric: str) -> str:
        if name not in self.without[kernel]:
            return "-"
        change = self.change(kernel, name, metric)
        if change is None:
            return str(self.without[kernel][name].result)
        return "=" if change == 0 else f"{100 * change:+.1f}%"


def leave_one_out(kernels: str | Reference | Sequence[str | Reference], metrics: Sequence[str] = ()) -> Ablation:
    """Evaluates each kernel with its target's default pipeline, and without each pass that stays within its level (wherever it stands).

    `metrics`: what is measured in addition to text and counts, by name or group. Raises `MinitritonError` for what cannot be measured here.
    """
    ablation = Ablation()
    for reference in references_of(kernels):
        evaluator = Evaluator(reference.task(), metrics)
        steps = evaluator.task.pipeline().steps
        ablation.whole[reference.name] = evaluator.record(Pipeline(steps))
        ablation.without[reference.name] = {
            name: evaluator.record(Pipeline(tuple(step for step in steps if step.name != name)))
            for name in dict.fromkeys(step.name for step in steps if not is_fixed(step))
        }
    return ablation
