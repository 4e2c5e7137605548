"""What a page and its server send each other, as types: `web/src/payload.ts` says the same to the page.

CompileJson     all of a compile: states, steps          InspectionJson   what is known of one state
RunJson         a run on the emulator, line by line      Json              any other JSON value, such as what a question holds
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from minitriton.commands.tile_tables import Tables
from minitriton.host.json_values import Json

Question = dict[str, Json]
"""What a page asks with: `asked`, a state as `CompileRequest.plain` writes it, and what the service takes."""

FileLine = list[int]
"""The number of a file, and a line from 1."""
RowJson = list[str | int | None]
"""A row of a difference: kind, left, right, other; in runs of rows a count after them."""


CostJson = dict[str, Any]
"""A `layout_facts.ConversionFact` with its text, or what an access to shared memory costs."""
LayoutJson = dict[str, Any]
"""The fields of a `layout_facts.LayoutFact`, padding only where there is some."""
AccessJson = dict[str, Any]
"""The fields of an `accesses.AccessFact`, its line with the file's number."""
WalkJson = dict[str, Any]
"""The fields of a `lessons.tour.Walk`."""

Bases = dict[str, tuple[tuple[int, ...], ...]]
"""Of a layout: for each bit of `register`, `lane`, `warp`, `block` or `offset` the index that it stands for."""


class DeclaredJson(TypedDict):
    """A line of the kernel that writes a layout: the layout as it is written, and on a shape."""

    file: int
    line: int
    text: str
    bits: int
    layout: LayoutJson


class StateJson(TypedDict):
    """A state in columns in parallel."""

    level: str
    ops: int | None
    text: list[str]
    op: list[int]
    file: list[int]
    line: list[int]
    defines: dict[str, list[str]]
    uses: dict[str, list[str]]
    number: NotRequired[list[int]]


class StepJson(TypedDict):
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
    rows: list[RowJson]


class CompileJson(TypedDict):
    """A compile. What follows `steps` is of programs that can be asked about."""

    kernel: str
    arch: int | str
    pipeline: str
    own: str
    files: list[str]
    sources: dict[str, str]
    states: list[StateJson]
    steps: list[StepJson]
    declared: NotRequired[list[DeclaredJson]]
    docs: NotRequired[dict[str, str]]
    """What the ops of its TTIR and TTGIR do, by name."""
    asked: NotRequired[Question]
    code: NotRequired[str]
    command: NotRequired[str]
    made_up: NotRequired[str]
    """The signature, where nobody gave one."""
    options: NotRequired[dict[str, int]]
    label: NotRequired[str]
    took: NotRequired[dict[str, float]]
    stamp: NotRequired[dict[str, str]]
    """Files that it was made of, by path, with what changes when they do: questions about it are refused then."""
    shown: NotRequired[int]
    """The one step whose states have lines: service "states" has those of the others."""
    kept: NotRequired[KeptJson]


class TypeRow(TypedDict):
    """A type; `layout` is the row of its layout."""

    text: str
    shape: NotRequired[list[int]]
    bits: NotRequired[int]
    layout: NotRequired[int]


class ValueJson(TypedDict, total=False):
    """A value: `facts.ValueFact` without what says nothing, its type by its row, its line with the file's number."""

    type: int
    origin: str
    line: FileLine | None
    rule: str
    claims: dict[str, tuple[int, ...]]
    limits: dict[str, tuple[tuple[str, str, int] | None, ...]]
    constant: int
    range: tuple[int, int]


MovementJson = TypedDict(
    "MovementJson",
    {"name": str, "line": FileLine | None, "from": int | None, "to": int | None, "bits": int, "cost": CostJson},
)
"""An op that moves a tile: layouts by their rows."""


class InFlightJson(TypedDict):
    """What is in flight after an op: how many groups of dots and of copies, and what they are."""

    dots: int
    copies: int
    text: str


class InspectionJson(TypedDict):
    """What is known of one state, by the names of values and the numbers of ops."""

    values: dict[str, ValueJson]
    accesses: dict[str, AccessJson]
    movements: dict[str, MovementJson]
    in_flight: NotRequired[dict[str, InFlightJson]]
    order: NotRequired[list[list[int | str]]]
    """Pairs of ops that memory keeps in order, by their numbers, each with why."""
    types: NotRequired[list[TypeRow]]
    layouts: NotRequired[list[LayoutJson]]


