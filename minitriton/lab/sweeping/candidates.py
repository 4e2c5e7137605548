"""The configurations of a space about one kernel: its launch varied as well as its pipeline.

    candidates = Candidates(Space(constants=True), corpus.task("bench_softmax"))
    candidates.first                        the kernel's own launch and pipeline
    candidates.sample(rng)                  Configuration: [num_warps=8] inline,triton-combine,...
    candidates.mutate(configuration, rng)   one change of launch or pipeline
    candidates.neighbours()                 every configuration one change away

Configurations that no compile could be made of (options that exclude each other, a contract that does not hold) are not drawn.

How loads and stores may treat the caches, and whether launches may overlap, each as the pass that says so:

    memory_steps(task)    [[minitriton-overlap-launches], [minitriton-cache-hints{hint=cg}, ...], [...{of=stores hint=cs}], [...{access=1 hint=evict_last}]]

`with_memory_step` puts one where all accesses are as they will be lowered, before the lowering, in place of one that says the same thing.
"""

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import TensorType

from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.tt import LoadOp, StoreOp
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.configuration import Configuration, Settings, Value, sorted_settings
from minitriton.lab.sweeping.space import Space, is_legal, segments
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.passes.cache_hints import HINTS, PREFETCHES
from minitriton.pipeline.ast_source import ASTSource
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step
from minitriton.pipeline.pipeline_spec import make_step

_TRIES = 30


@dataclass(frozen=True)
class _Variant:
    """A launch, and the pipeline that its target and options ask for."""

    task: TuningTask
    base: Pipeline


