"""A finding as a file: the shrunk kernel and its launch, to be run by itself.

    python finding-1-1742.py        compiles the kernel with every oracle, prints what each gave; exit code 1 while they differ

The kernel stands in the file twice: as the source that both compilers take, and as the tree, from which the comparison knows
what must be equal bit by bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.fuzz.generation.elements import Element
from minitriton.fuzz.printing import source_of
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.case import run_case
from minitriton.fuzz.running.oracles import available
from minitriton.fuzz.tree import Kernel
from minitriton.host.whole_file import write_whole

_TEMPLATE = '''"""{kind}: {signature}

Found by `python -m minitriton fuzz --seed {seed} --only {number}`, then made smaller. Run this file to compare again.

{text}
"""

import sys

import triton
import triton.language as tl
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.reproducer import compare_again
from minitriton.fuzz.tree import *

{source}

KERNEL = {tree}

if __name__ == "__main__":
    sys.exit(compare_again(KERNEL, {oracles!r}))
'''


def tree_text(value: object, depth: int = 0) -> str:
    """The Python expression that makes a tree."""
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


def free_path(folder: Path, stem: str) -> Path:
    """A Python file of `folder` that is not there yet: one kernel may show several findings."""
    paths = (folder / f"{stem}{suffix}.py" for suffix in itertools.chain([""], (f"_{n}" for n in itertools.count(2))))
    return next(path for path in paths if not path.exists())


def write_reproducer(
    folder: Path, kernel: Kernel, finding: FuzzFinding, seed: int, number: int, oracles: Sequence[str]
) -> Path:
    """Writes the file of a finding."""
    folder.mkdir(parents=True, exist_ok=True)
    path = free_path(folder, f"finding_{seed}_{number}")
    text = finding.text.replace("\\", "\\\\").replace('"""', "'''")
    write_whole(
        path,
        _TEMPLATE.format(
            kind=finding.kind, signature=finding.signature, seed=seed, number=number, text=text,
            source=source_of(kernel), tree=tree_text(kernel), oracles=tuple(oracles),
        ),
    )  # fmt: skip
    return path


def compare_again(kernel: Kernel, oracles: Sequence[str]) -> int:
    """Runs a kernel by the oracles that are at hand and prints what each gave. 0 if all agree, else 1."""
    result = run_case(kernel, [name for name in oracles if available(name)])
    print(result.source)
    for name, outcome in result.outcomes.items():
        print(f"{name}: {outcome.error or 'ran'}")
        for array, content in zip(kernel.arrays, outcome.arrays, strict=False):
            if array.written:
                print(f"    {array.name}: {str(content[:8].tolist())[:100]}")
    for finding in result.verdict.findings:
        print(f"\n{finding.kind}: {finding.signature}\n{finding.text}")
    if not result.verdict.findings:
        print("all oracles agree")
    return 1 if result.verdict.findings else 0
