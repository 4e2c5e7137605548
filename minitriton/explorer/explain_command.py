"""`minitriton explain FILE.py:LINE`: what the compiler knows of what stands on a line, why, and what it does about it.

minitriton explain minitriton_kernels/softmax.py:12 --signature '*fp32:16,*fp32:16,i32,i32,i32,i32,BLOCK=1024'

In: a file and a line; the kernel around it is compiled. Out: the values that the line makes, with facts and types, the width of its
loads and stores with what limits it and a hint, what its conversions cost, and what heuristics chose among which candidates.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from minitriton.analysis.axis_info.explain import CLAIMS
from minitriton.dialects import ttg
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.ttg.types import MemDescType
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.explorer.accesses import accesses
from minitriton.explorer.compile_request import asked_of
from minitriton.explorer.facts import Facts
from minitriton.explorer.in_flight import rows, text_of_rows
from minitriton.explorer.session import ExplorerSession, inspect_compile
from minitriton.explorer.terminal import BOLD, FAINT, GREEN, RED, is_coloured, painted
from minitriton.host.source_text import source_text
from minitriton.language.gluon.layouts import layout_of, written
from minitriton.pipeline.choice import Choice, noting_choices

if TYPE_CHECKING:
    from minitriton.analysis.axis_info.explain import Claim
    from minitriton.explorer.compiles import RecordedCompile
    from minitriton.explorer.facts import Facts
    from minitriton.explorer.snapshot import KeptModule


def run_explain(given: argparse.Namespace) -> int:
    """Prints what is known of a line. Raises `MinitritonError` where the compiler made nothing of it."""
    path, _, line = str(given.source).rpartition(":")
    if given.triton:
        raise MinitritonError("--triton compares whole kernels, not lines", help="write FILE.py:kernel --triton")
    asked = asked_of(given, f"{path}:{kernel_at(path, int(line), given.kernel)}").with_own_launch()
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
    """The name of the kernel to compile: the one named, the one around the line or that calls it, or the only one of the file."""
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
        launched = {ast.unparse(n.value) for n in ast.walk(tree) if isinstance(n, ast.Subscript)}
        return _outermost(around[0], kernels, launched)
    if len(kernels) == 1:
        return kernels[0].name
    raise MinitritonError(
        f"line {line} of {path} is in no kernel", SourceLocation(path, line),
        help="name a line of a kernel, or the kernel that calls it by --kernel; there are: " + ", ".join(one.name for one in kernels),
    )  # fmt: skip


def _outermost(name: str, kernels: list[ast.FunctionDef], launched: set[str]) -> str:
    """The kernel of the file that leads to the function `name`; `name` itself where it is launched, or called by none."""
    seen = {name}
    while name not in launched:
        callers = (one.name for one in kernels if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(one)))
        caller = next((one for one in callers if one not in seen), None)
        if caller is None:
            break
        seen.add(name := caller)
    return name


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
            "layout": _layout(kept.values[fact.name].type) if opened.is_gluon else "",
            "chains": {claim: _chain(facts, fact.name, claim) for claim in CLAIMS if fact.claims},
        }
        for fact in facts.of_line(file, line)
    ]  # fmt: skip
    found = [
        {**one.plain(None), "line": one.line, "text": one.text(), "chain": [_link(facts, name) for name in one.chain]}
        for one in accesses(facts, opened.is_gluon)
        if one.line == (file, line)
    ]
    number = opened.files[file]
    movements = [one for one in inspect_compile(opened, step)["movements"].values() if one["line"] == [number, line]]
    declared = [one for one in opened.recording.declared if (one.file, one.line) == (file, line)]
    if not (values or found or movements or declared):
        lines = sorted({fact.line[1] for fact in facts.all() if fact.line and fact.line[0] == file})
        raise MinitritonError(
            f"nothing is left of line {line} in the TTGIR of {opened.recording.kernel}", SourceLocation(path, line),
            help="lines about which something is known: " + ", ".join(map(str, lines)),
        )  # fmt: skip
    source = opened.recording.sources[file].splitlines()
    return {
        "file": path, "line": line, "source": source[line - 1].strip() if line <= len(source) else "", "kernel": opened.recording.kernel,
        "values": values, "accesses": found, "movements": movements,
        "layouts": [{"text": one.text, "encoding": one.fact.encoding, "shape": one.fact.shape} for one in declared],
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


def _layout(type_: Attribute) -> str:
    """The layout of a type as kernels write it; "" where it has none."""
    encoding = ttg.layout_of(type_) if instance_of(type_, (TensorType, MemDescType)) else None
    return "" if encoding is None else written(layout_of(encoding))


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
    for one in found["layouts"]:
        shape = " x ".join(map(str, one["shape"]))
        lines += [
            "",
            painted(one["text"], BOLD, colour),
            f"  minitriton layout '{one['text']}' --shape {shape.replace(' ', '')}",
        ]
    for one in found["movements"]:
        lines += ["", painted(one["name"], BOLD, colour), *("  " + text for text in one["cost"]["text"].split("\n"))]
    for one in found.get("choices", ()):
        first, *rest = one["text"].split("\n")
        lines += ["", painted(first, BOLD, colour), *rest]
    if found["values"]:
        lines.append("")
    for one in found["values"]:
        lines.append(f"%{one['name']} = {one['origin']} : {one['type']}")
        if one["layout"]:
            lines.append("  " + one["layout"])
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
