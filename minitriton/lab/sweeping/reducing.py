"""The smallest pipeline that still shows something: what is left when every pass that does not matter is gone.

    smallest_pipeline(evaluator, bad_pipeline)
    smallest_pipeline(evaluator, slow_pipeline, shows=lambda record: record.metrics.get("sectors", 0) > 2000)

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002): ddmin over the passes that stay within their level.

And the smallest kernel, after the smallest pipeline:

    found = smallest(Evaluator(corpus.task("running_sums"), []), bad_pipeline)
    print(found.pipeline); print(found.ir)

The kernel is its TTIR: a step drops a store, an op that nothing uses, or an op in favour of one of its operands (`lab.reduction`). A smaller
kernel counts if what it gives by its own meaning and what the pipeline makes of it still differ as the whole one's did.

What matters of a good configuration: its edits of the default one, less those without which it stays as good, and the options that reproduce it.

    default   inline,canonicalize,cse,sccp            good   [num_warps=8] inline,cse,cse,sccp: 12 % fewer instructions
    minimal   inline,cse,sccp                         as good: neither the second cse nor the warps made a difference
    options   --skip canonicalize

Edits are dropped in halves, then in quarters, at last one at a time, as long as one can go (Zeller and Hildebrandt, 2002).
"""

import difflib
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.text import print_module
from minitriton.errors import MinitritonError
from minitriton.lab.reduction import reduce, size
from minitriton.lab.sweeping.configuration import Configuration, Settings, settings_text, step_text
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker, Evaluation
from minitriton.lab.sweeping.evaluation import Evaluator
from minitriton.lab.sweeping.space import movable_indices
from minitriton.lab.sweeping.tuning_task import OPTIONS
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step

BROKEN = (Class.WRONG, Class.UNSOUND, Class.FAILED)


def is_broken(record: Evaluation) -> bool:
    """Wrong numbers, an unsound program, or a pass that failed."""
    return record.result in BROKEN


