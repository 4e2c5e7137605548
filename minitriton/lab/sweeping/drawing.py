"""Which configurations of a space a sweep tries: drawn by the process that evaluates the kernel, since drawing takes a tenth of the time.

for text in Drawing(Space(), count=500).configurations(task): ...
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from minitriton.lab.sweeping.candidates import Candidates
from minitriton.lab.sweeping.space import Space
from minitriton.lab.sweeping.tuning_task import TuningTask

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
