"""What a folder of a recorded launch holds: all that a compile and a run of it depend on.

    recorded/003-softmax/
        launch.json     the kernel and its file, types, constants, options, grid, numbers, where each array lies
        arrays.npz      the memory of the arrays before the launch, by the name of the parameter that reaches it
        kernel.ttir     the kernel as the frontend read it, for kernels that no file gives by a name

read_launch("recorded/003-softmax").grid      (16, 1, 1)
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.host.json_values import Json, frozen

FORMAT = 1
DESCRIPTION, ARRAYS, IR = "launch.json", "arrays.npz", "kernel.ttir"

Kind = str | list["Kind"] | dict[str, "Kind"]
"""A parameter's type name, or of a tuple those of its items, of a named tuple by their names."""


@dataclass(frozen=True)
class View:
    """An array: where it begins in a span of memory, its shape, and bytes from element to element along each axis."""

    span: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Span:
    """Memory that one array or several reach: its bytes, where it began modulo 128, and whether its contents are kept."""

    bytes: int
    residue: int
    kept: bool


@dataclass(frozen=True)
class DescriptorBlock:
    """What a tensor descriptor says beside its array: sizes and strides in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block_shape: tuple[int, ...]
    padding: str
    round_f32_to_tf32: bool = False


@dataclass(frozen=True)
class Passed:
    """One run-time argument: a number (or None) as `value`, or an array as `view`, of a tensor descriptor with its `block`."""

    name: str
    type_name: str
    element: str = ""
    value: int | float | bool | None = None
    view: View | None = None
    block: DescriptorBlock | None = None


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch. `folder` is where it was read from."""

    kernel: str
    file: str
    """Of the kernel; "" where it was in none."""
    is_named: bool
    """Whether the file gives the kernel by its name, so that it can be loaded from there."""
    digest: str
    """SHA-256 of the file as it was."""
    grid: tuple[int, int, int]
    arch: int
    options: dict[str, Json]
    signature: dict[str, Kind]
    constants: list[tuple[list[int], Json]]
    """Values of compile-time parameters by their paths, as `replay.constant` reads them."""
    divisible: list[list[int]]
    """Paths of the parameters that are divisible by 16."""
    arguments: list[Passed] = field(default_factory=list[Passed])
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    folder: Path = Path()

    @property
    def reference(self) -> str:
        """What commands open of it: `FILE.py:kernel`, or the IR that was kept."""
        if self.is_named and Path(self.file).exists():
            return f"{self.file}:{self.kernel}"
        return str(self.folder / IR)

    def text(self) -> str:
        """As JSON."""
        return json.dumps({"format": FORMAT, **asdict(self), "folder": None}, indent=1)


def add_launch_option(parser: ArgumentParser) -> None:
    """Adds `--launch` to a command that takes a program."""
    parser.add_argument(
        "--launch", metavar="DIR",
        help="a launch that `minitriton record` wrote: its kernel, types, options, grid and inputs, where nothing else is given",
    )  # fmt: skip


def read_launch(folder: str | Path) -> RecordedLaunch:
    """The launch in `folder`, or in the only folder below it that holds one. Raises `MinitritonError` with those that there are."""
    folder = Path(folder)
    if not (folder / DESCRIPTION).exists():
        found = launches_in(folder)
        if len(found) != 1:
            raise MinitritonError(
                f"{folder} holds {len(found) or 'no'} recorded launches",
                help="name one of: " + ", ".join(map(str, found))
                if found
                else "`minitriton record SCRIPT.py` writes them",
            )
        folder = found[0]
    try:
        given = json.loads((folder / DESCRIPTION).read_text("utf-8"))
        if given.pop("format") != FORMAT:
            raise ValueError("it was written by another version")
        return _launch_of(given, folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MinitritonError(f"cannot read {folder / DESCRIPTION}: {error}", help="record it again") from None


def is_launch(name: str) -> bool:
    """Whether a command line's `name` is the folder of a recorded launch."""
    return (Path(name) / DESCRIPTION).exists()


def launches_in(folder: Path) -> list[Path]:
    """The folders of recorded launches right below `folder`, in the order of the launches."""
    return sorted(path.parent for path in folder.glob(f"*/{DESCRIPTION}"))


def _launch_of(given: dict[str, Any], folder: Path) -> RecordedLaunch:
    x, y, z = map(int, given["grid"])
    given["arguments"] = list(map(_passed, given["arguments"]))
    given["spans"] = {name: Span(**one) for name, one in given["spans"].items()}
    given["grid"], given["folder"] = (x, y, z), folder
    return RecordedLaunch(**given)


def _passed(given: dict[str, Any]) -> Passed:
    for name, kind in (("view", View), ("block", DescriptorBlock)):
        parts: dict[str, Json] | None = given[name]
        given[name] = parts and kind(**{part: frozen(value) for part, value in parts.items()})
    return Passed(**given)
