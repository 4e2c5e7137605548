"""Whether the numbers still hold after each pass: `minitriton check`, step by step of a recording.

verdicts(open_program(asked), asked)["steps"][6]      {"name": "cse", "verdict": "bit-equal", "ok": true, "why": ""}
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from minitriton.dialects.context import make_context
from minitriton.errors import BrokenContract, MinitritonError
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.recording import level_of
from minitriton.explorer.wire import VerdictJson, VerdictsJson
from minitriton.interpreter.errors import InterpreterError, UnsupportedOpError
from minitriton.lab.checker import Progress, check
from minitriton.lab.execution import Launch
from minitriton.lab.report import CheckReport, PassRow
from minitriton.pipeline.ir_source import IRSource
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.target.backends import backend


def verdicts(
    program: RequestedProgram, asked: CompileRequest, show: Callable[[str], None] = lambda text: None
) -> VerdictsJson:
    """A verdict a step of the recording, the frontend's first; None for steps that cannot be checked: those before edited IR. And what the kernel
    itself does wrong; of one that stops before any pass has run, that is the only verdict. `show` is given in words how far it is."""
    try:
        return _of_passes(program, asked, show)
    except InterpreterError as fault:
        if asked.states or isinstance(fault, UnsupportedOpError) or fault.location is None:
            raise
        name = f"the kernel: line {fault.location.line}"
        return {"steps": [{"name": name, "verdict": "wrong", "ok": False, "why": str(fault)}], "kernel": []}


def _of_passes(program: RequestedProgram, asked: CompileRequest, show: Callable[[str], None]) -> VerdictsJson:
    launch = program.launch()

    def tell(done: int, total: int, name: str) -> None:
        show(f"checking {launch.name}: {done} of {total} passes, {name}")

    if not asked.states:
        report = check(
            program.source,
            launch.arguments,
            launch.grid,
            target=program.target,
            options=program.options,
            pipeline=program.pipeline(),
            contracts=not asked.anyway,
            progress=tell,
        )
        rows = report.rows[1:] if isinstance(program.source, IRSource) else report.rows
        broken = program.pipeline().broken_contracts(program.facts)
        found = [_verdict(row, broken.get(at)) for at, row in enumerate(rows)]
        first: VerdictJson = {"name": "frontend", "verdict": "first", "ok": True, "why": ""}
        return {"steps": [first, *found], "kernel": _of_kernel(report, launch.arguments.made_up)}
    return {"steps": _after_edit(program, asked, launch, tell), "kernel": []}


def _of_kernel(report: CheckReport, made_up: str) -> list[str]:
    """What the kernel uses that has no value, and its races, each in a text; those may come from inputs that were `made_up`."""
    races = list(report.races or ())
    if races and made_up:
        races.append(f"inputs were made up ({made_up}): a race may come from them, not from the kernel")
    return [*report.poison, *races]


def _after_edit(
    program: RequestedProgram, asked: CompileRequest, launch: Launch, tell: Progress
) -> list[VerdictJson | None]:
    """The check from the last edited state on."""
    last = max(asked.states, key=lambda one: one.after)
    steps = program.pipeline().steps
    facts = program.facts
    for step in steps[: last.after]:
        facts = step.after(facts)
    level = level_of(facts, backend(program.target.backend).text_stage)
    if level not in ("ttir", "ttgir"):
        raise MinitritonError(
            f"edited {level} is not checked pass by pass", help="run it: its numbers are compared there"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"edited.{level}"
        path.write_text(last.text, "utf-8")
        source = IRSource(path, make_context())
        report = check(
            source,
            launch.arguments,
            launch.grid,
            target=program.target,
            options=program.options,
            pipeline=Pipeline(steps[last.after :]),
            contracts=not asked.anyway,
            poison=False,
            progress=tell,
        )
    before: list[VerdictJson | None] = [None] * (last.after + 1 + sum(one is not last for one in asked.states))
    return [*before, {"name": "edited", "verdict": "first", "ok": True, "why": ""}, *map(_verdict, report.rows[1:])]


def _verdict(row: PassRow, broken: BrokenContract | None = None) -> VerdictJson:
    if row.ok:
        verdict = row.against_before.value if row.changed else "unchanged"
    else:
        verdict = "invalid IR" if row.invalid else "wrong"
    parts = [
        row.error,
        row.rounding,
        row.invalid,
        *row.new_findings,
        f"first wrong op: {row.culprit}" if row.culprit else None,
    ]
    why = "\n".join(part for part in parts if part)
    found: VerdictJson = {"name": row.name, "verdict": verdict, "ok": row.ok, "why": why}
    if broken is not None:
        found["why"] = f"{broken.message}\n{broken.help}\n{why}".strip()
        found["lacks"] = list(broken.makers)
    return found