class CountsJson(TypedDict, total=False):
    """`execution.LineCounts` without zeros; of a line of the source with its location."""

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


class ApartJson(TypedDict, total=False):
    """How far an array is from that of another run: elements that are not equal, those of them that are not finite in one, and those
    `beyond` what rounding explains; how many are `larger` in magnitude, where nearly all or nearly none are; the largest distance `at` an
    index, its two numbers; relative to the other, in ulps."""

    differing: int
    sizes: list[int]
    not_finite: int
    beyond: int
    first: list[int]
    at: list[int]
    now: float | str
    before: float | str
    absolute: float
    relative: float
    ulps: float
    larger: int


class EvaluatedJson(TypedDict):
    """What became of a configuration of a sweep, why it is not right, and its numbers by name of a metric of the laboratory."""

    result: str
    reason: str
    numbers: dict[str, int]


class WrittenJson(TypedDict):
    """The text of a file that shows compiles without a server."""

    html: str


class SweepJson(TypedDict):
    """What a sweep of a program may vary, with the values that it has, and the configurations to try: what each is called and asks for."""

    own: dict[str, str]
    rows: list[OfferedJson]


class TilesJson(Tables):
    """The tile sizes of a kernel by the model, how many `fit`, where the compile's `own` are, for what others are dropped; constants and options
    of each row, and the grid that its launch has with them ("": not known); the sizes, and the items of the compile's signature by parameter."""

    own: dict[str, Any]
    reasons: list[dict[str, Any]]
    fit: int
    configs: list[dict[str, int]]
    grids: list[str]
    sizes: str
    items: dict[str, str]
    asked: Question
    """What a row is compiled from: a kernel of the corpus by its file, whose types may be changed."""


class DistancesJson(TypedDict):
    """Of the arrays of two runs, by name."""

    distances: dict[str, ApartJson]


class ArrayJson(TypedDict):
    """An array after a run. `apart`: from that of another run."""

    elements: int
    first: list[float | str]
    digest: str
    apart: NotRequired[ApartJson]


class RunJson(TypedDict):
    """A run on the emulator."""

    grid: list[int]
    seconds: float
    total: CountsJson
    sources: list[CountsJson]
    ptx: dict[str, CountsJson]
    output: list[str]
    doubt: str
    arrays: dict[str, ArrayJson]


class InputJson(TypedDict):
    """What a parameter is run with: a number, or how many elements its array has, and who said so."""

    name: str
    type: str
    is_array: bool
    value: str
    whose: str


class InputsJson(TypedDict):
    """All that a program is run with. `doubt`: what of it nobody gave, in words."""

    rows: list[InputJson]
    grid: list[int]
    seed: int
    doubt: str


class OfferedJson(TypedDict):
    """A kernel that can be opened."""

    title: str
    about: str
    asked: Question


class GroupJson(TypedDict):
    """Kernels that are offered together."""

    title: str
    kernels: list[OfferedJson]


class StartJson(TypedDict):
    """What a page offers that nothing was opened on."""

    groups: list[GroupJson]


class SassJson(TypedDict):
    """Machine code, and what the kernel takes; without a state `why` there is none."""

    resources: dict[str, int | float]
    state: StateJson | None
    why: NotRequired[str]


class VerdictJson(TypedDict):
    """Whether a pass kept the numbers."""

    name: str
    verdict: str
    ok: bool
    why: str
    lacks: NotRequired[list[str]]
    """Where it runs although its contract is broken: passes that would establish what it needs."""


class VerdictsJson(TypedDict):
    """A verdict a step; None for steps that cannot be checked. `kernel`: what the kernel itself does wrong, whatever the passes do."""

    steps: list[VerdictJson | None]
    kernel: list[str]


class BufferJson(TypedDict):
    """A buffer in shared memory: its offset, and from which op to which it is alive."""

    name: str
    kind: str
    size: int
    offset: int
    live: list[int]
    line: FileLine | None
    type: str


