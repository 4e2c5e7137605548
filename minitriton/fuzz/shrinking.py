"""A finding made smaller, and written as a file that runs by itself: what all kinds of fuzzed kernels have in common.

smallest(program, candidates, shows)       the smallest program found in time that still shows the finding
python finding_1_1742.py                   compares again and prints what differs; exit code 1 while the oracles do
"""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TypeVar

from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.fuzz.generation.elements import Element
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.host.whole_file import write_whole
from minitriton.target import default_arch, target_named

P = TypeVar("P")


def smallest(
    program: P, candidates: Callable[[P], Iterable[P]], shows: Callable[[P], bool], most_seconds: float = 60.0
) -> P:
    """The smallest program found in time that `shows` the finding; `candidates` are smaller than a program, the boldest first.

    What did not help a program is tried again only when nothing else is left to try.
    """
    end = time.monotonic() + most_seconds
    tried = {repr(program)}
    start, helped = 0, False
    while True:
        for position, candidate in enumerate(itertools.islice(candidates(program), start, None), start):
            if time.monotonic() > end:
                return program
            key = repr(candidate)
            if key not in tried and shows(candidate):
                program, start, helped = candidate, position, True
                break
            tried.add(key)
        else:
            if not helped:
                return program
            start, helped = 0, False


_TEMPLATE = '''"""{kind}: {signature}

Found by `python -m minitriton fuzz{option} --arch {architecture} --seed {seed} --only {number}`, then made smaller. Run this file to compare again.

{text}

{source}
"""

import sys

from minitriton.fuzz.generation.elements import ELEMENTS
{imports}
from minitriton.fuzz.tree import *
from minitriton.knobs import runtime

PROGRAM = {tree}

if __name__ == "__main__":
    runtime.override_arch = {architecture!r}
    sys.exit(compare_again(PROGRAM, {oracles!r}))
'''


def write_finding(
    folder: Path, program: object, finding: FuzzFinding, seed: int, number: int, oracles: Sequence[str], *,
    source: str, modules: Sequence[str], kind: str = "",
) -> Path:  # fmt: skip
    """Writes the file of a finding: `modules` have the classes of `program`, and `compare_again`; `source` is its kernel's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = _free_path(folder, f"{kind.replace('-', '_') or 'finding'}_{seed}_{number}")
    text, source = (each.replace("\\", "\\\\").replace('"""', "'''") for each in (finding.text, source))
    imports = "\n".join(f"from {module} import *" for module in modules)
    content = _TEMPLATE.format(
        kind=finding.kind, signature=finding.signature, option=f" --kind {kind}" if kind else "", seed=seed, number=number,
        text=text, source=source, architecture=target_named(default_arch()).arch_option, imports=imports, tree=tree_text(program), oracles=tuple(oracles),
    )  # fmt: skip
    write_whole(path, content)
    return path


def _free_path(folder: Path, stem: str) -> Path:
    """A Python file of `folder` that is not there yet: one kernel may show several findings."""
    paths = (folder / f"{stem}{suffix}.py" for suffix in itertools.chain([""], (f"_{n}" for n in itertools.count(2))))
    return next(path for path in paths if not path.exists())


def tree_text(value: object, depth: int = 0) -> str:
    """The Python expression that makes a tree of dataclasses."""
    if isinstance(value, Element):
        return f"ELEMENTS[{value.name!r}]"
    if is_dataclass(value):
        inner = [f"{f.name}={tree_text(getattr(value, f.name), depth + 1)}" for f in fields(value)]
        if type(value).__name__ in ("Name", "Literal"):
            return f"{type(value).__name__}({tree_text(getattr(value, fields(value)[0].name))})"
        return f"{type(value).__name__}({', '.join(inner)})"
    if instance_of(value, TUPLE):
        parts = [tree_text(v, depth + 1) for v in value]
        if depth <= 1 and parts:
            return "(\n        " + ",\n        ".join(parts) + ",\n    )"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if (isinstance(value, float) and value in (float("inf"), float("-inf"))) or value != value:
        return f"float({str(value)!r})"
    return repr(value)
