"""The same program through Triton's own passes, where its wheel is installed: a recording to be compared with ours.

    recording = triton_recording(program)
    recording.steps[7].name, .after.text          "tritongpu-coalesce", the TTGIR after Triton's own pass of that name

Triton dumps the IR before each pass (MLIR_ENABLE_DUMP); what a pass left is what the next one was given.
"""

from __future__ import annotations

import base64
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

from minitriton.errors import MinitritonError
from minitriton.explorer.module_lines import Line
from minitriton.explorer.program import RequestedProgram
from minitriton.explorer.recording import RecordedStep, Recording, sources_of
from minitriton.explorer.snapshot import Snapshot, snapshot_of_text
from minitriton.host.llvm_locations import FileLine, LLVMLocations
from minitriton.language.gluon.layouts import Layout, written
from minitriton.pipeline.ir_source import IRSource
from minitriton.target.backends import backend

_SECONDS = 120
_HEAD = re.compile(r"^// -----// IR Dump Before (\S+) \(([\w-]+)\).*//----- //\s*$", re.MULTILINE)
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")


def triton_recording(program: RequestedProgram) -> Recording:
    """What Triton does with `program`. Raises `MinitritonError` where its wheel is not installed, or it cannot compile it."""
    try:
        version = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        raise MinitritonError("Triton's wheel is not installed", help="pip install triton==3.6.0 (Linux)") from None
    with tempfile.TemporaryDirectory() as folder:
        given = {**_given(program), "out": f"{folder}/out.json"}
        dumps, stderr = Path(folder, "dumps"), Path(folder, "stderr")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("TRITON_", "MLIR_", "PYTHONPATH"))},
            # Written by blocks, where standard error has a write for each token: 180,000 of them took 3 s (attention_backward, 2026-11-28).
            "MLIR_ENABLE_DUMP": "1", "MLIR_DUMP_PATH": str(dumps), "TRITON_CACHE_DIR": f"{folder}/cache", "TRITON_ALWAYS_COMPILE": "1",
        }  # fmt: skip
        child = str(Path(__file__).with_name("triton_child.py"))
        try:
            with stderr.open("w") as into:
                done = subprocess.run(
                    [sys.executable, "-P", child], input=json.dumps(given), stdout=subprocess.DEVNULL, stderr=into, text=True,
                    timeout=_SECONDS, env=environment,
                )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise MinitritonError(f"Triton took more than {_SECONDS} s") from None
        if done.returncode:
            said = stderr.read_text("utf-8", "replace").splitlines()
            raise MinitritonError(f"Triton {version} cannot compile it: " + "\n".join(said[-3:]))
        dumped = dumps.read_text("utf-8", "replace")
        found = json.loads(Path(given["out"]).read_text("utf-8"))
    assembly = backend(program.target.backend).text_stage
    recording = Recording(
        program.source.entry, program.target.arch, f"Triton {found['version']}", assembly=assembly
    )  # fmt: skip
    recording.steps = _steps(dumped, found["stages"], assembly)
    recording.sources, recording.shared = sources_of(recording), found["shared"]
    recording.cubin = base64.b64decode(found["cubin"])
    return recording


def _given(program: RequestedProgram) -> dict[str, Any]:
    source = program.source
    options = {name: value for name in _OPTIONS if (value := getattr(program.options, name, None)) is not None}
    options["num_warps"] = program.default_warps or program.options.num_warps
    target = program.target
    common = {"target": (target.backend, target.arch, target.warp_size), "options": options}
    if isinstance(source, IRSource):
        if source.ext == "gluon":
            raise MinitritonError(
                "Triton reads no file of a Gluon kernel before its passes", help="open the kernel, FILE.py:kernel"
            )
        return {**common, "ir": str(source.path)}
    return {
        **common, "file": source.fn.fn.__code__.co_filename, "kernel": source.name, "signature": source.signature,
        "constants": [[list(path), _plain(value)] for path, value in source.constants.items()],
        "attrs": [[list(path), value] for path, value in source.attrs.items()],
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("list[Any]", value)]
    if isinstance(value, Layout):
        return {"layout": written(value)}
    name = getattr(value, "name", str(value))
    return {
        "dtype": {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}.get(
            name, name.replace("i", "int", 1) if re.fullmatch(r"i\d+", name) else name
        )
    }


