"""What a page and its server send each other, as types: `web/src/payload.ts` says the same to the page.

CompilePlain     all of a compile: states, steps          InspectionPlain   what is known of one state
RunPlain         a run on the emulator, line by line      Json              any other JSON value, such as what a question holds
"""

from __future__ import annotations

from typing import NotRequired, TypedDict

from minitriton.host.json_values import Json

Question = dict[str, Json]
"""What a page asks with: `asked`, a state as `Asked.plain` writes it, and what the service takes."""

FileLine = list[int]
"""The number of a file, and a line from 1."""
RowPlain = list[str | int | None]
"""A row of a difference: kind, left, right, other; in runs of rows a count behind."""


Bases = dict[str, tuple[tuple[int, ...], ...]]
"""Of a layout: for each bit of `register`, `lane`, `warp`, `block` or `offset` the index that it stands for."""


class SharedCostPlain(TypedDict):
    """A `SharedCost` as JSON can hold it."""

    instruction: str
    instructions: int
    wavefronts: int
    conflicts: int
    bytes: int


class CostPlain(TypedDict):
    """What a movement costs, in words and, as far as it has them, in numbers."""

    kind: str
    text: str
    registers: NotRequired[int]
    shuffles: NotRequired[int]
    scratch_bytes: NotRequired[int]
    barriers: NotRequired[int]
    stores: NotRequired[list[SharedCostPlain]]
    loads: NotRequired[list[SharedCostPlain]]
    steps: NotRequired[tuple[str, ...]]


class LayoutPlain(TypedDict):
    """A `LayoutFact` as JSON can hold it."""

    encoding: str
    kind: str
    shape: tuple[int, ...]
    bases: Bases
    padding: NotRequired[tuple[tuple[int, int], ...]]


class StatePlain(TypedDict):
    """A state in columns that run beside each other."""

    level: str
    ops: int | None
    text: list[str]
    op: list[int]
    file: list[int]
    line: list[int]
    defines: dict[str, list[str]]
    uses: dict[str, list[str]]
    number: NotRequired[list[int]]


class StepPlain(TypedDict):
    """A pass; `state` is the index of the one that it left."""

    name: str
    text: str
    doc: str
    ms: float
    state: int
    changed: bool
    error: str | None
    edit: bool
    counts: dict[str, int]
    rows: list[RowPlain]


class CompilePlain(TypedDict):
    """A compile. What stands behind `steps` is of programs that can be asked about."""

    kernel: str
    arch: int
    pipeline: str
    own: str
    files: list[str]
    sources: dict[str, str]
    states: list[StatePlain]
    steps: list[StepPlain]
    asked: NotRequired[Question]
    code: NotRequired[str]
    command: NotRequired[str]
    options: NotRequired[dict[str, int]]
    label: NotRequired[str]
    took: NotRequired[dict[str, float]]
    stamp: NotRequired[list[int] | None]
    shown: NotRequired[int]
    """The one step whose states have lines: service "states" has those of the others."""
    kept: NotRequired[KeptPlain]


class TypeRow(TypedDict):
    """A type; `layout` is the row of its layout."""

    text: str
    shape: NotRequired[list[int]]
    bits: NotRequired[int]
    layout: NotRequired[int]


class ValuePlain(TypedDict, total=False):
    """A value: `facts.ValueFact` without what says nothing, its type by its row, its line with the file's number."""

    type: int
    origin: str
    line: FileLine | None
    rule: str
    claims: dict[str, tuple[int, ...]]
    limits: dict[str, tuple[tuple[str, str, int] | None, ...]]
    constant: int
    range: tuple[int, int]


class AccessPlain(TypedDict):
    """A load or store: `accesses.AccessFact`, its line with the file's number."""

    op: int
    name: str
    line: FileLine | None
    pointer: str
    mask: str | None
    bytes: int
    width: int
    most: int
    of_thread: int
    limit: str
    reason: str
    claim: str | None
    axis: int
    chain: tuple[str, ...]
    hint: str


MovementPlain = TypedDict(
    "MovementPlain",
    {"name": str, "line": FileLine | None, "from": int | None, "to": int | None, "bits": int, "cost": CostPlain},
)
"""An op that moves a tile: layouts by their rows."""


class InspectionPlain(TypedDict):
    """What is known of one state, by the names of values and the numbers of ops."""

    values: dict[str, ValuePlain]
    accesses: dict[str, AccessPlain]
    movements: dict[str, MovementPlain]
    types: NotRequired[list[TypeRow]]
    layouts: NotRequired[list[LayoutPlain]]


