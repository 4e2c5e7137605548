"""Tiles that a kernel loads through pointers, as boxes of an array: base, strides, where the box begins, and how far the array goes.

    %p = base + (start_m + range(128))[:, None] * stride_m + (64 * i + range(64))[None, :]
    tt.load %p, (64 * i + range(64))[None, :] < k

    box      base; dim 0: stride_m, from start_m, no end known; dim 1: stride 1, from 64 * i, ends at k

In: a `tt.load` of a tensor of pointers, in TTIR. Out: a `Box`, or None where the addresses are not of this form. Every number is a polynomial
of scalars of the kernel. Index arithmetic is taken not to overflow, as in `axis_info.lattice`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.arith.compare import SGT, SLT, ULT, predicate_of
from minitriton.dialects.fast_paths.op_access import last_op_of
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.tt.types import PointerType, shape_of
from minitriton.rewriting.constants import constant_attr, int_constant, number_of


@dataclass(frozen=True, eq=False)
class Remainder:
    """`dividend % divisor`, a number that no op has computed yet. It is one for a tile if `divisor` is a multiple of `size`."""

    dividend: Polynomial
    divisor: SSAValue
    size: int


Atom: TypeAlias = SSAValue | Remainder
Polynomial: TypeAlias = "Mapping[tuple[Atom, ...], int]"
"""A sum of products: from the factors of each, in the order of their identities, to its coefficient, which is not 0."""

ZERO: Polynomial = {}
ONE: Polynomial = {(): 1}
_MOST_PRODUCTS = 12


def constant(number: int) -> Polynomial:
    """The polynomial that is a number."""
    return {(): number} if number else ZERO


def atom(value: Atom) -> Polynomial:
    """The polynomial that is one scalar."""
    return {(value,): 1}


def plus(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    """`a + factor * b`."""
    total = dict(a)
    for product, coefficient in b.items():
        total[product] = total.get(product, 0) + factor * coefficient
    return {product: coefficient for product, coefficient in total.items() if coefficient}


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    """`a * b`."""
    total: dict[tuple[Atom, ...], int] = {}
    for p, x in a.items():
        for q, y in b.items():
            product = tuple(sorted(p + q, key=id))
            total[product] = total.get(product, 0) + x * y
    return {product: coefficient for product, coefficient in total.items() if coefficient}


def quotient(product: tuple[Atom, ...], by: Iterable[Atom]) -> tuple[Atom, ...] | None:
    """`product` without the factors `by`; None where it lacks one."""
    left = list(product)
    for factor in by:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


@dataclass(frozen=True)
class Affine:
    """`start + steps[0] * i0 + steps[1] * i1 + ...` at index (i0, i1, ...) of a tensor; a scalar has no steps."""

    start: Polynomial
    steps: tuple[Polynomial, ...] = ()

    @property
    def is_uniform(self) -> bool:
        """Whether all elements are equal."""
        return not any(self.steps)


@dataclass(frozen=True)
class Dimension:
    """One of a box: elements from one index to the next, the first index, how many the array has (None: no end is known), and the axis of the
    tile along it (None: a single index)."""

    stride: Polynomial
    start: Polynomial
    size: Polynomial | None
    axis: int | None


@dataclass(frozen=True)
class Box:
    """`dims` from the outermost on; the last has stride 1. It is one if the divisor of each `Remainder` is a multiple of its size."""

    base: SSAValue
    dims: tuple[Dimension, ...]
    block: tuple[int, ...]
    """Elements of the tile along each dimension."""


class NotABox(Exception):
    """The addresses have another form."""


@dataclass
class _Further:
    """Dimensions along which a tile is a single index, each with its stride and start: `batch * m * k`, and where a mask bounds rows, their stride
    times the `m` of `batch * m`."""

    dims: dict[
        tuple[SSAValue, tuple[tuple[tuple[Atom, ...], int], ...]], tuple[Polynomial, dict[tuple[Atom, ...], int]]
    ] = field(default_factory=dict[Any, Any])

    def add(self, size: SSAValue, stride: Polynomial, product: tuple[Atom, ...], coefficient: int) -> None:
        """Has `coefficient * product`, counted in `stride`, begin along the dimension of steps of `size * stride`."""
        left = quotient(product, (size,))
        assert left is not None
        _, start = self.dims.setdefault((size, tuple(stride.items())), (times(atom(size), stride), {}))
        start[left] = start.get(left, 0) + coefficient


@dataclass
class TileAddresses:
    """Boxes of the loads of one function. `arguments`: its scalar parameters, known when it is launched."""

    arguments: frozenset[SSAValue]
    _forms: dict[SSAValue, Affine] = field(default_factory=dict[SSAValue, Affine])
    _open: set[SSAValue] = field(default_factory=set[SSAValue])

    def box(self, load: tt.LoadOp, is_stride: Callable[[SSAValue], bool]) -> Box | None:
        """What `load` reads. `is_stride` says which parameters can be strides of a tensor map."""
        try:
            return self._box(load, is_stride)
        except NotABox:
            return None

    def _box(self, load: tt.LoadOp, is_stride: Callable[[SSAValue], bool]) -> Box:
        form, shape = self.of(load.ptr), shape_of(load.ptr.type)
        bases = [p for p in form.start if len(p) == 1 and isinstance(p[0], SSAValue) and _is_pointer(p[0])]
        if len(bases) != 1 or form.start[bases[0]] != 1 or bases[0][0] not in self.arguments:
            raise NotABox
        inner = [axis for axis, step in enumerate(form.steps) if step == ONE]
        outer = [axis for axis, size in enumerate(shape) if axis not in inner and size > 1]
        if len(inner) != 1 or any(len(form.steps[axis]) != 1 for axis in outer):
            raise NotABox
        strides = [form.steps[axis] for axis in outer]
        starts: list[dict[tuple[Atom, ...], int]] = [{} for _ in outer]
        rest: dict[tuple[Atom, ...], int] = {}
        further = _Further()
        for product, coefficient in form.start.items():
            if product == bases[0]:
                continue
            for stride, start in zip(strides, starts, strict=True):
                ((factors, scale),) = stride.items()
                left = quotient(product, factors)
                if left is not None and coefficient % scale == 0:
                    start[left] = start.get(left, 0) + coefficient // scale
                    break
            else:
                known = [f for f in product if isinstance(f, SSAValue) and f in self.arguments and is_stride(f)]
                if known:
                    further.add(known[0], ONE, product, coefficient)
                else:
                    rest[product] = coefficient
        sizes = self._sizes(load, len(shape))
        dims: list[Dimension] = []
        for axis, stride, start in [*zip(outer, strides, starts, strict=True), (inner[0], ONE, rest)]:
            room, size = sizes.get(axis), None
            if room is not None:
                for product in [product for product in plus(start, room) if not self._are_arguments(product)]:
                    known = [f for f in product if isinstance(f, SSAValue) and f in self.arguments]
                    if product not in start or not known:
                        raise NotABox
                    further.add(known[0], stride, product, start.pop(product))
                size = plus(start, room)
                if not all(map(self._are_arguments, size)):
                    raise NotABox
            dims.append(Dimension(stride, start, size, axis))
        dims = [*(Dimension(stride, start, None, None) for stride, start in further.dims.values()), *dims]
        base = bases[0][0]
        assert isinstance(base, SSAValue)
        return Box(base, tuple(dims), tuple(1 if dim.axis is None else shape[dim.axis] for dim in dims))

    def _are_arguments(self, product: tuple[Atom, ...]) -> bool:
        return all(factor in self.arguments for factor in product)

    # Masks

    def _sizes(self, load: tt.LoadOp, rank: int) -> dict[int, Polynomial]:
        """By axis, how many elements from the tile's first on are within the array, as far as the mask says."""
        if load.mask is None:
            return {}
        if load.other is not None and number_of(constant_attr(load.other)) != 0:
            raise NotABox
        found: dict[int, Polynomial] = {}
        for axis, room in self._rooms(load.mask):
            if found.setdefault(axis, room) != room:
                raise NotABox
        return found

    def _rooms(self, mask: SSAValue) -> list[tuple[int, Polynomial]]:
        """The conjuncts of a mask, each `index along an axis < number`."""
        op = mask.op if isinstance(mask, OpResult) else None
        if isinstance(op, arith.AndIOp):
            return [*self._rooms(op.operands[0]), *self._rooms(op.operands[1])]
        if isinstance(op, tt.BroadcastOp):
            return self._rooms(op.src)
        if isinstance(op, tt.ExpandDimsOp):
            new = op.axis.value.data
            return [(axis + (axis >= new), room) for axis, room in self._rooms(op.src)]
        if isinstance(op, arith.CmpiOp) and isinstance(op.lhs.type, TensorType):
            predicate = predicate_of(op)
            less, more = (op.rhs, op.lhs) if predicate == SGT else (op.lhs, op.rhs)
            index, bound = self.of(less), self.of(more)
            axes = [axis for axis, step in enumerate(index.steps) if step]
            if predicate in (SLT, SGT, ULT) and len(axes) == 1 and index.steps[axes[0]] == ONE and bound.is_uniform:
                return [(axes[0], plus(bound.start, index.start, -1))]
        number = constant_attr(mask)
        if number is not None and number_of(number):
            return []
        raise NotABox

    # Values

    def of(self, value: SSAValue) -> Affine:
        """Raises `NotABox`."""
        found = self._forms.get(value)
        if found is None:
            found = self._forms[value] = self._of(value)
            if len(found.start) > _MOST_PRODUCTS:
                raise NotABox
        return found

    def _of(self, value: SSAValue) -> Affine:
        if isinstance(value, BlockArgument):
            carried = self._carried(value)
            if carried is not None:
                return carried
        rank = len(shape_of(value.type))
        number = constant_attr(value)
        if number is not None and isinstance(plain := number_of(number), int):
            return Affine(constant(plain), (ZERO,) * rank)
        op = value.op if isinstance(value, OpResult) else None
        rule = None if op is None else _RULES.of(op)
        if rule is not None and op is not None:
            return rule(self, op)
        if rank:
            raise NotABox
        return Affine(atom(value))

    def _carried(self, argument: BlockArgument) -> Affine | None:
        """Of what a loop carries and moves by the same number in every iteration: what it is in one."""
        block = argument.block
        loop = block.parent_op()
        if not isinstance(loop, scf.ForOp) or argument.index == 0 or argument in self._open:
            return None
        self._open.add(argument)
        try:
            step = self._moved(last_op_of(block).operands[argument.index - 1], argument, block)
        finally:
            self._open.remove(argument)
        start = self.of(loop.operands[argument.index + 2])
        by = int_constant(loop.operands[2])
        if step is None or by is None or by <= 0 or any(c % by for c in step.values()):
            if isinstance(argument.type, TensorType):
                raise NotABox
            return None
        distance = plus(atom(block.args[0]), self.of(loop.operands[0]).start, -1)
        moved = times(distance, {product: coefficient // by for product, coefficient in step.items()})
        return Affine(plus(start.start, moved), start.steps)

    def _moved(self, value: SSAValue, argument: BlockArgument, block: Block) -> Polynomial | None:
        """By how much `value` is more than `argument` in every element, a number that the loop with `block` leaves alone."""
        total: Polynomial = ZERO
        while value is not argument:
            op = value.op if isinstance(value, OpResult) else None
            if not isinstance(op, tt.AddPtrOp | arith.AddiOp):
                return None
            step = self.of(op.operands[1])
            if not step.is_uniform or any(
                isinstance(f, Remainder) or block.is_ancestor(f.owner) for product in step.start for f in product
            ):
                return None
            total = plus(total, step.start)
            value = op.operands[0]
        return total


def _is_pointer(value: SSAValue) -> bool:
    return isinstance(value.type, PointerType)


_RULES = OpRules[Callable[[TileAddresses, Operation], Affine]]()


@_RULES.add(arith.AddiOp, tt.AddPtrOp)
def _sum(forms: TileAddresses, op: Operation) -> Affine:
    return _added(forms.of(op.operands[0]), forms.of(op.operands[1]), 1)


@_RULES.add(arith.SubiOp)
def _difference(forms: TileAddresses, op: Operation) -> Affine:
    return _added(forms.of(op.operands[0]), forms.of(op.operands[1]), -1)


def _added(a: Affine, b: Affine, factor: int) -> Affine:
    return Affine(
        plus(a.start, b.start, factor), tuple(plus(x, y, factor) for x, y in zip(a.steps, b.steps, strict=True))
    )


@_RULES.add(arith.MuliOp)
def _product(forms: TileAddresses, op: Operation) -> Affine:
    a, b = forms.of(op.operands[0]), forms.of(op.operands[1])
    if not a.is_uniform:
        a, b = b, a
    if not a.is_uniform:
        raise NotABox
    return Affine(times(a.start, b.start), tuple(times(a.start, step) for step in b.steps))


@_RULES.add(arith.ExtSIOp)
def _extension(forms: TileAddresses, op: Operation) -> Affine:
    return forms.of(op.operands[0])


@_RULES.add(tt.SplatOp)
def _splat(forms: TileAddresses, op: tt.SplatOp) -> Affine:
    return Affine(forms.of(op.src).start, (ZERO,) * len(shape_of(op.result.type)))


@_RULES.add(tt.MakeRangeOp)
def _range(forms: TileAddresses, op: tt.MakeRangeOp) -> Affine:
    return Affine(constant(op.start.value.data), (ONE,))


@_RULES.add(tt.ExpandDimsOp)
def _expanded(forms: TileAddresses, op: tt.ExpandDimsOp) -> Affine:
    form, axis = forms.of(op.src), op.axis.value.data
    return Affine(form.start, (*form.steps[:axis], ZERO, *form.steps[axis:]))


@_RULES.add(tt.BroadcastOp)
def _broadcast(forms: TileAddresses, op: tt.BroadcastOp) -> Affine:
    form = forms.of(op.src)
    steps = zip(form.steps, shape_of(op.src.type), strict=True)
    return Affine(form.start, tuple(ZERO if size == 1 else step for step, size in steps))


@_RULES.add(tt.TransOp)
def _transposed(forms: TileAddresses, op: tt.TransOp) -> Affine:
    form = forms.of(op.src)
    return Affine(form.start, tuple(form.steps[axis] for axis in op.order.get_values()))


@_RULES.add(arith.RemSIOp)
def _remainder(forms: TileAddresses, op: Operation) -> Affine:
    """(start + range(n)) % m is (start % m) + range(n), where n divides start and m."""
    form, divisor = forms.of(op.operands[0]), forms.of(op.operands[1])
    if not form.steps:
        return Affine(atom(op.results[0]))
    axes: Sequence[int] = [axis for axis, step in enumerate(form.steps) if step]
    by = [product[0] for product, coefficient in divisor.start.items() if len(product) == 1 and coefficient == 1]
    if len(axes) != 1 or form.steps[axes[0]] != ONE or not divisor.is_uniform or len(divisor.start) != 1 or not by:
        raise NotABox
    size, scalar = shape_of(op.results[0].type)[axes[0]], by[0]
    if any(c % size for c in form.start.values()) or not isinstance(scalar, SSAValue) or scalar not in forms.arguments:
        raise NotABox
    return Affine(atom(Remainder(form.start, scalar, size)), form.steps)
