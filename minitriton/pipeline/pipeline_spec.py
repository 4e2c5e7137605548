"""Pipelines as text: `inline,canonicalize,convert-triton-to-tritongpu{target=cuda:90 num-warps=4}`.

In: a string in the syntax of MLIR's pass pipelines. Out: a tuple of pass objects with typed options, and back again. An
option is `key=value`; a value is a bare word, a number, `true`/`false`, a comma list, or a quoted string.
"""

import dataclasses
import functools
import re
import sys
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from minitriton.errors import PipelineError, did_you_mean
from minitriton.pipeline.pass_registry import Pass, Step, Translation, find_pass, known_passes

_NAME = re.compile(r"\s*([A-Za-z][\w.-]*)\s*")
_OPTION = re.compile(r'\s*([A-Za-z][\w-]*)(?:=("(?:[^"\\]|\\.)*"|[^\s{}"]+))?\s*')


def parse_pipeline(text: str) -> tuple[Step, ...]:
    """The steps that `text` names. Raises `PipelineError` for malformed text, unknown passes and wrong options."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        name_match = _NAME.match(text, position)
        if not name_match:
            raise PipelineError(
                f"malformed pipeline at {text[position : position + 20]!r}", help="write pass{option=value},pass,..."
            )
        position = name_match.end()
        options: dict[str, str | None] = {}
        if text[position : position + 1] == "{":
            options, position = _parse_options(text, position + 1, name_match[1])
        steps.append(make_step(name_match[1], options))
        rest = text[position:].lstrip()
        if rest and not rest.startswith(","):
            raise PipelineError(
                f"expected ',' before {rest[:20]!r}", help="separate the passes of a pipeline by commas"
            )
        position = len(text) - len(rest) + 1
    return tuple(steps)


def _parse_options(text: str, position: int, name: str) -> tuple[dict[str, str | None], int]:
    options: dict[str, str | None] = {}
    while text[position : position + 1] != "}":
        match = _OPTION.match(text, position)
        if not match:
            raise PipelineError(f"malformed options of pass {name!r}", help="write {key=value key=value}")
        value = match[2]
        if value and value[0] == '"':
            value = re.sub(r"\\(.)", r"\1", value[1:-1])
        options[match[1]] = value
        position = match.end()
    return options, position + 1


def parse_options_text(text: str) -> dict[str, str | None]:
    """Options as on a command line, `target=cuda:90 num-warps=4`, as a dictionary."""
    options, _ = _parse_options(text.strip() + "}", 0, "<option>")
    return options


def with_options(step: Step, options: dict[str, str | None]) -> Step:
    """`step` with `options` (text values), its other ones as they are. Raises `PipelineError`."""
    fields = [f.name for f in dataclasses.fields(step) if f.init]
    texts = {name.replace("_", "-"): _text_value(getattr(step, name)) for name in fields}
    return make_step(step.name, {**texts, **options})


def _text_value(value: object) -> str:
    return ",".join(map(str, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else _unquoted_text(value)


def _unquoted_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "none" if value is None else str(value)


def make_step(name: str, options: dict[str, str | None]) -> Step:
    """The pass called `name` with `options` (text values). Raises `PipelineError` with the closest known name."""
    cls = find_pass(name)
    if cls is None:
        hint = did_you_mean(name, known_passes()) or "`minitriton passes` lists the registered passes"
        raise PipelineError(f"unknown pass {name!r}", help=hint)
    types = _option_types(cls) if options else {}
    values: dict[str, object] = {}
    for key, text in options.items():
        field = key.replace("-", "_")
        if field not in types:
            names = ", ".join(f.replace("_", "-") for f in types) or "none"
            raise PipelineError(f"pass {name!r} lacks option {key!r}", help=f"its options: {names}")
        values[field] = _convert(name, key, text, types[field])
    try:
        return cls(**values)
    except TypeError as error:
        raise PipelineError(f"pass {name!r}: {error}") from error


@functools.cache
def _option_types(cls: type[Pass] | type[Translation]) -> dict[str, Any]:
    names = [f.name for f in dataclasses.fields(cls) if f.init]
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):  # of the options alone: the other annotations of a pass are many
        options = {name: type for name, type in vars(base).get("__annotations__", {}).items() if name in names}
        if options:
            hints |= get_type_hints(SimpleNamespace(__annotations__=options), vars(sys.modules[base.__module__]))
    return {name: hints[name] for name in names}


def _convert(name: str, key: str, text: str | None, wanted: Any) -> object:
    """`text` as a value of type `wanted`: bool, int, float, str, a tuple of those, or None."""
    if get_origin(wanted) in (Union, UnionType):
        members = [t for t in get_args(wanted) if t is not NoneType]
        if text is None or text == "none":
            return None
        wanted = members[0]
    try:
        if get_origin(wanted) is tuple:
            element = get_args(wanted)[0]
            return tuple(element(v) for v in (text or "").split(",") if v)
        if wanted is bool:
            return {None: True, "true": True, "1": True, "false": False, "0": False}[text]
        if text is None:
            raise ValueError
        return wanted(text)
    except (KeyError, ValueError, TypeError):
        wanted_name = getattr(wanted, "__name__", str(wanted))
        raise PipelineError(
            f"option {key!r} of pass {name!r} cannot be {text!r}", help=f"give a value of type {wanted_name}"
        ) from None


def format_pipeline(steps: tuple[Step, ...]) -> str:
    """The text that `parse_pipeline` turns into equal steps. Options with their default value are left out."""
    return ",".join(format_step(step) for step in steps)


def format_step(step: Step) -> str:
    """One step with its non-default options, such as `convert-triton-to-tritongpu{num-warps=8 target=cuda:90}`."""
    shown: list[str] = []
    for f in dataclasses.fields(step):
        value = getattr(step, f.name)
        if not f.init or value == f.default:
            continue
        shown.append(f"{f.name.replace('_', '-')}={_value_text(value)}")
    return step.name + ("{" + " ".join(shown) + "}" if shown else "")


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(_value_text(v) for v in cast("tuple[object, ...]", value))
    if value is None:
        return "none"
    text = str(value)
    if text and not re.search(r'[\s{}"]', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
