"""One control-flow program by the reference and every oracle; a finding about one made smaller, and as a file that runs by itself.

fuzz_control_flow(1, 7, ["python", "interpreter", "ttir", "emulator"])    →    a `KernelReport`, as of any fuzzed kernel

A step of `shrink` takes a statement away, puts a block's body in place of the block, drops a hint, simplifies an operand, or launches less; the reference
refuses what is no program any more.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from minitriton.fuzz.control_flow.builder import Block, Line, Node, Program, source_of
from minitriton.fuzz.control_flow.generator import generate
from minitriton.fuzz.control_flow.reference import run_reference
from minitriton.fuzz.control_flow.values import Rejected
from minitriton.fuzz.generation.generator import kernel_seed
from minitriton.fuzz.running.agreement import FuzzFinding, KernelVerdict, differing_array, verdict_of, with_pass
from minitriton.fuzz.running.campaign import KernelReport, guarded_by
from minitriton.fuzz.running.oracles import ORACLES, OracleOutcome, available, run_oracles
from minitriton.fuzz.shrinking import smallest, write_finding
from minitriton.fuzz.validity.access_analysis import Written

PYTHON = "python"
"""The oracle that is the reference."""
CONTROL_FLOW_ORACLES = (PYTHON, *(name for name in ORACLES if name != "triton"))
RACES = frozenset({"thread-race", "shared-race", "global-race"})
RACED = "raced on the emulator (no barriers)"


def fuzz_control_flow(seed: int, number: int, oracles: Sequence[str]) -> KernelReport:
    """Makes and runs program `number` of the run `seed`; what the fuzzer itself fails at is a finding too."""
    return guarded_by(_fuzz_one, seed, number, oracles)


def _fuzz_one(seed: int, number: int, oracles: Sequence[str]) -> KernelReport:
    start = time.process_time()
    program, arrays = generate(kernel_seed(seed, number))
    verdict, outcomes = run_program(program, oracles, arrays)
    raced = {RACED} if len(outcomes) < len(oracles) else set[str]()
    return KernelReport(
        number, time.process_time() - start, tuple(verdict.findings), (), tuple(verdict.compared), tuple(verdict.agreeing),
        tuple(sorted(program.features | raced)),
    )  # fmt: skip


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


Shows = Callable[[Program], bool]
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


def shrink(program: Program, shows: Shows, most_seconds: float = 60.0) -> Program:
    """The smallest program found in time that `shows` the finding."""
    return smallest(
        program, lambda each: map(_without_unused, candidates(each)), lambda each: _is_program(each) and shows(each), most_seconds
    )  # fmt: skip


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


def write_reproducer(
    folder: Path, program: Program, finding: FuzzFinding, seed: int, number: int, oracles: Sequence[str]
) -> Path:
    """Writes the file of a finding."""
    return write_finding(
        folder, replace(program, features=frozenset()), finding, seed, number, oracles,
        source=source_of(program), modules=[__name__, Program.__module__], kind="control-flow",
    )  # fmt: skip


def compare_again(program: Program, oracles: Sequence[str]) -> int:
    """Runs a program by the oracles that are at hand and prints what differs. 0 if all agree, else 1."""
    print(f"{program.programs} programs, {program.num_warps} warps")
    print(source_of(program))
    for parameter in program.scalars:
        print(f"# {parameter.name}: {parameter.element.short} = {parameter.value}")
    verdict, outcomes = run_program(program, [name for name in oracles if name == PYTHON or available(name)])
    for finding in verdict.findings:
        print(f"\n{finding.kind}: {finding.signature}\n{finding.text}")
    if not verdict.findings:
        print(f"agree: {', '.join(outcomes)}")
    return 1 if verdict.findings else 0
