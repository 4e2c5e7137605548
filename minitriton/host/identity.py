"""What a compile-time value is, as text: equal texts mean that a kernel compiled for one serves for the other.

    key_of(1), key_of(True), key_of(1.0)     three texts, though the three compare equal
    key_of(Mode.FAST)                        the enum, the member's name and value
    key_of(Config(block=64))                 the class (its code too) and its fields: never `repr`, never an address
    key_of(kernel)                           its source and what that depends on: `kernel.cache_key`

The text is the same in every process, so it names kernels on disk too. What cannot be identified is refused with what to do.
"""

import enum
import hashlib
import struct
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from minitriton.errors import MinitritonError
from minitriton.language.declare import Declaration
from minitriton.language.dtypes import base_type, constexpr_type
from minitriton.language.values import constexpr


class UnknownIdentity(MinitritonError, TypeError):
    """A compile-time value that cannot be distinguished from others."""


PLAIN = frozenset((int, bool, str, bytes, type(None)))
"""Types whose values are known by themselves and their class."""

_HELP = (
    "pass numbers, strings, tuples, dtypes, enums, dataclasses or functions, or give its class a property `cache_key`: "
    "a string that says all that a kernel may ask of the object"
)
_DEEPEST = 64
_MOST_ASKED = 4
"""Times that a class is asked for what its body holds."""
PYTHON_CLASS = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: the class was made by a `class` statement, not in C."""
PLUMBING = frozenset([
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate__",
    "__annotate_func__", "__annotations_cache__", "__firstlineno__", "__static_attributes__",
    "__dataclass_params__", "__dataclass_fields__", "__match_args__", "__slots__", "__slotnames__", "__hash__",
    "__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__", "__classdictcell__",
])  # fmt: skip


def key_of(value: Any) -> str:
    """The text for `value`. Raises `UnknownIdentity`, which says what to pass instead."""
    return _text(value, ())


def loose_key_of(value: Any) -> str:
    """`key_of`, or of what cannot be identified the type."""
    return _loose_text(value, ())


def is_same(a: Any, b: Any) -> bool:
    """Whether two compile-time values have the same key; quick for plain ones."""
    if a.__class__ is constexpr and b.__class__ is constexpr:
        a, b = a.value, b.value
    if a is b:
        return True
    if a.__class__ is not b.__class__:
        return False
    if a is b:
        return True
    return a == b if a.__class__ in PLAIN else loose_key_of(a) == loose_key_of(b)


def _text(value: Any, around: tuple[int, ...]) -> str:
    cls = value.__class__
    if cls in PLAIN:
        return repr(value)
    if cls is float:
        return f"float({struct.pack('<d', value).hex()})"
    if cls is complex:
        return f"complex({struct.pack('<2d', value.real, value.imag).hex()})"
    if id(value) in around:
        return f"<same as {around[::-1].index(id(value))} outwards>"
    if len(around) > _DEEPEST:
        raise UnknownIdentity(f"a compile-time value is nested more than {_DEEPEST} deep", help=_HELP)
    around = (*around, id(value))
    if cls is tuple or cls is list:
        return f"{cls.__name__}({', '.join([_text(v, around) for v in value])})"
    if cls is dict:
        return f"dict({', '.join([f'{_text(k, around)}: {_text(v, around)}' for k, v in list(value.items())])})"
    if cls is set or cls is frozenset:
        return f"{cls.__name__}({', '.join(sorted(_text(v, around) for v in tuple(value)))})"
    if isinstance(value, constexpr):
        return f"constexpr[{_text(value.value, around)}]"
    if isinstance(value, base_type):
        inner = _text(value.value, around) if isinstance(value, constexpr_type) else f"{value.mangle()}, {value!r}"
        return f"{cls.__qualname__}<{inner}>"
    if isinstance(value, type):
        return _class_text(value, around)
    given = getattr(value, "cache_key", None)
    if isinstance(given, str):
        return f"{_name(cls)}#{given}"
    for kind, text in _KINDS:
        if isinstance(value, kind):
            return text(value, around)
    return _object_text(value, around)


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _enum_text(value: enum.Enum, around: tuple[int, ...]) -> str:
    cls = type(value)
    members = {} if isinstance(value, enum.Flag) else {member.name: member.value for member in cls}
    functions = {
        n: f
        for c in cls.__mro__[:-1]
        for n, f in vars(c).items()
        if _is_code(f) and getattr(f, "__module__", "") != "enum"
    }
    return f"enum {_name(cls)}.{value.name}({_text((value.value, members, functions), around)})"


def _is_code(member: Any) -> bool:
    return isinstance(member, (FunctionType, staticmethod, classmethod, property))


def _function_text(function: FunctionType, around: tuple[int, ...]) -> str:
    """A Python function: its code, defaults, what it encloses and the globals that it names."""
    code = function.__code__
    enclosed = [_text(_content(cell), around) for cell in function.__closure__ or ()]
    defaults = _text((function.__defaults__, function.__kwdefaults__), around)
    known = function.__globals__
    named = [(name, _loose_text(known[name], around)) for name in sorted(names_in(code)) if name in known]
    return f"function {_name(function)}({_digest(_code_text(code), defaults, *enclosed, str(named))})"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _declaration_text(value: Declaration[..., object], around: tuple[int, ...]) -> str:
    own = "" if value.__module__.startswith("minitriton.") else _text(value.fn, around)
    return f"operation {_name(value)}({own})"


def names_in(code: CodeType) -> set[str]:
    """The names of globals and attributes in a function's code."""
    return set(code.co_names).union(*(names_in(c) for c in code.co_consts if isinstance(c, CodeType)))


