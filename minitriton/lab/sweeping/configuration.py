"""One configuration of a space, as a value and as a line of text that brings it back.

    inline,canonicalize,cse,...                        the pipeline, the kernel's own launch
    [BLOCK=512 num_warps=8] inline,canonicalize,...    with another constant of the kernel and another compile option

What stands in brackets are settings: constants of the kernel, compile options (`num_warps`, `num_stages`, `num_ctas`, `maxnreg`, ...)
and `arch`, the compute capability times ten.

A compiled program as a store keeps it: all that assembling and launching it again take.

Configurations that give the same PTX for the same kind of launch share one.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from minitriton.errors import MinitritonError
from minitriton.host.json_values import frozen
from minitriton.pipeline.pass_manager import Pipeline
from minitriton.pipeline.pass_registry import Step, find_pass
from minitriton.pipeline.pipeline_spec import format_step
from minitriton.target import CompileOptions, target_named
from minitriton.target.backends import backend
from minitriton.target.tensor_map import DescriptorCopy

Value = int | float | bool | str
Settings = tuple[tuple[str, Value], ...]

_WITH_SETTINGS = re.compile(r"\s*\[([^\]]*)\]\s*(.*)", re.DOTALL)


@dataclass(frozen=True)
class Configuration:
    """A pipeline, and what else differs from the kernel's own launch, sorted by name."""

    pipeline: Pipeline
    settings: Settings = ()

    @classmethod
    def of(cls, given: Configuration | Pipeline | str) -> Configuration:
        """`given` as a configuration."""
        if isinstance(given, Configuration):
            return given
        return cls.parse(given) if isinstance(given, str) else cls(given)

    @classmethod
    def parse(cls, text: str) -> Configuration:
        """Reads what `str` writes. Raises `MinitritonError` for settings that are none, `PipelineError` for a bad pipeline."""
        found = _WITH_SETTINGS.fullmatch(text)
        if found is None:
            return cls(parse_steps(text))
        return cls(parse_steps(found[2]), settings_of(found[1].split()))

    def __str__(self) -> str:
        pipeline = ",".join(map(step_text, self.pipeline.steps))
        return f"[{settings_text(self.settings)}] {pipeline}" if self.settings else pipeline

    def with_pipeline(self, pipeline: Pipeline) -> Configuration:
        """The same settings with another pipeline."""
        return Configuration(pipeline, self.settings)


def sorted_settings(settings: Mapping[str, Value]) -> Settings:
    """As a configuration keeps them."""
    return tuple(sorted(settings.items()))


def settings_text(settings: Settings) -> str:
    """`BLOCK=512 num_warps=8`."""
    return " ".join(f"{name}={value_text(value)}" for name, value in settings)


def settings_of(words: list[str]) -> Settings:
    """The settings that `NAME=VALUE` words give. Raises `MinitritonError` for a word that is none."""
    found: dict[str, Value] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (equals and name.isidentifier() and value):
            raise MinitritonError(f"{word!r} is not a setting", help="write NAME=VALUE, as in [BLOCK=512 num_warps=8]")
        found[name] = value_of(value)
    return sorted_settings(found)


def value_of(text: str) -> Value:
    """A number or `true`/`false` where `text` is one, else `text`."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def value_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_Given = TypeVar("_Given")
_Result = TypeVar("_Result")
_MOST_STEPS = 4096


def by_identity(function: Callable[[_Given], _Result]) -> Callable[[_Given], _Result]:
    """Remembers what `function` gave for a step object, or a tuple of them: configurations share their steps, and hashing takes longer than this."""
    known: dict[int, tuple[_Given, _Result]] = {}

    @functools.wraps(function)
    def remembered(step: _Given) -> _Result:
        found = known.get(id(step))
        if found is None:
            if len(known) >= _MOST_STEPS:
                known.clear()
            found = known[id(step)] = (step, function(step))
        return found[1]

    return remembered


step_text = by_identity(format_step)
"""A step as it is written in a pipeline."""


@functools.lru_cache(maxsize=4096)
def _parsed_as(text: str, found: object) -> tuple[Step, ...]:
    """The steps of `text`, whose pass is the class `found` now: a module of passes may be loaded again."""
    return Pipeline.parse(text).steps


def _parsed(text: str) -> tuple[Step, ...]:
    return _parsed_as(text, find_pass(text.partition("{")[0].strip()))


def parse_steps(text: str) -> Pipeline:
    """`Pipeline.parse(text)`, each different pass of it parsed once a process."""
    steps: list[Step] = []
    begun = ""
    for part in text.split(","):
        whole = f"{begun},{part}" if begun else part
        if "{" in whole and whole.count("{") > whole.count("}"):
            begun = whole
            continue
        begun = ""
        steps += _parsed(whole)
    return Pipeline((*steps, *_parsed(begun))) if begun else Pipeline(tuple(steps))


@dataclass(frozen=True)
class KernelProgram:
    """`digest` names it among those of `kernel`. `settings` say how its launch differs from the kernel's own."""

    kernel: str
    digest: str
    ptx: str
    arch: int | str
    options: CompileOptions
    settings: Settings = ()
    shared: int = 0
    """Bytes of shared memory a CTA."""
    global_scratch: int = 0
    """Bytes of global memory that each program needs in addition to its arguments."""
    maps: str = ""
    """The tensor maps that it takes, as text (`repr`); empty where it takes none."""
    cubin: bytes = field(default=b"", compare=False, repr=False)
    """Its machine code where it was assembled before."""

    @property
    def descriptors(self) -> list[DescriptorCopy] | None:
        """What the host has to know of the tensor maps; None where the kernel takes none, or takes descriptors apart."""
        return ast.literal_eval(self.maps) if self.maps else None

    def about(self) -> dict[str, Any]:
        """All but names and PTX, as plain values."""
        plain = type(self.options)()
        options = {
            f.name: getattr(self.options, f.name)
            for f in fields(plain)
            if getattr(self.options, f.name) != getattr(plain, f.name)
        }
        return {
            "arch": self.arch, "options": options, "settings": list(self.settings), "shared": self.shared,
            "global_scratch": self.global_scratch, "maps": self.maps,
        }  # fmt: skip

    @classmethod
    def of(cls, kernel: str, digest: str, ptx: str, about: dict[str, Any], cubin: bytes = b"") -> KernelProgram:
        """What `about` and the rest were made of."""
        kind = backend(target_named(about["arch"]).backend).load("options")
        options = kind(**{n: frozen(v) for n, v in about["options"].items()})
        return cls(
            kernel, digest, ptx, about["arch"], options, tuple((n, v) for n, v in about["settings"]),
            about["shared"], about["global_scratch"], about["maps"], cubin,
        )  # fmt: skip