class BuffersJson(TypedDict):
    """All of them; `ops`: how many ops time is counted in."""

    total: int
    ops: int
    buffers: list[BufferJson]


class ShownJson(TypedDict):
    """Numbers: a slice at `index` of the first axes, `rows` of `data`, `every` so many rows and columns one. `strange`: how many are not finite."""

    shape: list[int]
    index: list[int]
    every: list[int]
    rows: int
    data: list[float | str]
    least: float
    most: float
    mean: float
    strange: int


class ValuesJson(ShownJson):
    """What a tensor holds. `array`: what pointers are into; `of`: in how many runs it is made, where the first is all that is there."""

    name: str
    type: str
    array: str
    run: int
    runs: int
    programs: int
    of: NotRequired[int]


class HeldJson(TypedDict):
    """What a file holds of the last TTGIR: tensors by their names, and the kernel's arrays before a run and after it."""

    values: dict[str, ValuesJson]
    arrays: dict[str, list[ValuesJson]]


class FlightJson(TypedDict):
    """A group of copies, loads, stores or dots: in flight from one cycle to another. `amount`: bytes, of dots instructions."""

    kind: str
    start: int
    end: int
    amount: int
    line: int


class TimelineJson(TypedDict):
    """The warps of one CTA by a model of time: segments `[from, to, kind, line]` of each, `lines` as `[line of PTX, file, line]`.
    `shares`: of a warp's time, by kind; `busy`: of the time, that the units work; `waits`: `[kind, file, line, cycles a warp]`."""

    cycles: int
    data: str
    warps: list[list[list[int | str]]]
    flights: list[FlightJson]
    lines: list[list[int]]
    shares: dict[str, float]
    busy: dict[str, float]
    waits: list[list[int | str]]
    is_partial: bool


class RunOfAccessJson(TypedDict):
    """One run of a load or store."""

    program: tuple[int, int, int]
    offsets: tuple[int | None, ...]
    warps: tuple[int, ...]


class PatternJson(TypedDict):
    """Which elements of an array an access touches."""

    name: str
    array: str
    elements: int
    bytes: int
    programs: list[RunOfAccessJson]
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


class KeptJson(TypedDict):
    """Answers that a file holds."""

    inspect: dict[str, InspectionJson]
    types: list[TypeRow]
    layouts: list[LayoutJson]
    run: RunJson | Failure
    sass: SassJson | Failure
    check: NotRequired[VerdictsJson | Failure]
    buffers: NotRequired[BuffersJson | Failure]
    patterns: dict[str, PatternJson | Failure]
    timelines: dict[str, TimelineJson | Failure]
    tiles: NotRequired[TilesJson | Failure]
    held: NotRequired[str]
    """A `HeldJson`, or why there is none, deflated."""
    triton: NotRequired[str]


class ExerciseJson(TypedDict):
    """An exercise; `pipeline`: one that is refused, to be fixed."""

    name: str
    title: str
    grade: int
    task: str
    hint: str
    explains: str
    wants: str
    asked: Question
    pipeline: str | None
    recorded: NotRequired[list[RecordedAnswerJson]]
    """In a file: answers to choose from."""


class RecordedAnswerJson(TypedDict):
    """An answer that was checked when a file was written, and what the checks said."""

    title: str
    ok: bool
    said: list[str]


class LessonsJson(TypedDict):
    """The tour and the exercises."""

    tour: list[WalkJson]
    exercises: list[ExerciseJson]


class GradeJson(TypedDict):
    """Whether an answer is right, and what each check said."""

    ok: bool
    said: list[str]


class Drawn(TypedDict):
    """A layout for each encoding that is being written; of two, what it costs to come from the first to the second."""

    layouts: list[LayoutJson]
    cost: str | None


Answer = (
    CompileJson | InspectionJson | RunJson | SassJson | VerdictsJson | BuffersJson | PatternJson | LessonsJson | GradeJson | Drawn | StartJson
    | InputsJson | TimelineJson | ValuesJson | DistancesJson | TilesJson | EvaluatedJson | SweepJson | WrittenJson
)  # fmt: skip
