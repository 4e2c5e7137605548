"""Runs a mutant in this process and classifies what it did.

In: a kind, a seed, a number. Out: a `KernelReport`, its features what became of it, its findings what must not happen:

    finding      what it is
    traceback    an exception that is no error of ours left the command
    internal     the command says itself that one of its passes failed
    unlocated    an error that names neither the file nor an argument
    wrong        `minitriton check` ran every pass of the mutant, and one of them changed its numbers
    escape       a file was written outside of the mutant's folder
    crash, timeout: the process ended, or took longer than a minute (`campaign.run` sees to these)
"""

import contextlib
import io
import os
import re
import resource
import shutil
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from minitriton import knobs
from minitriton.errors import MinitritonError
from minitriton.fuzz.mutation.mutants import TEXTS, Mutant, mutant
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.campaign import KernelReport

MOST_MEMORY = 12 << 30
"""Bytes of address space: a mutant that asks for more gets a `MemoryError`, which counts as a traceback."""
INTERNAL = "internal error"
"""What a command says where one of its passes failed in a way that is nobody's fault but its own."""


Tools = Mapping[str, Callable[[list[str]], object]]
"""Commands by name: what each does with its arguments."""


def evaluate(seed: int, number: int, kinds: Sequence[str], *, tools: Tools) -> KernelReport:
    """Makes mutant `number` of a run (its kind is `number` modulo the kinds) and runs it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY if hard < 0 else min(MOST_MEMORY, hard), hard))
    start = time.process_time()
    kind = kinds[number % len(kinds)]
    outer = Path(tempfile.mkdtemp(prefix="mutant"))
    folder = outer / "inner" / "work"
    folder.mkdir(parents=True)
    back = os.getcwd()
    try:
        with tempfile.TemporaryDirectory(prefix="minitriton-mutants") as cache, knobs.cache.scope():
            knobs.cache.dir = cache  # away from the user's
            made = mutant(kind, seed, number, folder)
            os.chdir(folder)
            outcome, finding = run(made, tools)
        strays = [path for path in outer.rglob("*") if path.is_file() and folder not in path.parents]
        if strays and finding is None:
            finding = FuzzFinding("escape", f"{kind} wrote {strays[0].relative_to(outer)}", " ".join(made.arguments))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        os.chdir(back)
        shutil.rmtree(outer, ignore_errors=True)
    seconds = time.process_time() - start
    return KernelReport(number, seconds, () if finding is None else (finding,), (), (), (), (f"{kind}: {outcome}",))


def _below(cls: type) -> list[type]:
    return [one for direct in cls.__subclasses__() for one in (direct, *_below(direct))]


def run(made: Mutant, tools: Tools) -> tuple[str, FuzzFinding | None]:
    """What became of it in a word or two, and what must not have."""
    main = tools[made.tool]
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    code: object = None
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            warnings.simplefilter("ignore")
            code = main(list(made.arguments))
    except SystemExit as exit:
        code = exit.code
    except BaseException as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "minitriton" in f.filename] or [None]
        at = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames[-1] else "outside"
        signature = f"{made.kind}: {type(error).__name__} at {at}"
        return "traceback", FuzzFinding(
            "traceback", signature, _shown(made, "".join(traceback.format_exception(error)))
        )
    out.flush()
    said = err.getvalue() + out.buffer.getvalue().decode(errors="replace")  # pyright: ignore[reportAttributeAccessIssue]
    return _verdict(made, code, said)


def _verdict(made: Mutant, code: object, said: str) -> tuple[str, FuzzFinding | None]:
    if INTERNAL in said:
        line = next(line for line in said.splitlines() if INTERNAL in line)
        return "internal", FuzzFinding("internal", f"{made.kind}: {line[-120:]}", _shown(made, said))
    if code in (0, None):
        return "accepted", None
    failures = {name for name in _FAILED.findall(said) if name not in _OURS}
    if failures:
        return "internal", FuzzFinding("internal", f"{made.kind}: {_why(said)}", _shown(made, said))
    # A pass that refuses what the lowering cannot do says so at the op; `check` counts it as one that broke the kernel.
    refuses = bool(_FAILED.findall(said)) or "cannot be lowered to PTX" in said
    if "is broken" in said and not refuses and made.kind not in ("llir", "ptx"):
        return "wrong", FuzzFinding("wrong", f"{made.kind}: {_why(said)}", _shown(made, said))
    if made.kind in TEXTS and made.path is not None and not _is_located(made, said):
        return "unlocated", FuzzFinding("unlocated", f"{made.kind}: {_why(said)}", _shown(made, said))
    return "refused", None


def _is_located(made: Mutant, said: str) -> bool:
    return made.path is not None and any(name in said for name in (made.path.name, *_LOCATIONS))


_FAILED = re.compile(r"(?:it|the interpreter|the emulator) failed: (\w+)")
_OURS = {cls.__name__ for cls in [MinitritonError, *_below(MinitritonError)]}
"""Errors that are raised on purpose."""
_LOCATIONS = ("<ptx>:", ".py:", "the assembler refuses the PTX")
"""What an error may name instead of the file: PTX that was made of it, a location that it says of itself, or all of it."""


def _why(said: str) -> str:
    for line in said.splitlines():
        if "it failed" in line or "failed:" in line or "is broken" in line or "error" in line:
            return line.strip()[-160:]
    return said.strip().split("\n")[-1][:160]


def _shown(made: Mutant, said: str) -> str:
    return f"{made.tool} {' '.join(repr(a)[1:-1] for a in made.arguments)}\n{said[-3000:]}"
