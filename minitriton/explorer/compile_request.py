"""What is asked of the explorer: all that a compile shown in it depends on, as a value that fits in a link and on a command line; and the arguments of commands that say it.

CompileRequest("add.py:add", "*fp32:16,i32,BLOCK=128", skipped...)
.code()        "eNqrVi..."                        after `#state=` in a link, or after `--state` on a command line
.command()     "minitriton explore add.py:add --signature '...' --skip cse"
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import shlex
import zlib
from dataclasses import asdict, dataclass, fields, replace
from typing import TypedDict

from minitriton.commands.shared_options import (
    add_arch,
    add_launch_arguments,
    add_launch_option,
    add_pipeline_edits,
    is_launch,
)
from minitriton.errors import MinitritonError
from minitriton.explorer.wire import Json, Question
from minitriton.host.damaged_files import parse_json, unpacked
from minitriton.host.seals import is_own, seal
from minitriton.host.seals import is_trusted as trusted_file
from minitriton.target import OPTIONS_THAT_NAME_FILES, arch_named


@dataclass(frozen=True)
class EditedState:
    """IR in place of what a pass left: `text` in place of the state after step `after` (0: the frontend)."""

    after: int
    text: str


@dataclass(frozen=True)
class CompileRequest:
    """A program, its target, what is changed of it, and what it is run with."""

    source: str
    """`FILE.py:kernel`, a `.ttir` or `.ttgir` file, or a name of the corpus."""
    signature: str = ""
    """As of `minitriton compile`; made up from the annotations where it is empty."""
    arch: int | str | None = None
    """Compute capability times ten, or a name (`gfx942`); None: what the IR was made for, or 90."""
    options: tuple[str, ...] = ()
    pipeline: str | None = None
    edits: tuple[tuple[str, str], ...] = ()
    """Changes of the pipeline: `("skip", "cse")`, `("move", "cse before sccp")`, `("insert", "cse after sccp")`."""
    kernel_text: str | None = None
    """Text of the kernel's file in place of what is on disk."""
    states: tuple[EditedState, ...] = ()
    grid: str | None = None
    numbers: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    inputs: str | None = None
    seed: int = 0
    loads: tuple[str, ...] = ()
    launch: str | None = None
    """The folder of a recorded launch: types, constants, options, grid and inputs are its own where nothing else is given."""
    anyway: bool = False
    """Whether passes run although their contracts refuse the order: what that breaks is to be seen."""

    def code(self) -> str:
        """The whole as letters, digits, `-` and `_`, with the user's seal."""
        plain = self.plain()
        text = json.dumps({**plain, "seal": seal("state", json.dumps(plain, sort_keys=True))})
        return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")

    @classmethod
    def of_code(cls, code: str, *, is_trusted: bool = False) -> CompileRequest:
        """What `code` says. Raises `MinitritonError` for text that no `code` made, and where another user's holds or names code that would be
        run, unless it `is_trusted`."""
        try:
            found = parse_json(unpacked(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)), _MOST_BYTES))
            asked = cls.of_plain(found)
        except ValueError as error:
            raise MinitritonError(
                f"the state cannot be read: {error}", help="copy the whole of the link or command line"
            ) from None
        text = json.dumps(asked.plain(), sort_keys=True)
        if asked.names_code and not is_trusted and not is_own("state", text, str(found.get("seal"))):
            raise MinitritonError(
                f"the state was made by another user, and has Python of {asked.source} run",
                help="add --trust-state if you trust whoever made it",
            )
        return asked

    @property
    def names_code(self) -> bool:
        """Whether opening it runs Python, or has other files read, that are not of the package."""
        named = any(option.partition("=")[0] in OPTIONS_THAT_NAME_FILES for option in self.options)
        in_source = ".py" in self.source and not trusted_file(self.source.partition(":")[0])
        return bool(self.kernel_text is not None or self.loads or named or in_source)

    @property
    def says_its_launch(self) -> bool:
        """Whether it says what it is compiled for or run with: otherwise the kernel's own file is asked (`own_launch`)."""
        said = self.signature or self.launch or self.grid or self.numbers or self.sizes or self.inputs
        return bool(said or self.kernel_text is not None or ".py" not in self.source)

    def with_own_launch(self) -> CompileRequest:
        """This request with the launch of the kernel's own file, where nothing says what it is compiled for and run with."""
        from minitriton.lab.launches.own_launch import own_launch

        if self.says_its_launch or (found := own_launch(self.source)) is None:
            return self
        named = self.source if ":" in self.source else f"{self.source}:{found.kernel}"
        return replace(self, launch=str(found.folder), source=named)

    def plain(self) -> Question:
        """As JSON can hold it, without what has its default."""
        return {f.name: asdict(self)[f.name] for f in fields(self) if getattr(self, f.name) != f.default}

    @classmethod
    def of_plain(cls, found: Json) -> CompileRequest:
        """The reverse of `plain`. Raises `MinitritonError` for anything else."""
        source = found.get("source") if isinstance(found, dict) else None
        if not isinstance(found, dict) or not isinstance(source, str):
            raise MinitritonError("a state is an object with a `source`")
        unknown = set(found) - {f.name for f in fields(cls)} - {"seal"}
        if unknown:
            raise MinitritonError(f"a state lacks {', '.join(sorted(unknown))}")
        try:
            return cls(
                source=source,
                signature=_text(found, "signature") or "",
                arch=_architecture(found),
                options=_texts(found, "options"),
                pipeline=_text(found, "pipeline"),
                edits=tuple((str(kind), str(text)) for kind, text in map(_list, _list(found.get("edits", [])))),
                kernel_text=_text(found, "kernel_text"),
                states=tuple(map(_edited, _list(found.get("states", [])))),
                grid=_text(found, "grid"),
                numbers=_texts(found, "numbers"),
                sizes=_texts(found, "sizes"),
                inputs=_text(found, "inputs"),
                seed=_number(found, "seed") or 0,
                loads=_texts(found, "loads"),
                launch=_text(found, "launch"),
                anyway=_truth(found, "anyway"),
            )
        except (TypeError, ValueError) as error:
            raise MinitritonError(f"the state cannot be read: {error}") from None

    def command(self, verb: str = "explore") -> str:
        """The command line that shows the same. Texts that were edited are in its `--state`."""
        if self.kernel_text is not None or self.states:
            return f"minitriton {verb} --state {self.code()}"
        parts = ["minitriton", verb, self.source]
        given: list[tuple[str, str | int | None]] = [
            ("--launch", self.launch), ("--signature", self.signature or None), ("--arch", self.arch), ("--pipeline", self.pipeline),
            ("--grid", self.grid), ("--inputs", self.inputs), ("--seed", self.seed or None),
        ]  # fmt: skip
        given += [("--option", item) for item in self.options] + [(f"--{kind}", text) for kind, text in self.edits]
        given += [("--arg", item) for item in self.numbers] + [("--size", item) for item in self.sizes]
        given += [("--load", item) for item in self.loads]
        words = [word for flag, value in given if value is not None for word in (flag, str(value))]
        return shlex.join([*parts, *words, *(["--anyway"] if self.anyway else [])])


