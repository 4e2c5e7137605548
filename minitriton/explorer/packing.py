"""A compile as it is sent to a page or written to a file: what states share is there once.

    packed(payload)["lines"]["text"][7]             a line; states name lines by their index: {"level": "ttir", "at": [0, 7, ...]}
    packed(payload)["steps"][6]["rows"][0]          ["same", 0, 0, null, 11]: eleven rows, each a line further on either side

Of 31 states of an attention most lines stand in many: 2.5 MB become 1.1. `web/src/payload.ts` has the reverse.

And the page as one HTML file that needs neither a server nor a network.

    Path("softmax.html").write_text(html(recording))
"""

from __future__ import annotations

import base64
import inspect
import json
import re
import zlib
from typing import NotRequired, TypedDict, cast

from minitriton.dialects.context import make_context
from minitriton.explorer.difference import Difference
from minitriton.explorer.page import page_with
from minitriton.explorer.recording import Recording
from minitriton.explorer.snapshot import Snapshot
from minitriton.explorer.wire import CompileJson, RowJson, StateJson, StepJson


class Lines(TypedDict):
    """Lines of all states, each once, in columns; `defines` and `uses` by the line's index."""

    text: list[str]
    op: list[int]
    file: list[int]
    line: list[int]
    defines: dict[str, list[str]]
    uses: dict[str, list[str]]


class PackedState(TypedDict):
    """A state whose lines are named by their index."""

    level: str
    ops: int | None
    at: list[int]
    number: NotRequired[list[int]]


class PackedCompile(TypedDict):
    """A `CompileJson` so packed; what else it has is there too."""

    kernel: str
    arch: int | str
    files: list[str]
    sources: dict[str, str]
    lines: Lines
    states: list[PackedState]
    steps: list[StepJson]


def packed(compile: CompileJson) -> PackedCompile:
    """`payload(...)` with lines and runs of rows in place of texts and rows; what else it has stays."""
    lines: Lines = {"text": [], "op": [], "file": [], "line": [], "defines": {}, "uses": {}}
    known: dict[tuple[str, int, int, int], int] = {}
    states = [_state(state, lines, known) for state in compile["states"]]
    steps: list[StepJson] = [{**step, "rows": _runs(step["rows"])} for step in compile["steps"]]
    rest = {name: value for name, value in compile.items() if name not in ("states", "steps")}
    return cast("PackedCompile", {**rest, "lines": lines, "states": states, "steps": steps})


def _state(state: StateJson, lines: Lines, known: dict[tuple[str, int, int, int], int]) -> PackedState:
    found: list[int] = []
    for at, line in enumerate(zip(state["text"], state["op"], state["file"], state["line"], strict=True)):
        number = known.get(line)
        if number is None:
            number = known[line] = len(known)
            lines["text"].append(line[0])
            lines["op"].append(line[1])
            lines["file"].append(line[2])
            lines["line"].append(line[3])
            for names, into in ((state["defines"], lines["defines"]), (state["uses"], lines["uses"])):
                if (values := names.get(str(at))) is not None:
                    into[str(number)] = values
        found.append(number)
    packed: PackedState = {"level": state["level"], "ops": state["ops"], "at": found}
    if "number" in state:
        packed["number"] = state["number"]
    return packed


def _runs(rows: list[RowJson]) -> list[RowJson]:
    runs: list[RowJson] = []
    count = 0
    for row in rows:
        first = runs[-1] if runs else None
        if (
            first is not None
            and row[3] is None
            and first[:4] == [row[0], _back(row[1], count), _back(row[2], count), None]
        ):
            count += 1
            first[4] = count
        else:
            count = 1
            runs.append([*row, count])
    return runs


def _back(line: str | int | None, by: int) -> int | None:
    return line - by if isinstance(line, int) else None


