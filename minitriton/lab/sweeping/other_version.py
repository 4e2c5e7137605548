"""Another version of minitriton, asked about the same configurations: a checkout in a folder, in a process of its own.

with OtherVersion("../minitriton-main", reference) as other:
    other.record(configuration)          what that version makes of it

compare_versions("../minitriton-main", ["@reducing"], metric="instructions")      a row a kernel
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from minitriton.errors import MinitritonError
from minitriton.host.interrupts import held_back
from minitriton.lab.sweeping.configuration import Configuration
from minitriton.lab.sweeping.correctness import Class, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.references import Reference, references_of

_SERVE = """
import json, sys
from dataclasses import asdict
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.references import Reference
given = json.loads(sys.stdin.readline())
reference = Reference.of_text(given["reference"])
task = (reference.task if hasattr(reference, "task") else reference.subject)()  # older checkouts say `subject`
evaluate = Evaluator(task, given["metrics"])
for line in sys.stdin:
    text = json.loads(line)
    try:
        record = evaluate.record(task.pipeline() if text is None else text)
        print(json.dumps(asdict(record)), file=sys.__stdout__, flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=sys.__stdout__, flush=True)
"""


class OtherVersion:
    """The minitriton of the checkout `tree`, about one kernel. Raises `MinitritonError` if there is none, or it has no laboratory."""

    def __init__(self, tree: str | Path, reference: Reference, metrics: Sequence[str] = ()) -> None:
        self.tree = Path(tree)
        if not (self.tree / "minitriton" / "lab" / "sweeping" / "evaluation.py").exists():
            raise MinitritonError(
                f"{tree} is not a checkout of minitriton with this laboratory",
                help="give the folder that holds `minitriton/`",
            )
        path = os.pathsep.join([str(self.tree.resolve()), *filter(None, sys.path)])
        with held_back():
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.tree,
                env={**os.environ, "PYTHONPATH": path},
            )  # fmt: skip
        self._say({"reference": reference.text(), "metrics": list(metrics)})

    def _say(self, message: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise MinitritonError(f"the minitriton of {self.tree} has ended", help="what it printed says why") from None

    def record(self, configuration: Configuration | str | None) -> Evaluation:
        """What that version makes of `configuration`; of its default pipeline for None."""
        self._say(None if configuration is None else str(configuration))
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MinitritonError(f"the minitriton of {self.tree} has ended", help="what it printed says why")
        found = json.loads(line)
        if "error" in found:
            raise MinitritonError(f"the minitriton of {self.tree}: {found['error']}")
        found["result"] = (
            Class(found["result"]) if found["result"] in set(Class) else Class.UNEVALUATED
        )  # an older name
        return Evaluation(**found)

    def __enter__(self) -> OtherVersion:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


@dataclass(frozen=True)
class Change:
    """What one kernel's default pipeline gives in the other version (`before`) and in this one (`after`)."""

    kernel: str
    metric: str
    before: Evaluation
    after: Evaluation

    @property
    def ratio(self) -> float:
        """How much of the metric there is now for each of what there was; not a number where one of them is not right."""
        values = [
            r.all_metrics.get(self.metric) if r.result is Class.RIGHT else None for r in (self.before, self.after)
        ]
        if values[0] is None or values[1] is None:
            return float("nan")
        return values[1] / values[0] if values[0] else float("inf") if values[1] else 1.0

    def text(self) -> str:
        """One line."""
        if self.before.result is not Class.RIGHT or self.after.result is not Class.RIGHT:
            return f"{self.kernel}: {self.before.result} -> {self.after.result} {self.after.reason}"
        a, b = (r.all_metrics[self.metric] for r in (self.before, self.after))
        return f"{self.kernel}: {self.metric} {a:g} -> {b:g} ({100 * (self.ratio - 1):+.1f} %)"


def compare_versions(
    tree: str | Path, kernels: str | Reference | Sequence[str | Reference], metric: str = "instructions"
) -> list[Change]:
    """Each kernel's default pipeline in the minitriton of `tree` and in this one."""
    found: list[Change] = []
    for reference in references_of(kernels):
        evaluate = Evaluator(reference.task(), [metric])
        with OtherVersion(tree, reference, [metric]) as other:
            after = evaluate(Configuration(evaluate.task.pipeline()))
            found.append(Change(reference.name, metric, other.record(None), after))
    return found
