"""Answers what a page asks, in the process that compiles: each answer is plain values for JSON.

session = ExplorerSession()
session.answer("compile", {"asked": {"source": "softmax.py:softmax"}})["steps"]
session.answer("inspect", {"asked": {...}, "step": 6})["values"]["12"]
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict

from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from minitriton.analysis.shared_memory.allocation import BufferKind, allocate
from minitriton.analysis.shared_memory.liveness import Liveness
from minitriton.codegen.scratch import scratch_bytes
from minitriton.commands.shared_options import progress
from minitriton.dialects.context import make_context
from minitriton.dialects.locations import user_location
from minitriton.emulator.report import Report
from minitriton.errors import MinitritonError
from minitriton.explorer.accesses import patterns_of
from minitriton.explorer.array_distance import distance
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.compiles import Compiles, RecordedCompile
from minitriton.explorer.execution import Ran, run_program, traced_run
from minitriton.explorer.failures import answered
from minitriton.explorer.inspection import Tables, inspect_state
from minitriton.explorer.layout_facts import conversion_fact, layout_fact, local_cost, read_encoding
from minitriton.explorer.lessons.exercises import EXERCISES, find, grade
from minitriton.explorer.lessons.tour import TOUR
from minitriton.explorer.packing import payload, state_payload
from minitriton.explorer.program import RequestedProgram, open_program
from minitriton.explorer.read_files import changed
from minitriton.explorer.recording import Recording, StepAnchor
from minitriton.explorer.sass import assembled, resources, sass_state
from minitriton.explorer.start_page import catalogue, require_program
from minitriton.explorer.timeline import Data, timeline
from minitriton.explorer.triton_reference import triton_recording
from minitriton.explorer.values import values_of
from minitriton.explorer.verdicts import verdicts
from minitriton.explorer.wire import (
    Answer,
    ApartJson,
    BufferJson,
    BuffersJson,
    CompileJson,
    DistancesJson,
    Drawn,
    EvaluatedJson,
    GradeJson,
    InputJson,
    InputsJson,
    InspectionJson,
    KeptJson,
    LessonsJson,
    PatternJson,
    Question,
    RunJson,
    SassJson,
    StartJson,
    SweepJson,
    TilesJson,
    TimelineJson,
    ValuesJson,
    VerdictsJson,
    WrittenJson,
)  # fmt: skip
from minitriton.host.llvm_locations import LLVMLocations
from minitriton.lab.arguments import array_of
from minitriton.lab.command import named
from minitriton.lab.comparison import rounding_tolerance
from minitriton.layouts.encodings import DistributedEncoding, SharedEncoding
from minitriton.target import target_named


class ExplorerSession(Compiles):
    """Answers about the compiles of a session."""

    def __init__(self, *, keeps: bool = True) -> None:
        super().__init__(keeps=keeps)
        self.looked_into: RecordedCompile | None = None
        """The compile whose facts were asked for last: those of its other states will be, too."""
        self.run_of_tritons: tuple[CompileRequest, Ran] | None = None
        """What Triton compiled last, as it ran."""

    def ahead(self) -> bool:
        """Finds out, while nobody asks, what is known of one more state of the compile that is looked into. Whether there was one."""
        opened = self.looked_into
        if opened is None:
            return False
        steps = opened.recording.steps
        of_next = (at for at, step in enumerate(steps) if at not in opened.inspected and (step.changed or at == 0))
        step = next(of_next, None)
        if step is None:
            self.looked_into = None
            return False
        try:
            inspect_compile(opened, step)
        except Exception:
            # Who asks for it is given the reason.
            self.looked_into = None
        return True

    def answer(self, name: str, given: Question) -> Answer:
        """What service `name` says. Raises `MinitritonError` for what it cannot do, and for a service that there is not."""
        if name not in SERVICES:
            raise MinitritonError(f"the explorer lacks the service {name!r}", help="it has: " + ", ".join(SERVICES))
        stamp = given.get("stamp")
        if isinstance(stamp, dict) and name not in ("compile", "states"):
            file = changed({path: str(one) for path, one in stamp.items()})
            if file is not None:
                raise MinitritonError(f"{file} has changed since this page compiled it", help="load the page again")
        return SERVICES[name](self, given)


def compiled(session: ExplorerSession, given: Question) -> CompileJson:
    """All steps and states: what `payload` says. With `again`, from the file as it is now. With `look`, the text of a step and its
    index before an edit, lines only of the states before and after it, and of the frontend's: the answer has its index as `shown`."""
    link = given.get("link")
    # A link may come from anybody: it is taken as the state of a command line is.
    asked = CompileRequest.of_code(link) if isinstance(link, str) else asked_of(given)
    if given.get("opens"):
        require_program(asked)
        asked = asked.with_own_launch()
    if given.get("again"):
        session.forget(asked)
    match given.get("look"):
        case [str(text), int(near)]:
            opened = session.looked(asked, StepAnchor(text, near))
        case _:
            opened = session.opened(asked)
    took = {"ended": opened.ended, "seconds": round(opened.seconds, 3)}
    found: CompileJson = {**payload(opened.recording), **about(opened.program), "took": took, "stamp": opened.read}
    if opened.recording.shown is not None:
        found["shown"] = opened.recording.shown
    return found


