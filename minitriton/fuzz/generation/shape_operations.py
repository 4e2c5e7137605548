"""Operations that move elements: shapes, joins, gathers. What is known of the elements stays known.

int32 [0, 7] of shape [8, 4]  → reshape [32], permute [4, 8], split of [16, 2], ...
"""

from collections.abc import Callable, Iterable

import numpy as np

from minitriton.fuzz.generation.operations import declare, shown
from minitriton.fuzz.validity.facts import Fact, Ints, Pointers, Type, Value, broadcast_shapes, joined, lifted, need

Move = Callable[[np.ndarray], np.ndarray]


def _moved(fact: Fact, move: Move) -> Fact:
    if isinstance(fact, Ints) and fact.known is not None:
        return Ints(fact.low, fact.high, move(fact.known))
    if isinstance(fact, Pointers):
        offsets = _moved(fact.offsets, move)
        assert isinstance(offsets, Ints)
        return Pointers(fact.array, offsets)
    return fact


def _value(value: Value, shape: tuple[int, ...], move: Move) -> Value:
    return Value(Type(value.element, shape, value.type.pointer), _moved(value.fact, move))


def _expand_dims(values: list[Value], axis: int) -> Value:
    (v,) = values
    need(0 <= axis <= len(v.shape) and v.shape != (), "no such dimension")
    shape = (*v.shape[:axis], 1, *v.shape[axis:])
    return _value(v, shape, lambda k: np.expand_dims(k, axis + 1))


def _index_text(operands: list[str], rank: int, axis: int) -> str:
    """`x[:, None]`, for every position of a new dimension in a tensor of rank 1 or 2."""
    inside = [":"] * rank
    inside.insert(axis, "None")
    return f"{operands[0]}[{', '.join(inside)}]"


def _index(values: list[Value], rank: int, axis: int) -> Value:
    need(len(values[0].shape) == rank, "as many indices as dimensions")
    return _expand_dims(values, axis)


def _broadcast_to(values: list[Value], shape: tuple[int, ...]) -> Value:
    (v,) = values
    need(broadcast_shapes(v.shape, shape) == shape and len(v.shape) in (0, len(shape)), "cannot be broadcast so")

    def move(known: np.ndarray) -> np.ndarray:
        known = known if known.ndim == len(shape) + 1 else known.reshape(known.shape[0], *([1] * len(shape)))
        return np.broadcast_to(known, (known.shape[0], *shape))

    return _value(v, shape, move)


def _reshape(values: list[Value], shape: tuple[int, ...]) -> Value:
    (v,) = values
    need(Type(v.element, shape).size == v.type.size and v.shape != () and shape != (), "another number of elements")
    return _value(v, shape, lambda k: k.reshape(k.shape[0], *shape))


def _permute(values: list[Value], order: tuple[int, ...]) -> Value:
    (v,) = values
    need(sorted(order) == list(range(len(v.shape))) and len(order) > 1, "no permutation of the dimensions")
    return _value(v, tuple(v.shape[i] for i in order), lambda k: k.transpose(0, *(i + 1 for i in order)))


def _flip(values: list[Value], axis: int) -> Value:
    (v,) = values
    need(0 <= axis < len(v.shape) and not v.type.pointer, "no such dimension")
    need(v.shape[axis] > 1, "Triton cannot flip a single element")
    return _value(v, v.shape, lambda k: np.flip(k, axis + 1))


def _same(values: list[Value]) -> tuple[Value, Value]:
    a, b = values
    need(a.type == b.type and not a.type.pointer, "two of one type")
    return a, b


def _join(values: list[Value]) -> Value:
    a, b = _same(values)
    return Value(Type(a.element, (*a.shape, 2)), _both(a.fact, b.fact, len(a.shape), -1))


def _both(a: Fact, b: Fact, rank: int, axis: int) -> Fact:
    if isinstance(a, Ints) and isinstance(b, Ints):
        known = None
        if a.known is not None and b.known is not None:
            known = np.stack(np.broadcast_arrays(a.known, b.known), axis=axis)
        return Ints(min(a.low, b.low), max(a.high, b.high), known)
    return joined(a, b)


def _interleave(values: list[Value]) -> Value:
    joint = _join(values)
    need(values[0].shape != (), "interleave of scalars")
    shape = (*values[0].shape[:-1], 2 * values[0].shape[-1])
    return _value(joint, shape, lambda k: k.reshape(k.shape[0], *shape))


def _split(values: list[Value]) -> tuple[Value, Value]:
    (v,) = values
    need(len(v.shape) > 0 and v.shape[-1] == 2 and not v.type.pointer, "a last dimension of 2")
    first = _value(v, v.shape[:-1], lambda k: np.broadcast_to(k, (k.shape[0], *v.shape))[..., 0])
    second = _value(v, v.shape[:-1], lambda k: np.broadcast_to(k, (k.shape[0], *v.shape))[..., 1])
    return first, second


def _gather(values: list[Value], axis: int) -> Value:
    source, index = values
    need(not source.type.pointer and index.element.name == "int32", "gather takes int32 indices")
    need(len(source.shape) == len(index.shape) > axis >= 0, "gather of equal ranks")
    for i, (a, b) in enumerate(zip(source.shape, index.shape, strict=True)):
        need(i == axis or a == b, "gather changes one dimension")
    need(index.fact.low >= 0 and index.fact.high < source.shape[axis], "a gather out of bounds")
    fact = source.fact
    if isinstance(fact, Ints):
        known = None
        if fact.known is not None and index.fact.known is not None:
            rank = len(source.shape)
            a, b = lifted(fact.known, rank), lifted(index.fact.known, rank)
            assert a is not None and b is not None
            count = max(a.shape[0], b.shape[0])
            a = np.broadcast_to(a, (count, *source.shape))
            known = np.take_along_axis(a, np.broadcast_to(b, (count, *index.shape)), axis + 1)
        fact = Ints(fact.low, fact.high, known)
    return Value(Type(source.element, index.shape), fact)


def _permute_text(operands: list[str], order: Iterable[int]) -> str:
    return f"tl.permute({operands[0]}, {shown(tuple(order))})"


declare("expand_dims", "tl.expand_dims({0}, {a0})", _expand_dims)
declare("index", _index_text, _index)
declare("broadcast_to", "tl.broadcast_to({0}, {a0})", _broadcast_to)
declare("reshape", "tl.reshape({0}, {a0})", _reshape)
declare("permute", _permute_text, _permute)
declare("flip", "tl.flip({0}, {a0})", _flip)
declare("join", "tl.join({0}, {1})", _join)
declare("interleave", "tl.interleave({0}, {1})", _interleave)
declare("split", "tl.split({0})", _split)
declare("gather", "tl.gather({0}, {1}, {a0})", _gather)
