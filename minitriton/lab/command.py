"""`minitriton check FILE.py:kernel`: the check from the command line, with inputs made up where none are given.

minitriton check add.py:add --signature '*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=1024' --grid 4 --arg n=4000
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError


def add_check_command(commands: Any) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    check = commands.add_parser(
        "check", help="run a kernel after every pass and name the pass that changes its numbers"
    )
    check.add_argument("kernel", help="FILE.py:kernel")
    check.add_argument("--signature", default="", help="argument types, as of `minitriton compile`")
    check.add_argument("--grid", default="2", help="programs along x[,y[,z]] (default: 2)")
    check.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="the value of a number (default: 100 or made up)",
    )
    check.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="NAME=N",
        help="elements of an array (default: as far as it is used)",
    )
    check.add_argument("--inputs", metavar="FILE.npz", help="arrays by parameter name, in place of made-up ones")
    check.add_argument("--seed", type=int, default=0, help="of made-up contents")
    check.add_argument("--arch", type=int, default=90, help="compute capability times ten (80, 86, 89, 90)")
    check.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="compile option")
    check.add_argument("--pipeline", help="a textual pipeline that replaces the target's own")
    check.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    check.add_argument(
        "--reproducers", type=Path, default=Path("reproducers"), metavar="DIR", help="where to write them (%(default)s)"
    )
    check.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs the check and prints the table. 0 if no pass is broken, else 1."""
    import minitriton.codegen.all_passes
    import minitriton.passes.all_passes  # noqa: F401
    from minitriton.cli import ast_source, load_kernel
    from minitriton.lab.checker import check
    from minitriton.pass_manager import Pipeline
    from minitriton.target import CUDAOptions, GPUTarget

    source = ast_source(load_kernel(given.kernel), given.signature)
    target = GPUTarget("cuda", given.arch, 32)
    options = CUDAOptions.for_target(target, **_named(given.option))
    grid = tuple(_integer(part, "--grid") for part in given.grid.split(","))
    report = check(
        source,
        _arguments(given, source, grid, target, options),
        grid,
        target=target,
        options=options,
        pipeline=Pipeline.parse(given.pipeline) if given.pipeline else None,
        reproducers=given.reproducers,
    )
    print(report.text())
    return 0 if report.ok else 1


def _arguments(given: argparse.Namespace, source: Any, grid: tuple[int, ...], target: Any, options: Any) -> Any:
    from minitriton.dialects.context import make_context
    from minitriton.lab.arguments import generate_arguments
    from minitriton.lab.execution import Launch

    kinds = {name: kind for name, kind in source.signature.items() if kind != "constexpr"}
    names = list(source.signature)
    module = source.make_ir(target, options, make_context())

    def run_once(arguments: Any) -> None:
        fault = Launch(source.name, arguments, grid, target, options).interpret(module).fault
        if fault is not None:
            raise fault

    return generate_arguments(
        kinds,
        run_once,
        sizes={name: _integer(value, "--size") for name, value in _named(given.size).items()},
        numbers=_named(given.arg),
        contents=_arrays(given.inputs),
        divisible=[names[path[0]] for path in source.attrs],
        seed=given.seed,
    )


def _arrays(path: str | None) -> dict[str, Any]:
    import numpy as np

    if path is None:
        return {}
    try:
        with np.load(path) as found:
            return dict(found)
    except (OSError, ValueError) as error:
        raise MinitritonError(f"cannot read {path!r}: {error}", help="--inputs takes what numpy.savez wrote") from None


def _named(items: list[str]) -> dict[str, Any]:
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


def _integer(value: Any, option: str) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise MinitritonError(f"{option} takes integers, got {value!r}") from None
