"""A recording as plain values, small enough to stand in a page: what the front end reads.

    {"kernel": "softmax", "arch": 90, "pipeline": "inline,...", "own": "",
     "files": ["/k/softmax.py"], "sources": {"0": "import triton..."},
     "states": [{"level": "ttir", "ops": 26, "text": ["module {", ...], "op": [1, ...], "file": [-1, ...], "line": [0, ...],
                 "defines": {"3": ["0"]}, "uses": {"4": ["0", "1"]}}],
     "steps": [{"name": "cse", "text": "cse", "doc": "...", "ms": 0.2, "state": 3, "changed": true, "error": null,
                "counts": {"same": 20, "removed": 1}, "rows": [["same", 0, 0, null], ...]}]}

States that did not change are not repeated: `state` is an index. Lines count from 0, columns of `states` run beside each other; those of
LLVM IR and PTX have `number` too, the line's number from 1 in the whole text. `own` is the target's pipeline where another was asked for.
"""

from __future__ import annotations

from minitriton.explorer.difference import Difference
from minitriton.explorer.recording import Recording
from minitriton.explorer.snapshot import Snapshot
from minitriton.explorer.wire import CompilePlain, RowPlain, StatePlain, StepPlain


def payload(recording: Recording) -> CompilePlain:
    """`recording` as values that JSON can hold."""
    files = sorted(recording.sources)
    number = {path: index for index, path in enumerate(files)}
    states: list[StatePlain] = []
    steps: list[StepPlain] = []
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
    return {
        "kernel": recording.kernel, "arch": recording.arch, "pipeline": recording.pipeline, "own": recording.own_pipeline,
        "files": files,
        "sources": {str(number[path]): text for path, text in recording.sources.items()},
        "states": states, "steps": steps,
    }  # fmt: skip


def state_payload(state: Snapshot, number: dict[str, int]) -> StatePlain:
    """One state; `number` has the files by their paths."""
    lines = state.lines
    found: StatePlain = {
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


def _rows(difference: Difference | None) -> list[RowPlain]:
    return [[str(row.kind), row.left, row.right, row.other] for row in difference.rows] if difference else []
