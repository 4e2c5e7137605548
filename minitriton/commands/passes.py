"""`minitriton passes`: the registered passes with their documentation, options and contracts."""

from __future__ import annotations

import argparse
import dataclasses

from minitriton.commands.shared_options import add_json, print_json
from minitriton.dialects.facts.pass_attributes import PASS_ATTRIBUTES
from minitriton.host.subcommands import Subcommands
from minitriton.pipeline.pass_registry import (
    INVALIDATED_UNLESS_KEPT,
    KEPT_BY_DEFAULT,
    Origin,
    Pass,
    Property,
    Step,
    known_passes,
)
from minitriton.pipeline.pipeline_spec import make_step


def add_passes_command(commands: Subcommands) -> None:
    """Adds the subcommand to an `argparse` set of them."""
    passes = commands.add_parser("passes", help="list the registered passes with their documentation")
    passes.add_argument("name", nargs="?", help="one pass, in full")
    passes.add_argument("--load", action="append", metavar="FILE.py", help="a file that registers more passes")
    passes.add_argument(
        "--prove", action="store_true", help="prove the rules of the pass, and note next to their files which hold"
    )
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
    if arguments.prove:
        return _prove(cls)
    print(f"{cls.name}\n\n{(cls.__doc__ or '').strip()}\n")
    for f in dataclasses.fields(cls):
        kind = f.type if isinstance(f.type, str) else f.type.__name__
        print(f"  {f.name.replace('_', '-')}: {kind} = {f.default!r}")
    print(f"  stage: {cls.stage or 'any'}\n  origin: {_ORIGINS[cls.origin]}")
    for label, facts in _contract(cls).items():
        if facts:
            print(f"  {label}: {', '.join(sorted(facts))}")
    for name, attribute in PASS_ATTRIBUTES.items():
        if cls.name in attribute.writers:
            print(f"  writes {name} on {', '.join(kind.name for kind in attribute.ops)}: {attribute.meaning}")
    if issubclass(cls, Pass) and (details := cls.details()):
        print(f"\n{details}")
    return 0


def _prove(cls: type[Step]) -> int:
    """Proves what the pass rests on; 1 if something does not hold."""
    failed = 0
    for line, holds in cls.prove() if issubclass(cls, Pass) else ():
        failed += not holds
        print(line, flush=True)
    return 1 if failed else 0


_ORIGINS: dict[Origin, str] = {
    "triton": "Triton's",
    "optional": "minitriton's; may be left out",
    "required": "minitriton's; code is wrong without it",
}


def _contract(cls: type[Step]) -> dict[str, frozenset[Property]]:
    """What a pass needs and establishes, what it keeps that passes invalidate by default, and what it destroys that they keep."""
    return {
        "needs": cls.requires,
        "establishes": cls.establishes,
        "keeps": cls.keeps & INVALIDATED_UNLESS_KEPT,
        "destroys": KEPT_BY_DEFAULT - cls.keeps - cls.establishes,
    }


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
        "name": cls.name, "documentation": (cls.__doc__ or "").strip(), "options": options, "stage": cls.stage,
        "origin": cls.origin, **_contract(cls),
    }  # fmt: skip
