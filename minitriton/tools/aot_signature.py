"""The signature of an ahead-of-time kernel: types, hints and constants, as written on the command line.

parse("*fp32:16, i32:1, i32, 1024", ["x", "one", "n", "BLOCK"])
    →  x: *fp32, divisible by 16;  one: i32, equal to 1;  n: i32;  BLOCK = 1024
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from minitriton.errors import MinitritonError


@dataclass(frozen=True)
class AotParameter:
    """One parameter. `constant` is its value if it is compiled in; `hint` is 16 (divisible), 1 (equal to one) or None."""

    name: str
    type_name: str
    hint: int | None = None
    constant: Any = None

    @property
    def is_passed(self) -> bool:
        """Whether the compiled kernel takes it."""
        return self.constant is None and self.hint != 1

    @property
    def is_in_c(self) -> bool:
        """Whether callers of the dispatching C function give it: what equals 1 is given too, so that it can be checked."""
        return self.constant is None


def parse(signature: str, names: list[str]) -> list[AotParameter]:
    """The parameters `names` as `signature` describes them. Raises `MinitritonError` for what does not fit."""
    parts = [part.strip() for part in signature.split(",")]
    if len(parts) != len(names):
        raise MinitritonError(
            f"the signature describes {len(parts)} parameters, the kernel has {len(names)}",
            help="parameters: " + ", ".join(names),
        )
    return [_parameter(name, part) for name, part in zip(names, parts, strict=True)]


def _parameter(name: str, text: str) -> AotParameter:
    type_name, colon, hint = text.partition(":")
    if colon:
        if hint not in ("1", "16"):
            raise MinitritonError(f"hint {hint!r} of parameter {name!r}", help="only 1 and 16 are valid hints")
        return AotParameter(name, type_name, int(hint))
    for number in (int, float):
        try:
            return AotParameter(name, "constexpr", constant=number(text))
        except ValueError:
            continue
    return AotParameter(name, text)


def suffix_of(parameters: list[AotParameter]) -> str:
    """`0d1c2`: each parameter's position, `d` for divisible by 16, `c` for equal to 1."""
    marks = {16: "d", 1: "c"}
    return "".join(f"{i}{marks[p.hint] if p.hint else ''}" for i, p in enumerate(parameters))
