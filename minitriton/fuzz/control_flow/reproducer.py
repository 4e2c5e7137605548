"""A finding about a control-flow program as a file that runs by itself: the kernel, its launch, the comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from minitriton.fuzz.control_flow.comparison import PYTHON, run_program
from minitriton.fuzz.control_flow.program import Program, source_of
from minitriton.fuzz.reproducer import free_path, tree_text
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.oracles import available
from minitriton.host.whole_file import write_whole

_TEMPLATE = '''"""{kind}: {signature}

Found by `python -m minitriton fuzz --kind control-flow --seed {seed} --only {number}`, then made smaller. Run this file to compare again.

{text}

{source}
"""

import sys

from minitriton.fuzz.control_flow.program import Block, Buffer, Line, Program
from minitriton.fuzz.control_flow.reproducer import compare_again
from minitriton.fuzz.generation.elements import ELEMENTS
from minitriton.fuzz.tree import Scalar

PROGRAM = {tree}

if __name__ == "__main__":
    sys.exit(compare_again(PROGRAM, {oracles!r}))
'''


def write_reproducer(
    folder: Path, program: Program, finding: FuzzFinding, seed: int, number: int, oracles: Sequence[str]
) -> Path:
    """Writes the file of a finding."""
    path = free_path(folder, f"control_flow_{seed}_{number}")
    text = finding.text.replace("\\", "\\\\").replace('"""', "'''")
    content = _TEMPLATE.format(
        kind=finding.kind, signature=finding.signature, seed=seed, number=number, text=text, source=source_of(program),
        tree=tree_text(replace(program, features=frozenset())), oracles=tuple(oracles),
    )  # fmt: skip
    write_whole(path, content)
    return path


def compare_again(program: Program, oracles: Sequence[str]) -> int:
    """Runs a program by the oracles that are at hand and prints what differs. 0 if all agree, else 1."""
    print(source_of(program))
    for parameter in program.scalars:
        print(f"# {parameter.name}: {parameter.element.short} = {parameter.value}")
    verdict, outcomes = run_program(program, [name for name in oracles if name == PYTHON or available(name)])
    for finding in verdict.findings:
        print(f"\n{finding.kind}: {finding.signature}\n{finding.text}")
    if not verdict.findings:
        print(f"agree: {', '.join(outcomes)}")
    return 1 if verdict.findings else 0
