"""A kernel by how to find it: small, picklable, and as text on a command line.

running_sums                          a kernel of the corpus
my_kernels.py:softmax                 a kernel of a file, as the file launches it, or with --signature, --grid, --arg, --size
recorded/003-softmax                  a launch that `minitriton record` wrote, with its own inputs
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from minitriton import knobs
from minitriton.commands.shared_options import is_launch
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.damaged_files import damage_of, parse_json, read_regular
from minitriton.host.json_values import of_json
from minitriton.host.source_text import line_at
from minitriton.lab import corpus
from minitriton.lab.arguments import Arguments, generate_arguments
from minitriton.lab.launches.own_launch import own_launch
from minitriton.lab.launches.recorded import read_launch
from minitriton.lab.launches.recorder import Recorder
from minitriton.lab.parameters import Parameters, parameters_of
from minitriton.lab.sweeping.tuning_task import TuningTask
from minitriton.pipeline.pass_registry import load_own_passes
from minitriton.runtime.jit import kernel_in
from minitriton.runtime.kernel_interface import KernelInterface
from minitriton.target import options_for, target_named

if TYPE_CHECKING:
    from minitriton.lab.sweeping.store import Store


@dataclass(frozen=True)
class Reference:
    """Where a kernel is and what it is launched with. `files` are those that the corpus has been extended by."""

    kernel: str
    signature: str = ""
    grid: tuple[int, ...] = (2,)
    numbers: tuple[tuple[str, float], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    arch: int | str = 90
    seed: int = 0
    files: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    """Files that register passes."""
    content: str = ""
    """A digest of the files that are not of the package and that its records depend on: the kernel's own, those of a recorded launch,
    those that register passes. Edited, they make another kernel."""
    run: bool = True
    """Whether what it compiles to is run: without, records say nothing about numbers."""
    recorded: str = ""
    """The folder of the launch that the kernel's own file makes, where nothing else says what it is run with."""
    made: str = ""
    """A digest of the first IR, as the process that evaluated had it: modules that the kernel's file imports are in it. Not in a
    reference before that."""

    @property
    def name(self) -> str:
        """What records call it: a launch on another target is another kernel; a call that was passed goes by its folder's name."""
        path = Path(self.kernel)
        called = path.name if path.parent == _calls() else self.kernel
        return called if self.arch == 90 else f"{called} {target_named(self.arch).sm.rstrip('a')}"

    @property
    def launch(self) -> tuple[object, ...]:
        """What its records depend on in addition to name and pipeline."""
        given = (self.signature, self.grid, self.numbers, self.sizes, self.options) if ".py:" in self.kernel else ()
        return (self.arch, self.seed, self.content, self.run, *given)

    def is_that_of(self, text: str) -> bool:
        """Whether records of `text`, a reference as a store has it, are those of this one."""
        other = Reference.of_text(text)
        return self.launch == other.launch and (self.made == other.made or not (self.made and other.made))

    def text(self) -> str:
        """One line of JSON, which `of_text` reads."""
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> Reference:
        """What `text` was made of."""
        return of_json(cls, parse_json(text))

    def with_ir(self, text: str) -> Reference:
        """This reference with the digest of the first IR, `text`."""
        return replace(self, made=hashlib.blake2b(text.encode(), digest_size=8).hexdigest())

    @property
    def names_code(self) -> bool:
        """Whether finding the kernel runs Python that is not of the package."""
        return bool(self.files or self.loads or ".py" in self.kernel)

    def source_length(self) -> int:
        """Characters of the kernel of the corpus, 0 of any other: a guess at what its configurations cost compared with those of other kernels."""
        if ".py:" in self.kernel or is_launch(self.kernel):
            return 0
        with contextlib.suppress(MinitritonError):  # of a file that this process has not added
            return corpus.source_length(self.kernel)
        return 0

    def task(self) -> TuningTask:
        """The kernel, its launch and its target. Raises `MinitritonError` where there is none or its signature does not fit."""
        load_own_passes()
        from minitriton.commands.kernel_files import load_plugin

        for path in self.loads:
            load_plugin(path)
        for file in self.files:
            corpus.add(file)
        if is_launch(self.kernel) or self.recorded:
            return self._of_launch()
        if ".py:" not in self.kernel:
            found = corpus.task(self.kernel, seed=self.seed, arch=self.arch)
            found.name = self.name
            return found
        return self._of_file()

    def _of_launch(self) -> TuningTask:
        from minitriton.commands.kernel_files import load_kernel
        from minitriton.dialects.context import make_context
        from minitriton.lab.launches.replay import arguments_of, source_of
        from minitriton.pipeline.ir_source import IRSource

        launch = read_launch(self.recorded or self.kernel)
        reference, numbers = launch.reference, dict(self.numbers)
        source = (
            source_of(launch, load_kernel(reference), numbers)
            if ".py:" in reference
            else IRSource(reference, make_context())
        )
        target = target_named(self.arch)
        options = options_for(target, **{**launch.options, **dict(self.options), **source.parse_options()})
        parameters = parameters_of(source)
        return TuningTask(
            self.name, source, partial(arguments_of, launch, parameters, numbers=numbers, seed=self.seed), launch.grid, target, options,
        )  # fmt: skip

    def _of_file(self) -> TuningTask:
        from minitriton.commands.inferred_signature import inferred_signature
        from minitriton.commands.kernel_files import load_kernel
        from minitriton.commands.signature import ast_source

        kernel = load_kernel(self.kernel)
        source = ast_source(kernel, self.signature or inferred_signature(kernel).text)
        target = target_named(self.arch)
        options = options_for(target, **dict(self.options))
        arguments = _Generated(self, parameters_of(source))
        task = arguments.task = TuningTask(self.name, source, arguments, self.grid, target, options)
        return task


