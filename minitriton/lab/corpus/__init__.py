"""Kernels to experiment with, those of `minitriton_kernels/families`: each with inputs, a launch and the right answer.

    corpus.names()                       ["atomic_adds", ...], sorted
    corpus.find("running_sums")          its `Case`
    corpus.cases(family="scanning")      those of one file
    corpus.having("tt.dot", "scf.for")   the names of those with such ops in their first IR
    corpus.ops("tiled_dot")              how many of each it has: {"tt.load": 2, ...}
    corpus.task("running_sums")       ready for `lab.search`

A file of one's own joins by `corpus.add("my_kernels.py")`: a Triton program whose cases are declared as in `corpus.case`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton.errors import MinitritonError, did_you_mean
from minitriton.lab.corpus.case import KERNELS, Case, load_file

if TYPE_CHECKING:
    from minitriton.lab.arguments import Arguments
    from minitriton.lab.sweeping.tuning_task import TuningTask
    from minitriton.runtime.jit import JITFunction

_FAMILIES = KERNELS / "families"
_added: list[Path] = []


@cache
def _of_file(path: Path) -> tuple[Case, ...]:
    return tuple(load_file(path, "minitriton").CASES)


def add(path: str | Path) -> None:
    """Makes the cases of another file part of the corpus, for this process. Raises `MinitritonError` if it declares none, or
    one whose name is taken."""
    path = Path(path).resolve()
    if not path.exists():
        raise MinitritonError(f"no such file: {path}")
    if not hasattr(load_file(path, "minitriton"), "CASES"):
        raise MinitritonError(f"{path} declares no CASES", help="begin it with CASES, case = collector(__file__)")
    if path in _added:
        return
    for case in _of_file(path):
        taken = _with_name(case.name)
        if taken is not None:
            raise MinitritonError(
                f"{path} has a kernel {case.name!r}, and so has {Path(taken.file).name}.py",
                help="records go by name: give it another",
            )
    _added.append(path)


def families() -> list[str]:
    """The files of the corpus by name: kernels of one kind each."""
    return [path.stem for path in _files()]


def _files() -> list[Path]:
    return [*sorted(_FAMILIES.glob("*.py")), *_added]


def cases(family: str | None = None) -> list[Case]:
    """The cases of one family, or all. Raises `MinitritonError` for a family that there is not."""
    if family is not None and family not in families():
        raise MinitritonError(f"the corpus lacks a family {family!r}", help="it has: " + ", ".join(families()))
    return [case for path in _files() if family in (None, path.stem) for case in _of_file(path)]


def names() -> list[str]:
    """The names of all kernels, sorted."""
    return sorted(case.name for case in cases())


def find(name: str) -> Case:
    """The case called `name`. Raises `MinitritonError` with the closest name."""
    found = _with_name(name)
    if found is not None:
        return found
    if Path(name).is_file() and Path(name).suffix in (".ttir", ".ttgir"):
        raise MinitritonError(
            f"{name!r} is IR: nothing says what it is launched with",
            help="name its kernel as FILE.py:kernel, or a launch that `minitriton record PROGRAM.py` wrote",
        )
    if Path(name).is_file():
        raise MinitritonError(
            f"{name!r} cannot be run: it is not a .ttir or .ttgir file, and no kernel in it is named",
            help="write FILE.py:kernel, or name a .ttir, .ttgir, .llir or .ptx file",
        )
    raise MinitritonError(
        f"the corpus lacks a kernel {name!r}",
        help=did_you_mean(name, names()) or "`minitriton corpus` lists its kernels; one of a file is FILE.py:kernel",
    )


def require_own_launch(name: str, given: Mapping[str, object]) -> None:
    """Raises `MinitritonError` where options, by their name on the command line, would change what the case called `name` says of itself."""
    wrong = [flag for flag, value in given.items() if value]
    if wrong:
        case = find(name)
        raise MinitritonError(
            f"kernel {name!r} of the corpus has its own types and launch, and {', '.join(wrong)} would change them",
            help=f"name its file: {case.file}.py:{case.kernel}",
        )


def _with_name(name: str) -> Case | None:
    for path in _files():
        if name in path.read_text("utf-8"):  # a file takes long to load, and a process of a sweep needs few
            for case in _of_file(path):
                if case.name == name:
                    return case
    return None


def own_file_of(name: str) -> Path | None:
    """The file that was added and has the case called `name`; None for one of the package, or of none."""
    return next((path for path in _added for case in _of_file(path) if case.name == name), None)


@cache
def ops(name: str) -> Counter[str]:
    """How often each op stands in the first IR of the case called `name`, functions that it calls among it."""
    return Counter(op.name for op in task(name).make_ir().walk())


def having(*wanted: str) -> list[str]:
    """The names of all kernels whose first IR has each of the ops `wanted`. Raises `MinitritonError` where none has."""
    found = [name for name in names() if all(op in ops(name) for op in wanted)]
    if not found:
        known = sorted({op for name in names() for op in ops(name)})
        raise MinitritonError(
            f"no kernel of the corpus has {' and '.join(wanted)}", help="its ops: " + ", ".join(known)
        )
    return found


def task(name: str, *, seed: int = 0, arch: int | str = 90) -> TuningTask:
    """The case called `name` as something to try pipelines on, its inputs drawn from `seed`."""
    return task_of(find(name), seed=seed, arch=arch)


def source_length(name: str) -> int:
    """Characters of the kernel of the case called `name`, without those of functions that it calls."""
    return len(_kernel_of(find(name)).src)


def _kernel_of(case: Case) -> JITFunction:
    return getattr(load_file(Path(case.file).with_suffix(".py"), "minitriton"), case.kernel)


def task_of(case: Case, *, seed: int = 0, arch: int | str = 90) -> TuningTask:
    """`case` as something to try pipelines on."""
    from minitriton.lab.arguments import random_numbers
    from minitriton.lab.sweeping.tuning_task import LargeLaunch, TuningTask

    kernel = _kernel_of(case)
    inputs = case.inputs(random_numbers(seed))
    options: dict[str, object] = {**case.launch_options}
    grid = case.grid if case.grid_of is None else partial(case.grid_at, case.sizes)
    found = TuningTask.of_call(
        kernel, inputs, grid, name=case.name, arch=arch, options=options, choices=case.choices, **case.constexprs
    )
    found.tolerance = 0.0 if case.exact_order else case.tolerance
    if (large := case.large) is not None:
        found.large = LargeLaunch(
            partial(_large_arguments, case, seed), partial(case.grid_at, large.sizes), large.bytes()
        )
    return found


def _large_arguments(case: Case, seed: int) -> Arguments:
    from minitriton.lab.arguments import random_numbers
    from minitriton.lab.call import source_of_call

    assert case.large is not None
    return source_of_call(_kernel_of(case), case.large.inputs(random_numbers(seed)), case.constexprs)[1]