class Candidates:
    """Configurations of `space` about `task`. Raises `MinitritonError` for a setting that the kernel does not have, and a pass that there is not."""

    def __init__(self, space: Space, task: TuningTask) -> None:
        space.check_passes()
        self.space, self.task, self.facts = space, task, task.facts
        varied: dict[str, Sequence[Value]] = dict(task.choices or tile_choices(task)) if space.constants else {}
        varied.update(dict(space.settings))
        self.varied: Mapping[str, tuple[Value, ...]] = {name: tuple(values) for name, values in varied.items()}
        self._variant = functools.lru_cache(maxsize=256)(self._make_variant)
        self.layout_steps = functools.lru_cache(maxsize=1)(self._make_layouts)
        self.memory_steps = functools.lru_cache(maxsize=1)(self._make_memory)
        for name, values in self.varied.items():
            self._check(name, values)
        self.first = Configuration(task.pipeline())

    def _check(self, name: str, values: tuple[Value, ...]) -> None:
        """Raises what is wrong with the first value, where none can be: of others than the kernel's own, if there are."""
        problem: MinitritonError | None = None
        own = self.own_value(name)
        for value in [value for value in values if value != own] or values:
            try:
                self.task.variant(((name, value),))
                return
            except MinitritonError as error:
                problem = problem or error
        assert problem is not None
        raise problem

    def sample(self, rng: random.Random) -> Configuration:
        """A configuration drawn at random; the first where none that can be compiled is found."""
        for _ in range(_TRIES):
            drawn = {name: rng.choice(values) for name, values in self.varied.items() if rng.random() < 0.7}
            settings = sorted_settings({name: value for name, value in drawn.items() if self.own_value(name) != value})
            variant = self._variant(settings)
            if variant is None:
                continue
            pipeline = self.space.sample(variant.base, self.facts, rng)
            return Configuration(self._with_memory(self._with_layouts(pipeline, rng), rng), settings)
        return self.first

    def mutate(self, configuration: Configuration, rng: random.Random) -> Configuration:
        """`configuration` with one change; itself where none is found."""
        for _ in range(_TRIES):
            draw = rng.random()
            if self.varied and draw < 0.3:
                changed = self._other_setting(configuration, rng)
            elif self.space.layouts and draw < 0.5:
                changed = configuration.with_pipeline(self._with_layouts(configuration.pipeline, rng, always=True))
            elif self.space.memory and draw < 0.7:
                changed = configuration.with_pipeline(self._with_memory(configuration.pipeline, rng, always=True))
            else:
                changed = configuration.with_pipeline(self.space.mutate(configuration.pipeline, self.facts, rng))
            if changed is not None and changed != configuration and self._legal(changed.pipeline):
                return changed
        return configuration

    def cross(self, a: Configuration, b: Configuration, rng: random.Random) -> Configuration:
        """Each setting of one or the other, the pipeline of `a` up to some step and that of `b` from there on."""
        ours, theirs = dict(a.settings), dict(b.settings)
        mixed = {n: rng.choice((ours, theirs)).get(n) for n in ours.keys() | theirs.keys()}
        settings = sorted_settings({n: v for n, v in mixed.items() if v is not None})
        if self._variant(settings) is None:
            return a
        first, second = (self.rebased(p.pipeline, p.settings, settings) for p in (a, b))
        if len(self.space_segments(first)) != len(self.space_segments(second)):
            return Configuration(first, settings)
        return Configuration(self.space.cross(first, second, self.facts, rng), settings)

    @staticmethod
    def space_segments(pipeline: Pipeline) -> list[tuple[Step, ...]]:
        """The steps level by level."""
        return segments(pipeline.steps)

    def neighbours(self) -> Iterator[Configuration]:
        """Every configuration one change of a pass, of a pass's option, of a setting, a layout or a hint away; contracts not asked."""
        base = self.first.pipeline
        for pipeline in (*self.space.neighbours(base), *self.space.pass_option_neighbours(base)):
            yield Configuration(pipeline)
        for name, values in self.varied.items():
            for value in values:
                if (variant := self._variant(((name, value),))) is not None and self.own_value(name) != value:
                    yield Configuration(variant.base, ((name, value),))
        if self.space.layouts:
            for step in self.layout_steps():
                yield Configuration(with_layout_step(base, step))
        for step in itertools.chain(*self.memory_steps()):
            yield Configuration(with_memory_step(base, step))

    def grid(self) -> Iterator[Configuration]:
        """Every combination of settings, each with its target's default pipeline."""
        for values in itertools.product(*self.varied.values()):
            given = {n: v for n, v in zip(self.varied, values, strict=True) if self.own_value(n) != v}
            settings = sorted_settings(given)
            if (variant := self._variant(settings)) is not None:
                yield Configuration(variant.base, settings)

    def default_of(self, settings: Mapping[str, Value]) -> Configuration | None:
        """The default pipeline of the launch that `settings` make; None where there is no such launch."""
        kept = sorted_settings({n: v for n, v in settings.items() if self.own_value(n) != v})
        variant = self._variant(kept)
        return None if variant is None else Configuration(variant.base, kept)

    def rebased(self, pipeline: Pipeline, old: Settings, new: Settings) -> Pipeline:
        """`pipeline`, of the launch `old`, as one of the launch `new`: passes as `new`'s default pipeline has them, in the order of
        `pipeline`. Another target's default pipeline as it is, where that has other passes."""
        if old == new:
            return pipeline
        before, after = self._variant(old), self._variant(new)
        assert before is not None and after is not None
        if [s.name for s in before.base.steps] != [s.name for s in after.base.steps]:
            return after.base
        becomes = dict(zip(before.base.steps, after.base.steps, strict=True))
        return Pipeline(tuple(becomes.get(step, step) for step in pipeline.steps))

    def own_value(self, name: str) -> object:
        """What a constant, an option or `arch` is in the kernel's own launch."""
        if name == "arch":
            return self.task.target.arch
        return self.task.constants.get(name, getattr(self.task.options, name, None))

    def _make_variant(self, settings: Settings) -> _Variant | None:
        try:
            task = self.task.variant(settings) if settings else self.task
            return _Variant(task, task.pipeline())
        except (MinitritonError, ValueError, ArithmeticError):
            return None

    def _other_setting(self, configuration: Configuration, rng: random.Random) -> Configuration | None:
        name = rng.choice(list(self.varied))
        value = rng.choice(self.varied[name])
        settings = {**dict(configuration.settings), name: value}
        if self.own_value(name) == value:
            del settings[name]
        new = sorted_settings(settings)
        if self._variant(new) is None or self._variant(configuration.settings) is None:
            return None
        return Configuration(self.rebased(configuration.pipeline, configuration.settings, new), new)

    def _legal(self, pipeline: Pipeline) -> bool:
        return not self.space.legal or is_legal(pipeline, self.facts)

    def _make_layouts(self) -> list[Step]:
        return layout_steps(self.task)

    def _make_memory(self) -> list[list[Step]]:
        return memory_steps(self.task) if self.space.memory else []

    def _with_memory(self, pipeline: Pipeline, rng: random.Random, *, always: bool = False) -> Pipeline:
        """`pipeline` with one more hint, or with two; a hint for the same accesses is replaced."""
        if not self.memory_steps() or not (always or rng.random() < 0.6):
            return pipeline
        changed = pipeline
        for _ in range(1 if always else rng.choice((1, 2))):
            changed = with_memory_step(changed, rng.choice(rng.choice(self.memory_steps())))
        return changed if self._legal(changed) else pipeline

    def _with_layouts(self, pipeline: Pipeline, rng: random.Random, *, always: bool = False) -> Pipeline:
        if not self.space.layouts or not self.layout_steps() or not (always or rng.random() < 0.4):
            return pipeline
        changed = with_layout_step(pipeline, rng.choice(self.layout_steps()))
        return changed if self._legal(changed) else pipeline