def _steps(dump: str, stages: dict[str, str], assembly: str) -> list[RecordedStep]:
    heads = list(_HEAD.finditer(dump))
    bodies = [
        dump[head.end() : after.start() if after else len(dump)].strip("\n")
        for head, after in zip(heads, [*heads[1:], None], strict=True)
    ]
    steps: list[RecordedStep] = []

    def add(name: str, documentation: str, state: Snapshot) -> None:
        changed = not steps or state.text != steps[-1].after.text
        steps.append(RecordedStep(name, name, documentation, 0.0, state, changed))

    for at, (head, body) in enumerate(zip(heads, bodies, strict=True)):
        if at == 0:
            add("frontend", "From the kernel's Python to IR, by Triton.", state_of_dump(body))
        if at + 1 < len(bodies):
            add(head[2], f"Triton's {head[1]}.", state_of_dump(bodies[at + 1]))
    for stage in ("llir", assembly):
        if stage in stages:
            add(
                {"llir": "optimize-llvm-ir"}.get(stage, f"emit-{stage}"),
                "By LLVM, as Triton asks.",
                snapshot_of_text(stages[stage], stage, _callers(stages)),
            )
    return steps


def _callers(stages: dict[str, str]) -> dict[FileLine, list[FileLine]]:
    return LLVMLocations(stages.get("llir", "")).callers


_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_USED = re.compile(r" ?loc\((#loc\d*|unknown)\)")
_LOCATION = re.compile(r'^"([^"]*)":(\d+):\d+')
_NAMED = re.compile(r'^"[^"]*"\((#loc\d*)\)$')
_CALL = re.compile(r"^callsite\((#loc\d*) at (#loc\d*)\)$")
_FUSED = re.compile(r"^fused(?:<[^>]*>)?\[(#loc\d*)")
_INLINE = re.compile(r' ?loc\((?:"[^"]*"(?::\d+:\d+|\(#loc\d*\))|callsite\([^()]*\)|fused[^()]*)\)')


def state_of_dump(text: str) -> Snapshot:
    """A state of MLIR as Triton prints it with locations: without them, each line with the location of the op that ends on it."""
    aliases = {found[1]: found[2] for line in text.split("\n") if (found := _ALIAS.match(line))}
    lines: list[Line] = []
    for line in text.split("\n"):
        if _ALIAS.match(line) or line.startswith("//"):
            continue
        used = _USED.findall(line)
        shown = _INLINE.sub("", _USED.sub("", line)).rstrip()
        if shown or lines:
            lines.append(Line(shown, source=_location(used[-1], aliases) if used else None))
    level = "llvm dialect" if "llvm.func" in text else "ttgir" if '"ttg.num-warps"' in text else "ttir"
    return Snapshot(level, tuple(lines), None)


def _location(name: str, aliases: dict[str, str], depth: int = 0) -> tuple[str, int] | None:
    """The user's file and line that an alias means; of a call into the language's library, the call."""
    text = aliases.get(name, "")
    if depth > 20:
        return None
    if found := _LOCATION.match(text):
        return found[1], int(found[2])
    if found := _CALL.match(text):
        inside = _location(found[1], aliases, depth + 1)
        in_library = inside is None or "/triton/language/" in inside[0]
        return (_location(found[2], aliases, depth + 1) if in_library else None) or inside
    if found := _NAMED.match(text) or _FUSED.match(text):
        return _location(found[1], aliases, depth + 1)
    return None
