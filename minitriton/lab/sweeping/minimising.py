"""What matters of a good configuration: its edits of the default one, less those without which it stays as good, and the options that reproduce it.

    default   inline,canonicalize,cse,sccp            good   [num_warps=8] inline,cse,cse,sccp: 12 % fewer instructions
    minimal   inline,cse,sccp                         as good: neither the second cse nor the warps made a difference
    options   --skip canonicalize

Edits are dropped in halves, then in quarters, at last one at a time, as long as one can go (Zeller and Hildebrandt, 2002).
"""

import difflib
import shlex
from collections.abc import Callable, Iterable

from minitriton.lab.sweeping.configuration import Configuration, Settings, settings_text, step_text
from minitriton.lab.sweeping.tuning_task import OPTIONS
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step

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
