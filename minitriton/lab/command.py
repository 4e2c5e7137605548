"""`minitriton check FILE.py:kernel`: the check from the command line, with inputs made up where none are given.

minitriton check add.py:add --signature '*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=1024' --grid 4 --arg n=4000
minitriton check add.ttgir                                                          from that stage on
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitriton.commands.shared_options import (
    add_arch,
    add_json,
    add_launch_arguments,
    add_launch_option,
    add_pipeline_edits,
    add_races,
    add_time_limit,
    edited,
    print_json,
    progress,
    time_limit,
)
from minitriton.errors import MinitritonError
from minitriton.host.subcommands import Subcommands
from minitriton.pipeline.pass_registry import load_own_passes

if TYPE_CHECKING:
    from minitriton.lab.arguments import Arguments
    from minitriton.lab.execution import Launch
    from minitriton.lab.launches.recorded import RecordedLaunch
    from minitriton.lab.parameters import Parameters, Source
    from minitriton.pipeline.pass_manager import Pipeline
    from minitriton.target import CompileOptions, GPUTarget


def add_check_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    check = commands.add_parser(
        "check", help="run a kernel after every pass and name the pass that changes its numbers"
    )
    check.add_argument(
        "kernel",
        nargs="?",
        help="FILE.py:kernel, IR text (FILE.ttir, .ttgir, .gluon, .llir, .ptx), or a name of `minitriton corpus` with its own launch",
    )
    add_launch_option(check)
    add_pipeline_edits(check)
    add_launch_arguments(check, "; of IR text only where it does not say, as *fp32 for a pointer of PTX")
    add_arch(check, "the IR's, else 90")
    check.add_argument(
        "--reproducers", type=Path, default=Path("reproducers"), metavar="DIR", help="where to write them (%(default)s)"
    )
    check.add_argument("--gpu", action="store_true", help="run the PTX at the end on the GPU too, if there is one")
    unwritten = (
        "an array that nothing has written before the launch, as numpy.empty gives it: what is read of it is poison"
    )
    check.add_argument("--unwritten", action="append", default=[], metavar="NAME", help=unwritten)
    check.add_argument(
        "--no-poison",
        action="store_true",
        help="do not look for what depends on lanes that a mask turns off, or on --unwritten",
    )
    add_races(check, "warn")
    add_json(check)
    add_time_limit(check)
    check.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs the check and prints the table. 0 if no pass is broken, else 1."""
    load_own_passes()
    with time_limit(given.emulator_seconds):
        return _run(given)


def _run(given: argparse.Namespace) -> int:
    from minitriton.lab.checker import check

    source, launch = _launch(given)
    launch.arguments.unwritten = tuple(given.unwritten)
    with progress() as show:
        report = check(
            source,
            launch.arguments,
            launch.grid,
            target=launch.target,
            options=launch.options,
            pipeline=_pipeline(given, source, launch),
            reproducers=given.reproducers,
            device="gpu" if given.gpu else "cpu",
            contracts=not given.anyway,
            poison=not given.no_poison,
            races=given.races,
            progress=lambda done, total, name: show(f"checking {launch.name}: {done} of {total} passes, {name}"),
        )
    print_json({"ok": report.ok, **vars(report)}) if given.json else print(report.text())
    return 0 if report.ok else 1


def _pipeline(given: argparse.Namespace, source: Source, launch: Launch) -> Pipeline | None:
    """The passes asked for; None for the target's own."""
    from minitriton.pipeline import stages
    from minitriton.pipeline.pass_manager import Pipeline

    if not (given.pipeline or given.edits):
        return None
    whole = (
        Pipeline.parse(given.pipeline)
        if given.pipeline
        else stages.default_pipeline(launch.target, launch.options, source.ext)
    )
    return edited(whole, given.edits)


