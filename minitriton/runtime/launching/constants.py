"""What a compile-time value is, as a launch looks for its kernel: `key_of` without its text, for values that programs launch with again and again.

    in_process_key(kernel)              →  its `cache_key`
    in_process_key(Settings(64, FAST))  →  what stands for the class as it is, and the fields

In: a value of a compile-time parameter. Out: something to hash, equal for two values of a class only if their keys (`identity.key_of`) are.
The key of an object says what its class holds too, its functions and the globals that they name; reading that takes 0.1 to 2 ms. Here it is
compared with what was there when it was last read (`ClassBody`). Of what holds more than that can tell, the key is made anew.
"""

import ctypes
import dataclasses
import enum
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple

from minitriton.frontend.function import HashedConstexprFunction, JITCallable, described
from minitriton.host.identity import PLAIN, PLUMBING, PYTHON_CLASS, key_of, names_in, written_classes
from minitriton.host.json_values import is_tuple
from minitriton.language.dtypes import dtype
from minitriton.language.values import constexpr


class _Parts(NamedTuple):
    """The source of what makes a value differ from others of its class: `of_value`, if `has_more` is not true."""

    of_value: list[str]
    has_more: str = "False"


PLAIN_CONSTANTS = PLAIN | {dtype}
"""Classes of values that are distinguished by `==` and the class."""

_FIELD_OF_TUPLE = type(_Parts.has_more)
_FIXED = (
    *(BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType, _FIELD_OF_TUPLE),
    *(dtype, type(None), str, bytes),
)
"""Classes of what never changes, and is equal to nothing else."""
_NUMBERS = (bool, int, float, complex)
_WRAPPERS = (staticmethod, classmethod)
_GENERATED = frozenset([
    "__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__replace__", "__new__",
    "__getnewargs__", "_make", "_replace", "_asdict", "_fields", "_field_defaults",
])  # fmt: skip
"""What the standard library gives a dataclass or a named tuple."""
_MISSING = object()
_MOST_CLASSES = 4096


class _Unknown(Exception):
    """Something may change without being noticed."""


_VERSION_TAG = 384
"""The offset of `tp_version_tag` in CPython's `PyTypeObject` (Include/cpython/object.h, 64 bits, 3.11 to 3.13): a number that no class had before,
given to a class as an attribute is looked up in it, and 0 from a change of it or of a base until then."""


def _version_tag(cls: type) -> ctypes.c_uint:
    """Shows the tag of a class as it is now."""
    getattr(cls, "anything", None)
    return ctypes.c_uint.from_address(id(cls) + _VERSION_TAG)


def _shows_changes() -> bool:
    """Whether a tag does what is said of it."""
    base = type("Base", (), {})
    cls = type("Changed", (base,), {})
    tags = [_version_tag(cls).value]
    for changed in (cls, base):
        changed.attribute = 1  # pyright: ignore[reportAttributeAccessIssue]
        tags.append(_version_tag(cls).value)
    return 0 not in tags and len(set(tags)) == len(tags)


_HAS_TAGS = sys.implementation.name == "cpython" and sys.version_info < (3, 14) and _shows_changes()


class ClassBody:
    """What a class holds, with its bases and what their functions name, as it was when this was made."""

    def __init__(self, cls: type) -> None:
        self._facts: list[tuple[str, tuple[object, ...]]] = []
        """Expressions that are true as long as all is as it was, and what they are about."""
        self._seen: set[int] = set()
        self._add_class(cls)

    def same(self, scope: dict[str, Any]) -> str:
        """An expression, over what it puts into `scope`, of whether all is as it was."""
        checks: list[str] = []
        for form, things in self._facts:
            names = [f"thing_{len(scope) + i}" for i in range(len(things))]
            scope.update(zip(names, things, strict=True))
            checks.append(form.format(*names))
        return " and ".join(checks) or "True"

    def _add_class(self, cls: type) -> None:
        tag = _version_tag(cls) if _HAS_TAGS else None
        tagged = tag is not None and tag.value != 0
        if tag is not None and tagged:
            self._facts.append(("{0}.value == {1}", (tag, tag.value, cls)))  # which keeps the class, and so its tag
        for base in written_classes(cls):
            if id(base) not in self._seen:
                self._seen.add(id(base))
                self._add_body(base, tagged)

    def _add_body(self, cls: type, tagged: bool) -> None:
        body = cls.__dict__
        if not tagged:
            self._facts.append(("(*{0}.values(),) == {1}", (body, (*body.values(),))))
        is_enum, is_generated = issubclass(cls, enum.Enum), "__dataclass_params__" in body or "_fields" in body
        for name, member in body.items():
            if name in PLUMBING or (is_generated and name in _GENERATED) or (is_enum and _is_of_enum(name, member)):
                continue
            if not (tagged or isinstance(member, (FunctionType, type, *_FIXED))):
                self._facts.append(("{0}[{1}] is {2}", (body, name, member)))  # `==` takes 1 for True
            self._add(member)

    def _add(self, value: Any) -> None:
        """Notes what may change of a value that a class holds or a function names."""
        if isinstance(value, _FIXED) or type(value) in _NUMBERS or id(value) in self._seen:
            return
        if isinstance(value, type):
            self._add_class(value)
            return
        self._seen.add(id(value))
        if isinstance(value, FunctionType):
            self._add_function(value)
        elif isinstance(value, _WRAPPERS):
            self._add(value.__func__)  # pyright: ignore[reportUnknownMemberType]
        elif isinstance(value, property):
            self._add(value.fget)
            self._add(value.fset)
        elif isinstance(value, enum.Enum):
            self._add_class(type(value))
            self._add(value.value)
        elif is_tuple(value) and type(value) is tuple:
            for part in value:
                self._add(part)
        elif type(value) is constexpr:
            self._add(value.value)
        elif isinstance(value, (JITCallable, HashedConstexprFunction)):
            source = value if isinstance(value, JITCallable) else described(value)  # pyright: ignore[reportUnknownArgumentType]
            self._facts.append(("{0}.hash == {1}", (source, source.cache_key)))
        else:
            raise _Unknown

    def _add_function(self, function: FunctionType) -> None:
        parts = function.__code__, function.__defaults__, function.__kwdefaults__
        self._facts.append(("({0}.__code__, {0}.__defaults__, {0}.__kwdefaults__) == {1}", (function, parts)))
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._add(default)
        for cell in function.__closure__ or ():
            self._facts.append(("{0}.cell_contents is {1}", (cell, cell.cell_contents)))
            self._add(cell.cell_contents)
        for name in names_in(function.__code__):
            value = function.__globals__.get(name, _MISSING)
            self._facts.append(("{0}.get({1}, {2}) is {3}", (function.__globals__, name, _MISSING, value)))
            if value is not _MISSING:
                self._add(value)


