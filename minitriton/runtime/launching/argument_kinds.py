"""The kind of a launch argument: its class, and of a tuple or a tensor descriptor also the kinds of its parts.

    kind_of(tensor)              →  Tensor
    kind_of((tensor, (1, 2.0)))  →  (tuple, Tensor, (tuple, int, float))
    kind_of(descriptor)          →  (TensorDescriptor, Tensor)

Arguments of equal kinds are launched by the same code (`path_code`). `Value` is an argument as that code sees it: which variable holds it, and its parts.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from minitriton.runtime.launching.host_values import is_descriptor

Kind: TypeAlias = "type | tuple[Kind, ...]"


class Shape(enum.Enum):
    """What a value consists of."""

    LEAF = 0
    TUPLE = 1
    DESCRIPTOR = 2


_SHAPES: dict[type, Shape] = {int: Shape.LEAF, float: Shape.LEAF, bool: Shape.LEAF, type(None): Shape.LEAF}
_MOST_SHAPES = 4096


def shape_of(value: object) -> Shape:
    """What `value` consists of; all values of its class consist of the same."""
    cls = value.__class__
    found = _SHAPES.get(cls)
    if found is None:
        found = Shape.TUPLE if issubclass(cls, tuple) else Shape.DESCRIPTOR if is_descriptor(value) else Shape.LEAF
        if len(_SHAPES) >= _MOST_SHAPES:
            _SHAPES.clear()
        _SHAPES[cls] = found
    return found


def kind_of(value: Any) -> Kind:
    """The kind of an argument."""
    shape = _SHAPES.get(value.__class__) or shape_of(value)
    if shape is Shape.LEAF:
        return value.__class__
    if shape is Shape.TUPLE:
        return (value.__class__, *map(kind_of, value))
    return (value.__class__, value.base.__class__)


@dataclass(frozen=True)
class Value:
    """An argument, or a part of one. `variable` holds it in the code of a launch, `example` is the one that the code is made for."""

    variable: str
    example: Any
    parts: tuple[Value, ...] = ()

    @property
    def shape(self) -> Shape:
        return shape_of(self.example)

    def leaves(self) -> Iterator[Value]:
        """What is passed one by one: descriptors, and what is not a tuple."""
        if self.shape is Shape.TUPLE:
            for part in self.parts:
                yield from part.leaves()
        else:
            yield self


def value_in(variable: str, example: Any, numbers: Iterator[int]) -> Value:
    """An argument with its parts, which are in variables with the next of `numbers`."""
    shape = shape_of(example)
    if shape is Shape.LEAF:
        return Value(variable, example)
    parts = example if shape is Shape.TUPLE else (example.base,)
    return Value(variable, example, tuple(value_in(f"_mt_part_{next(numbers)}", part, numbers) for part in parts))
