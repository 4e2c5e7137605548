"""Values that a kernel computes with: `tensor` (an SSA value of the IR with its type), `constexpr`, `tuple`, `slice`.

A `tensor` here is a handle: operators and methods on it are found by the frontend, which alone builds IR.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

from minitriton.host.json_values import named_tuple
from minitriton.language.dtypes import base_type, constexpr_type, dtype, slice_type, tuple_type

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

__all__ = [
    "const", "constexpr", "slice", "tensor", "tuple",
]  # fmt: skip
"""What `tl` offers of it."""


class Named(Protocol):
    """What a method is declared by: see `declare.py`."""

    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> object: ...


D = TypeVar("D", bound=Named)


class const:
    """Annotation of a pointer parameter whose data the kernel only reads."""


class base_value:
    """Base of values that exist in the IR or next to them."""

    if TYPE_CHECKING:

        @property
        def type(self) -> base_type: ...


class handle_type(base_type):
    """The type of a value that is one SSA value of the IR, and not a tensor: a buffer, a token. Types of one name are equal."""

    name: str  # pyright: ignore[reportIncompatibleMethodOverride] (a slot, where others compute it)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, handle_type) and self.__class__ is other.__class__ and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def value(self, handle: SSAValue) -> handle_value:
        """A value of this type."""
        raise NotImplementedError


class handle_value(base_value):
    """A value that is one SSA value of the IR, and not a tensor. Methods are `members`: name → the declared function."""

    members: ClassVar[dict[str, Named]] = {}
    as_tensor: ClassVar[str] = "use a tensor or a number"
    """How a kernel gets a tensor of it."""

    def __init__(self, handle: SSAValue, type: handle_type) -> None:
        self.handle = handle
        self.type = type  # pyright: ignore[reportIncompatibleMethodOverride, reportAttributeAccessIssue]

    def __str__(self) -> str:
        return str(self.type)

    def of_handle(self, handle: SSAValue) -> handle_value:
        """A value of the same type."""
        return cast(handle_type, self.type).value(handle)


class constexpr(base_value):
    """A compile-time value; also the annotation of parameters and variables that hold one.

    Arithmetic on it gives a `constexpr` again, so that `constexpr(4) * 2` works in host code too. `value` is any object of Python,
    whose own operators decide.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        while isinstance(value, constexpr):
            value = value.value
        self.value: Any = value

    @property
    def type(self) -> constexpr_type:
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

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return self.value(*args, **kwargs)

    def __getitem__(self, index: object) -> Any:
        return self.value[unwrap(index)]

    def __add__(self, other: object) -> constexpr:
        return constexpr(self.value + unwrap(other))

    def __radd__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) + self.value)

    def __sub__(self, other: object) -> constexpr:
        return constexpr(self.value - unwrap(other))

    def __rsub__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) - self.value)

    def __mul__(self, other: object) -> constexpr:
        return constexpr(self.value * unwrap(other))

    def __rmul__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) * self.value)

    def __truediv__(self, other: object) -> constexpr:
        return constexpr(self.value / unwrap(other))

    def __rtruediv__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) / self.value)

    def __floordiv__(self, other: object) -> constexpr:
        return constexpr(self.value // unwrap(other))

    def __rfloordiv__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) // self.value)

    def __mod__(self, other: object) -> constexpr:
        return constexpr(self.value % unwrap(other))

    def __rmod__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) % self.value)

    def __pow__(self, other: object) -> constexpr:
        return constexpr(self.value ** unwrap(other))

    def __rpow__(self, other: object) -> constexpr:
        return constexpr(unwrap(other) ** self.value)

    def __lshift__(self, other: object) -> constexpr:
        return constexpr(self.value << unwrap(other))

    def __rshift__(self, other: object) -> constexpr:
        return constexpr(self.value >> unwrap(other))

    def __and__(self, other: object) -> constexpr:
        return constexpr(self.value & unwrap(other))

    def __or__(self, other: object) -> constexpr:
        return constexpr(self.value | unwrap(other))

    def __xor__(self, other: object) -> constexpr:
        return constexpr(self.value ^ unwrap(other))

    def __neg__(self) -> constexpr:
        return constexpr(-self.value)

    def __pos__(self) -> constexpr:
        return constexpr(+self.value)

    def __invert__(self) -> constexpr:
        return constexpr(~self.value)

    def __eq__(self, other: object) -> Any:
        return constexpr(self.value == unwrap(other))

    def __ne__(self, other: object) -> Any:
        return constexpr(self.value != unwrap(other))

    def __lt__(self, other: object) -> constexpr:
        return constexpr(self.value < unwrap(other))

    def __le__(self, other: object) -> constexpr:
        return constexpr(self.value <= unwrap(other))

    def __gt__(self, other: object) -> constexpr:
        return constexpr(self.value > unwrap(other))

    def __ge__(self, other: object) -> constexpr:
        return constexpr(self.value >= unwrap(other))

    def logical_and(self, other: object) -> constexpr:
        return constexpr(self.value and unwrap(other))

    def logical_or(self, other: object) -> constexpr:
        return constexpr(self.value or unwrap(other))


CONSTEXPR_0 = constexpr(0)


