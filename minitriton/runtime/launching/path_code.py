"""The Python source of a launch path, for arguments of given kinds.

For `add(x, rest, n, BLOCK: tl.constexpr)` called with a tensor, a tuple of a tensor and a number, and a number:

    def path(grid, x, rest, n, BLOCK, **options):
        if x.__class__ is not Tensor or rest.__class__ is not tuple or len(rest) != 2 or n.__class__ is not int:
            return general(...)
        part_0, part_1 = rest
        if part_0.__class__ is not Tensor or part_1.__class__ is not int:
            return general(...)
        if not (x.is_cuda and part_0.is_cuda):
            return on_host(...)
        address_0 = x.data_ptr(); address_1 = part_0.data_ptr()
        device = get_device()
        key = (x.dtype, part_0.dtype, class of part_1, class of n, BLOCK, BLOCK.__class__, whether all are aligned, device, settings)
        entry = entries.get(key) or prepare(...)
        launch, kernel, check, descriptors = entry
        launch(grid_x, grid_y, grid_z, stream, address_0, address_1, part_1, n)

The key holds what a compile depends on, and no less. It may hold more: then two keys have the same kernel.

The kind of an argument is its class, and of a tuple or a tensor descriptor also the kinds of its parts. Arguments of equal kinds are launched by the same code:

    kind_of((tensor, (1, 2.0)))  →  (tuple, Tensor, (tuple, int, float))
    kind_of(descriptor)          →  (TensorDescriptor, Tensor)
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from minitriton.runtime.launching.arguments import is_array, is_constant, is_dtype, plain_argument
from minitriton.runtime.launching.host_values import is_descriptor, is_tensor, offers

Kind: TypeAlias = "type | tuple[Kind, ...]"


class Shape(enum.Enum):
    """What a value consists of."""

    LEAF = 0
    TUPLE = 1
    DESCRIPTOR = 2


_SHAPES: dict[type, Shape] = {int: Shape.LEAF, float: Shape.LEAF, bool: Shape.LEAF, type(None): Shape.LEAF}
_MOST_SHAPES = 4096


def structure_of(value: object) -> Shape:
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
    shape = _SHAPES.get(value.__class__) or structure_of(value)
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
        return structure_of(self.example)

    def leaves(self) -> Iterator[Value]:
        """What is passed one by one: descriptors, and what is not a tuple."""
        if self.shape is Shape.TUPLE:
            for part in self.parts:
                yield from part.leaves()
        else:
            yield self


def value_in(variable: str, example: Any, numbers: Iterator[int]) -> Value:
    """An argument with its parts, which are in variables with the next of `numbers`."""
    shape = structure_of(example)
    if shape is Shape.LEAF:
        return Value(variable, example)
    parts = example if shape is Shape.TUPLE else (example.base,)
    return Value(variable, example, tuple(value_in(f"_mt_part_{next(numbers)}", part, numbers) for part in parts))


_INT_CLASS = (
    "((1 if {n} == 1 else 0 if {n} & 15 else 16) if -2147483648 <= {n} <= 2147483647 else ({n} & 15, _mt_width({n})))"
)
"""What an integer is specialised on: equal to 1, divisible by 16, and the width of the type that holds it."""


@dataclass
class PathCode:
    """The source of one path, as it grows argument by argument; `scope` are the objects that it names."""

    scope: dict[str, Any]
    dtypes_are_tensors: bool = False
    """Whether a dtype stands for a tensor, as in a warmup, and it does not matter where tensors are."""
    lines: list[str] = field(default_factory=list[str])
    """Leave, by `otherwise`, where the kind of an argument is another; and take tuples apart."""
    setup: list[str] = field(default_factory=list[str])
    key: list[str] = field(default_factory=list[str])
    on_device: list[str] = field(default_factory=list[str])
    addresses: list[str] = field(default_factory=list[str])
    passed: list[str] = field(default_factory=list[str])
    expanded: list[str] = field(default_factory=list[str])
    """For each descriptor, what `entry[3]` makes the passed values of."""
    numbers: Iterator[int] = field(default_factory=count)

    def add_constant(self, variable: str) -> None:
        """A compile-time value."""
        self.key.append(f"{variable} if {variable}.__class__ in _mt_plain else _mt_constant({variable})")
        self.key.append(f"{variable}.__class__")

    def check_kinds(self, arguments: Iterable[Value], otherwise: str) -> None:
        """Leaves by `otherwise` where the kind of an argument is another."""
        level: list[Value] = list(arguments)
        while level:
            self.lines.append(f"if {' or '.join(c for value in level for c in self._checks(value))}: {otherwise}")
            for value in level:
                if value.parts:
                    whole = f"{value.variable}.base," if value.shape is Shape.DESCRIPTOR else value.variable
                    self.lines.append(f"{''.join(f'{p.variable}, ' for p in value.parts)} = {whole}")
            level = [part for value in level for part in value.parts]

    def _checks(self, value: Value) -> Iterable[str]:
        cls = value.example.__class__
        self.scope[f"_mt_class_{id(cls)}"] = cls
        yield f"{value.variable}.__class__ is not _mt_class_{id(cls)}"
        if value.shape is Shape.TUPLE:
            yield f"len({value.variable}) != {len(value.parts)}"

    def add(self, value: Value) -> None:
        """What a run-time argument adds to the key and to what is passed."""
        if self.dtypes_are_tensors and is_dtype(value.example):
            self.key.append(value.variable)
            return
        for leaf in value.leaves():
            if leaf.shape is Shape.DESCRIPTOR:
                self._add_descriptor(leaf)
            else:
                self._add_leaf(leaf.variable, leaf.example)

    def _add_leaf(self, variable: str, example: Any) -> None:
        cls = example.__class__
        plain = plain_argument(example)
        if plain is not example:
            self._convert(variable, "_mt_plain_argument({})", plain)
        elif cls is int:
            self.key.append(_INT_CLASS.format(n=variable))
            self.passed.append(variable)
        elif cls in (float, bool, type(None)):
            self.passed.append(variable)
        elif is_constant(example):
            self.add_constant(variable)
            self.passed.append("None")
        elif is_array(example):
            self.passed.append(self._address(variable, example))
        elif hasattr(example, "__index__"):
            self._convert(variable, "{}.__index__()", example.__index__())
        else:
            self._add_by_specialization(variable)

    def _convert(self, variable: str, form: str, plain: Any) -> None:
        """A leaf that is launched as what `form` makes of it, for which `plain` is an example."""
        converted = f"_mt_plain_{next(self.numbers)}"
        self.setup.append(f"{converted} = {form.format(variable)}")
        self._add_leaf(converted, plain)

    def _add_by_specialization(self, variable: str) -> None:
        """A leaf of a rare class, which is asked what a launch is specialised on."""
        kind = f"_mt_kind_{next(self.numbers)}"
        self.setup.append(f"{kind} = _mt_specialize({variable}, False, True, True)")
        self.key.append(kind)
        self.passed.append(f"_mt_value({variable}, {kind}[0])")

    def _address(self, variable: str, example: Any) -> str:
        """The variable that holds the address of an array; its element type goes into the key."""
        tensor = is_tensor(example)
        if not self.dtypes_are_tensors:
            self.on_device.append(
                f"{variable}.is_cuda" if tensor and offers(example, "is_cuda") else f"_mt_is_on_device({variable})"
            )
        address = f"_mt_at_{next(self.numbers)}"
        self.setup.append(f"{address} = {f'{variable}.data_ptr()' if tensor else f'_mt_address({variable})'}")
        self.key.append(f"{variable}.dtype" if offers(example, "dtype") else f"_mt_element({variable})")
        self.addresses.append(address)
        return address

    def _add_descriptor(self, value: Value) -> None:
        """A tensor descriptor. Its base need not be aligned as other pointers: its type says nothing of that."""
        variable, base = value.variable, value.parts[0]
        address = self._address(base.variable, base.example)
        self.addresses.remove(address)
        self.key.append(f"(*{variable}.block_shape,)")
        if offers(value.example, "layout"):
            self.add_constant(f"{variable}.layout")
        values = f"_mt_values_{next(self.numbers)}"
        self.expanded.append(f"{values} = _mt_entry[3][{len(self.expanded)}]({variable}, {address})")
        self.passed.append(f"*{values}")

    def key_source(self) -> str:
        """The expressions of the key."""
        parts = list(self.key)
        if self.addresses:
            each = "".join(f"not {a} & 15, " for a in self.addresses)
            parts.append(f"not ({' | '.join(self.addresses)}) & 15 or ({each})")
        return "".join(f"{part}, " for part in parts)
