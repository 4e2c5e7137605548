"""Which pipelines there are to try: a base and what may vary about it.

    space = Space(order=True, omit=True)
    space.sample(base, rng)           one legal pipeline: passes in another order, some left out, some twice, some put in
    space.neighbours(base)            every single removal, swap of neighbours and duplication
    space.mutate(pipeline, rng)       one change
    space.cross(a, b, rng)            the beginning of one, the end of the other

Passes stay within their level: what leads from one representation to the next (`convert-triton-to-tritongpu`, the lowering, the
emission) stands where it stood. A pipeline is its own text: `str(pipeline)` is what a store keeps and `Pipeline.parse` reads.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minitriton.compilation.pipeline_spec import make_step
from minitriton.errors import PipelineError
from minitriton.pass_manager import Pipeline
from minitriton.pass_registry import Pass, Property, Step, registered_passes

LEVELS = frozenset({Property.TTIR, Property.ENCODINGS, Property.LLVM_DIALECT, Property.LLVM_IR, Property.PTX})
"""The properties that say which representation a program has."""

_TRIES = 50


@dataclass(frozen=True)
class Space:
    """What may vary. `insert` names passes (with options, as in a pipeline's text) that may be put in; with `legal`, only
    pipelines whose contracts hold are drawn."""

    order: bool = True
    omit: bool = True
    duplicate: bool = True
    insert: tuple[str, ...] = ()
    legal: bool = True

    def sample(self, base: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """A pipeline drawn at random; `facts` hold before it. `base` itself where no legal one is found."""
        for _ in range(_TRIES):
            drawn = self._draw(base, rng)
            if not self.legal or is_legal(drawn, facts):
                return drawn
        return base

    def mutate(self, pipeline: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """`pipeline` with one change; itself where no legal one is found."""
        for _ in range(_TRIES):
            changed = self._change(pipeline.steps, rng)
            if changed != pipeline.steps and (not self.legal or is_legal(Pipeline(changed), facts)):
                return Pipeline(changed)
        return pipeline

    def cross(self, a: Pipeline, b: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """`a` up to some place, level by level, and `b` from there on; `a` where that is not legal."""
        parts: list[Step] = []
        for first, second in zip(segments(a.steps), segments(b.steps), strict=True):
            at = rng.random()
            left, right = list(first), list(second)
            parts += left[: round(at * len(left))] + right[round(at * len(right)) :]
        crossed = Pipeline(tuple(parts))
        return crossed if not self.legal or is_legal(crossed, facts) else a

    def neighbours(self, base: Pipeline) -> Iterator[Pipeline]:
        """Every pipeline that is one removal, one swap of neighbours or one duplication away, contracts not asked."""
        steps = base.steps
        for index, step in enumerate(steps):
            if is_fixed(step):
                continue
            if self.omit:
                yield Pipeline(steps[:index] + steps[index + 1 :])
            if self.duplicate:
                yield Pipeline((*steps[: index + 1], step, *steps[index + 1 :]))
            if self.order and index + 1 < len(steps) and not is_fixed(steps[index + 1]) and steps[index + 1] != step:
                yield Pipeline((*steps[:index], steps[index + 1], step, *steps[index + 2 :]))

    def _draw(self, base: Pipeline, rng: random.Random) -> Pipeline:
        """Whole levels shuffled now and then, then a few single changes."""
        parts: list[Step] = []
        for segment in segments(base.steps):
            movable = list(segment)
            if self.order and rng.random() < 0.4 and not any(map(is_fixed, movable)):
                rng.shuffle(movable)
            if self.omit and rng.random() < 0.4 and not any(map(is_fixed, movable)):
                kept = rng.random()
                movable = [step for step in movable if rng.random() < kept]
            parts += movable
        steps = tuple(parts)
        for _ in range(rng.randrange(4)):
            steps = self._change(steps, rng)
        return Pipeline(steps)

    def _change(self, steps: tuple[Step, ...], rng: random.Random) -> tuple[Step, ...]:
        """One pass moved, left out, doubled or put in."""
        kinds = [name for name in ("order", "omit", "duplicate") if getattr(self, name)]
        kinds += ["insert"] if self.insert else []
        movable = [index for index, step in enumerate(steps) if not is_fixed(step)]
        if not kinds or not movable:
            return steps
        kind, index = rng.choice(kinds), rng.choice(movable)
        changed = list(steps)
        if kind == "omit":
            del changed[index]
        elif kind == "duplicate":
            changed.insert(_place_near(steps, index, rng), steps[index])
        elif kind == "insert":
            changed.insert(_place_near(steps, index, rng), _step(rng.choice(self.insert)))
        else:
            changed.insert(_place_near(tuple(changed), index, rng), changed.pop(index))
        return tuple(changed)


def _place_near(steps: Sequence[Step], index: int, rng: random.Random) -> int:
    """A place within the level that `steps[index]` stands in."""
    first = last = index
    while first > 0 and not is_fixed(steps[first - 1]):
        first -= 1
    while last < len(steps) - 1 and not is_fixed(steps[last + 1]):
        last += 1
    return rng.randint(first, last)


def segments(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """The steps level by level: runs of movable passes, and between them each fixed step by itself."""
    parts: list[list[Step]] = [[]]
    for step in steps:
        if is_fixed(step):
            parts += [[step], []]
        else:
            parts[-1].append(step)
    return [tuple(part) for part in parts]


def is_fixed(step: Step) -> bool:
    """Whether `step` leads from one representation to the next, or is no pass over a module."""
    return not isinstance(step, Pass) or bool((step.establishes | step.destroys) & LEVELS)


def is_legal(pipeline: Pipeline, facts: frozenset[Property]) -> bool:
    """Whether every contract holds."""
    try:
        pipeline.check(facts)
    except PipelineError:
        return False
    return True


def foreign_passes() -> tuple[str, ...]:
    """Every registered pass over modules that can be made without options and stays within its level."""
    found: list[str] = []
    for name, cls in sorted(registered_passes().items()):
        try:
            step = make_step(name, {})
        except PipelineError:
            continue
        if issubclass(cls, Pass) and not is_fixed(step):
            found.append(name)
    return tuple(found)


@functools.cache
def _step(text: str) -> Step:
    return Pipeline.parse(text).steps[0]


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[Step, ...]:
    return Pipeline.parse(text).steps


def parse_point(text: str) -> Pipeline:
    """`Pipeline.parse(text)`, each different pass of it parsed once a process."""
    steps: list[Step] = []
    depth = start = 0
    for index, letter in enumerate(text):
        if letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
        elif letter == "," and depth == 0:
            steps += _parsed(text[start:index])
            start = index + 1
    return Pipeline((*steps, *_parsed(text[start:])))
