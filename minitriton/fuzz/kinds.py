"""The kinds of kernels that `minitriton fuzz` makes, and what it does with a kernel of any kind: runs it, makes a finding about it smaller, and writes
that as a file that runs by itself.

tiles           expressions over tiles, checked by an analysis and compared with Triton
control-flow    loops, branches, memory order and short dots, compared with plain Python
gluon           a tile through layouts, shared memory and asynchronous copies, compared with NumPy and Triton

smallest(program, candidates, shows)       the smallest program found in time that still shows the finding
python finding_1_1742.py                   compares again and prints what differs; exit code 1 while the oracles do
"""

import importlib
import itertools
import time
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.fuzz.generation.elements import Element
from minitriton.fuzz.generation.generator import kernel_seed
from minitriton.fuzz.running.agreement import FuzzFinding, KernelVerdict
from minitriton.fuzz.running.campaign import KernelReport, failed
from minitriton.fuzz.running.oracles import OracleOutcome, available
from minitriton.fuzz.tree import Array
from minitriton.host.whole_file import write_whole
from minitriton.target import default_arch, target_named

Oracles = Sequence[str]
Outcomes = dict[str, OracleOutcome]
P = TypeVar("P")


@dataclass(frozen=True)
class FuzzKind(Generic[P]):
    """A vocabulary of kernels. `generate` gives the program of a seed, with what `run` needs not find out again; `run` compares what oracles say of a
    program. `candidates` are smaller than a program, those that are no programs among them."""

    name: str
    oracles: tuple[str, ...]
    default: tuple[str, ...]
    generate: Callable[[int], tuple[P, Any]]
    run: Callable[[P, Oracles, Any], tuple[KernelVerdict, Outcomes]]
    source: Callable[[P], str]
    arrays: Callable[[P], Sequence[Array]]
    head: Callable[[P], str]
    """Its launch."""
    candidates: Callable[[P], Iterable[P]]
    modules: tuple[str, ...]
    """Those of the classes that a program is made of, and of `KIND`."""
    is_program: Callable[[P], bool] = lambda program: True
    known: Callable[[P, FuzzFinding, Oracles], str | None] = lambda program, finding, oracles: None
    """The known difference from Triton that explains a finding."""
    features: Callable[[P, Outcomes, Oracles], Sequence[str]] = lambda program, outcomes, oracles: ()

    def fuzz(self, seed: int, number: int, oracles: Oracles) -> KernelReport:
        """Makes and runs kernel `number` of the run `seed`."""
        start = time.process_time()
        program, facts = self.generate(kernel_seed(seed, number))
        verdict, outcomes = self.run(program, oracles, facts)
        explained = [(finding, self.known(program, finding, oracles)) for finding in verdict.findings]
        return KernelReport(
            number, time.process_time() - start,
            tuple(finding for finding, name in explained if name is None),
            tuple(dict.fromkeys(name for _, name in explained if name is not None)),
            tuple(verdict.compared), tuple(verdict.agreeing), tuple(self.features(program, outcomes, oracles)),
        )  # fmt: skip

    def shrink(self, program: P, shows: Callable[[P], bool], most_seconds: float = 60.0) -> P:
        """The smallest program found in time that `shows` the finding."""
        return smallest(program, self.candidates, lambda each: self.is_program(each) and shows(each), most_seconds)

    def reproduce(
        self, folder: Path, finding: FuzzFinding, seed: int, number: int, oracles: Oracles, seconds: float
    ) -> Path:
        """Shrinks a finding within some seconds and writes its file into a folder."""

        def same(program: P) -> list[FuzzFinding]:
            found = self.run(program, oracles, None)[0].findings
            return [f for f in found if (f.kind, f.signature) == (finding.kind, finding.signature)]

        small = self.shrink(self.generate(kernel_seed(seed, number))[0], lambda program: bool(same(program)), seconds)
        return self.write(folder, small, (same(small) or [finding])[0], seed, number, oracles)

    def write(self, folder: Path, program: P, finding: FuzzFinding, seed: int, number: int, oracles: Oracles) -> Path:
        """Writes the file of a finding."""
        folder.mkdir(parents=True, exist_ok=True)
        is_default = self.name == "tiles"
        path = _free_path(folder, f"{'finding' if is_default else self.name.replace('-', '_')}_{seed}_{number}")
        texts = (finding.text, self.source(program))
        text, source = (each.replace("\\", "\\\\").replace('"""', "'''") for each in texts)
        content = _TEMPLATE.format(
            kind=finding.kind, signature=finding.signature, option="" if is_default else f" --kind {self.name}", seed=seed, number=number,
            text=text, source=source, architecture=target_named(default_arch()).arch_option,
            imports="\n".join(f"from {module} import *" for module in self.modules), tree=tree_text(program), oracles=tuple(oracles),
        )  # fmt: skip
        write_whole(path, content)
        return path

    def compare(self, seed: int, number: int, oracles: Oracles) -> int:
        """Runs one kernel by itself and prints it; 0 if all agree."""
        return self.compare_again(self.generate(kernel_seed(seed, number))[0], oracles)

    def compare_again(self, program: P, oracles: Oracles) -> int:
        """Runs a program by the oracles that are at hand and prints what each gave. 0 if all agree, else 1."""
        print(self.head(program))
        print(self.source(program))
        verdict, outcomes = self.run(program, [name for name in oracles if available(name)], None)
        for name, outcome in outcomes.items():
            print(f"{name}: {outcome.error or 'ran'}")
            for array, content in zip(self.arrays(program), outcome.arrays, strict=False):
                if array.written:
                    print(f"    {array.name}: {str(content[:8].tolist())[:100]}")
        for finding in verdict.findings:
            print(f"\n{finding.kind}: {finding.signature}\n{finding.text}")
        if not verdict.findings:
            print(f"all oracles agree: {', '.join(outcomes)}")
        return 1 if verdict.findings else 0


_MODULES = {
    "tiles": "minitriton.fuzz.tiles", "control-flow": "minitriton.fuzz.control_flow.comparison", "gluon": "minitriton.fuzz.gluon",
}  # fmt: skip


def kind_named(name: str) -> FuzzKind[Any]:
    """The kind called `name`."""
    return importlib.import_module(_MODULES[name]).KIND


def fuzz_kernel(kind: str, seed: int, number: int, oracles: Oracles) -> KernelReport:
    """Makes and runs kernel `number` of a kind and a run; what the fuzzer itself fails at is a finding too."""
    try:
        return kind_named(kind).fuzz(seed, number, oracles)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        signature = f"{type(error).__name__} at {where.name}:{where.lineno}"
        return failed(number, FuzzFinding("crash", signature, "".join(traceback.format_exception(error))))


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
    sys.exit(KIND.compare_again(PROGRAM, {oracles!r}))
'''


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
