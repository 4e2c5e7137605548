"""`instance_of`: `isinstance` that keeps the type parameters of xDSL's classes.

    if isinstance(type_, TensorType): type_.element_type     a type checker knows TensorType[Unknown], and nothing of the element
    if instance_of(type_, TensorType): type_.element_type    TensorType[Attribute]: the parameter's default (PEP 696)

When the program runs it is `isinstance`, not a call around it: several classes are a tuple, not a union. A class whose parameters have
no default is given by a name that says them, as `TUPLE` and `LIST` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    A = TypeVar("A")
    B = TypeVar("B")
    C = TypeVar("C")

    @overload
    def instance_of(value: object, kind: type[A], /) -> TypeIs[A]: ...
    @overload
    def instance_of(value: object, kind: tuple[type[A], type[B]], /) -> TypeIs[A | B]: ...
    @overload
    def instance_of(value: object, kind: tuple[type[A], type[B], type[C]], /) -> TypeIs[A | B | C]: ...
    def instance_of(value: object, kind: object, /) -> bool: ...

    def subclass_of(value: type, kind: type[A], /) -> TypeIs[type[A]]: ...

else:
    instance_of = isinstance
    subclass_of = issubclass

TUPLE: type[tuple[object, ...]] = tuple
LIST: type[list[object]] = list