class About(TypedDict):
    """What a page shows of a program in addition to its compile."""

    asked: Question
    code: str
    command: str
    made_up: str
    options: dict[str, int]


def about(program: RequestedProgram) -> About:
    """What a page shows of a program in addition to its compile: how to get the same again, and what may be changed of it."""
    asked = program.asked
    return {
        "asked": asked.plain(), "code": asked.code(), "command": asked.command(), "made_up": program.made_up,
        "options": {"num_warps": program.options.num_warps, "num_stages": program.options.num_stages, "num_ctas": program.options.num_ctas},
    }  # fmt: skip


def inspected(session: ExplorerSession, given: Question) -> InspectionJson:
    """Values, accesses and movements of the state after a step, and the tables that they name."""
    opened = session.opened(asked_of(given), kept=True)
    step = _step(opened, given)
    session.looked_into = opened
    return {**inspect_compile(opened, step), "types": opened.tables.types, "layouts": opened.tables.layouts}


def inspect_compile(opened: RecordedCompile, step: int) -> InspectionJson:
    """What `inspected` says of one step, without the tables."""
    if step not in opened.inspected:
        state = opened.recording.steps[step].after
        opened.inspected[step] = inspect_state(state, opened.tables, opened.recording.arch, is_gluon=opened.is_gluon)
    return opened.inspected[step]


def _step(opened: RecordedCompile, given: Question) -> int:
    step = given.get("step")
    if not isinstance(step, int) or not 0 <= step < len(opened.recording.steps):
        raise MinitritonError(f"unknown step {step!r}")
    return step


def run(session: ExplorerSession, given: Question) -> RunJson:
    """The counts of a run on the emulator; with `against`, how far each array differs from that compile's."""
    asked = asked_of(given)
    ran = _ran(session, asked)
    answer = ran.plain(session.opened(asked).files)
    if given.get("against"):
        other = _ran(session, CompileRequest.of_plain(given["against"]))
        for name, shown in answer["arrays"].items():
            if name in other.arrays:
                shown["apart"] = _apart(ran, other, name, session.opened(asked).program)
    return answer


def _apart(ran: Ran, other: Ran, name: str, program: RequestedProgram) -> ApartJson:
    """How far an array of one run is from the other's, as the kernel's own rounding lets it."""
    now, before = ran.arrays[name], other.arrays[name]
    if now.shape == before.shape and now.tobytes() == before.tobytes():
        return {"differing": 0}
    first = program.source.make_ir(program.target, program.options, make_context())
    tolerance = rounding_tolerance(first) if isinstance(first, ModuleOp) else 0.0
    return distance(now, before, ran.elements[name], tolerance)


def _ran(session: ExplorerSession, asked: CompileRequest) -> Ran:
    opened = session.opened(asked)
    if opened.ran is None:
        opened.ran = run_program(opened.program, opened.recording)
    return opened.ran


def values(session: ExplorerSession, given: Question) -> ValuesJson:
    """What a value of a step's state holds: of a `program`, in its `run`, of more than two axes at an `index` of the first ones."""
    opened = session.opened(asked_of(given), kept=True)
    kept = opened.recording.steps[_step(opened, given)].after.kept
    if kept is None:
        raise MinitritonError("values are seen in TTIR and TTGIR")
    match given:
        case {"name": str(name), "program": int(program), "run": int(run), "index": list(index)}:
            return values_of(
                kept, name, opened.program.launch(), program, run, tuple(at for at in index if isinstance(at, int))
            )
        case _:
            raise MinitritonError("a value has a name, a program, a run and an index")


def time_of_warps(session: ExplorerSession, given: Question) -> TimelineJson:
    """The timeline of the warps of the first CTA, its data in L2 or, with `data` "memory", beyond."""
    opened = session.opened(asked_of(given))
    if opened.traced is None:
        opened.traced = traced_run(opened.program, opened.recording)
    return _timeline(opened.traced, opened.recording, opened.files, "memory" if given.get("data") == "memory" else "l2")


