"""One control-flow program by the reference and every oracle, and programs that are smaller.

KIND.fuzz(1, 7, ["python", "interpreter", "ttir", "emulator"])    →    a `KernelReport`, as of any fuzzed kernel

A smaller program takes a statement away, puts a block's body in place of the block, drops a hint, simplifies an operand, or launches less; the reference
refuses what is no program any more.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from minitriton.fuzz.control_flow.builder import Block, Line, Node, Program, source_of
from minitriton.fuzz.control_flow.generator import generate
from minitriton.fuzz.control_flow.reference import run_reference
from minitriton.fuzz.control_flow.values import Rejected
from minitriton.fuzz.kinds import FuzzKind
from minitriton.fuzz.running.agreement import KernelVerdict, differing_array, verdict_of, with_pass
from minitriton.fuzz.running.oracles import ORACLES, OracleOutcome, run_oracles
from minitriton.fuzz.validity.access_analysis import Written

PYTHON = "python"
"""The oracle that is the reference."""
RACES = frozenset({"thread-race", "shared-race", "global-race"})
RACED = "raced on the emulator (no barriers)"


def run_program(
    program: Program, oracles: Sequence[str], arrays: list[np.ndarray] | None = None
) -> tuple[KernelVerdict, dict[str, OracleOutcome]]:
    """What the oracles say of `program`, `arrays` being what the reference gives, and the outcomes that were compared.

    An outcome with a race of a program without barriers is left out. Raises `Rejected` if it is no program.
    """
    expected = OracleOutcome(arrays or run_reference(program))
    case = program.launch
    outcomes = run_oracles(case, [name for name in oracles if name != PYTHON])
    outcomes = {name: o for name, o in outcomes.items() if program.barriers or not RACES.intersection(o.finding_kinds)}
    if PYTHON in oracles:
        outcomes = {PYTHON: expected} | outcomes
    parameters = [buffer.array for buffer in program.buffers]
    exactness = {buffer.name: Written(either_zero=True) for buffer in program.buffers}
    verdict = verdict_of(parameters, exactness, outcomes)

    def is_right(outcome: OracleOutcome) -> bool:
        return outcome.error is None and differing_array(parameters, exactness, outcome, expected) is None

    verdict.findings = with_pass(verdict.findings, case, outcomes, is_right)
    return verdict, outcomes


Nodes = tuple[Node, ...]

_SIMPLER = (
    (re.compile(r", (num_stages|loop_unroll_factor|flatten|disable_licm|disallow_acc_multi_buffer)=\w+"), ""),
    (re.compile(r", mask=.*?, other=\w+"), ""),
    (re.compile(r"\((\w+) [-+*^&|%/]+ \w+\)"), r"\1"),
    (re.compile(r"\((\w+) [-+*^&|%/]+ \w+\)"), "0"),
    (re.compile(r"tl\.load\(\w+(?: \+ [^()]*)?\)"), "1"),
    (re.compile(r"tl\.full\(\(\), (\d+), tl\.int32\)"), r"\1"),
)
"""Patterns in a statement and what may replace them, one occurrence at a time."""


def _is_program(program: Program) -> bool:
    try:
        run_reference(program)
    except (Rejected, SyntaxError):
        return False
    return True


def candidates(program: Program) -> Iterator[Program]:
    """Smaller programs, the boldest first."""
    if program.programs > 1:
        yield replace(program, programs=1)
    for body in _smaller(program.body):
        yield replace(program, body=body)
    if program.num_warps > 1:
        yield replace(program, num_warps=1)
    if program.barriers:
        yield replace(program, barriers=False)
    for position, scalar in enumerate(program.scalars):
        for value in (0, 1, 2):
            if abs(scalar.value) > value:
                scalars = (*program.scalars[:position], replace(scalar, value=value), *program.scalars[position + 1 :])
                yield replace(program, scalars=scalars)


def _smaller(nodes: Nodes) -> Iterator[Nodes]:
    for position, node in enumerate(nodes):
        before, after = nodes[:position], nodes[position + 1 :]
        yield before + after
        if isinstance(node, Block):
            for body in (node.body, node.otherwise):
                if body:
                    yield (*before, *body, *after)
        for changed in _simpler(node):
            yield (*before, changed, *after)


def _simpler(node: Node) -> Iterator[Node]:
    text = node.header if isinstance(node, Block) else node.text
    if isinstance(node, Block):
        if node.otherwise:
            yield replace(node, otherwise=())
        for body in _smaller(node.body):
            yield replace(node, body=body)
        for body in _smaller(node.otherwise):
            yield replace(node, otherwise=body)
    for pattern, simple in _SIMPLER:
        for match in pattern.finditer(text):
            changed = text[: match.start()] + match.expand(simple) + text[match.end() :]
            yield replace(node, header=changed) if isinstance(node, Block) else replace(node, text=changed)


def _without_unused(program: Program) -> Program:
    """`program` without parameters and functions that nothing names, and without pointers of their own that one program needs not."""
    body = program.body
    if program.programs == 1:
        body = tuple(node for node in body if not (isinstance(node, Line) and "tl.program_id(0) * " in node.text))
    text = source_of(replace(program, body=body, functions=(), buffers=(), scalars=()))
    functions = tuple(f for f in program.functions if re.search(rf"\b{_name_of(f)}\b", text))
    return replace(
        program,
        body=body,
        functions=functions,
        buffers=tuple(b for b in program.buffers if re.search(rf"\b{b.name}\b", text)),
        scalars=tuple(s for s in program.scalars if re.search(rf"\b{s.name}\b", text)),
    )


def _name_of(function: str) -> str:
    return function.partition("def ")[2].partition("(")[0]


def _head(program: Program) -> str:
    numbers = "".join(f"\n# {each.name}: {each.element.short} = {each.value}" for each in program.scalars)
    return f"{program.programs} programs, {program.num_warps} warps{numbers}"


def _features(program: Program, outcomes: Mapping[str, OracleOutcome], oracles: Sequence[str]) -> list[str]:
    return sorted(program.features | ({RACED} if len(outcomes) < len(oracles) else set[str]()))


KIND = FuzzKind(
    "control-flow", (PYTHON, *(name for name in ORACLES if name != "triton")), (PYTHON, "interpreter", "ttir", "emulator", "emulator-sm80"),
    generate, run_program, source_of, lambda program: [buffer.array for buffer in program.buffers], _head,
    lambda program: map(_without_unused, candidates(program)), (__name__, Program.__module__), is_program=_is_program, features=_features,
)  # fmt: skip
