"""`minitriton explain FILE.py:LINE`: what the compiler knows of what stands on a line, why, and what it does about it.

minitriton explain examples/kernels/softmax.py:12 --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024'

In: a file and a line; the kernel around it is compiled. Out: the values that the line makes, with facts and types, the width of its
loads and stores with what limits it and a hint, what its conversions cost, and what heuristics chose among which candidates.

With `--in-flight`: a row for each op of the last TTGIR that starts or ends something, branches, is a barrier, or comes from that line. `%a[i+1 mod 3]` is the
slot of a ring in iteration i of the loop; `%acc(i-1)` is what the iteration before started.

    13  %acc_9 = ttng.warp_group_dot %a[i mod 3], %b[i mod 3]       dots %acc_9; copies %a[i+1 mod 3] %b[i+1 mod 3]
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.analysis.axis_info.explain import CLAIMS
from minitriton.analysis.in_flight.outstanding import InFlight, Outstanding, Queue
from minitriton.analysis.in_flight.rings import ring_length, ring_position, ring_slot
from minitriton.analysis.locations import user_location
from minitriton.dialects import ttg
from minitriton.dialects.facts.in_flight import Commits, Kind, Starts, Waits
from minitriton.dialects.facts.region_flow import Loop, RegionFlow
from minitriton.dialects.facts.synchronization import Barrier, LoweringBarrier, meets_threads
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.printing.names import ValueNames
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.explorer.accesses import accesses
from minitriton.explorer.compile_request import asked_of
from minitriton.explorer.facts import Facts
from minitriton.explorer.session import ExplorerSession, inspect_compile
from minitriton.explorer.snapshot import KeptModule
from minitriton.explorer.terminal import BOLD, FAINT, GREEN, RED, is_coloured, painted
from minitriton.host.source_text import source_text
from minitriton.pipeline.choice import Choice, noting_choices
from minitriton.rewriting.constants import int_constant

if TYPE_CHECKING:
    from minitriton.analysis.axis_info.explain import Claim
    from minitriton.explorer.compiles import RecordedCompile
    from minitriton.explorer.facts import Facts
    from minitriton.explorer.snapshot import KeptModule

_PLURAL = {Kind.DOT: "dots", Kind.COPY: "copies", Kind.TENSOR_COPY: "copies", Kind.TENSOR_STORE: "stores", Kind.ARRIVAL: "arrival at a barrier", Kind.TURN: "turn"}  # fmt: skip


class Row(NamedTuple):
    """An op: its line in the kernel, how deep it is nested, its text, and what is in flight after it."""

    line: int
    depth: int
    text: str
    in_flight: str
    is_asked: bool


class _Texts:
    """Names of values, slots and groups."""

    def __init__(self, kept: KeptModule) -> None:
        self.names = ValueNames(kept.module, name_locs=True)

    def value(self, value: SSAValue) -> str:
        return "%" + self.names.name_of(value)

    def queue(self, queue: Queue) -> tuple[str, str]:
        """How queues are sorted."""
        return queue.kind.value, "" if queue.barrier is None else self.value(queue.barrier)

    def slot(self, value: SSAValue, loop: Operation | None, ago: int = 0) -> str:
        """A buffer as `%ring[i+1 mod 3]`: what iteration i of `loop` calls so that `ago` iterations before it was `value`."""
        ring, index = ring_slot(value)
        if index is None:
            return self.value(ring)
        number, length = int_constant(index), ring_length(ring)
        if number is not None:
            return f"{self.value(ring)}[{number}]"
        position = ring_position(index, length, loop) if length is not None and isinstance(loop, scf.ForOp) else None
        if position is None or length is None:
            return self.value(ring)
        position = (position - ago) % length
        return f"{self.value(ring)}[i{f'+{position}' * bool(position)} mod {length}]"

    def op(self, op: Operation) -> str:
        """An op with its result and the buffers and registers of what it starts or waits for."""
        starts, waits = Starts.of(op), Waits.of(op)
        used = list(op.operands) if starts is None else [*starts.values_written(op), *starts.values_read(op)]
        used = [value for value in used if value not in op.results]
        if waits is not None:
            used = [] if waits.barrier is None else [getattr(op, waits.barrier)]
        if RegionFlow.of(op) is not None:
            used = []
        texts = [
            self.slot(value, op.parent_op()) if isinstance(value.type, ttg.MemDescType) else self.value(value)
            for value in used
        ]
        if waits is not None and waits.left is not None:
            texts.append(f"leaves {waits.number_left(op)}")
        is_named = op.results and waits is None and RegionFlow.of(op) is None
        made = f"{self.value(op.results[0])} = " if is_named else ""
        return f"{made}{op.name} {', '.join(texts)}".rstrip()

    def started(self, op: Operation, at: Operation, ago: int, *, is_slot_known: bool) -> str:
        """What `op` started so many iterations before `at`: a copy by the slot that it writes, a dot by its result."""
        starts = Starts.of(op)
        values = () if starts is None else starts.values_written(op) or starts.values_read(op)
        for value in values:
            loop = op.parent_op() if op.parent is at.parent else None
            if isinstance(value.type, ttg.MemDescType):
                return self.slot(value, loop, ago) if is_slot_known else self.value(ring_slot(value)[0])
            return self.value(value) + f"(i-{ago})" * bool(ago)
        return ""


def rows(kept: KeptModule, line: int) -> list[Row]:
    """The rows of all functions of a module."""
    texts, in_flight = _Texts(kept), InFlight(kept.module)
    found: list[Row] = []
    for op in ops_in(kept.module):
        location = user_location(op.location)
        is_asked = location is not None and location.line == line
        computes = is_asked and any(isinstance(result.type, TensorType) for result in op.results)
        if op not in in_flight.after or not (computes or _is_shown(op)):
            continue
        outstanding = in_flight.after[op] if RegionFlow.of(op) is None else in_flight.before[op]
        found.append(
            Row(
                location.line if location else 0, _depth(op), texts.op(op), _described(texts, outstanding, op), is_asked
            )
        )
    return found


def _is_shown(op: Operation) -> bool:
    kinds = (Starts, Waits, Commits, Barrier, RegionFlow)
    return any(kind.of(op) for kind in kinds) or (LoweringBarrier.of(op) is not None and meets_threads(op))


def _depth(op: Operation) -> int:
    depth, around = 0, op.parent_op()
    while around is not None and RegionFlow.of(around) is not None:
        depth, around = depth + 1, around.parent_op()
    return depth


def _described(texts: _Texts, outstanding: Outstanding, at: Operation) -> str:
    """What is in flight at a point of the program, the oldest of each kind first."""
    parts: dict[str, list[str]] = {}
    for queue in sorted(outstanding.queues, key=texts.queue):
        named = [_group(texts, group, at) for group in outstanding.iterations(queue, at)]
        parts.setdefault(_PLURAL[queue.kind], []).extend(reversed(named))
    if outstanding.open_group:
        named = _group(texts, [(op, 0) for op in outstanding.open_group], at)
        parts.setdefault("copies", []).append(named + " (no group yet)")
    return "; ".join(f"{kind} {', '.join(filter(None, parts[kind]))}".rstrip() for kind in sorted(parts))


def _group(texts: _Texts, group: list[tuple[Operation, int]], at: Operation) -> str:
    """One group. In a loop, what an iteration started stands for what was started before the loop instead of it."""
    around = at.parent_op()
    is_in_loop = around is not None and Loop.of(around) is not None
    own = [each for each in group if is_in_loop and each[0].parent is at.parent]
    is_slot_known = bool(own) or len({op.parent for op, _ in group}) == 1
    return " ".join(sorted({texts.started(op, at, ago, is_slot_known=is_slot_known) for op, ago in own or group}))


def text_of_rows(found: list[Row]) -> list[str]:
    """Lines of a table."""
    texts = [f"{row.line:4} {'>' if row.is_asked else ' '} {'  ' * row.depth}{row.text}" for row in found]
    width = min(max(map(len, texts), default=0), 90)
    return [f"{text:{width}}  | {row.in_flight}".rstrip(" |") for text, row in zip(texts, found, strict=True)]


def run_explain(given: argparse.Namespace) -> int:
    """Prints what is known of a line. Raises `MinitritonError` where the compiler made nothing of it."""
    path, _, line = str(given.source or "").rpartition(":")
    if not line.isdigit() or not path:
        raise MinitritonError(f"{given.source!r} names no line", help="write FILE.py:LINE")
    asked = asked_of(given, f"{path}:{kernel_at(path, int(line), given.kernel)}")
    session = ExplorerSession()
    with noting_choices() as made:
        opened = session.opened(asked)
    if given.in_flight:
        table = rows(last_state(opened), int(line))
        print(json.dumps([row._asdict() for row in table]) if given.json else "\n".join(text_of_rows(table)))
        return 0
    found = explanation(opened, str(Path(path)), int(line))
    found["choices"] = choices_on(made, Path(path), int(line))
    if given.json:
        print(json.dumps(found))
    else:
        print(text_of(found, colour=is_coloured()))
    return 0


def choices_on(made: list[Choice], path: Path, line: int) -> list[dict[str, Any]]:
    """The choices about a line, the last one of each kind, as plain values."""
    last = {
        (choice.subject, choice.location.column): choice
        for choice in made
        if choice.location is not None
        and choice.location.line == line
        and Path(choice.location.file).resolve() == path.resolve()
    }
    return [asdict(choice) | {"text": choice.text()} for choice in last.values()]


def kernel_at(path: str, line: int, named: str | None = None) -> str:
    """The name of the kernel to compile: the one named, the one around the line, or the only one of the file."""
    try:
        tree = ast.parse(source_text(path), path)
    except (OSError, SyntaxError, ValueError) as error:
        raise MinitritonError(f"cannot read {path}: {error}", help="write FILE.py:LINE") from None
    kernels = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any("jit" in ast.unparse(one) for one in node.decorator_list)
    ]
    if named is not None:
        return named
    around = [one.name for one in kernels if one.lineno <= line <= (one.end_lineno or one.lineno)]
    if around:
        return around[0]
    if len(kernels) == 1:
        return kernels[0].name
    raise MinitritonError(
        f"line {line} of {path} is in no kernel", SourceLocation(path, line),
        help="name a line of a function under @triton.jit, or the kernel that calls it by --kernel; there are: " + ", ".join(one.name for one in kernels),
    )  # fmt: skip


def _last_step(opened: RecordedCompile) -> int:
    """The last step that leaves TTGIR, or else TTIR."""
    steps = [
        at
        for at, step in enumerate(opened.recording.steps)
        if step.after.kept is not None and step.after.level == "ttgir"
    ]
    steps = steps or [at for at, step in enumerate(opened.recording.steps) if step.after.kept is not None]
    return steps[-1]


def last_state(opened: RecordedCompile) -> KeptModule:
    """The last TTGIR of a compile, or else the last TTIR."""
    kept = opened.recording.steps[_last_step(opened)].after.kept
    assert kept is not None
    return kept


def explanation(opened: RecordedCompile, path: str, line: int) -> dict[str, Any]:
    """What is known of a line of file `path`, as plain values: values, accesses, movements."""
    step = _last_step(opened)
    kept = last_state(opened)
    facts = Facts(kept)
    file = _file_of(opened, path)
    values = [
        {
            **fact.plain(0, None), "name": fact.name, "line": fact.line, "type": short_type(fact.type), "known": fact.known(),
            "chains": {claim: _chain(facts, fact.name, claim) for claim in CLAIMS if fact.claims},
        }
        for fact in facts.of_line(file, line)
    ]  # fmt: skip
    found = [
        {**one.plain(None), "line": one.line, "text": one.text(), "chain": [_link(facts, name) for name in one.chain]}
        for one in accesses(facts)
        if one.line == (file, line)
    ]
    number = opened.files[file]
    movements = [one for one in inspect_compile(opened, step)["movements"].values() if one["line"] == [number, line]]
    if not (values or found or movements):
        lines = sorted({fact.line[1] for fact in facts.all() if fact.line and fact.line[0] == file})
        raise MinitritonError(
            f"nothing is left of line {line} in the TTGIR of {opened.recording.kernel}", SourceLocation(path, line),
            help="lines about which something is known: " + ", ".join(map(str, lines)),
        )  # fmt: skip
    source = opened.recording.sources[file].splitlines()
    return {
        "file": path, "line": line, "source": source[line - 1].strip() if line <= len(source) else "", "kernel": opened.recording.kernel,
        "values": values, "accesses": found, "movements": movements,
    }  # fmt: skip


def _file_of(opened: RecordedCompile, path: str) -> str:
    """The file as the IR names it."""
    wanted = Path(path).resolve()
    for file in opened.recording.sources:
        if Path(file).resolve() == wanted:
            return file
    raise MinitritonError(
        f"no op of {opened.recording.kernel} comes from {path}",
        help="the kernel's files: " + ", ".join(opened.recording.sources),
    )


def _chain(facts: Facts, name: str, claim: Claim) -> list[str]:
    return [_link(facts, fact.name) for fact in facts.chain(name, claim)[1:]]


def _link(facts: Facts, name: str) -> str:
    fact = facts.get(name)
    return f"%{name} {fact.origin}" + (f":{fact.line[1]}" if fact.line else "")


_ENCODING = re.compile(r", #ttg\.\w+<(?:[^<>]|<[^<>]*>)*>")


def short_type(text: str) -> str:
    """A type without its encoding, which takes a line of its own."""
    return _ENCODING.sub("", text)


def text_of(found: dict[str, Any], *, colour: bool) -> str:
    """For a terminal."""
    lines = [painted(f"{found['file']}:{found['line']}: {found['source']}", BOLD, colour)]
    for one in {each["text"]: each for each in found["accesses"]}.values():
        first, *rest = one["text"].split("\n")
        lines += ["", painted(first, BOLD if one["limit"] else GREEN, colour)]
        for text in rest:
            lines.append("  " + painted(text, GREEN if text.startswith("hint:") else RED, colour))
        if one["chain"]:
            lines.append("  " + painted(" <- ".join(one["chain"]), FAINT, colour))
    for one in found["movements"]:
        lines += ["", painted(one["name"], BOLD, colour), *("  " + text for text in one["cost"]["text"].split("\n"))]
    for one in found.get("choices", ()):
        first, *rest = one["text"].split("\n")
        lines += ["", painted(first, BOLD, colour), *rest]
    if found["values"]:
        lines.append("")
    for one in found["values"]:
        lines.append(f"%{one['name']} = {one['origin']} : {one['type']}")
        if not one.get("claims"):
            continue
        lines.append("  " + one["known"])
        for claim, chain in one["chains"].items():
            if chain:
                lines.append(
                    "  "
                    + painted(
                        f"{claim} {' x '.join(map(str, one['claims'][claim]))} <- {' <- '.join(chain)}", FAINT, colour
                    )
                )
    return "\n".join(lines)
