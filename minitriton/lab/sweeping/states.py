"""What passes make of one kernel, each step of each state run once.

    canonicalize,cse,symbol-dce        S0 ─canonicalize→ S1 ─cse→ S2 ─symbol-dce→ S2   (nothing changed: the same state)
    canonicalize,symbol-dce,cse        S0 ─canonicalize→ S1 ─symbol-dce→ S1 ─cse→ S2   (one new step, no new state)

Pipelines with a common beginning share it, and states that are the same program are one state, whichever way led to it.

Two modules are the same program by a digest of ops, operands, attributes, types and regions:

    %0 = arith.addi %a, %b          %x = arith.addi %p, %q        same digest: values are known by their order
    ... loc(a.py:3)                 ... loc(a.py:4)               same digest: places do not count

Attributes get numbers, in the order in which they are first seen, so digests of one `Fingerprints` compare only with each other.
"""

from __future__ import annotations

import hashlib
import time
from array import array
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Attribute, Operation, Region

from minitriton.analysis.tensor_descriptors import descriptor_metadata
from minitriton.dialects.facts.pass_attributes import OVERLAPS_LAUNCHES
from minitriton.dialects.fast_paths.copying import copy_of, frozen, parts_of
from minitriton.dialects.fast_paths.op_access import block_successors, next_op, operand_values
from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.configuration import by_identity
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Pass, Property, Step
from minitriton.rewriting.equivalence import OperationKeys
from minitriton.target.tensor_map import DescriptorCopy

MODULES_KEPT = 400
"""Programs held in memory; one that was dropped is made again from the program before it."""

COPIES_KEPT = 32
"""Copies held of programs that passes left as they were."""


@dataclass(frozen=True)
class LaunchFacts:
    """What the lowering says that a launch needs and PTX does not hold: bytes of shared memory a CTA, bytes of global
    scratch a program, and the tensor maps that the kernel takes."""

    shared: int = 0
    global_scratch: int = 0
    maps: str = ""
    overlaps: bool = False
    """Whether a launch may begin before the one before it ends."""
    descriptors: list[DescriptorCopy] | None = field(default=None, compare=False)


Digest = bytes | str
"""What equal programs have in common: of a module its fingerprint, of a text the text."""


@dataclass(eq=False)
class State:
    """A program at some level, and what holds of it."""

    facts: frozenset[Property]
    digest: Digest
    launch_facts: LaunchFacts = LaunchFacts()
    edges: dict[int, State | StepFailure] = field(default_factory=dict[int, "State | StepFailure"], repr=False)
    """Where steps lead, by their numbers."""
    edge_seconds: dict[int, float] = field(default_factory=dict[int, float], repr=False)
    """What each step from here took when it was run."""
    stage: str = ""
    """The metric that its steps' seconds count for."""

    def __post_init__(self) -> None:
        self.stage = _stage(self.facts)


@dataclass(frozen=True)
class StepFailure:
    """A step that raised, by name, and what it said."""

    step: str
    error: BaseException


@dataclass(frozen=True)
class _Outcome:
    """What a step made of a program: this depends on the program, not on what else is known to hold."""

    digest: Digest
    seconds: float
    launch_facts: LaunchFacts | None
    """Of a step that lowers; None of one that leaves them as they are."""


@dataclass(frozen=True)
class _ProgramCopy:
    """A program that a pass may change, and its parts before that."""

    module: ModuleOp
    parts: list[object]