def _timeline(report: Report, recording: Recording, files: dict[str, int], data: Data) -> TimelineJson:
    lines = recording.stage("ptx").lines
    located = {one.number: (files.get(one.source[0], -1), one.source[1]) for one in lines if one.source}
    return timeline(report, int(recording.arch), located, data)


def sass(session: ExplorerSession, given: Question) -> SassJson:
    """The machine code as a state, and what the kernel takes of a multiprocessor."""
    opened = session.opened(asked_of(given))
    if opened.cubin is None:
        opened.cubin = _assembled(opened.recording, opened.program)
    return _machine_code(opened.recording, opened.program, opened.cubin, opened.files)


def _machine_code(recording: Recording, program: RequestedProgram, cubin: bytes, files: dict[str, int]) -> SassJson:
    ptx = recording.stage("ptx").raw or ""
    numbers = dict(vars(resources(cubin, ptx, recording.kernel, program.target, recording.shared)))
    try:
        state = state_payload(sass_state(cubin, LLVMLocations(recording.stage("llir").raw or "").callers), files)
    except MinitritonError as error:
        return {"resources": numbers, "state": None, "why": str(error)}
    return {"resources": numbers, "state": state}


def _assembled(recording: Recording, program: RequestedProgram) -> bytes:
    return assembled(recording.stage(recording.assembly).raw or "", program.target, program.options)


def check(session: ExplorerSession, given: Question, show: Callable[[str], None] = lambda text: None) -> VerdictsJson:
    """The verdict of `minitriton check` on every pass."""
    asked = asked_of(given)
    return verdicts(open_program(asked), asked, show)


def checked(session: ExplorerSession, given: Question) -> VerdictsJson:
    """The same, with its progress in the server's terminal."""
    with progress() as show:
        return check(session, given, show)


def buffers(session: ExplorerSession, given: Question) -> BuffersJson:
    """Shared memory by buffer over time."""
    opened = session.opened(asked_of(given), kept=True)
    return buffers_of(opened.recording, opened.tables)


def pattern(session: ExplorerSession, given: Question) -> PatternJson:
    """Which elements one access of a step's state touches."""
    asked, number = asked_of(given), given.get("op")
    if not isinstance(number, int):
        raise MinitritonError(f"unknown op {number!r}")
    found = patterns(session, asked, _step(session.opened(asked, kept=True), given), [number])[number]
    if isinstance(found, MinitritonError):
        raise found
    return found


def patterns(
    session: ExplorerSession, asked: CompileRequest, step: int, numbers: Sequence[int]
) -> dict[int, PatternJson | MinitritonError]:
    """The same of several, by one run."""
    opened = session.opened(asked, kept=True)
    kept = opened.recording.steps[step].after.kept
    if kept is None:
        raise MinitritonError("accesses are watched in TTIR and TTGIR")
    found = patterns_of(kept, numbers, opened.program.launch())
    for number, one in found.items():
        if not isinstance(one, MinitritonError):
            location = user_location(kept.ops[number].location)
            one["line"] = opened.tables.location((location.file, location.line) if location else None)
    return found


def triton(session: ExplorerSession, given: Question) -> CompileJson:
    """The same program through Triton's own passes."""
    program = open_program(asked_of(given))
    recording = triton_recording(program)
    files = {path: at for at, path in enumerate(sorted(recording.sources))}

    def ran() -> RunJson:
        found = run_program(program, recording)
        session.run_of_tritons = program.asked, found
        return found.plain(files)

    kept: KeptJson = {
        "inspect": {}, "types": [], "layouts": [], "patterns": {}, "run": answered(ran),
        "sass": answered(lambda: _machine_code(recording, program, recording.cubin or _assembled(recording, program), files)),
        "timelines": {"l2": answered(lambda: _timeline(traced_run(program, recording), recording, files, "l2"))},
    }  # fmt: skip
    return {**payload(recording), "label": recording.pipeline, "kept": kept}


def apart_from_triton(session: ExplorerSession, given: Question) -> DistancesJson:
    """How far the arrays after a run of what Triton compiles are from ours, by name."""
    asked = asked_of(given)
    if session.run_of_tritons is None or session.run_of_tritons[0] != asked:
        triton(session, given)
    if session.run_of_tritons is None:
        raise MinitritonError("what Triton compiles does not run on the emulator", help="its side says why")
    theirs, ours = session.run_of_tritons[1], _ran(session, asked)
    program = session.opened(asked).program
    names = [name for name in theirs.arrays if name in ours.arrays]
    return {"distances": {name: _apart(theirs, ours, name, program) for name in names}}


