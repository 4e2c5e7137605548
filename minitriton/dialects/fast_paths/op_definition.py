"""How the ops of these dialects are declared: in xDSL's way, which is read when a class is first used.

    class SplatOp(Op):
        name = "tt.splat"
        ...

is what `@irdl_op_definition` makes of the same class of an `IRDLOperation`, but for when: a compile loads 270 classes of op and uses fifty. xDSL reads the
declaration of each as it is defined and compiles its `assembly_format`. Here the first use of a field, of the traits or of the definition has the declaration
read, the first parse or print has the form compiled, and fields are read fast: which operands belong to a field
is asked once, not at each read, and segment sizes are decoded once for each different one. What is wrong in a declaration is an error then.
"""

from __future__ import annotations

import inspect
import re
import struct
from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from types import new_class
from typing import Any, ClassVar, TypeAlias, TypeVar, cast, dataclass_transform, get_origin

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.irdl.declarative_assembly_format import CustomDirective, FormatProgram
from xdsl.irdl.operations import (
    AfterVariadicSingleAccessor,
    BeforeVariadicSingleAccessor,
    OpDef,
    OptionalAttrAccessor,
    OptionalPropertyAccessor,
    PropertyAccessor,
    SameOptionalAccessor,
    SingleAttrAccessor,
    UniqueVariadicAccessor,
    VariadicAttrAccessor,
    VarIRConstruct,
    get_accessors_from_op_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from minitriton.host import locks
from minitriton.host.frozen import frozen


class Op(IRDLOperation):
    """Base of every op here. A subclass with a `name` declares an op; one without is a base, which has what its ops share.

    An error in a declaration shows when the op is first used, one in its `assembly_format` when it is first parsed or printed.
    """

    def __init_subclass__(cls, *, for_reader: bool = False) -> None:
        if "name" not in vars(cls) or for_reader:
            return
        declaration = _Declaration(cls)
        for name in declaration.fields():
            setattr(cls, name, _Unread(declaration, name))
        cls.get_irdl_definition = declaration.read
        cls.verify_ = _verified(cls.verify_)
        if cls.assembly_format is not None:
            cls.parse = classmethod(_parse)  # pyright: ignore[reportAttributeAccessIssue]
            cls.print = _print

    def complaint(self) -> str | None:
        """What is wrong with the op beyond its declaration, in Triton's words: with the op's name before it where Triton has that. None if nothing."""


def _verified(own: Any) -> Any:
    def verify_(self: Op) -> None:
        verify_declaration(self, self.get_irdl_definition())
        if (wrong := self.complaint()) is not None:
            raise VerifyException(wrong)
        own(self)

    return verify_


OpT = TypeVar("OpT", bound=Op)


def named(base: type[OpT], cls: str, name: str, doc: str, *traits: OpTrait) -> type[OpT]:
    """The op `name`, a class `cls` that differs from `base` in nothing but its name and its traits."""
    body: dict[str, Any] = {"__module__": base.__module__, "__doc__": doc, "name": name}
    if traits:
        body["traits"] = traits_def(*traits)
    return cast(type[OpT], new_class(cls, (base,), exec_body=lambda written: written.update(body)))


class _Declaration:
    """What stands in the class of an op before it is read."""

    def __init__(self, cls: type[IRDLOperation]) -> None:
        self.cls, self.written = cls, dict(vars(cls))
        self.definition: OpDef | None = None

    def fields(self) -> list[str]:
        """The names of the fields, those of base classes too, and `traits`."""
        found = ["traits"]
        for base in self.cls.__mro__:
            if base is Op:
                break
            found += [name for name, value in vars(base).items() if value.__class__.__module__ == _FIELDS]
        return found

    def read(self) -> OpDef:
        """xDSL's definition; the class has its fields from now on."""
        if self.definition is None:
            with locks.DECLARATIONS:
                if self.definition is None:
                    self._read()
        assert self.definition is not None
        return self.definition

    def _read(self) -> None:
        # xDSL reads a class of the same text: in `cls` itself every name has a meaning at every moment, for other threads.
        text = self.written.get("assembly_format", self.cls.assembly_format)
        written = {**self.written, "assembly_format": None}
        metaclass: Any = type(self.cls)
        same: type[IRDLOperation] = metaclass(self.cls.__name__, self.cls.__bases__, written, for_reader=True)
        definition = OpDef.from_pyrdl(same)
        accessors = get_accessors_from_op_def(definition, None)
        for given in ("get_irdl_definition", "verify_"):
            del accessors[given]
        definition.assembly_format = text
        for name, accessor in (accessors if _has_lists(text) else fast_fields(accessors)).items():
            setattr(self.cls, name, accessor)
        self.definition = definition


_FIELDS = "xdsl.irdl.operations"
"""The module of the classes that declare fields."""


def _has_lists(text: str | None) -> bool:
    """Whether a form has all operands or results at once, for whose fields xDSL's reader asks xDSL's own accessors."""
    return text is not None and re.search(r"(?<![$\w])(operands|results)\b", text) is not None


class _Unread:
    """A field before the declaration is read: whoever asks for it has it read."""

    __slots__ = ("declaration", "name")

    def __init__(self, declaration: _Declaration, name: str) -> None:
        self.declaration, self.name = declaration, name

    def __get__(self, op: Operation | None, cls: type[Operation]) -> Any:
        self.declaration.read()
        return getattr(cls if op is None else op, self.name)

    def __set__(self, op: Operation, value: object) -> None:
        self.declaration.read()
        setattr(op, self.name, value)


DirectiveT = TypeVar("DirectiveT", bound=CustomDirective)


@dataclass_transform(frozen_default=True)
def directive(cls: type[DirectiveT]) -> type[DirectiveT]:
    """`irdl_custom_directive`: a part of a form, whose fields are directives."""
    types = inspect.get_annotations(cls, eval_str=True).items()
    cls.parameters = {name: type for name, type in types if get_origin(type) is not ClassVar}
    return frozen(cls)


@cache
def textual_form(cls: type[IRDLOperation]) -> FormatProgram:
    """The compiled `assembly_format` of an op. Raises `ParseError` if it is malformed."""
    definition = cls.get_irdl_definition()
    assert definition.assembly_format is not None
    return FormatProgram.from_str(definition.assembly_format, definition)


def _parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
    return textual_form(cls).parse(parser, cls)


def _print(self: IRDLOperation, printer: Printer) -> None:
    textual_form(type(self)).print(printer, self)


# What an op's declaration demands of types and properties, asked once for ops that are alike.
#
#     %c = arith.addi %a, %b : tensor<64xi32, #blocked>        →   counted, and four constraints tried
#     %d = arith.addi %c, %b : tensor<64xi32, #blocked>        →   alike: known to hold
#
# IR has few kinds of op, each many times. Traits look at more than types and properties and are asked about each op.

_MOST = 20_000
"""Kinds of op that are remembered."""

_held: set[tuple[object, ...]] = set()


def verify_declaration(op: IRDLOperation, definition: OpDef) -> None:
    """`definition.verify(op)`. Raises `VerifyException`."""
    if op.regions or op.successors or definition.attributes:
        definition.verify(op)
        return
    kind = (
        op.__class__,
        tuple([operand.type for operand in op.operands]),
        tuple([result.type for result in op.results]),
        tuple(op.properties.items()),
    )
    if kind in _held:
        for trait in definition.traits:
            trait.verify(op)
        return
    definition.verify(op)
    if len(_held) >= _MOST:
        _held.clear()
    _held.add(kind)


# What a dialect consists of: the ops, attributes and types that its front door names.
#
# TT = Dialect("tt", *declared("tt", globals()))      every `tt.*` class that the module `tt` defines or imports


def declared(dialect: str, *namespaces: Mapping[str, Any]) -> tuple[list[type[Operation]], list[type[Attribute]]]:
    """The ops, and the attributes and types, called `dialect.*` among the values of `namespaces`."""
    operations: list[type[Operation]] = []
    attributes: list[type[Attribute]] = []
    for names in namespaces:
        for value in names.values():
            # `issubclass` would ask each of the hundred subclasses of these abstract classes.
            bases = value.__mro__ if isinstance(value, type) else ()
            if (Operation in bases or Attribute in bases) and getattr(value, "name", "").startswith(f"{dialect}."):
                (operations if Operation in bases else attributes).append(value)
    return operations, attributes


_Values: TypeAlias = "Callable[[IRDLOperation], tuple[object, ...]]"
"""The operands, results or regions of an op."""

_TUPLE: type[tuple[object, ...]] = tuple
_ITEM: Callable[[tuple[object, ...], int], object] = _TUPLE.__getitem__
_VALUES: dict[VarIRConstruct, _Values] = {
    VarIRConstruct.OPERAND: attrgetter("_operands"),
    VarIRConstruct.RESULT: attrgetter("results"),
    VarIRConstruct.REGION: attrgetter("regions"),
}


def fast_fields(accessors: Mapping[str, object]) -> dict[str, object]:
    """`accessors`, which xDSL made of the fields of an op, those that can answer at once replaced."""
    fields = dict(accessors)
    for name, accessor in accessors.items():
        maker = _MAKERS.get(accessor.__class__)
        if maker is not None and getattr(accessor, "construct", None) in (None, *_VALUES):
            fields[name] = maker(accessor)
    return fields


def _at(values: _Values, index: int) -> property:
    return property(lambda op: _ITEM(values(op), index))


def _first(accessor: BeforeVariadicSingleAccessor) -> property:
    return _at(_VALUES[accessor.construct], accessor.idx)


def _last(accessor: AfterVariadicSingleAccessor) -> property:
    return _at(_VALUES[accessor.construct], accessor.idx - accessor.num_defs)


def _optional(accessor: SameOptionalAccessor) -> property:
    values, index, all_there = _VALUES[accessor.construct], accessor.idx, accessor.num_defs

    def get(op: IRDLOperation) -> object:
        found = values(op)
        return _ITEM(found, index) if len(found) == all_there else None

    return property(get)


def _variadic(accessor: UniqueVariadicAccessor) -> property:
    values, first, others = _VALUES[accessor.construct], accessor.idx, accessor.num_defs - 1

    def get(op: IRDLOperation) -> object:
        found = values(op)
        return found[first : first + len(found) - others]

    return property(get)


# Fields of ops that say in a property how many values each field has -------------------------------------------------------

_ends: dict[bytes, tuple[int, ...]] = {}


def _ends_of(sizes: bytes) -> tuple[int, ...]:
    """Where each field begins, and where the last ends, of segment sizes as 32-bit integers."""
    ends = [0]
    for size in struct.unpack(f"<{len(sizes) // 4}i", sizes):
        ends.append(ends[-1] + size)
    return _ends.setdefault(sizes, tuple(ends))


def _segment(
    accessor: SingleAttrAccessor | OptionalAttrAccessor | VariadicAttrAccessor,
    field: Callable[[tuple[object, ...], int, int], object],
) -> property:
    values, index = _VALUES[accessor.construct], accessor.idx
    dictionary, name = "properties" if accessor.option.as_property else "attributes", accessor.option.attribute_name
    holder: Callable[[IRDLOperation], dict[str, DenseArrayBase]] = attrgetter(dictionary)

    def get(op: IRDLOperation) -> object:
        sizes = holder(op)[name].data.data
        ends = _ends.get(sizes) or _ends_of(sizes)
        return field(values(op), ends[index], ends[index + 1])

    return property(get)


def _segment_single(accessor: SingleAttrAccessor) -> property:
    return _segment(accessor, lambda values, first, end: _ITEM(values, first))


def _segment_optional(accessor: OptionalAttrAccessor) -> property:
    return _segment(accessor, lambda values, first, end: None if first == end else _ITEM(values, first))


def _segment_variadic(accessor: VariadicAttrAccessor) -> property:
    return _segment(accessor, lambda values, first, end: values[first:end])


# Properties ---------------------------------------------------------------------------------------------------------------


def _property(accessor: PropertyAccessor) -> property:
    name = accessor.property_name

    def put(op: IRDLOperation, value: Attribute) -> None:
        op.properties[name] = value

    return property(lambda op: op.properties[name], put)


def _optional_property(accessor: OptionalPropertyAccessor) -> property:
    name, default = accessor.property_name, accessor.default_value

    def put(op: IRDLOperation, value: Attribute | None) -> None:
        if value is None:
            op.properties.pop(name, None)
        else:
            op.properties[name] = value

    return property(lambda op: op.properties.get(name, default), put)


_MAKERS: dict[type, Callable[[Any], property]] = {
    BeforeVariadicSingleAccessor: _first,
    AfterVariadicSingleAccessor: _last,
    SameOptionalAccessor: _optional,
    UniqueVariadicAccessor: _variadic,
    SingleAttrAccessor: _segment_single,
    OptionalAttrAccessor: _segment_optional,
    VariadicAttrAccessor: _segment_variadic,
    PropertyAccessor: _property,
    OptionalPropertyAccessor: _optional_property,
}
