"""The one form in which command lines say what a kernel takes: types, hints and values that are compiled in.

    *fp32:16, i32:1, n=i32, 1024, EPS=0.5
        →  in order: *fp32, divisible by 16;  i32, equal to 1;  n: i32;  the next one is 1024;  EPS = 0.5

An item is `[NAME=]TYPE[:HINT]` or `[NAME=]VALUE` (what a parameter under `tl.constexpr` is given is a value, `ACC=fp32` an element type), or for a tuple items without names in brackets: `(*fp32:16, i32, (0.5, *i64))`, where numbers
are compiled in. Items without a name go to the parameters that have none yet, in order; a parameter that
nothing is said of takes what `@triton.heuristics` computes from the values of others, or its default. Commas inside of brackets belong to
the item: `tensordesc<fp16[128, 64]>`. Values are spelled:

    1024  0.5  True  None  'text'  (64, 32)      as in Python          fp32  float32  tl.float32      the element type
    BlockedLayout([1], [32], [4], [0])           a layout of a Gluon kernel
    @relu  @ops.relu                             what the kernel's file calls `relu`, `ops.relu`: a function, say
    (fp32, @relu)                                a tuple of these      anything else                   a string
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from minitriton.commands.kernel_files import advice_on, computed_values
from minitriton.commands.signature_text import (
    LAYOUT_CALL,
    is_literal,
    is_value,
    items_by_parameter,
    literal,
    split_items,
    typed,
)
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.frontend.function import JITCallable
from minitriton.language import dtypes
from minitriton.language.gluon.layouts import read_layout
from minitriton.language.signatures import str_to_ty
from minitriton.pipeline.ast_source import ASTSource, Attributes, Path, TypeName


def value_of(text: str, kernel: JITCallable) -> object:
    """The value that `text` spells for a parameter of `kernel`. Raises `MinitritonError` for a name that its file does not have."""
    text = text.strip()
    if is_literal(text):
        return literal(text)
    if text.startswith("@"):
        return _named(text[1:], kernel)
    if text.startswith("(") and text.endswith(")"):
        return tuple(value_of(item, kernel) for item in split_items(text[1:-1]))
    found = element_type(text)
    if found is None and LAYOUT_CALL.fullmatch(text):
        return read_layout(text)
    return text if found is None else found


def element_type(text: str) -> dtypes.dtype | None:
    """The element type that `text` names, in a launch's words or in the language's."""
    name = text.removeprefix("triton.language.").removeprefix("tl.")
    found = getattr(dtypes, name, None)
    if isinstance(found, dtypes.dtype):
        return found
    try:
        named = str_to_ty(name)
    except MinitritonError:
        return None
    return named if isinstance(named, dtypes.dtype) else None


def _named(name: str, kernel: JITCallable) -> object:
    first, *rest = name.split(".")
    scope = kernel.get_capture_scope()
    if first not in scope:
        raise MinitritonError(
            f"the file of {kernel.fn.__name__!r} lacks {first!r}, given as '@{name}'",
            help="@NAME is a function, or another value, that the kernel's file defines or imports",
        )
    found = scope[first]
    for part in rest:
        if not hasattr(found, part):
            raise MinitritonError(
                f"{first!r} lacks {part!r}, given as '@{name}'",
                help=f"@NAME names what the file of {kernel.fn.__name__!r} has",
            )
        found = getattr(found, part)
    return found


DIVISIBLE, EQUAL_TO_ONE = 16, 1


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel. `hint` is 16 (divisible by 16), 1 (equal to 1) or None; `constant` is compiled in if `is_constant`.

    A tuple has `items`, parameters as well, and is called by its text.
    """

    name: str
    type_name: str
    hint: int | None = None
    constant: object = None
    is_constant: bool = False
    items: tuple[Parameter, ...] = ()

    @property
    def is_passed(self) -> bool:
        """Whether the compiled kernel takes it."""
        return not self.is_constant and self.hint != EQUAL_TO_ONE


def parse_signature(text: str, kernel: JITCallable) -> list[Parameter]:
    """All parameters of `kernel` in order. Raises `MinitritonError` for what does not fit."""
    found: dict[str, Parameter] = {}
    names: list[str] = list(kernel.arg_names)
    compiled_in = {parameter.name for parameter in kernel.params if parameter.is_constexpr}
    for name, item in items_by_parameter(text, names):
        found[name] = _constant(name, value_of(item, kernel)) if name in compiled_in else _parameter(name, item, kernel)
    computed = computed_values(kernel, {name: given.constant for name, given in found.items() if given.is_constant})
    for parameter in kernel.params:
        if parameter.name in found:
            continue
        if parameter.name in computed:
            found[parameter.name] = _constant(parameter.name, computed[parameter.name])
        elif parameter.has_default:
            found[parameter.name] = _constant(parameter.name, parameter.default)
        else:
            raise MinitritonError(
                f"no type given for parameter {parameter.name!r}",
                help=advice_on(kernel, parameter.name) or "name all of: " + ", ".join(names),
            )
    return [found[name] for name in names]


def source_of(kernel: JITCallable, parameters: list[Parameter]) -> ASTSource:
    """What is compiled for `kernel` with these parameters."""
    types = {p.name: _type_of(p) for p in parameters}
    scalars = list(_scalars(parameters))
    constants = {path: p.constant if p.is_constant else 1 for path, p in scalars if not p.is_passed}
    attrs: Attributes = {path: [["tt.divisibility", DIVISIBLE]] for path, p in scalars if p.hint == DIVISIBLE}
    return ASTSource.of(kernel, types, constants, attrs)


def _type_of(parameter: Parameter) -> TypeName:
    if parameter.items:
        return tuple(_type_of(item) for item in parameter.items)
    return parameter.type_name if parameter.is_passed else "constexpr"


def _scalars(parameters: Iterable[Parameter], path: Path = ()) -> Iterator[tuple[Path, Parameter]]:
    """Everything that is no tuple, with its path."""
    for i, parameter in enumerate(parameters):
        if parameter.items:
            yield from _scalars(parameter.items, (*path, i))
        else:
            yield (*path, i), parameter


def ast_source(kernel: JITCallable, signature: str) -> ASTSource:
    """The source of `kernel` for a signature such as `*fp32:16,i32,BLOCK=128`. Raises `MinitritonError`, at the kernel's `def`, for others."""
    try:
        return source_of(kernel, parse_signature(signature, kernel))
    except MinitritonError as error:
        if error.location is None:
            error.location = SourceLocation(kernel.file_name, kernel.begin_line)
        raise


def _parameter(name: str, text: str, kernel: JITCallable) -> Parameter:
    text = text.strip()
    if text.startswith("("):
        value = value_of(text, kernel) if text.endswith(")") and is_literal(text) else None
        return _tuple(name, text, kernel) if value is None else _constant(name, value)
    if is_value(text):
        return _constant(name, value_of(text, kernel))
    return Parameter(name, *typed(text, name))


def _tuple(name: str, text: str, kernel: JITCallable) -> Parameter:
    if text[-1] != ")" or len(split_items(text)) != 1:
        raise MinitritonError(f"{text!r} has a bracket that nothing closes", help="a tuple is written (*fp32:16, i32)")
    parts = split_items(text[1:-1])
    items = [_parameter(f"{name}[{i}]", item, kernel) for i, item in enumerate(parts)]
    return Parameter(name, text, items=tuple(items))


def _constant(name: str, value: object) -> Parameter:
    return Parameter(name, "constexpr", constant=value, is_constant=True)
