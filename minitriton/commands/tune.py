"""`minitriton tune`: the configurations of a kernel from facts, the fastest by the model first, and why.

minitriton tune FILE.py:matmul --size M=4096,N=4096,K=4096 --arch 90
minitriton tune FILE.py:softmax --signature '*fp16:16,*fp16:16,i32:16,i32' --size n_cols=1000 --json
minitriton tune FILE.py:matmul --size M=4096,N=4096,K=4096 --html tiles.html           all of it as a page with tables
minitriton tune FILE.py:attention --size length=4096,D=128          constants that are how long an axis is in memory are never searched
minitriton tune bench_matmul                                        a kernel of `minitriton corpus`, for the sizes of its launch
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minitriton.commands.inferred_signature import inferred_signature
from minitriton.commands.kernel_files import is_corpus_name, load_kernel
from minitriton.commands.shared_options import add_arch, add_json, count_from
from minitriton.commands.signature import DIVISIBLE, ast_source
from minitriton.commands.signature_text import items_by_parameter
from minitriton.commands.tile_tables import page_of, tables_of
from minitriton.errors import MinitritonError, SourceLocation, did_you_mean
from minitriton.frontend.function import JITCallable
from minitriton.host.subcommands import Subcommands, write_output
from minitriton.pipeline.ast_source import ASTSource
from minitriton.runtime.jit import JITFunction
from minitriton.target import GPUTarget, default_arch, target_named
from minitriton.target.architectures import speeds_named

if TYPE_CHECKING:
    from minitriton.runtime.tuning.problem import Problem
    from minitriton.runtime.tuning.ranking import Ranking


def add_tune_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    tune = commands.add_parser("tune", help="tile sizes of a kernel from facts, the fastest by a model first")
    tune.add_argument("source", help="FILE.py:kernel, or a name of `minitriton corpus`")
    tune.add_argument(
        "--signature", default="", help="argument types as for `compile`; constants that it leaves out are searched"
    )
    tune.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N,...",
        help="integer arguments, strides too, and constants that are not searched: M=4096,N=4096,K=512",
    )
    add_arch(tune)
    tune.add_argument("--most", type=count_from(1), default=10, help="how many configurations to show")
    tune.add_argument(
        "--html", metavar="FILE", help="also writes a page: all configurations, and why others are dropped"
    )
    add_json(tune)
    tune.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the ranking. Exit code 0."""
    target = target_named(arguments.arch or default_arch())
    of_corpus = is_corpus_name(arguments.source)
    ranking, missing = _of_corpus(arguments, target) if of_corpus else _of_file(arguments, target)
    made_up = missing_sizes(missing)
    if made_up:
        print(made_up, file=sys.stderr)
    if arguments.html:
        found = json.loads(ranking.explain(most=len(ranking), as_json=True))
        write_output(Path(arguments.html), page_of(tables_of(found, made_up)))
    print(ranking.explain(most=arguments.most, as_json=arguments.json))
    return 0


def _of_file(arguments: argparse.Namespace, target: GPUTarget) -> tuple[Ranking, list[str]]:
    """The ranking of FILE.py:kernel, and the numbers without a size."""
    from minitriton.runtime.tuning.problem import problem_of_source, require_free_blocks
    from minitriton.runtime.tuning.ranking import rank

    kernel = load_kernel(arguments.source)
    sizes = sizes_of(arguments.size, kernel)
    fixed, known, made_up = _items(kernel, arguments.signature, sizes)
    for name, size in sizes.items():
        if not arguments.signature and fixed.get(name) in (f"{name}=1", f"{name}=i32:{DIVISIBLE}"):
            fixed[name] = f"{name}=i32"  # the size that is given comes before a stride that was made up
        if fixed.get(name) == f"{name}=i32" and size == 1:
            fixed[name] = f"{name}=1"  # as a launch specializes it: a stride of 1 makes neighbours contiguous
        elif fixed.get(name) == f"{name}=i32" and size % DIVISIBLE == 0:
            fixed[name] += f":{DIVISIBLE}"

    def source_of(values: Mapping[str, Any]) -> ASTSource:
        items = {**fixed, **{name: f"{name}={value}" for name, value in values.items()}}
        return ast_source(kernel, ",".join(items[name] for name in kernel.arg_names if name in items))

    require_speeds(kernel, target)
    require_free_blocks(kernel, {name: item.partition("=")[2] for name, item in fixed.items()})
    ranking = rank(problem_of_source(kernel, source_of, list(known), sizes, None, target, known))
    said = [item for item in made_up if item.partition("=")[0] not in ranking.problem.roles.free]
    if said:
        print(
            f"made up, as {kernel.__name__} uses them: {', '.join(said)} (--signature says otherwise)", file=sys.stderr
        )
    return ranking, [name for name, item in fixed.items() if name not in sizes and item.startswith(f"{name}=i")]