def smallest_pipeline(
    evaluator: CorrectnessChecker | Evaluator, pipeline: Pipeline, shows: Callable[[Evaluation], bool] = is_broken
) -> Pipeline:
    """`pipeline` less every pass without which `shows` is still true of the record. Raises `MinitritonError` if it is not true at first."""
    if not shows(evaluator.record(pipeline)):
        record = evaluator.record(pipeline)
        raise MinitritonError(
            f"the pipeline does not show it: {evaluator.task.name!r} is {record.result}"
            + (f": {record.reason}" if record.reason else ""),
            help="begin with one that does",
        )
    steps = list(pipeline.steps)
    parts = 2
    while movable := movable_indices(steps):
        size = -(-len(movable) // parts)
        for at in range(0, len(movable), size):
            less = _without(steps, set(movable[at : at + size]))
            if shows(evaluator.record(Pipeline(tuple(less)))):
                steps, parts = less, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(2 * parts, len(movable))
    return Pipeline(tuple(steps))


def _without(steps: list[Step], left_out: set[int]) -> list[Step]:
    return [step for index, step in enumerate(steps) if index not in left_out]


SECONDS = 20.0


@dataclass(frozen=True)
class Smallest:
    """What is left: the configuration, the kernel's TTIR as text, how many ops it had and has, and the record of it."""

    pipeline: str
    ir: str
    ops_before: int
    ops_after: int
    record: Evaluation


def smallest(
    evaluate: Evaluator,
    configuration: Configuration | str,
    shows: Callable[[Evaluation], bool] = is_broken,
    still: Callable[[Evaluation, Evaluation], bool] | None = None,
    *,
    seconds: float = SECONDS,
) -> Smallest:
    """Reduces the pipeline, then the kernel, for at most `seconds` more.

    `shows`: of the record of the configuration. `still`: of a smaller kernel, its records with the configuration's pipeline and with its own (default: `shows`,
    and the own one is right). Raises `MinitritonError` if the configuration does not show it.
    """
    configuration = Configuration.of(configuration)
    variant = evaluate.task.variant(configuration.settings) if configuration.settings else evaluate.task
    first = Evaluator(variant, evaluate.metrics)
    pipeline = smallest_pipeline(first, configuration.pipeline, shows)
    whole = variant.make_ir()

    def shows_alone(found: Evaluation, own: Evaluation) -> bool:
        return shows(found) and own.result is Class.RIGHT

    wanted = still or shows_alone

    def is_kept(module: ModuleOp) -> bool:
        reduced = Evaluator(variant.with_ir(module), evaluate.metrics)
        try:
            found = reduced.record(pipeline)
            return found.result is not Class.REFUSED and wanted(found, reduced.record(variant.pipeline()))
        except MinitritonError:
            return False

    left = reduce(whole, is_kept, seconds)
    record = Evaluator(variant.with_ir(left), evaluate.metrics).record(pipeline)
    text = str(Configuration(pipeline, configuration.settings))
    return Smallest(text, print_module(left), size(whole), size(left), record)


Slot = tuple[Step | None, Step | None]
"""A step of the default pipeline and of the other one. Where they differ it is an edit: left out, put in, or with other options."""


def slots_of(first: Pipeline, other: Pipeline) -> list[Slot]:
    """The two pipelines next to each other."""
    a, b = ([step_text(step) for step in pipeline.steps] for pipeline in (first, other))
    slots: list[Slot] = []
    for kind, a0, a1, b0, b1 in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        new = list(other.steps[b0:b1])
        for step in first.steps[a0:a1]:
            same = bool(new) and new[0].name == step.name
            found = new.pop(0) if same else None
            slots.append((step, step if kind == "equal" else found))
        slots += [(None, step) for step in new]
    return slots


DefaultOf = Callable[[Settings], Pipeline]
"""The default pipeline of the kernel under other settings: `num_warps`, say, is an option of one of its passes."""


def minimal(default_of: DefaultOf, good: Configuration, is_as_good: Callable[[Configuration], bool]) -> Configuration:
    """`good` less every edit of the default configuration without which it still `is_as_good`."""
    slots = slots_of(default_of(good.settings), good.pipeline)
    edits: list[int | str] = [number for number, (old, new) in enumerate(slots) if old is not new]
    edits += [name for name, _ in good.settings]

    def made_of(chosen: Iterable[int | str]) -> Configuration | None:
        kept = frozenset(chosen)
        settings = tuple((name, value) for name, value in good.settings if name in kept)
        default = list(default_of(settings).steps)
        if len(default) != sum(old is not None for old, _ in slots):
            return None
        steps: list[Step] = []
        for number, (old, new) in enumerate(slots):
            step = None if old is None else default.pop(0)
            step = new if number in kept else step
            steps += [] if step is None else [step]
        return Configuration(Pipeline(tuple(steps)), settings)

    found, size = good, -(-len(edits) // 2)
    while edits:
        before = len(edits)
        for at in range(len(edits) - size, -size, -size):
            fewer = edits[: max(at, 0)] + edits[at + size :]
            made = made_of(fewer)
            if made is not None and is_as_good(made):
                edits, found = fewer, made
        if size == 1 and len(edits) == before:
            break
        size = max(1, min(size // 2, len(edits)))
    return found


def options_of(first: Pipeline, other: Configuration) -> str:
    """The command-line options by which `check`, `compile`, `explore` and others make `other` of the pipeline `first`; of constants, which they lack, the values.
    `first` is the default one under the settings of `other`."""
    slots, words, previous = slots_of(first, other.pipeline), list[str](), None
    moved = _moved(slots)
    now = [(number, old) for number, (old, _) in enumerate(slots) if old is not None]

    def index_of(number: int) -> int:
        return next(index for index, (slot, _) in enumerate(now) if slot == number)

    def named(index: int) -> str:
        same = [other for other, (_, step) in enumerate(now) if step.name == now[index][1].name]
        return now[index][1].name + (f"#{same.index(index) + 1}" if len(same) > 1 else "")

    for number, (old, new) in enumerate(slots):
        if new is None:
            if number not in moved.values():
                words += ["--skip", named(index_of(number))]
                del now[index_of(number)]
            continue
        if old is None:
            at = 0 if previous is None else index_of(previous) + 1
            source = index_of(moved[number]) if number in moved else None
            following = at + (at == source)
            where = f"before {named(following)}" if following < len(now) else f"after {named(at - 1)}"
            if source is None:
                words += ["--insert", f"{step_text(new)} {where}"]
            else:
                words += ["--move", f"{named(source)} {where}"]
                del now[source]
                at -= source < at
            now.insert(at, (number, new))
        elif old is not new:
            words += ["--set", step_text(new).replace(new.name, named(index_of(number)), 1)]
            now[index_of(number)] = (number, new)
        previous = number
    known = [(name, value) for name, value in other.settings if name in OPTIONS]
    words += [word for name, value in known for word in ("--option", settings_text(((name, value),)))]
    words += [word for name, value in other.settings if name == "arch" for word in ("--arch", str(value))]
    constants = tuple((name, value) for name, value in other.settings if name not in OPTIONS and name != "arch")
    return shlex.join(words) + (f" with {settings_text(constants)} in --signature or the launch" if constants else "")


def _moved(slots: list[Slot]) -> dict[int, int]:
    """Of slots that put a step in, those that leave the same one out elsewhere."""
    found: dict[int, int] = {}
    for number, (old, new) in enumerate(slots):
        if old is None and new is not None:
            same = (
                n for n, (a, b) in enumerate(slots) if b is None and a is not None and step_text(a) == step_text(new)
            )
            source = next((n for n in same if n not in found.values()), None)
            if source is not None:
                found[number] = source
    return found
