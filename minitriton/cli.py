"""`minitriton`: compile a kernel to any stage, list the passes, watch a kernel go through the compiler.

minitriton compile FILE.py:kernel --signature '*fp32:16,*fp32:16,i32,BLOCK=1024' --emit ptx
minitriton compile kernel.ttgir --emit llir
minitriton passes [NAME]
minitriton check FILE.py:kernel --signature ...
minitriton sweep running_sums --orders 500 --jobs 2
minitriton diff FILE.py:kernel --signature ... --pass tritongpu-coalesce
minitriton fuzz --count 1000 --seed 1
minitriton demo
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys

from minitriton import opt
from minitriton.commands.cache import add_cache_command
from minitriton.commands.compile import add_compile_command
from minitriton.commands.kernel_files import load_plugin
from minitriton.commands.output import until_the_reader_leaves
from minitriton.commands.passes import add_passes_command
from minitriton.errors import MinitritonError
from minitriton.explorer.command import add_explorer_commands
from minitriton.fuzz.command import add_fuzz_command
from minitriton.fuzz.mutation.command import add_mutate_command
from minitriton.lab.command import add_check_command
from minitriton.lab.sweeping.command import add_sweep_commands


def main(argv: list[str] | None = None) -> int:
    """Runs the command. Exit code 1 for an error in the input, 2 for a wrong command line."""
    arguments = _parser().parse_args(argv)
    with until_the_reader_leaves():
        try:
            for path in getattr(arguments, "load", None) or []:
                load_plugin(path)
            return arguments.run(arguments)
        except MinitritonError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="minitriton", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"minitriton {_version()}, compatible with Triton 3.6.0")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_compile_command(commands)
    add_passes_command(commands)
    add_check_command(commands)
    add_cache_command(commands)
    add_sweep_commands(commands)
    add_explorer_commands(commands)
    add_fuzz_command(commands)
    add_mutate_command(commands, {"minitriton": main, "minitriton-opt": opt.main})
    demo = commands.add_parser("demo", help="a kernel from Python to PTX to numbers")
    demo.add_argument("--full", action="store_true", help="print every stage in full")
    demo.set_defaults(run=_demo)
    return parser


def _version() -> str:
    """The installed one; a tree that is only on the path has none."""
    try:
        return importlib.metadata.version("minitriton")
    except importlib.metadata.PackageNotFoundError:
        return "(not installed)"


def _demo(arguments: argparse.Namespace) -> int:
    from minitriton.commands.demo import run as run_demo

    return run_demo(full=arguments.full)