def _launch(given: argparse.Namespace) -> tuple[Source, Launch]:
    """What is checked, and how it is launched: as recorded, or with inputs made up."""
    from minitriton.commands.kernel_files import is_corpus_name, load_kernel
    from minitriton.lab.execution import Launch
    from minitriton.lab.launches.own_launch import own_launch
    from minitriton.lab.launches.recorded import read_launch
    from minitriton.lab.launches.replay import replayed
    from minitriton.lab.parameters import architecture_of
    from minitriton.target import default_arch, options_for, target_named

    said = given.signature or given.launch or given.grid or given.arg or given.size or given.inputs
    if not said and given.kernel and ".py" in given.kernel:
        load_kernel(given.kernel)  # raises where a file of several kernels is named without one
        own = own_launch(given.kernel)
        given.launch = None if own is None else str(own.folder)
    recorded = read_launch(given.launch) if given.launch else None
    given.kernel = given.kernel or (recorded and recorded.reference)
    if not given.kernel:
        raise MinitritonError("nothing is named to be checked", help="name FILE.py:kernel, IR text, or --launch DIR")
    if recorded is None and is_corpus_name(given.kernel):
        return _corpus_launch(given)
    source, parameters = _source(given, recorded)
    arch = given.arch or architecture_of(source) or (recorded.arch if recorded else default_arch())
    target = target_named(arch)
    known = recorded.options if recorded else {}
    options = options_for(target, **{**known, **named(given.option), **source.parse_options()})
    sizes, numbers, grid = named(given.size), named(given.arg), grid_of(given.grid) if given.grid else None
    if recorded is not None:
        launch = replayed(
            recorded, source, target, options, grid=grid, numbers=numbers, inputs=given.inputs, sizes=sizes, seed=given.seed,
        )  # fmt: skip
        return source, launch
    grid = grid or grid_of(DEFAULT_GRID)
    arguments = launch_arguments(
        source, parameters, grid, target, options, sizes=sizes, numbers=numbers, inputs=given.inputs, seed=given.seed
    )
    return source, Launch.of(source, arguments, grid, target, options)


def _corpus_launch(given: argparse.Namespace) -> tuple[Source, Launch]:
    """The launch of a kernel of the corpus; its arguments are what the case says. Raises `MinitritonError` for others."""
    from minitriton.lab import corpus
    from minitriton.lab.execution import Launch
    from minitriton.target import default_arch, options_for, target_named

    case = corpus.find(given.kernel)
    flags = {
        "--signature": given.signature,
        "--grid": given.grid,
        "--arg": given.arg,
        "--size": given.size,
        "--inputs": given.inputs,
    }
    corpus.require_own_launch(given.kernel, flags)
    arch = given.arch or default_arch()
    task = corpus.task(given.kernel, seed=given.seed, arch=arch)
    target = target_named(arch)
    options = options_for(target, **{**case.launch_options, **named(given.option)})
    launch = Launch(case.kernel, task.arguments(), task.grid, target, options, tolerance=task.tolerance)
    return task.source, launch


DEFAULT_GRID = "2"


def _source(given: argparse.Namespace, recorded: RecordedLaunch | None) -> tuple[Source, Parameters]:
    """The kernel, or the IR text, and what it takes."""
    from minitriton.commands.inferred_signature import inferred_signature, signature_for
    from minitriton.commands.kernel_files import load_kernel
    from minitriton.commands.signature import ast_source
    from minitriton.dialects.context import make_context
    from minitriton.lab.launches.replay import source_of
    from minitriton.lab.parameters import parameters_of
    from minitriton.pipeline.ir_source import IR_FILES, IRSource

    if Path(given.kernel).suffix[1:] in IR_FILES:
        source = IRSource(given.kernel, make_context())
        return source, parameters_of(source, given.signature)
    if Path(given.kernel).suffix and ".py" not in given.kernel:
        raise MinitritonError(
            f"cannot check {given.kernel!r}",
            help="name a kernel as FILE.py:kernel, or a file *." + ", *.".join(IR_FILES),
        )
    kernel = load_kernel(given.kernel)
    if recorded is not None and not given.signature:
        source = source_of(recorded, kernel, named(given.arg))
        return source, parameters_of(source)
    try:
        source = ast_source(kernel, signature_for(kernel, given.signature))
    except MinitritonError as error:
        if "@triton." not in (error.help or ""):
            error.help = f"{error.help}; for example --signature '{inferred_signature(kernel).text}'"
        raise
    return source, parameters_of(source)