def _of_corpus(arguments: argparse.Namespace, target: GPUTarget) -> tuple[Ranking, list[str]]:
    """The same of a kernel of the corpus, for the sizes of its own launch where none are given."""
    from minitriton.lab import corpus

    corpus.require_own_launch(arguments.source, {"--signature": arguments.signature})
    task = corpus.task(arguments.source, arch=target.arch)
    kernel = getattr(task.source, "fn", None)
    if not isinstance(task.source, ASTSource) or not isinstance(kernel, JITFunction):
        raise MinitritonError(f"{arguments.source} is not written in Triton's Python, whose constants are searched")
    require_speeds(kernel, target)
    launched = {one.name: one.value for one in task.arguments().passed if type(one.value) is int}
    sizes = {**launched, **sizes_of(arguments.size, kernel)}
    return ranking_of(task.source, sizes, target), []


def require_speeds(kernel: JITFunction, target: GPUTarget) -> None:
    """Raises `MinitritonError` for a target whose speeds the model does not know."""
    try:
        speeds_named(target.ttg_target)
    except MinitritonError as error:
        raise MinitritonError(
            error.message, SourceLocation(kernel.file_name, kernel.begin_line), help=error.help
        ) from error


def ranking_of(source: ASTSource, sizes: Mapping[str, int], target: GPUTarget) -> Ranking:
    """Of the kernel of a compile: its constants that are integers are searched, but those that `sizes` names, or that are how long an axis is."""
    from minitriton.runtime.tuning.ranking import rank

    return rank(problem_of_compile(source, sizes, target))


def problem_of_compile(source: ASTSource, sizes: Mapping[str, int], target: GPUTarget) -> Problem:
    """What is searched for the kernel of a compile, and what each of its constants is for."""
    from minitriton.runtime.tuning.problem import problem_of_source, require_free_blocks

    kernel = source.fn
    assert isinstance(kernel, JITFunction)
    require_free_blocks(kernel, source.signature)
    names = kernel.arg_names
    compiled_in = {p.name for p in kernel.params if p.is_constexpr}
    constants = {**constants_of(source), **{n: size for n, size in sizes.items() if n in compiled_in}}
    free = [n for n in names if n in compiled_in and n not in sizes and type(constants.get(n)) is int]
    bound = {n: v for n, v in {**constants, **sizes}.items() if n not in {*free} and type(v) is int}

    def source_of(values: Mapping[str, Any]) -> ASTSource:
        found = {(names.index(name),): value for name, value in {**constants, **values}.items()}
        return ASTSource.of(kernel, source.signature, {**source.constants, **found}, source.attrs)

    return problem_of_source(kernel, source_of, free, bound, None, target, constants)


def constants_of(source: ASTSource) -> dict[str, object]:
    """The constants of a compile by name, without those in tuples."""
    names = source.fn.arg_names
    return {names[path[0]]: value for path, value in source.constants.items() if len(path) == 1}


def missing_sizes(names: list[str]) -> str:
    """What a search takes for sizes that nobody gave; "" without any."""
    from minitriton.runtime.tuning.model import UNKNOWN_SIZE

    unknown = f"without a size: {', '.join(names)}; an axis of unknown length counts as {UNKNOWN_SIZE}"
    return f"{unknown}, an unknown stride as not 1 and not aligned (--size {names[0]}=N gives one)" if names else ""


def sizes_of(texts: list[str], kernel: JITCallable) -> dict[str, int]:
    """Integer arguments, as `M=4096,N=512` says them. Raises `MinitritonError` for another name or what is not a number."""
    found: dict[str, int] = {}
    for item in (item for text in texts for item in text.split(",")):
        name, equals, number = (part.strip() for part in item.partition("="))
        if name not in kernel.arg_names:
            raise MinitritonError(
                f"the kernel lacks a parameter {name!r}, given as --size {item}",
                help=f"{did_you_mean(name, kernel.arg_names)} parameters: {', '.join(kernel.arg_names)}".lstrip(),
            )
        if not equals or not number.isdigit():
            raise MinitritonError(f"--size {item!r} is not NAME=NUMBER", help="write it as M=4096")
        found[name] = int(number)
    return found


def _items(
    kernel: JITFunction, signature: str, sizes: Mapping[str, int]
) -> tuple[dict[str, str], dict[str, int | None], list[str]]:
    """Items of a signature by parameter, each as NAME=..., and the constants that may be searched, with the number that was made up or is the
    default: those that the signature leaves out, or nobody gave; then what was made up."""
    inferred = None if signature else inferred_signature(kernel)
    items = {
        name: f"{name}={item}"
        for name, item in items_by_parameter(inferred.text if inferred else signature, kernel.arg_names)
    }
    searched: dict[str, int | None] = {}
    for parameter in kernel.params:
        name = parameter.name
        if not parameter.is_constexpr:
            continue
        if name in sizes:
            items[name] = f"{name}={sizes[name]}"
            continue
        value = items.get(name, "").partition("=")[2]
        if signature and name in items:
            continue
        if value.isdigit():
            searched[name] = int(value)
        elif name not in items and (not parameter.has_default or type(parameter.default) is int):
            searched[name] = parameter.default if parameter.has_default else None
        if name in searched:
            items.pop(name, None)
    made_up = inferred.made_up if inferred else ()
    return items, searched, [item for item in made_up if item.partition("=")[0] not in sizes]