class CountsPlain(TypedDict, total=False):
    """`counts.LineCounts` without zeros; of a line of the source with its place."""

    instructions: int
    requests: int
    sectors: int
    sectors_per_request: float
    bytes: int
    wasted: int
    shared_requests: int
    wavefronts: int
    conflicts: int
    barriers: int
    mix: dict[str, int]
    findings: list[str]
    file: int
    line: int


class ArrayPlain(TypedDict):
    """An array after a run. `differs`: the largest distance from that of another run."""

    elements: int
    first: list[float | str]
    digest: str
    differs: NotRequired[float]


class RunPlain(TypedDict):
    """A run on the emulator."""

    grid: list[int]
    seconds: float
    total: CountsPlain
    sources: list[CountsPlain]
    ptx: dict[str, CountsPlain]
    output: list[str]
    arrays: dict[str, ArrayPlain]


class SassPlain(TypedDict):
    """Machine code, and what the kernel takes; without a state `why` there is none."""

    resources: dict[str, int | float]
    state: StatePlain | None
    why: NotRequired[str]


class VerdictPlain(TypedDict):
    """Whether a pass kept the numbers."""

    name: str
    verdict: str
    ok: bool
    why: str
    lacks: NotRequired[list[str]]
    """Where it runs although its contract is broken: passes that would establish what it needs."""


class VerdictsPlain(TypedDict):
    """A verdict a step; None for steps that cannot be checked."""

    steps: list[VerdictPlain | None]


class BufferPlain(TypedDict):
    """A buffer in shared memory: its place, and from which op to which it is alive."""

    name: str
    kind: str
    size: int
    offset: int
    live: list[int]
    line: FileLine | None
    type: str


class BuffersPlain(TypedDict):
    """All of them; `ops`: how many ops time is counted in."""

    total: int
    ops: int
    buffers: list[BufferPlain]


class RunOfAccessPlain(TypedDict):
    """One run of a load or store."""

    program: tuple[int, int, int]
    offsets: tuple[int | None, ...]
    warps: tuple[int, ...]


class PatternPlain(TypedDict):
    """Which elements of an array an access touches."""

    name: str
    array: str
    elements: int
    bytes: int
    programs: list[RunOfAccessPlain]
    line: NotRequired[FileLine | None]


class Problem(TypedDict):
    """An error, as a page shows it."""

    message: str
    text: str
    help: NotRequired[str | None]
    source_line: NotRequired[str | None]
    file: NotRequired[str | None]
    line: NotRequired[int | None]
    column: NotRequired[int | None]
    source: NotRequired[str | None]
    contract: NotRequired[bool]
    """Whether it is the order of passes that is refused: they can be run anyway."""


class Failure(TypedDict):
    """An answer that is an error."""

    error: Problem


class KeptPlain(TypedDict):
    """Answers that a file holds."""

    inspect: dict[str, InspectionPlain]
    types: list[TypeRow]
    layouts: list[LayoutPlain]
    run: RunPlain | Failure
    sass: SassPlain | Failure
    check: VerdictsPlain | Failure
    buffers: BuffersPlain | Failure
    patterns: dict[str, PatternPlain | Failure]
    triton: NotRequired[str]


class StopPlain(TypedDict):
    """A stop of the tour."""

    title: str
    text: str
    step: str
    level: str
    op: str
    line: str
    tab: str


class WalkPlain(TypedDict):
    """A kernel of the tour."""

    name: str
    title: str
    asked: Question
    stops: list[StopPlain]


class ExercisePlain(TypedDict):
    """An exercise; `pipeline`: one that is refused, to be mended."""

    name: str
    title: str
    grade: int
    task: str
    hint: str
    wants: str
    asked: Question
    pipeline: str | None
    recorded: NotRequired[list[RecordedAnswerPlain]]
    """In a file: answers to choose from."""


class RecordedAnswerPlain(TypedDict):
    """An answer that was checked when a file was written, and what the checks said."""

    title: str
    ok: bool
    said: list[str]


class LessonsPlain(TypedDict):
    """The tour and the exercises."""

    tour: list[WalkPlain]
    exercises: list[ExercisePlain]


class GradePlain(TypedDict):
    """Whether an answer is right, and what each check said."""

    ok: bool
    said: list[str]


class Drawn(TypedDict):
    """A layout for each encoding that is being written; of two, what it costs to come from the first to the second."""

    layouts: list[LayoutPlain]
    cost: str | None


Answer = (
    CompilePlain | InspectionPlain | RunPlain | SassPlain | VerdictsPlain | BuffersPlain | PatternPlain | LessonsPlain | GradePlain | Drawn
)  # fmt: skip