def launch_arguments(
    source: Source,
    parameters: Parameters,
    grid: tuple[int, ...],
    target: GPUTarget,
    options: CompileOptions,
    *,
    sizes: dict[str, object],
    numbers: dict[str, object],
    inputs: str | None = None,
    seed: int = 0,
) -> Arguments:
    """The `Arguments` of a launch of `source`: `sizes`, `numbers` and the arrays of file `inputs` as given, the others made up."""
    from xdsl.dialects.builtin import ModuleOp

    from minitriton.dialects.context import make_context
    from minitriton.lab.arguments import arrays_in, generate_arguments
    from minitriton.lab.checker import shared_bytes
    from minitriton.lab.execution import Launch
    from minitriton.pipeline.stages import first_properties

    value = source.make_ir(target, options, make_context())
    lengths = {name: _count(size, "--size") for name, size in sizes.items()}

    def run_once(arguments: Arguments) -> None:
        launch = Launch.of(source, arguments, grid, target, options, shared=shared_bytes(source, value))
        fault = launch.run(value, first_properties(source.ext)).fault
        if fault is not None:
            raise fault

    if not isinstance(value, ModuleOp):
        # Text shows only that an access is outside, not by how much.
        pointers = [name for name, kind in parameters.kinds.items() if kind.startswith("*")]
        lengths = {**dict.fromkeys(pointers, DEFAULT_SIZE), **lengths}
    contents = arrays_in(inputs)
    try:
        found = generate_arguments(
            parameters.kinds,
            run_once,
            sizes=lengths,
            numbers=parameters.with_strides(numbers),
            contents=contents,
            divisible=parameters.divisible,
            seed=seed,
        )
    except MinitritonError as error:
        if len({*numbers, *contents}) < len(parameters.kinds):
            error.help = f"{error.help or 'see the kernel'}; {NOT_GIVEN}"
        raise
    found.made_up = _made_up(found, {*numbers, *contents}, grid)
    return found


NOT_GIVEN = "some inputs were made up, so it may be they that are wrong, not the kernel: give --arg, --inputs, --grid"


def _made_up(arguments: Arguments, given: set[str], grid: tuple[int, ...]) -> str:
    """What of `arguments` is not `given`: "n = 100, contents of x and out, grid 2"."""
    from minitriton.lab.arguments import array_of

    made = [one for one in arguments.passed if one.name not in given]
    numbers = [f"{one.name} = {one.value}" for one in made if array_of(one.value) is None]
    arrays = [one.name for one in made if array_of(one.value) is not None]
    if not made:
        return ""
    parts = [*numbers, *([f"contents of {', '.join(arrays)}"] if arrays else []), f"grid {'x'.join(map(str, grid))}"]
    return "; ".join(parts)


DEFAULT_SIZE = 1 << 16
"""Elements of the arrays that LLVM IR and PTX from a file are given."""


def named(items: list[str]) -> dict[str, Any]:
    """`NAME=VALUE` items of a command line, values as Python reads them. Raises `MinitritonError` for anything else."""
    import ast

    found: dict[str, Any] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise MinitritonError(f"expected NAME=VALUE, got {item!r}")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def sizes_of(items: list[str]) -> dict[str, int]:
    """The elements of arrays, as `NAME=N` items say. Raises `MinitritonError` for anything else."""
    return {name: _count(size, "--size") for name, size in named(items).items()}


MOST_PROGRAMS = 1 << 16
"""Of a grid."""
MOST_ELEMENTS = 1 << 28
"""Of an array."""


def grid_of(text: str) -> tuple[int, ...]:
    """The grid that `4`, `4,2` or `4,2,1` says. Raises `MinitritonError` for any other text."""
    sizes = tuple(_count(part, "--grid") for part in text.split(","))
    if len(sizes) > 3:
        raise MinitritonError(f"--grid has {len(sizes)} dimensions, a GPU has 3", help="write x, x,y or x,y,z")
    if math.prod(sizes) > MOST_PROGRAMS:
        raise MinitritonError(
            f"--grid {text} is {math.prod(sizes)} programs", help=f"give a grid of at most {MOST_PROGRAMS}"
        )
    return sizes


def _count(value: object, option: str) -> int:
    """A number of programs, or of an array's elements. Raises `MinitritonError`."""
    try:
        number = int(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError, OverflowError):
        raise MinitritonError(f"{option} takes integers, got {str(value)[:40]!r}") from None
    if not 1 <= number <= MOST_ELEMENTS:
        raise MinitritonError(f"{option} takes integers from 1 to {MOST_ELEMENTS}, got {str(value)[:40]}")
    return number
