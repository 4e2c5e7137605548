"""What commands of the laboratory have in common: kernels and spaces on a command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from minitriton.commands.shared_options import add_arch, is_launch
from minitriton.errors import MinitritonError
from minitriton.lab import corpus
from minitriton.lab.sweeping.references import references
from minitriton.lab.sweeping.space import SPACE_WORDS, Space, foreign_passes
from minitriton.pipeline.pass_registry import load_own_passes
from minitriton.target import default_arch

if TYPE_CHECKING:
    from minitriton.lab.sweeping.references import Reference
    from minitriton.lab.sweeping.space import Space


_SPACE_OPTIONS = ("insert", "vary", "constants", "llvm", "layouts", "memory", "heuristics")


def add_kernel_arguments(parser: argparse.ArgumentParser) -> None:
    """What says how a kernel is found and launched."""
    add_arch(parser)
    parser.add_argument("--corpus", action="append", default=[], metavar="FILE.py", help="a file of more kernels")
    parser.add_argument(
        "--load", action="append", default=[], metavar="FILE.py", help="a file that registers more passes"
    )
    for option, metavar, text in (
        ("--signature", "TYPES", "of FILE.py:kernel, as of `minitriton compile`"),
        ("--grid", "X[,Y[,Z]]", "of FILE.py:kernel (default: 2)"),
    ):
        parser.add_argument(option, default="", metavar=metavar, help=text)
    parser.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="a number of FILE.py:kernel")
    parser.add_argument("--size", action="append", default=[], metavar="NAME=N", help="elements of an array of it")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a compile option of it")


def references_of(given: argparse.Namespace, kernels: list[str]) -> list[Reference]:
    load_own_passes()
    from minitriton.lab.command import grid_of, named

    found = references(
        kernels,
        signature=given.signature,
        **({"grid": grid_of(given.grid)} if given.grid else {}),
        numbers=tuple(named(given.arg).items()),
        sizes=tuple(named(given.size).items()),
        options=tuple(named(given.option).items()),
        arch=given.arch or default_arch(),
        files=tuple(given.corpus),
        loads=tuple(given.load),
    )
    if not any(".py:" in one.kernel for one in found):
        _require_nothing_unused(given, found)
    return found


def _require_nothing_unused(given: argparse.Namespace, kernels: list[Reference]) -> None:
    """Raises `MinitritonError` for options that none of `kernels` takes, which have launches of their own."""
    flags = {"--signature": given.signature, "--grid": given.grid, "--size": given.size}
    of_names = {"--arg": given.arg, "--option": given.option}
    for one in kernels:
        if not is_launch(one.kernel):
            corpus.require_own_launch(one.kernel, {**flags, **of_names})
        elif wrong := [flag for flag, value in flags.items() if value]:
            raise MinitritonError(
                f"{one.kernel} is a recorded launch, and {', '.join(wrong)} would change it",
                help="name its kernel as FILE.py:kernel; --arg and --option change a launch",
            )


def add_space_arguments(parser: argparse.ArgumentParser) -> None:
    """What says which configurations there are."""
    parser.add_argument(
        "--insert", default="", metavar="PASS,...", help="passes that may be put in; `all`: any that fits"
    )
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="a compile option, a constant of the kernel, arch, or PASS{OPTION} to vary; may be given again",
    )
    parser.add_argument(
        "--heuristics",
        action="store_true",
        help="vary what passes choose by a rule: widths, instructions, stages, splits",
    )
    parser.add_argument("--constants", action="store_true", help="vary what the kernel names as worth trying")
    parser.add_argument("--llvm", action="store_true", help="choose LLVM's own passes one by one")
    parser.add_argument("--layouts", action="store_true", help="vary the layouts of loads and stores")
    parser.add_argument("--memory", action="store_true", help="vary hints for the caches, and overlapping launches")
    parser.add_argument("--space", metavar="TEXT", help="the whole space as text, in place of these options")


def space_of(given: argparse.Namespace, *, legal: bool = True) -> Space:
    """The space that a command line asks for."""
    if given.space is not None:
        others = [f"--{name}" for name in _SPACE_OPTIONS if getattr(given, name)] + ["--illegal"] * (not legal)
        if others:
            raise MinitritonError(
                f"--space is the whole space: {', '.join(others)} would say more of it",
                help="write it into the text: " + SPACE_WORDS,
            )
        return Space.parse(given.space)
    vary = dict(Space.parse(" ".join(given.vary)).vary)
    insert = foreign_passes() if given.insert == "all" else tuple(name for name in str(given.insert).split(",") if name)
    return Space(
        insert=insert,
        legal=legal,
        vary=vary,
        constants=given.constants,
        heuristics=given.heuristics,
        llvm=given.llvm,
        layouts=given.layouts,
        memory=given.memory,
    )


def show_progress(text: str) -> None:
    """Overwrites the line before."""
    print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)


def progress_shown() -> Callable[[str], None] | None:
    """`show_progress` where someone looks."""
    return show_progress if sys.stderr.isatty() else None


def names_of(text: str) -> list[str]:
    """The words between commas."""
    return [word for word in text.split(",") if word]
