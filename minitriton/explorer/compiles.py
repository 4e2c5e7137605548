"""Compiles that a session keeps, the last few of them, so that questions about one need no other compile."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field

from minitriton.emulator.report import Report
from minitriton.errors import MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.execution import Ran
from minitriton.explorer.inspection import Tables
from minitriton.explorer.program import RequestedProgram, open_program
from minitriton.explorer.read_files import Stamps, changed, reading
from minitriton.explorer.recording import Recording, StepAnchor, record
from minitriton.explorer.wire import InspectionJson

_KEPT = 6


@dataclass
class RecordedCompile:
    """One compile, with what was found out about it since."""

    program: RequestedProgram
    recording: Recording
    tables: Tables
    inspected: dict[int, InspectionJson] = field(default_factory=dict[int, InspectionJson])
    has_modules: bool = True
    ended: float = 0.0
    """When the compile ended, in seconds since 1970."""
    read: Stamps = field(default_factory=dict[str, str])
    """The files that it was made of, as they were."""
    seconds: float = 0.0
    """That it took, with what was recorded of it."""
    ran: Ran | None = None
    cubin: bytes | None = None
    traced: Report | None = None

    @property
    def is_gluon(self) -> bool:
        """Whether the kernel is in Gluon."""
        return self.program.source.ext == "gluon"

    @property
    def files(self) -> dict[str, int]:
        """Source files by path: their numbers."""
        return self.tables.files


def _made(asked: CompileRequest, keep: bool, only: StepAnchor | None = None) -> RecordedCompile:
    with reading() as read:
        found = _compiled(asked, keep, only)
    found.read = read.stamps
    return found


def _compiled(asked: CompileRequest, keep: bool, only: StepAnchor | None) -> RecordedCompile:
    start = time.perf_counter()
    program = open_program(asked)
    try:
        recording = record(
            program.source, program.target, program.options, program.pipeline(), states=asked.states, keep=keep, only=only,
            contracts=not asked.anyway,
        )  # fmt: skip
    except MinitritonError as error:
        if program.made_up:
            made_up = f"if a type is wrong: none was given, so they were guessed, --signature '{program.made_up}'"
            error.help = f"{error.help}; {made_up}" if error.help else made_up
        raise
    recording.default_pipeline = str(program.default_pipeline())
    found = RecordedCompile(program, recording, Tables(sorted(recording.sources)), has_modules=keep)
    found.ended, found.seconds = time.time(), time.perf_counter() - start
    return found


class Compiles:
    """The compiles of a session. `keeps`: with the modules of their states, for questions about facts."""

    def __init__(self, *, keeps: bool = True) -> None:
        self._opened: OrderedDict[CompileRequest, RecordedCompile] = OrderedDict()
        self._keeps = keeps

    def opened(self, asked: CompileRequest, *, kept: bool = False) -> RecordedCompile:
        """The compile of `asked`, made or, while its files are what they were, remembered; `kept`: with its modules in any case."""
        found = self._opened.get(asked)
        keep = kept or self._keeps
        if found is None or changed(found.read) or (kept and not found.has_modules):
            found = self._opened[asked] = _made(asked, keep)
            while len(self._opened) > _KEPT:
                self._opened.popitem(last=False)
        self._opened.move_to_end(asked)
        return found

    def looked(self, asked: CompileRequest, only: StepAnchor) -> RecordedCompile:
        """The compile of `asked` with the lines of one step, before and after it, or, where it is known or a pass fails, of all."""
        found = self._opened.get(asked)
        if found is None or changed(found.read):
            made = _made(asked, False, only)
            if all(step.error is None for step in made.recording.steps):
                return made
        return self.opened(asked)

    def forget(self, asked: CompileRequest) -> None:
        """Makes the next question compile again: the file may have changed."""
        self._opened.pop(asked, None)