def unwrap(value: Any) -> Any:
    """`value` without `constexpr` around it; tuples become Python tuples of unwrapped elements, named if they were."""
    kind = value.__class__
    if kind is constexpr:
        value = value.value
        kind = value.__class__
        if kind is not builtins.tuple and kind is not list and kind is not tuple:
            return value
    if kind is tuple:
        elements = (unwrap(v) for v in value.values)
        named = value.named
        return named._make(elements) if named else builtins.tuple(elements)
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

    members: ClassVar[dict[str, Named]] = {}
    """Method name → the declared function, whose first argument is the tensor."""

    def __init__(self, handle: SSAValue, type: dtype) -> None:
        self.handle: SSAValue = handle
        self.type: dtype = type  # pyright: ignore[reportIncompatibleMethodOverride] (a slot, where others compute it)
        self.dtype: dtype = type.scalar

    @property
    def shape(self) -> tuple:
        """The shape, as a tuple of compile-time values; empty for a scalar."""
        return tuple([constexpr(s) for s in self.type.shape])

    @property
    def numel(self) -> constexpr:
        return constexpr(self.type.numel)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(f'constexpr[{size}]' for size in self.type.shape)}]"

    __repr__ = __str__

    if TYPE_CHECKING:
        # What the operators give in a kernel, for those who read its types; the frontend emits them.
        T: tensor

        def to(
            self, dtype: ConstType, fp_downcast_rounding: ConstStr | None = None, bitcast: ConstBool = False
        ) -> tensor: ...
        def __add__(self, other: Operand) -> tensor: ...
        def __radd__(self, other: Operand) -> tensor: ...
        def __sub__(self, other: Operand) -> tensor: ...
        def __rsub__(self, other: Operand) -> tensor: ...
        def __mul__(self, other: Operand) -> tensor: ...
        def __rmul__(self, other: Operand) -> tensor: ...
        def __truediv__(self, other: Operand) -> tensor: ...
        def __rtruediv__(self, other: Operand) -> tensor: ...
        def __floordiv__(self, other: Operand) -> tensor: ...
        def __mod__(self, other: Operand) -> tensor: ...
        def __lshift__(self, other: Operand) -> tensor: ...
        def __rshift__(self, other: Operand) -> tensor: ...
        def __and__(self, other: Operand) -> tensor: ...
        def __or__(self, other: Operand) -> tensor: ...
        def __xor__(self, other: Operand) -> tensor: ...
        def __neg__(self) -> tensor: ...
        def __invert__(self) -> tensor: ...
        def __lt__(self, other: Operand) -> tensor: ...
        def __le__(self, other: Operand) -> tensor: ...
        def __gt__(self, other: Operand) -> tensor: ...
        def __ge__(self, other: Operand) -> tensor: ...
        def __getitem__(self, index: object) -> tensor: ...


Number = int | float
"""A number of Python; a bool is one too."""

Operand = tensor | constexpr | Number
"""What an operation computes with: a tensor, or a number, which it makes one of."""

ConstInt = int | constexpr
ConstBool = bool | constexpr
ConstStr = str | constexpr
"""An integer, a truth value, a text that must be known at compile time."""


def member(declaration: D) -> D:
    """Makes a declared function a method of `tensor` too."""
    tensor.members[declaration.__name__] = declaration
    return declaration


class tuple(base_value):
    """A tuple inside a kernel. `fields` of its type name the elements of a named tuple."""

    def __init__(self, args: Iterable[object], type: tuple_type | Sequence[base_type] | None = None) -> None:
        self.values = list(args)
        self._type = type if type is None or isinstance(type, tuple_type) else tuple_type(type)

    @property
    def type(self) -> tuple_type:
        if self._type is None:
            self._type = tuple_type([type_of(v) for v in self.values])
        return self._type

    @property
    def named(self) -> Any:
        """A class of Python's named tuples with the fields of this one; None if it has none."""
        fields = self._type.fields if self._type is not None else ()
        return named_tuple(builtins.tuple(fields)) if any(fields) else None

    def __getitem__(self, index: object) -> Any:
        if isinstance(index, (slice, builtins.slice)):
            index = cast(slice, index)
            return tuple(self.values[unwrap(index.start) : unwrap(index.stop) : unwrap(index.step)])
        return self.values[unwrap(index)]

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        fields = self.type.fields
        if name not in fields:
            raise AttributeError(
                f"tuple lacks field {name!r}; it has: {', '.join(f for f in fields if f) or 'none'} "
                "(lists are tuples here and cannot change: build a new one, as in `a + (b,)`)"
            )
        return self.values[fields.index(name)]

    def __add__(self, other: constexpr | Iterable[object]) -> tuple:
        return tuple(self.values + list(other.value if isinstance(other, constexpr) else other))

    def __mul__(self, count: ConstInt) -> tuple:
        return tuple(self.values * unwrap(count))

    def __eq__(self, other: object) -> bool:
        return (
            unwrap(self) == builtins.tuple(unwrap(other)) if isinstance(other, (tuple, list, builtins.tuple)) else False
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(builtins.tuple(self.values))

    def __iter__(self) -> Iterator[object]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.values))})"


ConstType = dtype | constexpr
"""A dtype, as it is or held by a compile-time parameter."""

ConstInts = ConstInt | Sequence[ConstInt] | tuple
"""Sizes or dimensions, known at compile time: one, or several."""

Indices = Sequence[Operand] | tuple
"""Offsets, sizes or strides, one for each dimension, which may be known at run time only."""

Function = Callable[..., object]
"""A function in the language, by which others combine or map elements."""

Overloads = dict[builtins.tuple[dtype, ...], builtins.tuple[str, dtype]]
"""Dtypes of the arguments → name of a library's function and the dtype of its result."""


class slice(base_value):
    """`start:stop:step` inside a subscript."""

    def __init__(self, start: ConstInt | None, stop: ConstInt | None, step: ConstInt | None) -> None:
        self.start = start
        self.stop = stop
        self.step = step
        self.type: slice_type = slice_type()


def type_of(value: object) -> base_type:
    """The type of any value that a kernel can hold; plain Python values count as compile-time values."""
    if isinstance(value, base_value):
        return value.type
    if isinstance(value, (builtins.tuple, list)):
        return tuple(cast("Sequence[object]", value)).type
    return constexpr_type(value)