def tile_choices(task: TuningTask) -> dict[str, Sequence[Value]]:
    """Values of the constants that are tile sizes, and of warps and stages, from the kernel's facts (`runtime.tuning`); none for a kernel without."""
    from minitriton.runtime.jit import JITFunction
    from minitriton.runtime.tuning.problem import NoTiles, problem_of_source
    from minitriton.runtime.tuning.space import configurations, misfit_of_size, schedules

    function = getattr(task.source, "fn", None)
    if task.grid_of is None or not isinstance(function, JITFunction):
        return {}

    def source_of(values: Mapping[str, object]) -> ASTSource:
        found = task.variant(sorted_settings(dict[str, Any](values))).source
        assert isinstance(found, ASTSource)
        return found

    free = [name for name, value in task.constants.items() if type(value) is int and name in function.arg_names]
    sizes = {each.name: each.value for each in task.arguments().passed if type(each.value) is int}
    try:
        problem = problem_of_source(function, source_of, free, sizes, None, task.target, task.constants)
    except NoTiles:
        return {}
    configs = [fit.config for fit in configurations(problem).kept if misfit_of_size(problem, fit.config) is None]
    found: dict[str, set[Value]] = {}
    for values in (*(config.kwargs for config in configs), *schedules(problem)):
        for name, value in values.items():
            found.setdefault(name, set()).add(value)
    found |= {
        "num_warps": {config.num_warps for config in configs},
        "num_stages": {config.num_stages for config in configs},
    }
    return {
        name: sorted(values, key=lambda value: (str(type(value)), value))
        for name, values in found.items()
        if len(values) > 1
    }


def with_layout_step(pipeline: Pipeline, step: Step) -> Pipeline:
    """`pipeline` with `step` after the last pass that chooses layouts of accesses, in place of one for the same access."""
    access = getattr(step, "access", None)
    steps = [s for s in pipeline.steps if s.name != step.name or getattr(s, "access", None) != access]
    choosing = [
        i for i, s in enumerate(steps) if s.name in ("tritongpu-coalesce", "minitriton-coalesce-by-width", step.name)
    ]
    at = choosing[-1] if choosing else next(i for i, s in enumerate(steps) if s.name == "convert-triton-to-tritongpu")
    return Pipeline((*steps[: at + 1], step, *steps[at + 1 :]))


Ask = Callable[[Configuration], tuple[float, ...]]
"""The objectives of a configuration, less is better; infinite where it is not right."""

Sampler = Callable[[Candidates, random.Random, Ask], Iterator[None]]
"""Asks for configurations until it is left."""


WIDTHS = (1, 2, 4, 8)
"""Neighbours along the fastest dimension that a thread takes."""


def layout_steps(task: TuningTask) -> list[Step]:
    """For each load and store of the kernel's TTIR, in order, every order of its dimensions with every width."""
    found: list[Step] = []
    accesses = (op for op in ops_in(task.make_ir()) if isinstance(op, LoadOp | StoreOp))
    for number, op in enumerate(op for op in accesses if isinstance(op.operands[0].type, TensorType)):
        type_ = op.operands[0].type
        assert isinstance(type_, TensorType)
        rank = len(type_.get_shape())
        for order in itertools.permutations(range(rank)):
            for width in WIDTHS:
                sizes = [1] * rank
                sizes[order[0]] = width
                options: dict[str, str | None] = {
                    "access": str(number),
                    "size-per-thread": ",".join(map(str, sizes)),
                    "order": ",".join(map(str, order)),
                }
                found.append(make_step("minitriton-choose-layout", options))
    return found


CACHE_HINTS = "minitriton-cache-hints"
OVERLAP = "minitriton-overlap-launches"

_OF_ONE_LOAD = ("evict_first", "evict_last", "no_allocate")


def memory_steps(task: TuningTask) -> list[list[Step]]:
    """By what they are about: overlapping launches, every hint and prefetch for all loads, every hint for all stores, and the hints that tell
    loads apart where there are several."""
    module = task.make_ir()
    loads, stores = len(ops_of(module, LoadOp)), len(ops_of(module, StoreOp))
    found: list[list[Step]] = []
    if task.target.features.has_tma:
        found.append([make_step(OVERLAP, {})])
    if not task.target.features.has_cache_policies:
        return found
    if loads:
        alone = [_hint(hint=hint) for hint in HINTS["loads"]] + [_hint(prefetch=str(size)) for size in PREFETCHES]
        found.append([*alone, *(_hint(hint=hint, prefetch="256") for hint in ("no_allocate", "evict_first"))])
    if stores:
        found.append([_hint(of="stores", hint=hint) for hint in HINTS["stores"]])
    if loads > 1:
        found.append([_hint(access=str(number), hint=hint) for number in range(loads) for hint in _OF_ONE_LOAD])
    return found


def _hint(**options: str) -> Step:
    return make_step(CACHE_HINTS, dict[str, str | None](options))


def with_memory_step(pipeline: Pipeline, step: Step) -> Pipeline:
    """`pipeline` with `step` before the lowering, in place of one for the same accesses."""
    steps = [s for s in pipeline.steps if _about(s) != _about(step)]
    at = next(i for i, s in enumerate(steps) if s.name == "convert-triton-gpu-to-llvm")
    return Pipeline((*steps[:at], step, *steps[at:]))


def _about(step: Step) -> tuple[str, object, object]:
    return step.name, getattr(step, "of", None), getattr(step, "access", None)
