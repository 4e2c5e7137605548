"""Aggregates: kernel-side objects with named fields and methods.

    @tl.core._aggregate
    class Pair:
        first: tl.tensor
        second: tl.tensor
        def __init__(self, first, second): ...
        @triton.jit
        def total(self): return self.first + self.second

In the IR an aggregate is its fields, one after the other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import ClassVar

from minitriton.language.declare import ConstexprFunction, Emits
from minitriton.language.dtypes import base_type
from minitriton.language.values import base_value, type_of


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
    definition: ClassVar[type]
    fields: ClassVar[dict[str, type]]
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
        init: Callable[..., object] = cls.definition.__init__
        if isinstance(init, ConstexprFunction):
            init(instance, *args, **kwargs)
        else:
            extra = {"_semantic": semantic} if "_semantic" in inspect.signature(init).parameters else {}
            init(instance, *args, **kwargs, **extra)
        for name in cls.fields:
            if name not in instance.__dict__:
                raise AttributeError(f"constructor for {cls.__name__} did not initialize attribute '{name}'")
        return instance


def aggregate(cls: type) -> type[aggregate_value]:
    """Class decorator: makes instances of `cls` values that kernels can hold, pass and return."""
    members = {name: member for name, member in vars(cls).items() if name != "__init__" and not _is_plumbing(name)}
    made = type(cls.__name__, (aggregate_value,), {**members, "__doc__": cls.__doc__})
    made.__module__, made.__qualname__ = cls.__module__, cls.__qualname__
    made.definition = cls
    made.fields = inspect.get_annotations(cls, eval_str=True)
    made.hash_attrs = [m for m in (*members.values(), vars(cls).get("__init__")) if hasattr(m, "cache_key")]
    return made


def _is_plumbing(name: str) -> bool:
    return name in ("__dict__", "__weakref__", "__module__", "__annotations__", "__doc__")
