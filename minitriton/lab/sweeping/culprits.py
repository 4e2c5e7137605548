"""Which pass of a pipeline makes wrong numbers: between a program that is right and one that is wrong, halved until one step is left.

S0 ─canonicalize→ S1 ─my-pass→ S2 ─cse→ S3 ─...→ S8      S0 right, S8 wrong; S4 wrong, S2 wrong, S1 right: my-pass
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton.lab.sweeping.states import Digest, State, States
from minitriton.pass_manager import Pipeline


class Culprits:
    """Of pipelines through `states`. `is_wrong` runs the program of a state; each is asked about once."""

    def __init__(self, states: States, is_wrong: Callable[[State], bool]) -> None:
        self._states, self._is_wrong = states, is_wrong
        self._known: dict[Digest, bool] = {}

    def of(self, pipeline: Pipeline) -> str:
        """The name of a pass before which the numbers are right, and behind which they are wrong, as they are at the end. Between two
        programs of which one cannot be run it is the latter's."""
        met = [self._states.first]
        for step in pipeline.steps:
            following = self._states.follow(met[-1], step)
            assert isinstance(following, State), "only what leads to a program has wrong numbers"
            met.append(following)
        right, wrong = 0, len(met) - 1
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self._wrong(met[middle]):
                wrong = middle
            else:
                right = middle
        return pipeline.steps[wrong - 1].name

    def _wrong(self, state: State) -> bool:
        if state.digest not in self._known:
            self._known[state.digest] = self._is_wrong(state)
        return self._known[state.digest]