@dataclass
class _Generated:
    """Arguments made for a kernel's signature, that suit `task`."""

    reference: Reference
    parameters: Parameters
    task: TuningTask | None = field(default=None, repr=False, compare=False)

    def __call__(self) -> Arguments:
        reference = self.reference
        return generate_arguments(
            self.parameters.kinds, self._run_once, sizes=dict(reference.sizes),
            numbers=self.parameters.with_strides(dict(reference.numbers)),
            divisible=self.parameters.divisible, seed=reference.seed,
        )  # fmt: skip

    def _run_once(self, made: Arguments) -> None:
        assert self.task is not None
        fault = self.task.launch_with(made).run(self.task.make_ir(), self.task.facts).fault
        if fault is not None:
            raise fault


def references(kernels: Iterable[str], **shared: object) -> list[Reference]:
    """A reference each; `all` stands for the whole corpus, `@scanning` for one family of it, `@train` and `@test` for the halves of the
    frozen benchmark, `@tt.dot+scf.for` for the kernels with these ops."""

    files = shared.get("files", ())
    for file in files if instance_of(files, TUPLE) else ():
        corpus.add(str(file))
    names: list[str] = []
    for kernel in kernels:
        if kernel == "all":
            names += corpus.names()
        elif kernel.startswith("@"):
            names += HALVES.get(kernel[1:]) or _of_group(kernel[1:])
        elif ".py:" in kernel or is_launch(kernel):
            names.append(str(Path(kernel)))
        else:
            names.append(corpus.find(kernel).name)
    loads = shared.get("loads", ())
    loaded = [Path(str(file)) for file in loads] if instance_of(loads, TUPLE) else []
    is_open = not any(shared.get(key) for key in ("signature", "grid", "numbers", "sizes"))
    found: list[Reference] = []
    for name in dict.fromkeys(names):
        own = own_launch(name) if is_open and ".py:" in name else None
        recorded = "" if own is None else str(own.folder)
        found.append(replace(Reference(name), content=_content_of(name, loaded, recorded), recorded=recorded, **shared))
    return found


def _content_of(name: str, loaded: list[Path], recorded: str = "") -> str:
    digest, is_any = hashlib.blake2b(digest_size=8), False
    for file in [*_files_of(name), *(_files_of(recorded) if recorded else ()), *loaded]:
        if file.is_file():
            digest.update(hashlib.blake2b(read_regular(file)).digest())
            is_any = True
    return digest.hexdigest() if is_any else ""


def _files_of(name: str) -> list[Path]:
    """The files that are not of the package and that say what kernel `name` is."""
    if is_launch(name):
        source = read_launch(name).reference
        own = [Path(source.partition(".py:")[0] + ".py")] if ".py:" in source else []
        return [*sorted(Path(name).iterdir()), *own]
    if ".py:" in name:
        return [Path(name.partition(".py:")[0] + ".py")]
    own_file = corpus.own_file_of(name)
    return [own_file] if own_file is not None else []


def of_store(store: Store) -> dict[str, Reference]:
    """The kernels of a store, by name. Raises `MinitritonError` where finding one would run Python that another user named, and warns where its
    files have changed since."""
    mine = store.own_kernels()
    found: dict[str, Reference] = {}
    for name, (text, _) in store.kernels().items():
        with damage_of(store.path):
            found[name] = reference = Reference.of_text(text)
        if reference.names_code and name not in mine:
            raise store.of_another_user(name)
        if reference.content and reference.content != _content_of(
            reference.kernel, [Path(one) for one in reference.loads], reference.recorded
        ):
            warnings.warn(f"files of {name} have changed since {store.path} was written", RuntimeWarning, stacklevel=2)
    return found


def _of_group(name: str) -> list[str]:
    return corpus.having(*name.split("+")) if "." in name else [case.name for case in corpus.cases(name)]


