"""What a folder of a recorded launch holds: all that a compile and a run of it depend on.

    recorded/003-softmax/
        launch.json     the kernel and its file, types, constants, options, grid, numbers, the address of each array
        arrays.npz      the memory of the arrays before the launch, by the name of the parameter that reaches it
        kernel.ttir     the kernel as the frontend read it, for kernels that no file gives by a name, or whose file is not run;
                        of a kernel in Gluon it is kernel.gluon

The description has digests of the other files and of itself, and the user's seal: Python is run because a recording names it only where
this user recorded it (`host.seals`).

read_launch("recorded/003-softmax").grid      (16, 1, 1)

Values of compile-time parameters as JSON can hold them (`written`, `read`):

tl.float16                →  {"dtype": "fp16"}
another kernel, `gelu`    →  {"global": "gelu"}          what the kernel's own file calls by that name
(1, 2)                    →  {"tuple": [1, 2]}
Size(m=1, n=2)            →  {"named": {"m": 1, "n": 2}}
a layout of Gluon's       →  {"layout": "SwizzledSharedLayout(vec=8, per_phase=1, ...)"}
"""

import hashlib
import json
import os
import warnings
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TypeVar, cast

from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import DamagedFile, damage_of, parse_json, read_regular
from minitriton.host.json_values import Json, of_json
from minitriton.host.seals import is_own, is_trusted, seal
from minitriton.language.dtypes import dtype
from minitriton.language.gluon.layouts import Layout, read_layout
from minitriton.language.signatures import str_to_ty
from minitriton.language.values import constexpr
from minitriton.target import OPTIONS_THAT_NAME_FILES

FORMAT = 2
DESCRIPTION, ARRAYS = "launch.json", "arrays.npz"
IR_OF = {"source": "kernel.ttir", "gluon": "kernel.gluon"}
"""The file of the first IR of a kernel in `tl` (`ASTSource.ext` "source") and in Gluon."""
_MOST_BYTES = 64 << 20
"""Of a description, or of a kernel's IR."""

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
    """What a tensor descriptor says in addition to its array: sizes and strides in elements."""

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
    arch: int | str
    options: dict[str, Json]
    signature: dict[str, Kind]
    constants: list[tuple[list[int], Json]]
    """Values of compile-time parameters by their paths, as `replay.constant` reads them."""
    divisible: list[list[int]]
    """Paths of the parameters that are divisible by 16."""
    arguments: list[Passed] = field(default_factory=list[Passed])
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    folder: Path = Path()
    digests: dict[str, str] = field(default_factory=dict[str, str])
    """SHA-256 of the other files of the folder, by name."""
    is_own: bool = False
    """Whether this user recorded it, or trusts the folder that it is in."""

    @property
    def ir(self) -> Path:
        """The file of the kernel's first IR."""
        return self.folder / next((name for name in IR_OF.values() if name in self.digests), IR_OF["source"])

    @property
    def reference(self) -> str:
        """What commands open of it: `FILE.py:kernel`, or the IR that was stored, where there is no such file or it is not to be run."""
        if self.is_named and os.path.isfile(self.file) and (self.is_own or is_trusted(self.file)):
            return f"{self.file}:{self.kernel}"
        return str(self.ir)

    def text(self) -> str:
        """As JSON."""
        plain = {"format": FORMAT, **asdict(self)}
        del plain["folder"], plain["is_own"]
        digest = _digest(plain)
        return json.dumps({**plain, "checksum": digest, "seal": seal("launch", digest)}, indent=1)

    def content(self, name: str, most_bytes: int = _MOST_BYTES) -> bytes:
        """The file `name` of the folder. Raises `DamagedFile` where it is missing, or not what was recorded."""
        with damage_of(self.folder / name, _AGAIN):
            found = read_regular(self.folder / name, most_bytes)
        if hashlib.sha256(found).hexdigest() != self.digests.get(name):
            raise DamagedFile(self.folder / name, "it is not what was recorded", _AGAIN)
        return found


_AGAIN = "record the launch again"


