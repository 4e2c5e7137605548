"""The table of operations: how each is written, what type it has, and what is known of its result.

    OPERATIONS["add"].text(["v1", "3"])                        (v1 + 3)
    OPERATIONS["add"].infer([Value(int8), Value(int8)])        int8, bounds added

`infer` raises `Unsound` where the language does not say what the result is. Modules `integer_operations` and so on fill the
table.
"""

from collections.abc import Callable
from dataclasses import dataclass

from minitriton.fuzz.tree import Attribute
from minitriton.fuzz.validity.facts import Value

Infer = Callable[..., "Value | tuple[Value, Value]"]
"""`infer(values, *attributes)`."""
Text = Callable[..., str]
"""`text(operands, *attributes)`."""


@dataclass(frozen=True)
class Operation:
    """One operation. `infer` gives a `Value` (a pair of them for what is unpacked); `weak` says that an operand may be a
    Python number, which takes the type of the other operand; `prelude` names functions that the text uses."""

    name: str
    infer: Infer
    text: Text
    weak: bool = False
    prelude: str | None = None


OPERATIONS: dict[str, Operation] = {}


def template(pattern: str) -> Text:
    """The text of an operation from a pattern in which `{0}` is the first operand and `{a0}` the first attribute."""

    def text(operands: list[str], *attrs: Attribute) -> str:
        return pattern.format(*operands, **{f"a{i}": shown(value) for i, value in enumerate(attrs)})

    return text


def shown(attribute: Attribute) -> str:
    """A compile-time argument as the kernel writes it."""
    if isinstance(attribute, tuple):
        return "[" + ", ".join(map(shown, attribute)) + "]"
    return str(attribute)


def declare(name: str, text: str | Text, infer: Infer, *, weak: bool = False, prelude: str | None = None) -> None:
    """Adds an operation."""
    OPERATIONS[name] = Operation(name, infer, template(text) if isinstance(text, str) else text, weak, prelude)