Inputs = Mapping[str, object] | Sequence[object]
"""What a kernel is called with: values by parameter, in order or by name, and compile options (`num_warps`) and `grid` by name."""


def references_of(kernels: object, inputs: Inputs | None = None, grid: tuple[int, ...] = (1,)) -> list[Reference]:
    """The references among `kernels` (or the only one), and those that its names stand for; of a `@jit` function the call with `inputs`.
    Raises `MinitritonError` for anything else."""
    found: list[Reference] = []
    is_one = isinstance(kernels, (str, Reference, KernelInterface)) or not hasattr(kernels, "__iter__")
    several = [kernels] if is_one else list(cast("Iterable[object]", kernels))
    for kernel in several:
        if isinstance(kernel, KernelInterface):
            found.append(reference_of_call(kernel, inputs, grid))
        elif not isinstance(kernel, (str, Reference)):
            raise MinitritonError(
                f"a sweep takes names, which other processes find, or @jit functions with inputs, not a {type(kernel).__name__}",
                help="name FILE.py:kernel or a case of --corpus FILE.py; search and Evaluator take a TuningTask",
            )
        else:
            found += [kernel] if isinstance(kernel, Reference) else references([kernel])
    return found


def reference_of_call(kernel: KernelInterface, inputs: Inputs | None, grid: tuple[int, ...]) -> Reference:
    """The call of a `@jit` function, written down so that other processes find it. Raises `MinitritonError` at the caller's line where
    an input is missing, or is not what a launch takes."""
    jitted = kernel_in(kernel)
    if jitted is None:
        raise _at_caller(f"{kernel!r} is not a @jit function", "pass the function that @triton.jit made")
    names = jitted.arg_names
    given = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(names, inputs or (), strict=False))
    if "grid" not in names and isinstance(said := given.pop("grid", None), tuple):
        grid = cast("tuple[int, ...]", said)
    values = {one.name: one.default for one in jitted.params if one.has_default} | given
    if missing := [name for name in names if name not in values]:
        takes = f"inputs={{{', '.join(f'{name!r}: ...' for name in names)}}}, grid=(...)"
        raise _at_caller(f"inputs of {jitted.__name__} lack {', '.join(missing)}", f"give {takes}")
    options = {name: value for name, value in values.items() if name not in names}
    digest = hashlib.blake2b(
        f"{jitted.file_name} {jitted.src} {grid} {sorted(options.items())}".encode(), digest_size=5
    )
    for name in names:
        digest.update(_bytes_of(values[name]))
    folder = _calls() / f"{jitted.__name__}-{digest.hexdigest()}"
    if not folder.is_dir():
        x, y, z = (*grid, 1, 1)[:3]
        with tempfile.TemporaryDirectory() as scratch:
            recorder = Recorder(Path(scratch))
            recorder.see(jitted, (x, y, z), tuple(values[name] for name in names), options)
            noted = recorder.recorded[0]
            if noted.folder is None:
                raise _at_caller(f"{jitted.__name__} cannot be launched so: {noted.why}", "see its inputs")
            folder.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(noted.folder, folder)
    return Reference(str(folder), content=_content_of(str(folder), []))


def _calls() -> Path:
    """Where calls are written down."""
    return Path(knobs.cache.dir) / "calls"


def _bytes_of(value: object) -> bytes:
    array = value if instance_of(value, np.ndarray) else None
    return repr(value).encode() if array is None else f"{array.dtype} {array.shape}".encode() + array.tobytes()


def _at_caller(message: str, help: str) -> MinitritonError:
    """An error at the first line of the stack that is not of the package."""
    frame = next(
        one for one in inspect.stack(0) if not str(one.frame.f_globals.get("__name__")).startswith("minitriton.")
    )
    where = SourceLocation(frame.filename, frame.lineno)
    return MinitritonError(message, where, help=help, source_line=line_at(where.file, where.line))


TRAIN = (
    "bench_add", "bench_bias_relu", "bench_gelu", "bench_pairs", "bench_swiglu",
    "bench_attention", "bench_matmul", "bench_small_matmuls",
    "bench_argmax", "bench_cross_entropy", "bench_layer_norm", "bench_quantize", "bench_row_sums",
)  # fmt: skip

TEST = (
    "bench_adam", "bench_embedding", "bench_hash", "bench_rotary", "bench_transpose",
    "bench_linear_relu", "bench_matrix_vector",
    "bench_column_sums", "bench_cumulative_sums", "bench_online_log_sum_exp", "bench_rms_norm", "bench_softmax", "bench_sort",
)  # fmt: skip

HALVES = {"train": TRAIN, "test": TEST, "benchmark": (*TRAIN, *TEST)}
"""The frozen benchmark: kernels to learn from (`@train`) and kernels to evaluate what was learnt (`@test`). Drawn once (2026-11-22) from the
families `benchmark_*`, every second kernel of each family in alphabetical order; neither half changes when the corpus grows."""