def _is_of_enum(name: str, member: Any) -> bool:
    """Whether the standard library's `enum` has put this into the body of an enum."""
    module = getattr(member, "__module__", "")
    is_internal = name.startswith("_") and name.endswith("_")
    return is_internal and (module == "enum" or not isinstance(member, (FunctionType, *_WRAPPERS)))


def in_process_key(value: Any) -> object:
    """See above. Raises `UnknownIdentity` for what cannot be distinguished from others."""
    reader = _readers.get(value.__class__)
    return (_new_reader(value) if reader is None else reader)(value)


def _of_tuple(value: tuple[Any, ...]) -> object:
    return (
        *[part if part.__class__ in PLAIN_CONSTANTS else in_process_key(part) for part in value],
        *[part.__class__ for part in value],
    )


def _of_function(function: JITCallable) -> object:
    return function.cache_key


def _of_float(value: float) -> object:
    """The number, where it is equal to no other one and to itself."""
    return value if value and value == value else value.hex()


_FIRST_READERS: dict[type, Callable[[Any], object]] = {float: _of_float, tuple: _of_tuple}
_readers = dict(_FIRST_READERS)
"""What makes the in-process keys of the values of a class."""


def _new_reader(value: Any) -> Callable[[Any], object]:
    """What makes the keys of values of this class from now on, until the class changes."""
    if len(_readers) >= _MOST_CLASSES:
        _readers.clear()
        _readers.update(_FIRST_READERS)
    reader = _readers[value.__class__] = _reader_of(value)
    return reader


def _read_anew(value: Any) -> object:
    return _new_reader(value)(value)


def _reader_of(value: Any) -> Callable[[Any], object]:
    cls: type = value.__class__
    if isinstance(value, JITCallable):
        return _of_function
    own = cls.__dict__.get("in_process_key")
    if own is not None and cls.__module__.startswith("minitriton."):
        return own
    parts = _parts_of(value)
    if parts is None:
        return key_of
    try:
        body = ClassBody(cls)
    except (
        Exception
    ):  # what may change without being noticed, a function that names what kernels cannot, a variable without a value
        return key_of
    scope: dict[str, Any] = {
        "changed": _read_anew,
        "key_of": key_of,
        "in_process_key": in_process_key,
        "plain": PLAIN_CONSTANTS,
        "version": object(),
    }
    names = [f"part_{i}" for i in range(len(parts.of_value))]
    keys = [f"{n} if {n}.__class__ in plain else in_process_key({n}), {n}.__class__" for n in names]
    source = _READER.format(
        same=body.same(scope),
        names="".join(f"{n}, " for n in names),
        parts="".join(f"{part}, " for part in parts.of_value),
        has_more=parts.has_more,
        keys=", ".join(keys),
    )
    exec(source, scope)
    return scope["read"]


_READER = """
def read(value):
    try:
        if not ({same}): return changed(value)
        {names} = {parts}
        if {has_more}: return key_of(value)
    except (LookupError, AttributeError):
        return key_of(value)
    return (version, {keys})
"""
"""`version` stands for the class as it is."""


def _parts_of(value: Any) -> _Parts | None:
    """What there is to a value in addition to its class; None where only `key_of` knows."""
    cls: type = value.__class__
    if hasattr(cls, "cache_key") or not written_classes(cls):
        return None
    if isinstance(value, enum.Enum):
        return None if isinstance(value, enum.Flag) else _Parts(["value._name_", "value._value_"])
    if isinstance(value, tuple):
        number = len(getattr(cls, "_fields", ()))
        return None if cls.__dictoffset__ else _Parts([f"value[{i}]" for i in range(number)], f"len(value) != {number}")
    if not all(map(_adds_nothing_but_attributes, cls.__mro__[:-1])) or hasattr(cls, "data_ptr"):
        return None
    attributes = getattr(value, "__dict__", None)
    if not attributes:
        return None
    if _has_fields_only(cls):
        # Asking for the dictionary of an object made for the launch would make it.
        return _Parts([f"value.{field.name}" for field in dataclasses.fields(cls)])
    return _Parts([f"value.__dict__[{a!r}]" for a in attributes], f"len(value.__dict__) != {len(attributes)}")


def _has_fields_only(cls: Any) -> bool:
    """Whether nothing but the fields of a frozen dataclass can make its objects differ."""
    params = cls.__dict__.get("__dataclass_params__")
    return params is not None and params.frozen and params.init and not hasattr(cls, "__post_init__")


def _adds_nothing_but_attributes(cls: type) -> bool:
    """Whether a class is written in Python and gives its objects no more than a dictionary."""
    return bool(cls.__flags__ & PYTHON_CLASS) and not cls.__dict__.get("__slots__")
