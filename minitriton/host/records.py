"""`dataclass` as the standard library's, whose methods are made when a class is first used.

    from minitriton.host.records import dataclass

    @dataclass(frozen=True)
    class Load:
        width: int
        cached: bool = False

The standard library writes, compiles and runs the text of six methods for each class as it is defined: 0.6 ms, and the first compile of a process
defines 238 of ours and uses half of them (2026-11-24). Here a class gets what stands for its methods, 10 µs; the first instance, comparison or question
(`fields`, `replace`, a `match`) has them made, 0.15 ms, for of all methods only `__init__` needs a text. A class that adds no field to its base has its base's.

What the standard library raises for wrong fields is raised at the first use too. A type checker sees the standard library's `dataclass`.
"""

from __future__ import annotations

import copy
import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from minitriton.host import locks

standard_dataclass = dataclasses.dataclass

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,
        init: bool = True,
        slots: bool = False,
    ) -> Any:
        """`dataclasses.dataclass` with these options."""

        def define(cls: type) -> type:
            if slots or "__eq__" in vars(cls) or "__hash__" in vars(cls):  # A class with slots is made anew.
                return standard_dataclass(cls, frozen=frozen, eq=eq, repr=repr, init=init, slots=slots)
            _defer(cls, {"frozen": frozen, "eq": eq, "repr": repr, "init": init})
            return cls

        return define if cls is None else define(cls)


_FACTS = ("__dataclass_params__", "__match_args__", "__dataclass_fields__")
"""What the standard library notes in a class, for others to ask."""


def _defer(cls: type, flags: dict[str, bool]) -> None:
    """Gives `cls` what stands for its methods until one is called."""
    own = vars(cls)
    if flags["frozen"]:
        _freeze(cls)
    elif flags["eq"]:
        cls.__hash__ = None  # pyright: ignore[reportAttributeAccessIssue]
    if _adds_nothing(cls, flags):
        return
    given: dict[str, Any] = {name: getattr(cls, name) for name in own.get("__annotations__", ()) if hasattr(cls, name)}
    for name, value in given.items():
        if isinstance(value, dataclasses.Field):
            _set_default(cls, name, cast("dataclasses.Field[Any]", value).default)
    names = tuple(name for name in _methods(flags) if name not in own)
    record = _Record(cls, flags, given, names)
    for name, stand_in in record.stand_ins.items():
        setattr(cls, name, stand_in)
    for name in _FACTS:
        setattr(cls, name, _Fact(record, name))
    cls.__record__ = record  # pyright: ignore[reportAttributeAccessIssue]


def _set_default(cls: type, name: str, value: object) -> None:
    if value is dataclasses.MISSING:
        delattr(cls, name)
    else:
        setattr(cls, name, value)


def _methods(flags: dict[str, bool]) -> tuple[str, ...]:
    """What a class with these flags is given, unless it has it."""
    named = tuple(f"__{name}__" for name in ("init", "repr", "eq") if flags[name])
    return (*named, "__hash__") if flags["eq"] and flags["frozen"] else named


def _adds_nothing(cls: type, flags: dict[str, bool]) -> bool:
    """Whether the methods of `cls` would be those of its base: all made for one of ours with the same flags, and no field more."""
    base = cls.__bases__[0]
    record = getattr(base, "__record__", None)
    return (
        record is not None
        and record.flags == flags
        and record.names == _methods(flags)
        and all(next(c for c in base.__mro__ if name in vars(c)) is record.cls for name in record.names)
        and "__annotations__" not in vars(cls)
        and "__post_init__" not in vars(cls)
        and not any(hasattr(other, "__dataclass_fields__") for other in cls.__bases__[1:])
    )