class States:
    """The states of one kernel, from the frontend's IR on. `make` gives that IR anew."""

    def __init__(self, context: Context, make: Callable[[], ModuleOp], facts: frozenset[Property]) -> None:
        self._context, self._make = context, make
        self._fingerprints = Fingerprints()
        self._known: dict[tuple[Digest, frozenset[Property], LaunchFacts], State] = {}
        self._outcomes: dict[tuple[Digest, int], _Outcome | StepFailure] = {}
        self._origins: dict[Digest, tuple[Digest, Step]] = {}
        """How each program but the first was first made."""
        self._values: OrderedDict[Digest, ModuleOp | str] = OrderedDict()
        self._copies: OrderedDict[Digest, _ProgramCopy] = OrderedDict()
        """Of programs that passes left as they were."""
        self.steps_run = 0
        self.steps_asked = 0
        module = make()
        self.first = State(facts, self._fingerprints.of(module))
        self._known[self.first.digest, facts, LaunchFacts()] = self.first
        self._keep(self.first.digest, module)

    def run(self, pipeline: Pipeline) -> State | StepFailure:
        """The state that `pipeline` ends in, or the step that failed."""
        state = self.first
        for step in pipeline.steps:
            following = self.follow(state, step)
            if isinstance(following, StepFailure):
                return following
            state = following
        return state

    def follow(self, state: State, step: Step) -> State | StepFailure:
        """Where `step` leads from `state`."""
        self.steps_asked += 1
        number = step_number(step)
        following = state.edges.get(number)
        if following is None:
            following = state.edges[number] = self._step(state, step, number)
        return following

    def seconds(self, pipeline: Pipeline) -> dict[str, float]:
        """What the steps of `pipeline` took, by the stage that they start from; what was merged counts what it took once."""
        found: dict[str, float] = dict.fromkeys(("ttir_seconds", "ttgir_seconds", "llir_seconds", "ptx_seconds"), 0.0)
        state: State | StepFailure = self.first
        for step in pipeline.steps:
            assert isinstance(state, State)
            number = step_number(step)
            found[state.stage] += state.edge_seconds.get(number, 0.0)
            state = state.edges[number]
        return found

    def value(self, state: State) -> ModuleOp | str:
        """The module or text of `state`: not to be changed."""
        return self._value(state.digest)

    def _value(self, digest: Digest) -> ModuleOp | str:
        known = self._values.get(digest)
        if known is not None:
            self._values.move_to_end(digest)
            return known
        if digest not in self._origins:
            value: ModuleOp | str = self._make()
        else:
            before, step = self._origins[digest]
            value = self._applied(before, step)
        self._keep(digest, value)
        return value

    def _keep(self, digest: Digest, value: ModuleOp | str) -> None:
        self._values[digest] = value
        if len(self._values) > MODULES_KEPT:
            self._values.popitem(last=False)

    def _applied(self, digest: Digest, step: Step) -> ModuleOp | str:
        """What `step` makes of the program, anew."""
        value = self._value(digest)
        if not isinstance(step, Pass):
            return step.translate(value)
        assert isinstance(value, ModuleOp)
        module = copy_of(value)
        step.apply(self._context, module)
        return module

    def _copied(self, digest: Digest) -> _ProgramCopy:
        """A copy of the program that a pass may change."""
        known = self._copies.pop(digest, None)
        if known is not None:
            return known
        value = self._value(digest)
        assert isinstance(value, ModuleOp)
        module = copy_of(value)
        return _ProgramCopy(module, frozen(parts_of(module)))

    def _step(self, state: State, step: Step, number: int) -> State | StepFailure:
        outcome = self._outcomes.get((state.digest, number))
        if outcome is None:
            outcome = self._outcomes[state.digest, number] = self._run(state.digest, step)
        if isinstance(outcome, StepFailure):
            return outcome
        state.edge_seconds[number] = outcome.seconds
        facts = step.after(state.facts)
        launch_facts = state.launch_facts if outcome.launch_facts is None else outcome.launch_facts
        key = (outcome.digest, facts, launch_facts)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = State(facts, outcome.digest, launch_facts)
        return known

    def _run(self, before: Digest, step: Step) -> _Outcome | StepFailure:
        self.steps_run += 1
        start = time.perf_counter()
        try:
            if isinstance(step, Pass):
                copy = self._copied(before)
                start = time.perf_counter()
                step.apply(self._context, copy.module)
                return self._of_module(before, step, copy, time.perf_counter() - start)
            text = step.translate(self._value(before))
        except Exception as error:
            return StepFailure(step.name, error)
        self._note(text, before, step, text)
        return _Outcome(text, time.perf_counter() - start, None)

    def _of_module(self, before: Digest, step: Step, copy: _ProgramCopy, seconds: float) -> _Outcome:
        module = copy.module
        if parts_of(module) == copy.parts:
            self._copies[before] = copy
            if len(self._copies) > COPIES_KEPT:
                self._copies.popitem(last=False)
            return _Outcome(before, seconds, None)
        digest = self._fingerprints.of(module)
        self._note(digest, before, step, module)
        lowers = Property.LLVM_DIALECT in step.establishes
        return _Outcome(digest, seconds, _launch_facts(self._value(before), module) if lowers else None)

    def _note(self, digest: Digest, before: Digest, step: Step, value: ModuleOp | str) -> None:
        """Keeps a program that is met for the first time."""
        if digest not in self._origins and digest != self.first.digest:
            self._origins[digest] = (before, step)
            self._keep(digest, value)