# A recording as plain values, small enough to stand in a page: what the front end reads.
#
#     {"kernel": "softmax", "arch": 90, "pipeline": "inline,...", "own": "",
#      "files": ["/k/softmax.py"], "sources": {"0": "import triton..."},
#      "states": [{"level": "ttir", "ops": 26, "text": ["module {", ...], "op": [1, ...], "file": [-1, ...], "line": [0, ...],
#                  "defines": {"3": ["0"]}, "uses": {"4": ["0", "1"]}}],
#      "steps": [{"name": "cse", "text": "cse", "doc": "...", "ms": 0.2, "state": 3, "changed": true, "error": null,
#                 "counts": {"same": 20, "removed": 1}, "rows": [["same", 0, 0, null], ...]}]}
#
# States that did not change are not repeated: `state` is an index. Lines count from 0, columns of `states` run in parallel; those of
# LLVM IR and PTX have `number` too, the line's number from 1 in the whole text. `own` is the target's pipeline where another was asked for.


def payload(recording: Recording) -> CompileJson:
    """`recording` as values that JSON can hold."""
    files = sorted(recording.sources)
    number = {path: index for index, path in enumerate(files)}
    states: list[StateJson] = []
    steps: list[StepJson] = []
    for index, step in enumerate(recording.steps):
        if index == 0 or step.changed:
            states.append(state_payload(step.after, number))
        is_seen = index > 0 and step.changed and recording.shown in (None, index)
        difference = recording.difference(index) if is_seen else None
        steps.append(
            {
                "name": step.name, "text": step.text, "doc": step.documentation, "ms": round(step.milliseconds, 3),
                "state": len(states) - 1, "changed": step.changed, "error": step.error,
                "edit": step.is_edit, "counts": difference.counts() if difference else {}, "rows": _rows(difference),
            }
        )  # fmt: skip
    found: CompileJson = {
        "kernel": recording.kernel, "arch": recording.arch, "pipeline": recording.pipeline, "own": recording.default_pipeline,
        "files": files,
        "sources": {str(number[path]): text for path, text in recording.sources.items()},
        "states": states, "steps": steps, "docs": _docs_of(states),
    }  # fmt: skip
    if recording.declared:
        found["declared"] = [
            {"file": number[one.file], "line": one.line, "text": one.text, "bits": one.bits, "layout": one.fact.plain()}
            for one in recording.declared
            if one.file in number
        ]
    return found


_OP = re.compile(r"\b(?:tt|ttg|ttng|arith|math|scf|cf)\.[a-z_0-9.]+")


def _docs_of(states: list[StateJson]) -> dict[str, str]:
    """What the ops of TTIR and TTGIR do, by their names, in the words of their classes."""
    lines = {line for state in states if state["level"] in ("ttir", "ttgir") for line in state["text"]}
    context, found = make_context(), dict[str, str]()
    for name in sorted({name for line in lines for name in _OP.findall(line)}):
        op = context.get_optional_op(name)
        if op is not None and (doc := op.__dict__.get("__doc__")):
            found[name] = inspect.cleandoc(doc).partition("\n\n")[0].replace("\n", " ")
    return found


def state_payload(state: Snapshot, number: dict[str, int]) -> StateJson:
    """One state; `number` has the files by their paths."""
    lines = state.lines
    found: StateJson = {
        "level": state.level, "ops": state.ops,
        "text": [line.text for line in lines],
        "op": [line.op for line in lines],
        "file": [number.get(line.source[0], -1) if line.source else -1 for line in lines],
        "line": [line.source[1] if line.source else 0 for line in lines],
        "defines": {str(at): list(line.defines) for at, line in enumerate(lines) if line.defines},
        "uses": {str(at): list(line.uses) for at, line in enumerate(lines) if line.uses},
    }  # fmt: skip
    if state.ops is None:
        found["number"] = [line.number for line in lines]
    return found


def _rows(difference: Difference | None) -> list[RowJson]:
    return [[str(row.kind), row.left, row.right, row.other] for row in difference.rows] if difference else []


def html(recording: Recording) -> str:
    """The page of a recording alone: its passes and states, without what is known of values."""
    return file_page([payload(recording)])


def file_page(compiles: list[CompileJson], lessons: str | None = None) -> str:
    """The page with everything inside: `compiles` and `lessons` as `kept_answers` makes them."""
    given = {"compiles": deflated([packed(one) for one in compiles]), **({"lessons": lessons} if lessons else {})}
    return page_with(given, "'none'")[0]


def deflated(value: object) -> str:
    """`value` as text that takes little room."""
    return base64.b64encode(zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 7)).decode()