def _digest(plain: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


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
    with damage_of(folder / DESCRIPTION, _AGAIN):
        given = parse_json(read_regular(folder / DESCRIPTION, _MOST_BYTES))
        if given["format"] != FORMAT:
            raise ValueError("it was written by another version")
        checksum, sealed = given.pop("checksum"), given.pop("seal")
        if _digest(given) != checksum:
            raise ValueError("it is not what was recorded")
        del given["format"]
        whose = is_own("launch", checksum, sealed) or is_trusted(folder / DESCRIPTION)
        launch = replace(of_json(RecordedLaunch, given), folder=folder, is_own=whose)
    if launch.reference == str(launch.ir):
        launch.content(launch.ir.name)
    _say_whose(launch)
    return launch


def _say_whose(launch: RecordedLaunch) -> None:
    """Warns where the kernel's file is not run, or is not as it was. Raises `MinitritonError` where options of a foreign launch name files."""
    file = launch.file
    if not launch.is_own and (named := [name for name in OPTIONS_THAT_NAME_FILES if launch.options.get(name)]):
        raise MinitritonError(
            f"{launch.folder} was recorded elsewhere, and its option {named[0]} has files read or written",
            help=f"if you trust it, set MINITRITON_TRUSTED={launch.folder.resolve()}",
        )
    if not (launch.is_named and os.path.isfile(file)):
        return
    if not launch.reference.startswith(file):
        warnings.warn(
            f"{launch.folder} was recorded elsewhere: {file} is not run, its recorded IR is taken. Name {file}:{launch.kernel}, or set "
            f"MINITRITON_TRUSTED={os.path.dirname(file)}, if you trust that file",
            RuntimeWarning, stacklevel=3,
        )  # fmt: skip
        return
    with damage_of(file):
        found = hashlib.sha256(read_regular(Path(file))).hexdigest()
    if found != launch.digest:
        warnings.warn(
            f"{file} has changed since {launch.folder} was recorded: the kernel is that of now",
            RuntimeWarning,
            stacklevel=3,
        )


def launches_in(folder: Path) -> list[Path]:
    """The folders of recorded launches right below `folder`, in the order of the launches."""
    return sorted(path.parent for path in folder.glob(f"[!.]*/{DESCRIPTION}"))


T = TypeVar("T")

_PLAIN = (bool, int, float, str, type(None))


def field_names(value: tuple[object, ...]) -> tuple[str, ...]:
    """The names of the items of a named tuple; () for other tuples."""
    return getattr(type(value), "_fields", ())


def named(items: Mapping[str, T]) -> tuple[T, ...]:
    """A named tuple."""
    return namedtuple("Named", list(items))(*items.values())  # pyright: ignore[reportUntypedNamedTuple]


def written(value: object, names: Mapping[str, object]) -> Json:
    """`value` for JSON; `names` are those that the kernel's file has. Raises `MinitritonError` for what cannot be written."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if type(value) in _PLAIN and isinstance(value, _PLAIN):
        return value
    if instance_of(value, TUPLE):
        items, fields = [written(one, names) for one in value], field_names(value)
        return {"named": dict(zip(fields, items, strict=True))} if fields else {"tuple": items}
    if isinstance(value, list):
        return [written(one, names) for one in cast("list[object]", value)]
    name = next((name for name, known in names.items() if known is value), None)
    if name is None and isinstance(value, Layout):
        return {"layout": repr(value)}
    if name is None:
        raise MinitritonError(
            f"a compile-time value of type {type(value).__name__} cannot be written to a file",
            help="numbers, strings, dtypes, layouts, tuples and lists of them, and what the kernel's file has a name for can",
        )
    return {"global": name}


def read(found: Json, names: Mapping[str, object]) -> object:
    """The reverse of `written`."""
    match found:
        case {"dtype": str(name)}:
            return str_to_ty(name)
        case {"tuple": list(items)}:
            return tuple(read(one, names) for one in items)
        case {"named": dict(items)}:
            return named({name: read(one, names) for name, one in items.items()})
        case {"layout": str(text)}:
            return read_layout(text)
        case {"global": str(value)}:
            pass
        case _:
            return found
    if value not in names:
        raise MinitritonError(
            f"the kernel's file lacks {value!r}, which the recorded launch was given", help="record the launch again"
        )
    return names[value]