def tiles(session: ExplorerSession, given: Question) -> TilesJson:
    """The compile's tile sizes among all that there could be, for `sizes` or those of its launch."""
    from minitriton.explorer.tiles import tiles_of

    return tiles_of(open_program(asked_of(given)), str(given.get("sizes") or ""))


def evaluate(session: ExplorerSession, given: Question) -> EvaluatedJson:
    """A configuration of a sweep: ours, or with `by` "triton" what Triton's passes make of it."""
    from minitriton.explorer import configurations

    program = open_program(asked_of(given))
    if given.get("by") == "triton":
        return configurations.evaluated_by_triton(program, triton_recording(program))
    return configurations.evaluated(program)


def sweep(session: ExplorerSession, given: Question) -> SweepJson:
    """The configurations that there are for the values in `vary`, by name, and as many pass orders as `orders` says."""
    from minitriton.explorer.configurations import sweep_of

    match given:
        case {"vary": dict(vary), "orders": int(orders)} if orders >= 0:
            values = {name: list(map(str, each)) for name, each in vary.items() if isinstance(each, list)}
            return sweep_of(open_program(asked_of(given)), values, orders)
        case _:
            raise MinitritonError("a sweep has values to vary, and a count of pass orders")


def written(session: ExplorerSession, given: Question) -> WrittenJson:
    """The file that `--html` writes of the requests in `shown`, by a process of its own, which starts others."""
    match given.get("shown"):
        case [*shown] if shown:
            codes = [CompileRequest.of_plain(one).code() for one in shown]
        case _:
            raise MinitritonError("a file has at least one compile")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        words = ["--state", codes[0], *(word for code in codes[1:] for word in ("--against", f"--state {code}"))]
        command = [sys.executable, "-m", "minitriton", "explore", *words, "--trust-state", "--html", str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if not path.is_file():
            raise MinitritonError(f"the file was not written: {ended.stderr.strip()}")
        return {"html": path.read_text("utf-8")}


def lessons(session: ExplorerSession, given: Question) -> LessonsJson:
    """The tour and the exercises."""
    return {"tour": [walk.plain() for walk in TOUR], "exercises": [one.plain() for one in EXERCISES]}


def exercise(session: ExplorerSession, given: Question) -> GradeJson:
    """Whether a state, or words (`text`), solve the exercise `name`."""
    found = grade(find(str(given.get("name"))), session, asked_of(given), str(given.get("text") or ""))
    return {"ok": found.ok, "said": list(found.said)}


def start(session: ExplorerSession, given: Question) -> StartJson:
    """What a page offers that nothing was opened on."""
    return {"groups": catalogue()}


def inputs(session: ExplorerSession, given: Question) -> InputsJson:
    """What the program is run with, a parameter each, and who said so."""
    program = session.opened(asked_of(given)).program
    launch, asked = program.launch(), program.asked
    said = {*named(list(asked.numbers)), *named(list(asked.sizes))}
    whose = "recorded" if program.recorded is not None else "the corpus" if program.task is not None else "made up"
    rows: list[InputJson] = []
    for argument in launch.arguments.passed:
        array = array_of(argument.value)
        rows.append(
            {
                "name": argument.name, "type": argument.type_name, "is_array": array is not None,
                "value": str(argument.value) if array is None else str(array.size),
                "whose": "given" if argument.name in said or asked.inputs else whose,
            }
        )  # fmt: skip
    return {"rows": rows, "grid": list(launch.grid), "seed": asked.seed, "doubt": launch.arguments.made_up}


def layout(session: ExplorerSession, given: Question) -> Drawn:
    """Encodings that are being written (`encodings`), on a `shape` of elements of `bits`, for `arch`."""
    match given:
        case {"shape": list(sizes), "encodings": list(texts), "bits": int(bits), "arch": int(arch) | str(arch)}:
            shape = tuple(size for size in sizes if isinstance(size, int))
            return drawn([str(text) for text in texts], shape, bits, arch)
        case _:
            raise MinitritonError("a layout needs encodings, shape, bits and arch")


Service = Callable[[ExplorerSession, Question], Answer]

SERVICES: dict[str, Service] = {
    "compile": compiled, "states": compiled, "inspect": inspected, "run": run, "sass": sass, "check": checked,
    "triton": triton, "apart": apart_from_triton, "tiles": tiles, "lessons": lessons, "exercise": exercise, "buffers": buffers, "pattern": pattern, "layout": layout,
    "start": start, "evaluate": evaluate, "sweep": sweep, "file": written, "inputs": inputs, "timeline": time_of_warps, "values": values,
}  # fmt: skip


def asked_of(given: Question) -> CompileRequest:
    """The state that a question is about."""
    return CompileRequest.of_plain(given.get("asked"))


# Shared memory over time: the offset of each buffer, and from which op to which it is alive.
#
# In: the last state of TTGIR of a recording. Out: its buffers, with the offsets that the passes gave them.
#
#     %14  8192 bytes at 0, alive from op 12 to 40


def buffers_of(recording: Recording, tables: Tables) -> BuffersJson:
    """The buffers of the kernel: name, bytes, offset, when they are alive; `ops`: how many ops time is counted in."""
    states = [step.after for step in recording.steps if step.after.kept is not None and step.after.level == "ttgir"]
    if not states:
        return {"total": recording.shared, "ops": 0, "buffers": []}
    kept = next((state.kept for state in reversed(states) if state.kept is not None), None)
    assert kept is not None
    names = {value: name for name, value in kept.values.items()}
    allocation = allocate(kept.module, scratch_bytes)
    found: list[BufferJson] = []
    ops = 0
    for function, placed in allocation.functions.items():
        ops = max(ops, len(Liveness(function).number))
        for buffer in placed.buffers():
            if buffer.kind is BufferKind.VIRTUAL or not buffer.size:
                continue
            owner = buffer.owner
            location = user_location(owner.location)
            is_explicit = buffer.kind is BufferKind.EXPLICIT
            placed_at = owner.attributes.get("allocation.offset")
            found.append(
                {
                    "name": f"%{names.get(owner.results[0], '?')}" if is_explicit else owner.name,
                    "kind": buffer.kind.value, "size": buffer.size,
                    "offset": placed_at.value.data if isinstance(placed_at, IntegerAttr) else buffer.offset,
                    "live": list(buffer.live), "line": tables.location((location.file, location.line) if location else None),
                    "type": str(owner.results[0].type) if is_explicit else f"scratch of {owner.name}",
                }
            )  # fmt: skip
    total = max([recording.shared or allocation.total_bytes, *(one["offset"] + one["size"] for one in found)])
    return {"total": total, "ops": ops, "buffers": found}


# Layouts that somebody writes while looking at them: what a picture of each needs, and what the way from one to the other costs.
#
# drawn(["#ttg.blocked<{...}>", "#ttg.swizzled_shared<{...}>"], (32, 64), 16, 90, "store")
# {"layouts": [{"encoding": ..., "bases": ...}, ...], "cost": "8 st.shared a warp, ... no conflicts"}

MOST_ELEMENTS = 1 << 20


def drawn(encodings: Sequence[str], shape: tuple[int, ...], bits: int, arch: int | str) -> Drawn:
    """The layouts on `shape` of elements of `bits`. Raises `MinitritonError` for text that is no encoding, or does not fit the shape."""
    if not shape or any(size < 1 or size & (size - 1) for size in shape) or math.prod(shape) > MOST_ELEMENTS:
        raise MinitritonError(f"{'x'.join(map(str, shape))} is not a shape that can be drawn")
    found = [read_encoding(text) for text in encodings]
    for one in found:
        if one.rank != len(shape):
            raise MinitritonError(f"the encoding has {one.rank} axes, and the tensor {len(shape)}")
    facts = [layout_fact(one, shape) for one in found]
    lanes = target_named(arch).warp_size
    for one in facts:
        if one.sizes.get("lane", lanes) != lanes:
            raise MinitritonError(f"the layout is for warps of {one.sizes['lane']} threads: a warp has {lanes}")
    return {
        "layouts": [one.plain() for one in facts],
        "cost": _cost(found, shape, bits, arch) if len(found) == 2 else None,
    }


def _cost(found: list[DistributedEncoding | SharedEncoding], shape: tuple[int, ...], bits: int, arch: int | str) -> str:
    match found:
        case [DistributedEncoding() as source, DistributedEncoding() as target]:
            return conversion_fact(source, target, shape, bits, arch).text()
        case [DistributedEncoding() as registers, SharedEncoding() as shared]:
            return local_cost(registers, shared, shape, bits, shape, arch, is_load=False).text()
        case [SharedEncoding() as shared, DistributedEncoding() as registers]:
            return local_cost(registers, shared, shape, bits, shape, arch, is_load=True).text()
        case _:
            raise MinitritonError("both are layouts of shared memory: nothing moves between buffers")
