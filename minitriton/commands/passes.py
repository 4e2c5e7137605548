"""`minitriton passes`: the registered passes with their documentation, options and contracts."""

from __future__ import annotations

import argparse
import dataclasses

from minitriton.commands.output import add_json, print_json
from minitriton.compilation.pipeline_spec import make_step
from minitriton.host.subcommands import Subcommands
from minitriton.pass_registry import Step, known_passes


def add_passes_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    passes = commands.add_parser("passes", help="list the registered passes with their documentation")
    passes.add_argument("name", nargs="?", help="one pass, in full")
    passes.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    add_json(passes)
    passes.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the list, or all of one pass."""
    known = known_passes()
    if arguments.json:
        if arguments.name is not None and arguments.name not in known:
            make_step(arguments.name, {})
        print_json([_plain(known[name]) for name in ([arguments.name] if arguments.name else sorted(known))])
        return 0
    if arguments.name is None:
        for name in sorted(known):
            print(f"{name:45} {(known[name].__doc__ or '').strip().splitlines()[0]}")
        return 0
    if arguments.name not in known:
        make_step(arguments.name, {})
    cls = known[arguments.name]
    print(f"{cls.name}\n\n{(cls.__doc__ or '').strip()}\n")
    for f in dataclasses.fields(cls):
        kind = f.type if isinstance(f.type, str) else f.type.__name__
        print(f"  {f.name.replace('_', '-')}: {kind} = {f.default!r}")
    for label, facts in (("needs", cls.requires), ("establishes", cls.establishes), ("destroys", cls.destroys)):
        if facts:
            print(f"  {label}: {', '.join(sorted(facts))}")
    return 0


def _plain(cls: type[Step]) -> dict[str, object]:
    """A pass: its documentation, its options with their types and defaults, its contract."""
    options = {
        f.name.replace("_", "-"): {
            "type": f.type if isinstance(f.type, str) else f.type.__name__,
            "default": repr(f.default),
        }
        for f in dataclasses.fields(cls)
    }
    return {
        "name": cls.name, "documentation": (cls.__doc__ or "").strip(), "options": options, "needs": cls.requires,
        "establishes": cls.establishes, "destroys": cls.destroys,
    }  # fmt: skip
