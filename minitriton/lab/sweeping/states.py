"""What passes make of one kernel, each step of each state run once.

    canonicalize,cse,symbol-dce        S0 ─canonicalize→ S1 ─cse→ S2 ─symbol-dce→ S2   (nothing changed: the same state)
    canonicalize,symbol-dce,cse        S0 ─canonicalize→ S1 ─symbol-dce→ S1 ─cse→ S2   (one new step, no new state)

Pipelines with a common beginning share it, and states that are the same program are one state, whichever way led to it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.fingerprint import Fingerprints
from minitriton.pass_manager import Pipeline
from minitriton.pass_registry import Pass, Property, Step
from minitriton.target.tensor_map import DescriptorCopy

MODULES_KEPT = 400
"""Modules held in memory; one that was dropped is made again from the state before it."""


@dataclass(frozen=True)
class LaunchFacts:
    """What the lowering says that a launch needs and PTX does not hold: bytes of shared memory a CTA, bytes of global
    scratch a program, and the tensor maps that the kernel takes."""

    shared: int = 0
    global_scratch: int = 0
    maps: str = ""
    descriptors: list[DescriptorCopy] | None = field(default=None, compare=False)


@dataclass(eq=False)
class State:
    """A program at some level, and how it was first reached."""

    facts: frozenset[Property]
    digest: bytes | str
    launch_facts: LaunchFacts = LaunchFacts()
    origin: tuple[State, Step] | None = None
    edges: dict[Step, State | Failure] = field(default_factory=dict, repr=False)
    edge_seconds: dict[Step, float] = field(default_factory=dict, repr=False)
    """What each step from here took when it was run."""
    stage: str = ""
    """The metric that its steps' seconds count for."""

    def __post_init__(self) -> None:
        self.stage = _stage(self.facts)


@dataclass(frozen=True)
class Failure:
    """A step that raised, by name, and what it said."""

    step: str
    error: BaseException


class States:
    """The states of one kernel, from the frontend's IR on. `make` gives that IR anew."""

    def __init__(self, context: Context, make: Callable[[], ModuleOp], facts: frozenset[Property]) -> None:
        self._context, self._make = context, make
        self._fingerprints = Fingerprints()
        self._known: dict[Any, State] = {}
        self._values: OrderedDict[int, Any] = OrderedDict()
        self.steps_run = 0
        self.steps_asked = 0
        module = make()
        self.first = State(facts, self._fingerprints.of(module))
        self._known[(self.first.digest, facts, LaunchFacts())] = self.first
        self._keep(self.first, module)

    def run(self, pipeline: Pipeline) -> State | Failure:
        """The state that `pipeline` ends in, or the step that failed."""
        state = self.first
        for step in pipeline.steps:
            following = self.follow(state, step)
            if isinstance(following, Failure):
                return following
            state = following
        return state

    def follow(self, state: State, step: Step) -> State | Failure:
        """Where `step` leads from `state`."""
        self.steps_asked += 1
        following = state.edges.get(step)
        if following is None:
            following = state.edges[step] = self._step(state, step)
        return following

    def seconds(self, pipeline: Pipeline) -> dict[str, float]:
        """What the steps of `pipeline` took, by the stage that they start from; what was merged counts what it took once."""
        found: dict[str, float] = dict.fromkeys(("ttir_seconds", "ttgir_seconds", "llir_seconds", "ptx_seconds"), 0.0)
        state: State | Failure = self.first
        for step in pipeline.steps:
            assert isinstance(state, State)
            found[state.stage] += state.edge_seconds.get(step, 0.0)
            state = state.edges[step]
        return found

    def value(self, state: State) -> Any:
        """The module or text of `state`: not to be changed."""
        known = self._values.get(id(state))
        if known is not None:
            self._values.move_to_end(id(state))
            return known
        if state.origin is None:
            value: Any = self._make()
        else:
            before, step = state.origin
            value = self._apply(before, step)
        self._keep(state, value)
        return value

    def _keep(self, state: State, value: Any) -> None:
        self._values[id(state)] = value
        while len(self._values) > MODULES_KEPT:
            self._values.popitem(last=False)

    def _apply(self, state: State, step: Step) -> Any:
        value = self.value(state)
        if not isinstance(step, Pass):
            return step.translate(value)
        copy = value.clone()
        step.apply(self._context, copy)
        return copy

    def _step(self, state: State, step: Step) -> State | Failure:
        self.steps_run += 1
        start = time.perf_counter()
        try:
            value = self._apply(state, step)
        except Exception as error:
            return Failure(step.name, error)
        state.edge_seconds[step] = time.perf_counter() - start
        facts = (state.facts - step.destroys) | step.establishes
        digest = self._fingerprints.of(value) if isinstance(value, ModuleOp) else str(value)
        launch_facts = state.launch_facts
        if Property.LLVM_DIALECT in step.establishes and isinstance(value, ModuleOp):
            launch_facts = _launch_facts(self.value(state), value)
        key = (digest, facts, launch_facts)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = State(facts, digest, launch_facts, (state, step))
            self._keep(known, value)
        return known


def _stage(facts: frozenset[Property]) -> str:
    if Property.LLVM_IR in facts:
        return "ptx_seconds"
    if Property.LLVM_DIALECT in facts:
        return "llir_seconds"
    return "ttgir_seconds" if Property.ENCODINGS in facts else "ttir_seconds"


def _launch_facts(before: ModuleOp, after: ModuleOp) -> LaunchFacts:
    """Bytes of shared memory and of scratch of the lowered module, and the tensor maps that the kernel takes."""

    def number(name: str) -> int:
        value = after.attributes.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else 0

    with suppress(MinitritonError):
        maps = descriptor_metadata(before)
        return LaunchFacts(
            number("ttg.shared"), number("ttg.global_scratch_memory_size"), repr(maps) if maps else "", maps
        )
    return LaunchFacts(number("ttg.shared"), number("ttg.global_scratch_memory_size"))
