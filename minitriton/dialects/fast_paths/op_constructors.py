"""Constructors of ops, made from their fields: what is written is the signature.

    class AtomicRMWOp(Op):
        ptr = operand_def(PTR_LIKE)
        val = operand_def(ANY_TT)
        mask = opt_operand_def(BOOL_LIKE)
        sem = prop_def(MemSemanticAttr)
        result = result_def(ANY_TT)

        @from_fields(like="val")
        def __init__(self, ptr: SSAValue, val: SSAValue, mask: SSAValue | None = None, *, sem: MemSemantic | str) -> None: ...

A parameter is the operand, property or region of its name. A property is made of a number, a flag, a text or a case of an enumeration as its
declaration asks; an optional one is left out where the parameter is None, or a flag that is off. The result has the type that a parameter `result_type`
gives; else that of the operand `like`; else that which its declaration tells from those of the operands (the same variable, or one that follows it).

The text of a constructor is written when it is first called and costs what one written by hand costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from inspect import Parameter, formatannotation, signature
from typing import Any, TypeVar, overload

from xdsl.dialects.builtin import StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    EqAttrConstraint,
    IRDLOperation,
    OptionalDef,
    RangeOf,
    VarConstraint,
    VariadicDef,
)
from xdsl.irdl.constraints import RangeLengthConstraint
from xdsl.irdl.operations import OpDef, OptPropertyDef, PropertyDef

from minitriton.dialects.attribute_values import bool_attr, i32_array, i32_attr
from minitriton.dialects.narrowing import instance_of

InitT = TypeVar("InitT", bound=Callable[..., None])


@overload
def from_fields(stub: InitT, /) -> InitT: ...
@overload
def from_fields(*, like: str) -> Callable[[InitT], InitT]: ...
def from_fields(stub: Any = None, /, *, like: str = "") -> Any:
    """Decorator: a constructor with this signature, which is all that is written of it."""
    if stub is None:
        return partial(_from_fields, like=like)
    return _from_fields(stub, like="")


def _from_fields(stub: Callable[..., None], *, like: str) -> Callable[..., None]:
    @wraps(stub)
    def construct(op: IRDLOperation, *arguments: Any, **named: Any) -> None:
        cls = type(op)
        made = _constructor(cls, stub, like)
        if cls.__init__ is construct:
            cls.__init__ = made
        made(op, *arguments, **named)

    return construct


@cache
def _constructor(cls: type[IRDLOperation], stub: Callable[..., None], like: str) -> Callable[..., None]:
    """What `stub` only signs, for ops of `cls`."""
    names: dict[str, Any] = {
        "Operation": Operation, "StringAttr": StringAttr, "UNIT": UnitAttr(), "i32_attr": i32_attr, "bool_attr": bool_attr,
        "i32_array": i32_array,
    }  # fmt: skip
    parameters = dict(list(signature(stub).parameters.items())[1:])
    text = "\n    ".join(_lines(cls.get_irdl_definition(), parameters, names, like))
    exec(f"def __init__(self, {_parameters(parameters, names)}):\n    {text}", names)
    return names["__init__"]


def _parameters(parameters: dict[str, Parameter], names: dict[str, Any]) -> str:
    listed: list[str] = []
    for name, parameter in parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY and "*" not in listed:
            listed.append("*")
        if parameter.default is Parameter.empty:
            listed.append(name)
        else:
            names[f"default_{name}"] = parameter.default
            listed.append(f"{name}=default_{name}")
    return ", ".join(listed)


def _lines(definition: OpDef, parameters: dict[str, Parameter], names: dict[str, Any], like: str) -> Iterator[str]:
    operands = ", ".join(_passed(name, field) for name, field in definition.operands if name in parameters)
    fields = {key: name for name, (key, _) in definition.accessor_names.items()}
    always: list[str] = []
    sometimes: list[str] = []
    for key, field in definition.properties.items():
        name = fields.get(key, key)
        if name not in parameters:
            continue
        value, condition = _property(name, field, _written(parameters[name].annotation), names)
        if condition:
            sometimes.append(f"if {condition}: properties[{key!r}] = {value}")
        else:
            always.append(f"{key!r}: {value}")
    if any(isinstance(option, AttrSizedOperandSegments) for option in definition.options):
        sizes = "".join(f"{_count(name, field, parameters)}, " for name, field in definition.operands)
        always.append(f"'operandSegmentSizes': i32_array(({sizes}))")
    regions = "".join(f"{_passed(name, field)}, " for name, field in definition.regions if name in parameters)
    if sometimes:
        yield f"properties = {{{', '.join(always)}}}"
        yield from sometimes
    given = "properties" if sometimes else f"{{{', '.join(always)}}}" if always else ""
    arguments = {
        "operands": f"({operands},)" if operands else "",
        "result_types": _results(definition, parameters, names, like) if definition.results else "",
        "properties": given,
        "regions": f"({regions})" if regions else "",
    }
    yield f"Operation.__init__(self, {', '.join(f'{key}={value}' for key, value in arguments.items() if value)})"


def _passed(name: str, field: object) -> str:
    if isinstance(field, OptionalDef):
        return f"*(() if {name} is None else ({name},))"
    return f"*{name}" if isinstance(field, VariadicDef) else name


def _count(name: str, field: object, parameters: dict[str, Parameter]) -> str:
    if name not in parameters:
        return "0"
    if isinstance(field, OptionalDef):
        return f"int({name} is not None)"
    return f"len({name})" if isinstance(field, VariadicDef) else "1"


def _written(annotation: object) -> str:
    """An annotation as it is written, where it has been evaluated too."""
    text = annotation if isinstance(annotation, str) else formatannotation(annotation)
    return text.replace("collections.abc.", "")


def _property(name: str, field: PropertyDef, annotation: str, names: dict[str, Any]) -> tuple[str, str]:
    """The attribute that a parameter becomes, and when it is there; empty if always."""
    (base,) = field.constr.get_bases() or {None}
    absent = f"{name} is not None" if "None" in annotation or isinstance(field, OptPropertyDef) else ""
    if base is UnitAttr:
        return "UNIT", name
    if base is not None and hasattr(base, "of"):
        names[base.__name__] = base
        return f"{base.__name__}.of({name})", absent
    if base is StringAttr:
        return f"StringAttr({name})", absent
    made = {"bool": f"bool_attr({name})", "int": f"i32_attr({name})", "Sequence[int]": f"i32_array(tuple({name}))"}
    return made.get(annotation.partition(" |")[0], name), absent


def _results(definition: OpDef, parameters: dict[str, Parameter], names: dict[str, Any], like: str) -> str:
    if "result_types" in parameters:
        return "result_types"
    if "result_type" in parameters:
        return "(result_type,)"
    if like:
        return f"({like}.type,)"
    of_variable: dict[str, str] = {}
    for name, field in definition.operands:
        constraint = _of_one(field.constr)
        if isinstance(constraint, VarConstraint):
            of_variable.setdefault(constraint.name, name)
    found = ""
    for name, field in definition.results:
        constraint = _of_one(field.constr)
        variable = getattr(constraint, "variable", None)
        if instance_of(constraint, _EQUAL):
            names[f"type_{name}"] = constraint.attr
            found += f"type_{name}, "
        elif isinstance(constraint, VarConstraint):
            found += f"{of_variable[constraint.name]}.type, "
        elif variable is not None:
            names[f"type_{name}"] = constraint.function
            found += f"type_{name}({of_variable[variable]}.type), "
        else:
            raise TypeError(
                f"{definition.name} does not say of what type {name} is; give the constructor a result_type, or like="
            )
    return f"({found})"


_EQUAL: type[EqAttrConstraint[Attribute]] = EqAttrConstraint
_RANGE: type[RangeOf[Attribute]] = RangeOf
_RANGE_LENGTH: type[RangeLengthConstraint[Attribute]] = RangeLengthConstraint


def _of_one(constraint: Any) -> Any:
    """What is asked of each type of a field."""
    while instance_of(constraint, (_RANGE_LENGTH, _RANGE)):
        constraint = constraint.constraint if instance_of(constraint, _RANGE_LENGTH) else constraint.constr
    return constraint