class _Record:
    """How `names`, methods of `cls`, come to be. `given`: the values that its fields' names had in the class, inherited ones too."""

    def __init__(self, cls: type, flags: dict[str, bool], given: dict[str, Any], names: tuple[str, ...]) -> None:
        self.cls, self.flags, self.given, self.names = cls, flags, given, names
        self.stand_ins = {name: _first_call(self, name) for name in names}
        self.made: dict[str, Any] | None = None
        self._known: Any = None

    def complete(self) -> dict[str, Any]:
        """The methods and facts, which `cls` has from now on, but where a program has put another method in the place of one."""
        with locks.RECORDS:
            if self.made is None:
                facts = self._facts()
                fields = list(dataclasses.fields(self._known))
                made = {name: _METHODS[name](self.cls, fields, self.flags["frozen"]) for name in self.names}
                made |= facts
                for name, value in made.items():
                    if name in _FACTS or vars(self.cls)[name] is self.stand_ins[name]:
                        setattr(self.cls, name, value)
                self.made = made
        return self.made

    def _facts(self) -> dict[str, Any]:
        """What the standard library finds out of a class that has all fields of `cls`, inherited ones too, and nothing else: no text is run for that."""
        cls = self.cls
        names: dict[str, Any] = {}
        annotations: dict[str, Any] = {}
        for base in reversed(cls.__mro__[1:]):
            if "__dataclass_fields__" in vars(base):
                for inherited in dataclasses.fields(base):
                    annotations[inherited.name] = inherited.type
                    names[inherited.name] = copy.copy(inherited)
        for name, kind in vars(cls).get("__annotations__", {}).items():
            annotations[name] = kind
            names.pop(name, None)
        names |= self.given
        names |= {"__module__": cls.__module__, "__doc__": " ", "__annotations__": annotations}
        self._known = standard_dataclass(type(cls.__name__, (), names), init=False, repr=False, eq=False)
        found: dict[str, Any] = {name: vars(self._known)[name] for name in _FACTS}
        params: Any = found["__dataclass_params__"]
        for flag, value in self.flags.items():
            setattr(params, flag, value)
        return found


class _Fact:
    """One of `_FACTS` before it is known: the first to read it has it found out."""

    def __init__(self, record: _Record, name: str) -> None:
        self.record, self.name = record, name

    def __get__(self, instance: object, owner: type) -> Any:
        return self.record.complete()[self.name]


def _first_call(record: _Record, name: str) -> Callable[..., Any]:
    def method(self: object, *arguments: Any, **named: Any) -> Any:
        return (record.made or record.complete())[name](self, *arguments, **named)

    method.__name__, method.__qualname__ = name, f"{record.cls.__qualname__}.{name}"
    return method


def _freeze(cls: Any) -> None:
    """Fields of instances of `cls` cannot be set or deleted, nor anything else where the instance is of no class derived from it."""

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


# The methods ----------------------------------------------------------------------------------------------------------------


def _init(cls: type, fields: list[dataclasses.Field[Any]], frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING, "put": object.__setattr__}
    parameters: list[str] = []
    lines: list[str] = []
    for field in sorted((f for f in fields if f.init), key=lambda f: bool(f.kw_only)):
        if field.kw_only and "*" not in parameters:
            parameters.append("*")
        parameters.append(field.name)
        if field.default is not dataclasses.MISSING:
            names[f"default_{field.name}"] = field.default
            parameters[-1] += f"=default_{field.name}"
        elif field.default_factory is not dataclasses.MISSING:
            parameters[-1] += "=MISSING"
    for field in fields:
        value = field.name if field.init else ""
        if field.default_factory is not dataclasses.MISSING:
            names[f"make_{field.name}"] = field.default_factory
            made = f"make_{field.name}()"
            value = f"{made} if {value} is MISSING else {value}" if value else made
        if value:
            lines.append(f"put(self, {field.name!r}, {value})" if frozen else f"self.{field.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__(self, {', '.join(parameters)}):\n  " + "\n  ".join(lines or ["pass"]), names)
    init = names["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {f.name: f.type for f in fields if f.init} | {"return": None}
    return init


def _repr(cls: type, fields: list[dataclasses.Field[Any]], frozen: bool) -> Callable[..., str]:
    shown = [f.name for f in fields if f.repr]

    @reprlib.recursive_repr()
    def __repr__(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    return __repr__


def _values(names: list[str]) -> Callable[[Any], Any]:
    """The values of these fields of an instance, those of several as a tuple."""
    return attrgetter(*names) if names else lambda self: ()


def _eq(cls: type, fields: list[dataclasses.Field[Any]], frozen: bool) -> Callable[..., bool]:
    values = _values([f.name for f in fields if f.compare])

    def __eq__(self: object, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        ours, theirs = values(self), values(other)
        return ours is theirs or ours == theirs

    return __eq__


def _hash(cls: type, fields: list[dataclasses.Field[Any]], frozen: bool) -> Callable[..., int]:
    names = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
    values = _values(names)

    def hash_of_values(self: object) -> int:
        return hash(values(self))

    def hash_of_value(self: object) -> int:
        return hash((values(self),))

    return hash_of_value if len(names) == 1 else hash_of_values


_METHODS: dict[str, Callable[[type, list[dataclasses.Field[Any]], bool], Callable[..., Any]]] = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
}