def _list(found: Json) -> list[Json]:
    """`found`, which is to be a list. Raises `TypeError`."""
    if not isinstance(found, list | tuple):
        raise TypeError(f"{found!r} is not a list")
    return list(found)


def _texts(found: Question, name: str) -> tuple[str, ...]:
    return tuple(map(str, _list(found.get(name, []))))


def _text(found: Question, name: str) -> str | None:
    value = found.get(name)
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"`{name}` is a text, not {value!r}")


def _number(found: Question, name: str) -> int | None:
    value = found.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise TypeError(f"`{name}` is a whole number, not {value!r}")


def _architecture(found: Question) -> int | str | None:
    name = found.get("arch")
    return arch_named(name) if isinstance(name, str) and re.fullmatch(r"[a-z]+\d\w*", name) else _number(found, "arch")


def _truth(found: Question, name: str) -> bool:
    value = found.get(name, False)
    if isinstance(value, bool):
        return value
    raise TypeError(f"`{name}` is true or false, not {value!r}")


def _edited(found: Json) -> EditedState:
    match found:
        case {"after": int(after), "text": str(text)}:
            return EditedState(after, text)
        case _:
            raise TypeError("an edited state has `after` and `text`")


class CompileRequestFields(TypedDict, total=False):
    """What a lesson says in addition to its source and signature, by keyword."""

    arch: int | str | None
    options: tuple[str, ...]
    edits: tuple[tuple[str, str], ...]
    kernel_text: str | None
    states: tuple[EditedState, ...]
    grid: str | None
    numbers: tuple[str, ...]
    sizes: tuple[str, ...]
    loads: tuple[str, ...]


_MOST_BYTES = 1 << 24
"""Of a state: more is no text that anybody edited."""


WHAT = "FILE.py:kernel, a .ttir or .ttgir file, a name of the corpus, or the folder of a recorded launch"


def add_program_arguments(parser: argparse.ArgumentParser, *, many: bool = False, what: str = WHAT) -> None:
    """What is compiled, how, and what it is run with."""
    if many:
        parser.add_argument("source", nargs="*", help=what + "; several are shown next to each other")
    else:
        parser.add_argument("source", nargs="?", help=what)
    add_launch_option(parser)
    add_launch_arguments(parser, " (default: as the body uses them)")
    add_arch(parser)
    add_pipeline_edits(parser)
    parser.add_argument("--state", metavar="CODE", help="all of these at once, as the explorer's links have it")
    parser.add_argument(
        "--trust-state",
        action="store_true",
        help="run the Python that --state holds or names, although another user made it",
    )


def asked_of(given: argparse.Namespace, source: str | None = None) -> CompileRequest:
    """What the command line asks for. Raises `MinitritonError` where it names no program."""
    if given.state is not None:
        return CompileRequest.of_code(given.state, is_trusted=given.trust_state)
    source = source or given.source
    if source and is_launch(source):
        given.launch, source = given.launch or source, None
    launch = None
    if given.launch is not None:
        from minitriton.lab.launches.recorded import read_launch

        launch = read_launch(given.launch)
    source = source or (launch and launch.reference)
    if not source:
        raise MinitritonError(
            "no program is named",
            help="name one as FILE.py:kernel, as a kernel of `minitriton corpus`, or a recorded launch by --launch",
        )
    return CompileRequest(
        source, given.signature, given.arch, tuple(given.option), given.pipeline, tuple(given.edits), grid=given.grid,
        numbers=tuple(given.arg), sizes=tuple(given.size), inputs=given.inputs, seed=given.seed, loads=tuple(given.load or ()),
        launch=None if launch is None else str(launch.folder), anyway=given.anyway,
    )  # fmt: skip
