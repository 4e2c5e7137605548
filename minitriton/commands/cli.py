"""`minitriton`: compile a kernel to any stage, list the passes, watch a kernel go through the compiler.

minitriton compile FILE.py:kernel --signature '*fp32:16,*fp32:16,i32,BLOCK=1024' --emit ptx
minitriton compile kernel.ttgir --emit llir
minitriton passes [NAME]
minitriton tune FILE.py:kernel --size M=4096,N=4096,K=512
minitriton check FILE.py:kernel --signature ...
minitriton check running_sums
minitriton record SCRIPT.py
minitriton sweep running_sums --count 500 --jobs 2
minitriton diff FILE.py:kernel --signature ... --pass tritongpu-coalesce
minitriton fuzz --count 1000 --seed 1
minitriton demo
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.host.garbage import no_garbage_collection

_FAMILIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("minitriton.commands.compile", "add_compile_command", ("compile",)),
    ("minitriton.commands.passes", "add_passes_command", ("passes",)),
    ("minitriton.commands.tune", "add_tune_command", ("tune",)),
    ("minitriton.lab.command", "add_check_command", ("check",)),
    ("minitriton.lab.launches.command", "add_record_command", ("record",)),
    ("minitriton.commands.cache", "add_cache_command", ("cache",)),
    (
        "minitriton.lab.sweeping.command",
        "add_sweep_commands",
        ("sweep", "corpus", "measure", "search", "ablate", "report", "bisect"),
    ),
    ("minitriton.explorer.command", "add_explorer_commands", ("diff", "explore", "explain", "run", "layout")),
    ("minitriton.fuzz.command", "add_fuzz_command", ("fuzz",)),
    ("minitriton.fuzz.mutation.command", "add_mutate_command", ("mutate",)),
)
"""Modules of commands, what adds them to the command line, and their names: only what is asked for is imported."""


def main(argv: list[str] | None = None) -> int:
    """Runs the command. Exit code 1 for an error in the input, 2 for a wrong command line, 130 when Ctrl-C ended it."""
    try:
        return _main(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _main(argv: list[str]) -> int:
    from minitriton.commands.shared_options import print_error, until_the_reader_leaves

    with no_garbage_collection():
        parser, commands = _parser(argv)
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        commands.get(argv[0], parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    with until_the_reader_leaves():
        try:
            _load(getattr(arguments, "load", None) or [])
            return arguments.run(arguments)
        except MinitritonError as error:
            print_error(error, as_json=getattr(arguments, "json", False))
            return 1
    return 0


def _load(plugins: list[str]) -> None:
    if plugins:
        from minitriton.commands.kernel_files import load_plugin

        for path in plugins:
            load_plugin(path)


def _parser(argv: list[str]) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser of what `argv` asks for: of the command that it begins with, or of all; and those of the commands in it."""
    parser = argparse.ArgumentParser(
        prog="minitriton", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--version", action=_Version, help="show program's version number and exit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    wanted = argv[0] if argv else ""
    known = {name for _, _, names in _FAMILIES for name in names} | {"demo", "--version"}
    for module, function, names in _FAMILIES:
        if wanted in names or wanted not in known:
            add: Any = getattr(importlib.import_module(module), function)
            if "mutate" in names:
                add(commands, {"minitriton": main, "minitriton-opt": _opt})
            else:
                add(commands)
    demo = commands.add_parser("demo", help="a kernel from Python to PTX to numbers")
    demo.add_argument("--full", action="store_true", help="print every stage in full")
    demo.add_argument("--json", action="store_true", help="machine-readable: the stages and the numbers' errors")
    demo.set_defaults(run=_demo)
    return parser, commands.choices


def _opt(argv: list[str] | None = None) -> int:
    from minitriton.commands.opt import main

    return main(argv)


class _Version(argparse.Action):
    """Finds out the version only if it is asked for: it costs 30 ms (2026-11-24)."""

    def __init__(self, option_strings: list[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print("\n".join(_versions()))
        parser.exit()


def _versions() -> list[str]:
    """What a bug report needs: of the compiler, of Python and the machine, of what it depends on, those installed."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import minitriton

    found: list[str] = []
    for name in (
        "xdsl",
        "llvmlite",
        "numpy",
        "triton",
        "torch",
        "cuda-bindings",
        "nvidia-nvjitlink",
        "nvidia-cuda-nvcc-cu12",
    ):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} is not installed")
    return [
        f"minitriton {minitriton.__version__}, compatible with Triton 3.6.0",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        *found,
    ]


def _demo(arguments: argparse.Namespace) -> int:
    from minitriton.commands.demo import run as run_demo

    return run_demo(full=arguments.full, as_json=arguments.json)
