"""Aggregates: kernel-side objects with named fields and methods.

    @triton.aggregate
    class Pair:
        first: tl.tensor
        second: tl.tensor
        scale: tl.constexpr = 2
        @triton.jit
        def total(self): return (self.first + self.second) * self.scale

    pair = tl.aggregate_replace(Pair(x, y), second=z)

In the IR an aggregate is its fields, one after the other. A class without a constructor gets one, as of a dataclass; it may inherit
fields, defaults and methods from other aggregates.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from minitriton.language.declare import ConstexprFunction, Emits
from minitriton.language.dtypes import base_type, tuple_type
from minitriton.language.values import base_value, constexpr, type_of
from minitriton.language.values import tuple as language_tuple


class aggregate_type(base_type):
    """The type of an aggregate: its class, and the types of its fields."""

    def __init__(self, cls: type[aggregate_value], fields: dict[str, base_type]) -> None:
        self.cls = cls
        self.fields = fields
        types = ", ".join(t.mangle() for t in fields.values())
        self.name: str = f"{cls.__module__}.{cls.__qualname__}<{types}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, aggregate_type) and self.cls is other.cls and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def mangle(self) -> str:
        return self.name


class aggregate_value(base_value):
    """Base of all aggregates. Fields are those annotated, and hold values of the annotated kinds only."""

    __triton_aggregate__ = True
    constructor: ClassVar[Callable[..., object] | None]
    own_members: ClassVar[dict[str, object]]
    fields: ClassVar[dict[str, type]]
    defaults: ClassVar[dict[str, object]]
    hash_attrs: ClassVar[list[object]]

    def __new__(cls, *args: object, **kwargs: object) -> aggregate_value:
        """Python code that a kernel calls while it compiles makes aggregates too."""
        return cls.constructed(list(args), kwargs, None)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.fields:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")
        if not isinstance(value, self.fields[name]):
            raise TypeError(f"Expected {self.fields[name]} for attribute '{name}', got {type(value)}")
        super().__setattr__(name, value)

    @property
    def type(self) -> aggregate_type:
        return aggregate_type(self.__class__, {name: type_of(getattr(self, name)) for name in self.fields})

    @classmethod
    def of(cls, values: dict[str, object]) -> aggregate_value:
        """An aggregate with these fields, its constructor not called."""
        instance = object.__new__(cls)
        for name, value in values.items():
            setattr(instance, name, value)
        return instance

    @classmethod
    def constructed(cls, args: Sequence[object], kwargs: dict[str, object], semantic: Emits | None) -> aggregate_value:
        """An aggregate as its own constructor makes it. `semantic` emits the operations that the constructor calls."""
        instance = object.__new__(cls)
        init: Callable[..., object] | None = cls.constructor
        if init is None:
            for name, value in cls._bound(args, kwargs).items():
                setattr(instance, name, value)
        elif isinstance(init, ConstexprFunction):
            init(instance, *args, **kwargs)
        else:
            extra = {"_semantic": semantic} if "_semantic" in inspect.signature(init).parameters else {}
            init(instance, *args, **kwargs, **extra)
        for name in cls.fields:
            if name not in instance.__dict__:
                raise AttributeError(f"constructor for {cls.__name__} did not initialize attribute '{name}'")
        return instance

    @classmethod
    def _bound(cls, args: Sequence[object], kwargs: dict[str, object]) -> dict[str, object]:
        """The fields for these arguments of the constructor that a class without one has. Raises as Python would."""
        if len(args) > len(cls.fields):
            raise TypeError(f"{cls.__name__} has {len(cls.fields)} fields, but {len(args)} values were given")
        given = dict(zip(cls.fields, args, strict=False))
        for name in kwargs:
            if name in given or name not in cls.fields:
                raise TypeError(f"{cls.__name__} {'got two values for' if name in given else 'has no'} field '{name}'")
        values = {**cls.defaults, **given, **kwargs}
        missing = [name for name in cls.fields if name not in values]
        if missing:
            raise TypeError(f"{cls.__name__} needs a value for field '{missing[0]}'")
        return {name: as_value(values[name]) for name in cls.fields}


def as_value(value: object) -> object:
    """`value` as a field holds it: of Python's values tuples as tuples of the language, the others as compile-time values."""
    if isinstance(value, base_value):
        return value
    if isinstance(value, tuple):
        elements = cast(tuple[object, ...], value)
        fields = getattr(elements, "_fields", None)
        values = [as_value(each) for each in elements]
        return language_tuple(values, None if fields is None else tuple_type([type_of(v) for v in values], fields))
    return constexpr(value)


def aggregate(cls: type) -> type[aggregate_value]:
    """Class decorator: makes instances of `cls` values that kernels can hold, pass and return."""
    bases = cls.__mro__[1:-1]
    for base in cls.__bases__:
        if base is not object and not getattr(base, "__triton_aggregate__", False):
            raise TypeError(f"{cls.__name__} inherits from {base.__name__}, which is not an aggregate")
    own = {name: member for name, member in vars(cls).items() if name != "__init__" and not _is_plumbing(name)}
    parents = [base for base in reversed(bases) if issubclass(base, aggregate_value) and base is not aggregate_value]
    annotated = inspect.get_annotations(cls, eval_str=True)
    fields = {name: kind for parent in parents for name, kind in parent.fields.items()} | annotated
    defaults = {name: own.pop(name) for name in annotated if name in own}
    members = {name: member for parent in parents for name, member in parent.own_members.items()} | own
    made = type(cls.__name__, (aggregate_value,), {**members, "__doc__": cls.__doc__})
    made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
    made.constructor = vars(cls).get("__init__")
    made.own_members = members
    made.fields = fields
    made.defaults = {name: value for parent in parents for name, value in parent.defaults.items()} | defaults
    made.hash_attrs = [m for m in (*members.values(), made.constructor) if hasattr(m, "cache_key")]
    return made


def aggregate_replace(instance: object, **changes: object) -> aggregate_value:
    """A copy of an aggregate with some fields changed. Raises `TypeError` for a field that it has not."""
    if not isinstance(instance, aggregate_value):
        raise TypeError(f"aggregate_replace() takes an aggregate, got {type(instance).__name__}")
    for name in changes:
        if name not in instance.fields:
            raise TypeError(f"{type(instance).__name__} lacks field '{name}'")
    return instance.of({n: as_value(changes.get(n, getattr(instance, n))) for n in instance.fields})


def _is_plumbing(name: str) -> bool:
    return name in ("__dict__", "__weakref__", "__module__", "__annotations__", "__doc__")
