"""Strides of a kernel that is opened without a launch: rows one after another, so that no two elements share an address.

    a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak     stride_am = 112, stride_ak = 1
    q_ptr + head * stride_qh + rows[:, None] * stride_qm + columns     stride_qh = 12544, stride_qm = 112: columns need none

In: the addresses of a kernel's accesses as syntax, each with the pointer that it begins with. A stride is a parameter that is called so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PITCH = 112
"""Elements from one row to the next, and of each further axis times the one before: more than the 100 of a made-up size, and divisible by 16."""
_ACCESSED_THROUGH = frozenset(("advance", "cast", "make_block_ptr", "max_contiguous", "multiple_of", "to"))


@dataclass
class Axes:
    """How the addresses that begin with one pointer move."""

    strides: set[str] = field(default_factory=set[str])
    tiled: set[str] = field(default_factory=set[str])
    """Strides that indices of a tile are multiplied by."""
    fastest: set[str] = field(default_factory=set[str])
    """Strides that a block pointer names as those of its fastest axis."""
    is_contiguous: bool = False
    """Whether indices of a tile are added as they are."""

    def add(self, other: Axes, renamed: Mapping[str, str]) -> None:
        """Adds what a function does with the pointer, whose parameters are given those of `renamed`."""
        for mine, theirs in ((self.strides, other.strides), (self.tiled, other.tiled), (self.fastest, other.fastest)):
            mine |= {renamed[name] for name in theirs if name in renamed}
        self.is_contiguous |= other.is_contiguous

    def values(self, order: Sequence[str]) -> dict[str, int]:
        """Each stride, where the last of `order` moves fastest."""
        known = self.fastest or self.tiled
        fastest = None if self.is_contiguous else next((name for name in reversed(order) if name in known), None)
        outer = [name for name in reversed(order) if name in self.strides and name != fastest]
        found = {name: PITCH ** (1 + at) for at, name in enumerate(outer)}
        return found if fastest is None else {**found, fastest: 1}


def is_stride(name: str) -> bool:
    """Whether a parameter is called a stride."""
    return "stride" in name.lower()


def strides_of(axes: Iterable[Axes], order: Sequence[str]) -> dict[str, int]:
    """The values of all strides; one that several pointers share takes the largest."""
    found: dict[str, int] = {}
    for one in axes:
        for name, value in one.values(order).items():
            found[name] = max(value, found.get(name, 0))
    return found


def note_address(
    axes: Axes,
    address: ast.expr,
    assigned: Mapping[str, Sequence[ast.expr]],
    expanded: Callable[[ast.expr], Iterator[ast.AST]],
) -> None:
    """Adds the terms of `address` to `axes`. `expanded` gives the nodes of an expression and of what its variables were assigned."""
    for term in _terms(address, assigned, frozenset()):
        nodes = list(expanded(term))
        strides = {node.id for node in nodes if isinstance(node, ast.Name) and is_stride(node.id)}
        is_tiled = any(_called(node) == "arange" for node in nodes)
        axes.strides |= strides
        if is_tiled:
            axes.tiled |= strides
            axes.is_contiguous |= not strides


def note_block_pointer(axes: Axes, strides: ast.expr | None, order: ast.expr | None) -> None:
    """Adds what `tl.make_block_ptr(base, shape, strides, ..., order)` says."""
    if not isinstance(strides, (ast.Tuple, ast.List)) or not strides.elts:
        return
    first = order.elts[0] if isinstance(order, (ast.Tuple, ast.List)) and order.elts else None
    at = first.value if isinstance(first, ast.Constant) and isinstance(first.value, int) else len(strides.elts) - 1
    names = [one.id if isinstance(one, ast.Name) and is_stride(one.id) else None for one in strides.elts]
    axes.strides |= {name for name in names if name is not None}
    if at < len(names) and (fastest := names[at]) is not None:
        axes.fastest.add(fastest)
    else:
        axes.is_contiguous = True


def _terms(address: ast.expr, assigned: Mapping[str, Sequence[ast.expr]], seen: frozenset[str]) -> Iterator[ast.expr]:
    """What is added up."""
    match address:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            yield from _terms(left, assigned, seen)
            yield from _terms(right, assigned, seen)
        case ast.Name(id=name) if name in assigned:
            for value in assigned[name] if name not in seen else ():
                yield from _terms(value, assigned, seen | {name})
        case ast.Subscript(value=value):
            yield from _terms(value, assigned, seen)
        case ast.Call(func=ast.Attribute(value=value)) if _called(address) == "to":
            yield from _terms(value, assigned, seen)
        case ast.Call(args=[value, *_]) if _called(address) in _ACCESSED_THROUGH:
            yield from _terms(value, assigned, seen)
        case _:
            yield address


def _called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "attr", "") or getattr(function, "id", "")