_numbers: dict[tuple[type, Step], int] = {}


@by_identity
def step_number(step: Step) -> int:
    """Equal for equal steps, in this process; the hash of a step is that of its options, so that most of them are equal."""
    return _numbers.setdefault((type(step), step), len(_numbers))


def _stage(facts: frozenset[Property]) -> str:
    if Property.LLVM_IR in facts:
        return "ptx_seconds"
    if Property.LLVM_DIALECT in facts:
        return "llir_seconds"
    return "ttgir_seconds" if Property.ENCODINGS in facts else "ttir_seconds"


def _launch_facts(before: ModuleOp | str, after: ModuleOp) -> LaunchFacts:
    """Bytes of shared memory and of scratch of the lowered module, and the tensor maps that the kernel takes."""

    def number(name: str) -> int:
        value = after.attributes.get(name)
        return value.value.data if isinstance(value, IntegerAttr) else 0

    overlaps = OVERLAPS_LAUNCHES in after.attributes
    with suppress(MinitritonError):
        assert isinstance(before, ModuleOp)
        maps = descriptor_metadata(before)
        return LaunchFacts(
            number("ttg.shared"), number("ttg.global_scratch_memory_size"), repr(maps) if maps else "", overlaps, maps
        )
    return LaunchFacts(number("ttg.shared"), number("ttg.global_scratch_memory_size"), overlaps=overlaps)


_REGION, _BLOCK, _END = -1, -2, -3


class Fingerprints:
    """Makes digests that are equal exactly for equal programs (16 bytes of BLAKE2)."""

    def __init__(self) -> None:
        self._keys = OperationKeys()
        self._classes: dict[str, int] = {}
        self._numbers: dict[int, int] = {}
        """Of attributes, by their `id`; `_keys` holds them."""

    def of(self, module: ModuleOp) -> bytes:
        """The digest of `module`, its own attributes included."""
        words: list[int] = []
        self._operation(module, words, {}, {})
        return hashlib.blake2b(array("q", words).tobytes(), digest_size=16).digest()

    def _number(self, attribute: Attribute) -> int:
        number = self._numbers.get(id(attribute))
        if number is None:
            number = self._numbers[id(attribute)] = self._keys.number(attribute)
        return number

    def _operation(self, op: Operation, words: list[int], values: dict[int, int], blocks: dict[int, int]) -> None:
        classes, numbers = self._classes, self._numbers
        operands, results, successors = operand_values(op), op.results, block_successors(op)
        properties, attributes = op.properties, op.attributes
        words += (
            classes.setdefault(op.name, len(classes)), len(operands), len(results), len(properties), len(attributes),
            len(successors),
        )  # fmt: skip
        for operand in operands:
            words.append(values.setdefault(id(operand), len(values)))
        for result in results:
            type_ = result.type
            words += (values.setdefault(id(result), len(values)), numbers.get(id(type_)) or self._number(type_))
        for dictionary in (properties, attributes):
            for name in sorted(dictionary) if len(dictionary) > 1 else dictionary:
                attribute = dictionary[name]
                words.append(classes.setdefault(name, len(classes)))
                words.append(numbers.get(id(attribute)) or self._number(attribute))
        for block in successors:
            words.append(blocks.setdefault(id(block), len(blocks)))
        for region in op.regions:
            self._region(region, words, values, blocks)

    def _region(self, region: Region, words: list[int], values: dict[int, int], blocks: dict[int, int]) -> None:
        words.append(_REGION)
        for block in region.blocks:
            words += (_BLOCK, blocks.setdefault(id(block), len(blocks)))
            for argument in block.args:
                words += (values.setdefault(id(argument), len(values)), self._number(argument.type))
            op = block.first_op
            while op is not None:
                self._operation(op, words, values, blocks)
                op = next_op(op)
        words.append(_END)
