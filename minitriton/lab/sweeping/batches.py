"""What is handed out to processes and workers of a cluster, and what comes back.

for text in Drawing(Space(), count=500).configurations(task): ...      drawn by the process that evaluates the kernel: a tenth of the time
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.correctness import Evaluation
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.tuning_task import TuningTask

BATCH = 50
"""Configurations a process is given at once, and at most loses when it is killed."""


@dataclass(frozen=True)
class ConfigurationBatch:
    """Configurations of one kernel, as text; to `measure` a group of metrics, the digests of its programs; or, in place of configurations, what they are
    to be drawn from. `tries`: how often it has ended a process."""

    reference: Reference
    pipelines: tuple[str, ...] = ()
    tries: int = 0
    measure: str = ""
    drawing: Drawing | None = None

    @property
    def num_configurations(self) -> int:
        """How many it has, or is to draw, at least one."""
        return max(1, self.drawing.count if self.drawing else len(self.pipelines))

    def singles(self) -> list[ConfigurationBatch]:
        """What is given out again when its process was lost: configuration by configuration, to find one that ends processes."""
        if self.drawing is not None:
            return [replace(self, tries=self.tries + 1)]
        return [replace(self, pipelines=(text,), tries=self.tries + 1) for text in self.pipelines]


@dataclass(frozen=True)
class WorkerAnswer:
    """What a process says of a batch: how many configurations are evaluated or measured, the records it wrote of them, the processor seconds they took;
    the configurations that it drew; or what kept it from all that."""

    done: int = 0
    records: Sequence[Evaluation] = ()
    seconds: float = 0.0
    error: Exception | None = None
    drawn: tuple[str, ...] = ()


@dataclass(frozen=True)
class BatchProgress:
    """What has become of a batch: how many configurations are evaluated or measured, and the records that were not in the store before."""

    done: int
    records: Sequence[Evaluation] = ()


Drawn = Callable[[Reference, Sequence[str]], list[ConfigurationBatch]]
"""What is to be evaluated of configurations that were drawn."""


def nothing_drawn(reference: Reference, configurations: Sequence[str]) -> list[ConfigurationBatch]:
    """Where no batch draws."""
    raise AssertionError(f"nobody asked for {len(configurations)} configurations of {reference.name}")


@dataclass(frozen=True)
class Work:
    """What every process is given: where to write, as which compiler, and whether to run what it compiles."""

    store: Path
    compiler: str
    run: bool = True


_TRIES = 20
"""For each configuration wanted: a small space has fewer different ones."""


@dataclass(frozen=True)
class Drawing:
    """`count` configurations of `space`, the kernel's own first; with `neighbours`, every configuration that is one change away besides."""

    space: Space
    count: int
    seed: int = 0
    neighbours: bool = False

    def configurations(self, task: TuningTask) -> Iterator[str]:
        """The configurations as text, each once: the same ones in the same order wherever they are drawn.

        Raises `MinitritonError` for a setting that the kernel does not have.
        """
        candidates = Candidates(self.space, task)
        rng = random.Random(f"{self.seed} {task.name}")
        found = {str(candidates.first): None}
        if self.neighbours:
            found.update(dict.fromkeys(map(str, candidates.neighbours())))
        yield from found
        most = len(found) + self.count - 1
        for _ in range(_TRIES * self.count):
            if len(found) >= most:
                return
            text = str(candidates.sample(rng))
            if text not in found:
                found[text] = None
                yield text