def _code_text(code: CodeType) -> str:
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {code.co_varnames} {code.co_freevars} {constants}"


def _class_text(cls: type, around: tuple[int, ...]) -> str:
    """A class: its name; of one written in Python also what its body and those of its bases hold."""
    if getattr(cls, "__triton_aggregate__", False) or not cls.__flags__ & PYTHON_CLASS or _is_of_a_library(cls):
        return f"class {_name(cls)}"
    parts = [part for base in written_classes(cls) for part in _body_texts(base, around)]
    return f"class {_name(cls)}({_digest(*parts)})"


def _body_texts(cls: type, around: tuple[int, ...]) -> list[str]:
    """What the body of a class holds. Classes may keep what they are asked in themselves: such are asked again, until they stay
    as they are, so that the text is the one that they have from then on."""
    texts: list[str] = []
    for _ in range(_MOST_ASKED):
        members = [(name, member) for name, member in list(vars(cls).items()) if name not in PLUMBING]
        texts = [f"{name}={_loose_text(member, around)}" for name, member in members]
        if [name for name in list(vars(cls)) if name not in PLUMBING] == [name for name, _ in members]:
            break
    return texts


def written_classes(cls: type) -> list[type]:
    """Of a class and its bases those whose bodies are part of what they are: written in Python, by a program."""
    return [base for base in cls.__mro__ if base.__flags__ & PYTHON_CLASS and not _is_of_a_library(base)]


def _is_of_a_library(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("builtins", "enum", "abc", "typing", "minitriton", "numpy", "torch")


def _loose_text(value: Any, around: tuple[int, ...]) -> str:
    """What a class or function holds in addition to the value itself: of what cannot be identified, the type."""
    try:
        return _text(value, around)
    except UnknownIdentity:
        return f"some {_name(type(value))}"


def _object_text(value: Any, around: tuple[int, ...]) -> str:
    """Any other object: its class, what it has of a built-in class that it derives from, and its attributes."""
    cls: type = value.__class__
    if cls is object:
        raise UnknownIdentity("a bare object() is like any other and cannot be a compile-time value", help=_HELP)
    if hasattr(cls, "data_ptr") or (hasattr(cls, "__array_interface__") and getattr(value, "ndim", 0)):
        raise UnknownIdentity(
            f"an array (a {_name(cls)}) cannot be a compile-time value",
            help="pass it to a parameter that is not a constexpr",
        )
    parts = [_class_text(cls, around)]
    for base, plain in _BUILT_IN:
        if isinstance(value, base):
            parts.append(_text(plain(value), around))
    state = _state(value)
    if state:
        parts.append(_text(state, around))
    if len(parts) == 1 or (not state and cls.__reduce__ is not object.__reduce__):
        parts.append(_reduced_text(value, around))
    return f"object({', '.join(parts)})"


_TUPLE: type[tuple[object, ...]] = tuple
_LIST: type[list[object]] = list
_DICT: type[dict[object, object]] = dict
_SET: type[set[object]] = set
_FROZENSET: type[frozenset[object]] = frozenset
_BUILT_IN: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__index__),
    (float, float.__float__),
    (str, str.__str__),
    (bytes, bytes.__bytes__),
    (tuple, lambda value: tuple(_TUPLE.__iter__(value))),
    (list, lambda value: list(_LIST.__iter__(value))),
    (dict, lambda value: dict(_DICT.items(value))),
    (frozenset, lambda value: frozenset(_FROZENSET.__iter__(value))),
    (set, lambda value: set(_SET.__iter__(value))),
)
"""Each with how a subclass's value is read without code of the subclass."""


def _state(value: Any) -> dict[str, Any]:
    """The attributes of an object, in its dictionary and its slots."""
    state: dict[str, Any] = {}
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            mangled = (
                f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            )
            if mangled not in ("__dict__", "__weakref__") and hasattr(value, mangled):
                state[mangled] = getattr(value, mangled)
    state.update(getattr(value, "__dict__", {}))
    return state


def _reduced_text(value: Any, around: tuple[int, ...]) -> str:
    """An object of a class written in C, by what `pickle` would keep of it."""
    try:
        reduced = value.__reduce_ex__(2)
    except Exception as error:
        raise UnknownIdentity(
            f"an object of type {_name(type(value))} cannot be a compile-time value: nothing says what it is ({error})",
            help=_HELP,
        ) from None
    if isinstance(reduced, str):
        return reduced
    made, arguments, state, *items = (*reduced, None, None, None)[:5]
    return _text(
        (getattr(made, "__qualname__", ""), arguments, state, *[list(i) for i in items if i is not None]), around
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


_KINDS: tuple[tuple[type | tuple[type, ...], Callable[[Any, tuple[int, ...]], str]], ...] = (
    (enum.Enum, _enum_text),
    (Declaration, _declaration_text),
    (FunctionType, _function_text),
    (ModuleType, lambda value, around: f"module {value.__name__}"),
    (MethodType, lambda value, around: f"method({_text(value.__self__, around)}, {_text(value.__func__, around)})"),
    (BuiltinFunctionType, lambda value, around: f"builtin {value.__module__}.{value.__qualname__}"),
    (property, lambda value, around: f"property({_text((value.fget, value.fset), around)})"),
    ((staticmethod, classmethod), lambda value, around: f"{type(value).__name__}({_text(value.__func__, around)})"),
)
