"""Which configurations there are to try: what may vary about a kernel's default pipeline and launch.

    space = Space(insert=("canonicalize",), vary={"num_warps": (2, 4, 8), "optimize-llvm-ir{level}": (1, 2, 3)})
    space.sample(base, facts, rng)    one legal pipeline: passes in another order, some left out, some twice, some put in
    space.neighbours(base)            every single removal, swap of neighbours and duplication
    space.mutate(pipeline, rng)       one change
    space.cross(a, b, rng)            the beginning of one, the end of the other
    Space.parse(str(space))           the same space

Passes stay within their level: what leads from one representation to the next (`convert-triton-to-tritongpu`, the lowering, the
emission) stands where it stood. What varies about the launch (constants, options, target) is `candidates.Candidates`' to draw.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from minitriton.errors import MinitritonError, PipelineError
from minitriton.lab.sweeping.configuration import Value, by_identity, parse_steps, value_of, value_text
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Pass, Property, Step, registered_passes
from minitriton.pipeline.pipeline_spec import make_step

LEVELS = frozenset({Property.TTIR, Property.ENCODINGS, Property.LLVM_DIALECT, Property.LLVM_IR, Property.PTX})
"""The properties that say which representation a program has."""

_TRIES = 50
_WALK = 40


Vary = tuple[tuple[str, tuple[Value, ...]], ...]

_PASS_OPTION = re.compile(r"([\w.-]+)\{([\w-]+)\}")
_SWITCHES = ("order", "omit", "duplicate", "constants", "llvm", "layouts", "memory", "heuristics")

SPACE_WORDS = ", ".join(_SWITCHES) + ", illegal, insert=PASS,..., NAME=VALUE,..."
"""What the text of a space is made of."""

LLVM_PASSES = (
    "sroa", "instcombine", "simplifycfg", "gvn", "sccp", "reassociate", "jump-threading", "loop-rotate",
    "loop-unroll", "loop-strength-reduce", "sink", "dse", "adce", "aggressive-instcombine",
)  # fmt: skip
"""What `llvm` puts into `optimize-llvm-ir{passes=...}`."""

_LLVM_AT_FIRST = ("sroa", "instcombine", "simplifycfg", "gvn", "instcombine", "adce")


HEURISTICS: Vary = (
    ("tritongpu-coalesce{width}", (0, 1, 2, 4, 8)),
    ("tritongpu-accelerate-matmul{instruction}", ("", "mma.sync", "fma")),
    ("tritongpu-accelerate-matmul{warps-along-rows}", (0, 1, 2, 4, 8)),
    ("tritongpu-accelerate-matmul{swizzle}", (0, 32, 64)),
    ("triton-nvidia-gpu-plan-cta{ctas-along-rows}", (0, 1, 2, 4)),
    ("tritongpu-remove-layout-conversions{recompute}", ("", "always", "never")),
    ("tritongpu-optimize-thread-locality{after-loops}", (True, False)),
    ("tritongpu-optimize-thread-locality{gather-lanes}", (0, 4, 8, 16)),
    ("tritongpu-assign-latencies{num-stages}", (1, 2, 3, 4, 5)),
    ("tritongpu-assign-latencies{loads}", ("", "dots", "all", "none")),
    ("tritongpu-pipeline{swizzle}", (True, False)),
    ("tritongpu-reduce-data-duplication{swizzle}", (True, False)),
    ("minitriton-overlap-dots{registers}", (255, 0)),
    ("minitriton-coalesce-by-width{split-masks}", (True, False)),
    ("minitriton-coalesce-by-width{own-layouts}", ("", "true", "false")),
    ("nvgpu-warp-specialization{consumers}", (2, 1)),
    ("minitriton-tile-loops{loop}", (0, 2)),
    ("minitriton-tile-loops{least-need}", (320, 0)),
    ("minitriton-tile-loops{epilogue}", (0, 2)),
    ("minitriton-split-chains{least-need}", (288, 0)),
    ("minitriton-split-chains{plain}", (True, False)),
    ("minitriton-split-chains{parts}", (0, 2)),
    ("minitriton-split-chains{read-ahead}", ("", "always", "never")),
)
"""Options that take another candidate than the rule of a pass (`pipeline.choice`), with the values to try."""


@dataclass(frozen=True)
class Space:
    """What may vary. `insert` names passes (with options, as in a pipeline's text) that may be put in; with `legal`, only
    pipelines whose contracts hold are drawn.

    Without `legal` half of the pipelines are drawn without asking contracts, and half are many changes away from the default, all of them
    legal; passes are moved and inserted anywhere, out of their level too.

    `vary`: values by name, of a compile option (`num_warps`, `num_stages`, `num_ctas`, `maxnreg`), a constant of the kernel, `arch`, or
    a pass's option (`optimize-llvm-ir{level}`). `constants`: the values that the kernel itself names as worth trying. `llvm`: LLVM's
    own passes, chosen one by one. `layouts`: the blocked encodings of loads and stores. `memory`: how they treat the
    caches, and whether launches overlap. `heuristics`: what passes choose by a rule (`HEURISTICS`).
    """

    order: bool = True
    omit: bool = True
    duplicate: bool = True
    insert: tuple[str, ...] = ()
    legal: bool = True
    vary: Mapping[str, Sequence[Value]] | Vary = ()
    constants: bool = False
    llvm: bool = False
    layouts: bool = False
    memory: bool = False
    heuristics: bool = False

    def __post_init__(self) -> None:
        pairs = self.vary.items() if isinstance(self.vary, Mapping) else self.vary
        object.__setattr__(self, "vary", tuple((name, tuple(values)) for name, values in pairs))
        object.__setattr__(self, "insert", tuple(self.insert))
        for name, values in self.settings + tuple((f"{p}{{{o}}}", v) for (p, o), v in self.pass_options):
            if not values:
                raise MinitritonError(f"{name} lacks values to vary over", help=f"write {name}=VALUE,VALUE")

    @property
    def settings(self) -> Vary:
        """What varies about the launch."""
        return tuple((name, values) for name, values in self._vary if not _PASS_OPTION.fullmatch(name))

    @property
    def pass_options(self) -> tuple[tuple[tuple[str, str], tuple[Value, ...]], ...]:
        """What varies about passes: `((pass, option), values)`."""
        rules = HEURISTICS if self.heuristics else ()
        found = ((_PASS_OPTION.fullmatch(name), values) for name, values in dict((*rules, *self._vary)).items())
        return tuple(((match[1], match[2]), values) for match, values in found if match is not None)

    @property
    def _vary(self) -> Vary:
        assert isinstance(self.vary, tuple)
        return self.vary

    def __str__(self) -> str:
        words = [name for name in _SWITCHES if getattr(self, name)]
        words += [] if self.legal else ["illegal"]
        words += [f"insert={','.join(self.insert)}"] if self.insert else []
        words += [f"{name}={','.join(map(value_text, values))}" for name, values in self._vary]
        return " ".join(words)

    @classmethod
    def parse(cls, text: str) -> Space:
        """Reads what `str` writes: `order omit insert=canonicalize,cse num_warps=2,4,8 optimize-llvm-ir{level}=1,2,3`.

        Raises `MinitritonError` for a word that means nothing.
        """
        switches = dict[str, bool].fromkeys(_SWITCHES, False)
        insert: tuple[str, ...] = ()
        vary: dict[str, tuple[Value, ...]] = {}
        legal = True
        for word in text.split():
            name, equals, values = word.partition("=")
            if name == "insert" and equals:
                insert = tuple(filter(None, values.split(",")))
            elif equals and values:
                vary[name] = tuple(value_of(value) for value in values.split(","))
            elif word == "illegal":
                legal = False
            elif word in switches:
                switches[word] = True
            else:
                raise MinitritonError(f"{word!r} says nothing of a space", help=f"words: {SPACE_WORDS}")
        return cls(insert=insert, legal=legal, vary=vary, **switches)

    def check_passes(self) -> None:
        """Raises `PipelineError` for a pass or an option that there is not, which no draw would ever name."""
        for text in self.insert:
            _step(text)
        for (name, option), _ in self.pass_options:
            kind = registered_passes().get(name)
            if kind is None or option.replace("-", "_") not in {f.name for f in fields(kind)}:
                make_step(name, {option: "0"})

    def sample(self, base: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """A pipeline drawn at random; `facts` hold before it. `base` itself where no legal one is found."""
        if not self.legal:
            return self._draw(base, rng) if rng.random() < 0.5 else self._walk(base, facts, rng)
        for _ in range(_TRIES):
            drawn = self._draw(base, rng)
            if is_legal(drawn, facts):
                return drawn
        return base

    def _walk(self, base: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """Up to `_WALK` single changes of `base`, each of them leaving every contract intact: far from it, and legal."""
        steps = base.steps
        for _ in range(rng.randint(1, _WALK)):
            changed = self._change(steps, rng)
            if is_legal(Pipeline(changed), facts):
                steps = changed
        return Pipeline(steps)

    def mutate(self, pipeline: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """`pipeline` with one change; itself where no legal one is found."""
        for _ in range(_TRIES):
            changed = self._change(pipeline.steps, rng)
            if changed != pipeline.steps and (not self.legal or is_legal(Pipeline(changed), facts)):
                return Pipeline(changed)
        return pipeline

    def cross(self, a: Pipeline, b: Pipeline, facts: frozenset[Property], rng: random.Random) -> Pipeline:
        """`a` up to some step, level by level, and `b` from there on; `a` where that is not legal."""
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
        for segment, stays in _levels(base.steps):
            movable = list(segment)
            if self.order and rng.random() < 0.4 and not stays:
                rng.shuffle(movable)
            if self.omit and rng.random() < 0.4 and not stays:
                kept = rng.random()
                movable = [step for step in movable if rng.random() < kept]
            parts += movable
        steps = tuple(parts)
        for _ in range(rng.randrange(4)):
            steps = self._change(steps, rng)
        return Pipeline(steps)

    def _change(self, steps: tuple[Step, ...], rng: random.Random) -> tuple[Step, ...]:
        """One pass moved, left out, doubled, put in, or given another option."""
        movable = movable_indices(steps) if self.legal or rng.random() < 0.7 else list(range(len(steps)))
        optional = self._optional(steps)
        kinds = [name for name in ("order", "omit", "duplicate") if movable and getattr(self, name)]
        kinds += ["insert"] * bool(self.insert and movable) + ["option"] * bool(optional) + ["llvm"] * self.llvm
        if not kinds:
            return steps
        kind, changed = rng.choice(kinds), list(steps)
        if kind == "option":
            at, option, values = rng.choice(optional)
            changed[at] = with_option(steps[at], option, rng.choice(values))
        elif kind == "llvm":
            changed = [_other_llvm_passes(step, rng) if step.name == "optimize-llvm-ir" else step for step in steps]
        else:
            self._change_at(kind, changed, rng.choice(movable), rng)
        return tuple(changed)

    def _change_at(self, kind: str, changed: list[Step], index: int, rng: random.Random) -> None:
        if kind == "omit":
            del changed[index]
            return
        is_far = not self.legal and rng.random() < 0.3
        at = rng.randrange(len(changed) + 1) if is_far else _index_near(changed, index, rng)
        if kind == "duplicate":
            changed.insert(at, changed[index])
        elif kind == "insert":
            changed.insert(at, _step(rng.choice(self.insert)))
        else:
            moved = changed.pop(index)
            changed.insert(at, moved)

    def _optional(self, steps: tuple[Step, ...]) -> list[tuple[int, str, tuple[Value, ...]]]:
        """Where a pass stands whose option varies, the option, and its values."""
        return [
            (at, option, values)
            for (name, option), values in self.pass_options
            for at, step in enumerate(steps)
            if step.name == name
        ]

    def pass_option_neighbours(self, base: Pipeline) -> Iterator[Pipeline]:
        """Every pipeline that is another value of one pass option away."""
        for at, option, values in self._optional(base.steps):
            for value in values:
                changed = with_option(base.steps[at], option, value)
                if changed != base.steps[at]:
                    yield Pipeline((*base.steps[:at], changed, *base.steps[at + 1 :]))


def with_option(step: Step, option: str, value: Value) -> Step:
    """`step` with `option` (as it is written) set to `value`. Raises `PipelineError` if it has none of that name."""
    field_name = option.replace("-", "_")
    if field_name not in {f.name for f in fields(step)}:
        make_step(step.name, {option: str(value)})
    made = make_step(step.name, {option: value_text(value)})
    return replace(step, **{field_name: getattr(made, field_name)})


def with_llvm_pass(step: Step, name: str, *, first: bool) -> Step:
    """`optimize-llvm-ir` with one more of LLVM's passes, before or after those it has, or those that are begun with."""
    names: list[str] = list(getattr(step, "passes", ()) or _LLVM_AT_FIRST)
    return with_option(step, "passes", ",".join([name, *names] if first else [*names, name]))


def _other_llvm_passes(step: Step, rng: random.Random) -> Step:
    """`optimize-llvm-ir` with one of LLVM's passes put in, left out or moved; now and then the whole of its level again."""
    if rng.random() < 0.2:
        return with_option(step, "passes", "")
    names: list[str] = list(getattr(step, "passes", ()) or _LLVM_AT_FIRST)
    at, kind = rng.randrange(len(names)), rng.choice(("insert", "omit", "move"))
    if kind == "insert":
        names.insert(at, rng.choice(LLVM_PASSES))
    elif kind == "omit" and len(names) > 1:
        del names[at]
    else:
        names.insert(rng.randrange(len(names)), names.pop(at))
    return with_option(step, "passes", ",".join(names))


def _index_near(steps: Sequence[Step], index: int, rng: random.Random) -> int:
    """An index within the level that `steps[index]` stands in."""
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


@by_identity
def is_fixed(step: Step) -> bool:
    """Whether `step` leads from one representation to the next, or is no pass over a module."""
    return not isinstance(step, Pass) or bool(step.establishes & LEVELS) or not step.keeps >= LEVELS


@by_identity
def _levels(steps: tuple[Step, ...]) -> list[tuple[tuple[Step, ...], bool]]:
    """The segments of a pipeline that configurations are drawn from again and again, each with whether it stays as it is."""
    return [(segment, any(map(is_fixed, segment))) for segment in segments(steps)]


def movable_indices(steps: Sequence[Step]) -> list[int]:
    """Where passes stand that may be changed."""
    return [index for index, step in enumerate(steps) if not is_fixed(step)]


def is_legal(pipeline: Pipeline, facts: frozenset[Property]) -> bool:
    """Whether every contract holds: what `Pipeline.check` says, without a message, since spaces ask for thousands."""
    holds = facts
    for step in pipeline.steps:
        if not step.can_run(holds):
            return False
        holds = step.after(holds)
    return True


_DESCRIBES_TILES = "minitriton-describe-tiles"
"""The kernel then takes tensor maps, which a launch makes and an experiment does not."""


def foreign_passes() -> tuple[str, ...]:
    """Every registered pass over modules that can be made without options and stays within its level."""
    found: list[str] = []
    for name, cls in sorted(registered_passes().items()):
        try:
            step = make_step(name, {})
        except PipelineError:
            continue
        if issubclass(cls, Pass) and not is_fixed(step) and name != _DESCRIBES_TILES:
            found.append(name)
    return tuple(found)


def _step(text: str) -> Step:
    return parse_steps(text).steps[0]
