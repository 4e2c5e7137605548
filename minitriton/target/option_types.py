"""What each compile option may be: one table, asked for every option before anything is compiled with it.

checked("num_warps", np.int64(8))     →    8
checked("num_warps", "8")             →    InvalidOptionType: num_warps must be an integer of at least 1, got '8'
checked("extern_libs", {"m": path})   →    (("m", "/path/of/m.bc"),)
"""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, SupportsIndex, cast

from minitriton.errors import MinitritonError
from minitriton.target.architectures import LIMITS


class InvalidOptionType(MinitritonError, TypeError):
    """An option whose value is of a wrong type, or outside of its range; also a `TypeError`."""


class OptionType(NamedTuple):
    """`what` a value must be, an `example` of one, and `convert`, which gives the value in its one form or raises `TypeError`."""

    what: str
    example: str
    convert: Callable[[object], object]


def integer(least: int, most: int, example: int) -> OptionType:
    """A whole number from `least` to `most`."""

    def convert(value: object) -> int:
        if isinstance(value, bool) or type(value).__name__ == "bool_":
            raise TypeError
        number = operator.index(cast(SupportsIndex, value))
        if number < least:
            raise TypeError
        if number > most:
            raise TypeError(f"at most {most}")
        return number

    return OptionType(f"an integer of at least {least}", str(example), convert)


def _switch(value: object) -> bool:
    number = operator.index(cast(SupportsIndex, value))
    if number not in (0, 1):
        raise TypeError
    return bool(number)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return str(value)


def _path(value: object) -> str:
    found = os.fspath(cast("os.PathLike[str] | os.PathLike[bytes] | str", value))
    if not isinstance(found, str) or "\0" in found:
        raise TypeError
    return found


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, (Sequence, set, frozenset)):
        raise TypeError
    names = map(_text, cast("Iterable[object]", value))
    return tuple(sorted(names) if isinstance(value, (set, frozenset)) else names)


def _name_list(value: object) -> str:
    return _text(value) if isinstance(value, str) else ",".join(_names(value))


def _level(value: object) -> str:
    if value not in ("exact", "fast"):
        raise TypeError
    return str(value)


def _version(value: object) -> str:
    if not isinstance(value, str) or re.fullmatch(r"3\.[6-9]\.\d+", value) is None:
        raise TypeError
    return value


def _libraries(value: object) -> tuple[tuple[str, str], ...]:
    if isinstance(value, str):
        raise TypeError
    try:
        pairs = dict(cast("Mapping[object, object] | Iterable[tuple[object, object]]", value))
    except ValueError:
        raise TypeError from None
    return tuple((_text(name), _path(path)) for name, path in pairs.items())


_SWITCH = OptionType("True or False", "True", _switch)
_NAMES = OptionType("a list of names", "('tf32',)", _names)

_MANY_STAGES = 1 << 10
"""More than the shared memory of any target has room for: a buffer is of 16 bytes at least, in practice of kilobytes."""

OPTION_TYPES: dict[str, OptionType] = {
    "num_warps": integer(1, 1 << 16, 4),
    "num_ctas": integer(1, LIMITS.ctas_per_cluster, 1),
    "num_stages": integer(0, _MANY_STAGES, 3),
    "warp_size": integer(1, 64, 32),
    "maxnreg": integer(1, LIMITS.registers_per_sm, 128),
    "ptx_version": integer(1, 999, 87),
    "max_num_imprecise_acc_default": integer(0, 2**31 - 1, 0),
    "ptx_options": OptionType("a string", "'-O3'", _text),
    "pipeline": OptionType("a string", "'tritongpu-coalesce,...'", _text),
    "schedule_hint": OptionType("a string", "'none'", _text),
    "instrumentation_mode": OptionType("a string", "''", _text),
    "default_dot_input_precision": OptionType("a string", "'tf32'", _text),
    "backend_name": OptionType("a string", "'cuda'", _text),
    "arch": OptionType("a string", "'sm90'", _text),
    "algebra": OptionType("'exact' or 'fast'", "'fast'", _level),
    "without": OptionType("a string of pass names", "'minitriton'", _name_list),
    "triton_version": OptionType("a version of Triton, 3.6.0 to 3.9", "'3.9.0'", _version),
    "ir_override": OptionType("the path of a file", "'kernel.ttgir'", _path),
    "extern_libs": OptionType("a dictionary of names and paths", "{'mine': '/path/mine.bc'}", _libraries),
    "supported_fp8_dtypes": _NAMES,
    "deprecated_fp8_dot_operand_dtypes": _NAMES,
    "allowed_dot_input_precisions": _NAMES,
    **dict.fromkeys(
        (
            "allow_flush_denorm",
            "enable_fp_fusion",
            "enable_reflect_ftz",
            "launch_cooperative_grid",
            "launch_pdl",
            "describe_tiles",
            "choose_warps",
            "debug",
            "sanitize_overflow",
        ),
        _SWITCH,
    ),
}

OPTIONAL = frozenset(("maxnreg", "ptx_version", "ptx_options", "ir_override", "pipeline"))
"""Options that may be None."""


def checked(name: str, value: object, own: Mapping[str, OptionType] = {}) -> object:
    """`value` in the one form that option `name` has; `own` are a back end's. Raises `InvalidOptionType`."""
    if value is None and name in OPTIONAL:
        return None
    kind = own.get(name) or OPTION_TYPES[name]
    try:
        return kind.convert(value)
    except TypeError as error:
        limit = str(error) if str(error).startswith("at most") else kind.what
        raise InvalidOptionType(
            f"{name} must be {limit}, got {_shown(value)}", help=f"for example {name}={kind.example}"
        ) from None


def _shown(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}... (a {type(value).__name__})"
