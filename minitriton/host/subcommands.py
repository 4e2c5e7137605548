"""What the commands of `minitriton` are added to."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Protocol


class Subcommands(Protocol):
    """A set of subcommands, as `ArgumentParser.add_subparsers` makes it."""

    def add_parser(self, name: str, *, help: str) -> ArgumentParser: ...
