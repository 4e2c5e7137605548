"""Values that a kernel computes with: `tensor` (an SSA value of the IR with its type), `constexpr`, `tuple`, `slice`.

A `tensor` here is a handle: operators and methods on it are found by the frontend, which alone builds IR.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from minitriton.language.dtypes import base_type, constexpr_type, dtype, slice_type, tuple_type


class const:
    """Annotation of a pointer parameter whose data the kernel only reads."""


class base_value:
    """Base of values that exist in the IR or stand beside them."""

    type: Any


class constexpr(base_value):
    """A compile-time value; also the annotation of parameters and variables that hold one.

    Arithmetic on it gives a `constexpr` again, so that `constexpr(4) * 2` works in host code too.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        while isinstance(value, constexpr):
            value = value.value
        self.value = value

    @property
    def type(self) -> constexpr_type:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constexpr_type(self.value)

    def __repr__(self) -> str:
        return f"constexpr[{self.value}]"

    def __hash__(self) -> int:
        return hash(self.value)

    def __index__(self) -> int:
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self.value[unwrap(index)]

    def __add__(self, other: Any) -> constexpr:
        return constexpr(self.value + unwrap(other))

    def __radd__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) + self.value)

    def __sub__(self, other: Any) -> constexpr:
        return constexpr(self.value - unwrap(other))

    def __rsub__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) - self.value)

    def __mul__(self, other: Any) -> constexpr:
        return constexpr(self.value * unwrap(other))

    def __rmul__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) * self.value)

    def __truediv__(self, other: Any) -> constexpr:
        return constexpr(self.value / unwrap(other))

    def __rtruediv__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) / self.value)

    def __floordiv__(self, other: Any) -> constexpr:
        return constexpr(self.value // unwrap(other))

    def __rfloordiv__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) // self.value)

    def __mod__(self, other: Any) -> constexpr:
        return constexpr(self.value % unwrap(other))

    def __rmod__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) % self.value)

    def __pow__(self, other: Any) -> constexpr:
        return constexpr(self.value ** unwrap(other))

    def __rpow__(self, other: Any) -> constexpr:
        return constexpr(unwrap(other) ** self.value)

    def __lshift__(self, other: Any) -> constexpr:
        return constexpr(self.value << unwrap(other))

    def __rshift__(self, other: Any) -> constexpr:
        return constexpr(self.value >> unwrap(other))

    def __and__(self, other: Any) -> constexpr:
        return constexpr(self.value & unwrap(other))

    def __or__(self, other: Any) -> constexpr:
        return constexpr(self.value | unwrap(other))

    def __xor__(self, other: Any) -> constexpr:
        return constexpr(self.value ^ unwrap(other))

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __eq__(self, other: Any) -> Any:
        return constexpr(self.value == unwrap(other))

    def __ne__(self, other: Any) -> Any:
        return constexpr(self.value != unwrap(other))

    def __lt__(self, other: Any) -> constexpr:
        return constexpr(self.value < unwrap(other))

    def __le__(self, other: Any) -> constexpr:
        return constexpr(self.value <= unwrap(other))

    def __gt__(self, other: Any) -> constexpr:
        return constexpr(self.value > unwrap(other))

    def __ge__(self, other: Any) -> constexpr:
        return constexpr(self.value >= unwrap(other))

    def logical_and(self, other: Any) -> constexpr:
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: Any) -> constexpr:
        return constexpr(self.value or unwrap(other))


CONSTEXPR_0 = constexpr(0)


def unwrap(value: Any) -> Any:
    """`value` without `constexpr` around it; tuples become Python tuples of unwrapped elements."""
    kind = type(value)
    if kind is constexpr:
        value = value.value
        kind = type(value)
        if kind is not builtins.tuple and kind is not list and kind is not tuple:
            return value
    if kind is tuple:
        return builtins.tuple(unwrap(v) for v in value.values)
    if kind is list:
        return [unwrap(v) for v in value]
    if kind is builtins.tuple:
        return builtins.tuple(unwrap(v) for v in value)
    return value


class tensor(base_value):
    """An N-dimensional block of scalars or pointers, or one scalar.

    Operators and the methods in `members` are those of the functions in `minitriton.language`: `x.sum(axis=0)` is `tl.sum(x, axis=0)`.
    """

    __slots__ = ("dtype", "handle", "type")

    members: ClassVar[dict[str, Any]] = {}
    """Method name → the declared function, of which the tensor is the first argument."""

    def __init__(self, handle: Any, type: Any) -> None:
        self.handle = handle
        self.type = type
        self.dtype: dtype = type.scalar

    @property
    def shape(self) -> tuple:
        """The shape, as a tuple of compile-time values; empty for a scalar."""
        return tuple([constexpr(s) for s in self.type.shape] if self.type.is_block() else [])

    @property
    def numel(self) -> constexpr:
        return constexpr(self.type.numel if self.type.is_block() else 1)

    def __str__(self) -> str:
        shape = self.type.shape if self.type.is_block() else ()
        return f"{self.dtype}[{', '.join(map(str, shape))}]"

    __repr__ = __str__


def member(declaration: Any) -> Any:
    """Makes a declared function a method of `tensor` too."""
    tensor.members[declaration.__name__] = declaration
    return declaration


class tuple(base_value):
    """A tuple inside a kernel. `fields` of its type name the elements of a named tuple."""

    def __init__(self, args: Sequence[Any], type: Any = None) -> None:
        self.values = list(args)
        self._type = tuple_type(type) if isinstance(type, (list, builtins.tuple)) else type

    @property
    def type(self) -> tuple_type:  # pyright: ignore[reportIncompatibleVariableOverride]
        if self._type is None:
            self._type = tuple_type([type_of(v) for v in self.values])
        return self._type

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, (slice, builtins.slice)):
            return tuple(self.values[unwrap(index.start) : unwrap(index.stop) : unwrap(index.step)])
        return self.values[unwrap(index)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = self.type.fields
        if name not in fields:
            raise AttributeError(f"tuple has no field {name!r}; it has: {', '.join(f for f in fields if f) or 'none'}")
        return self.values[fields.index(name)]

    def __add__(self, other: Any) -> tuple:
        return tuple(self.values + list(other.value if isinstance(other, constexpr) else other))

    def __mul__(self, count: Any) -> tuple:
        return tuple(self.values * unwrap(count))

    def __eq__(self, other: object) -> Any:
        return (
            unwrap(self) == builtins.tuple(unwrap(other)) if isinstance(other, (tuple, list, builtins.tuple)) else False
        )

    def __ne__(self, other: object) -> Any:
        return not self == other

    def __hash__(self) -> int:
        return hash(builtins.tuple(self.values))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.values))})"


class slice(base_value):
    """`start:stop:step` inside a subscript."""

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step
        self.type = slice_type()


def type_of(value: Any) -> base_type:
    """The type of any value that a kernel can hold; plain Python values count as compile-time values."""
    if isinstance(value, (base_value, builtins.tuple, list)):
        return tuple(value).type if isinstance(value, (builtins.tuple, list)) else value.type
    return constexpr_type(value)
