"""Operations along a dimension, and matrix products.

uint8 [0, 255] of [64, 4], sum along 0     uint32 [0, 16320] of [4]
float32 k/4 in [-8, 8], sum of 64          exact; without a grid: approximate, by what another order may change
"""

from dataclasses import replace

from minitriton.fuzz.generation.elements import FLOAT32, INT32, Element, integer
from minitriton.fuzz.generation.float_operations import is_exact, rounded
from minitriton.fuzz.generation.operations import Infer, Text, declare
from minitriton.fuzz.validity.facts import Fact, Floats, Ints, Type, Value, any_int, ints, need

PRELUDE = {
    f"combine_{name}": f"@triton.jit\ndef combine_{name}(a, b):\n    return {text}\n"
    for name, text in (
        ("add", "a + b"), ("max", "tl.maximum(a, b)"), ("min", "tl.minimum(a, b)"), ("mul", "a * b"),
        ("xor", "a ^ b"), ("or", "a | b"), ("and", "a & b"),
    )
}  # fmt: skip
"""The functions that reductions and scans of the kernel's own combine with."""


def _along(value: Value, axis: int | None) -> int:
    """How many elements a reduction combines."""
    need(value.shape != () and not value.type.pointer, "a reduction of a scalar")
    need(axis is None or 0 <= axis < len(value.shape), "no such dimension")
    return value.type.size if axis is None else value.shape[axis]


def _reduced_shape(value: Value, axis: int | None, keep: bool) -> tuple[int, ...]:
    if axis is None:
        return (1,) * len(value.shape) if keep else ()
    return (*value.shape[:axis], *((1,) if keep else ()), *value.shape[axis + 1 :])


def _sums(fact: Floats, count: int, element: Element) -> Floats:
    """The fact for sums of up to `count` numbers in any order."""
    need(not (fact.special and fact.grid is None), "NaN or infinity among approximate numbers")
    low, high = min(fact.low, fact.low * count), max(fact.high, fact.high * count)
    total = replace(fact, low=low, high=high, fused=0.0)
    need(total.size <= element.largest / 2, "a sum may overflow")
    if fact.error == 0 and is_exact(total.size, fact.grid, element):
        return total
    need(not fact.special, "NaN or infinity among approximate numbers")
    if count == 1:
        return fact
    rounding = 2.0 ** -(element.mantissa - 1) * fact.size * count * count
    error = fact.error * count + fact.fused * count + rounding
    need(error < 0.05 * total.size, "too little of the sum is certain")
    return replace(total, grid=None, error=error, either_zero=True)


def _combined(kind: str, fact: Fact, count: int, element: Element) -> Fact:
    """The fact for up to `count` elements combined by `kind`."""
    if isinstance(fact, Ints):
        if kind == "add":
            return ints(element, min(fact.low, fact.low * count), max(fact.high, fact.high * count))
        if kind in ("max", "min"):
            return Ints(fact.low, fact.high)
        if kind in ("xor", "or", "and"):
            bits = max((b if b >= 0 else ~b).bit_length() for b in (fact.low, fact.high))
            return Ints(-(1 << bits) if fact.low < 0 else 0, (1 << bits) - 1)
        return any_int(element) if count > 1 else fact
    assert isinstance(fact, Floats)
    if kind == "add":
        return _sums(fact, count, element)
    need(kind in ("max", "min"), "no such combination of floats")
    need(not (fact.special and fact.error), "NaN or infinity among approximate numbers")
    return replace(fact, fused=0.0, either_zero=fact.either_zero or (fact.negative_zero and fact.has_zero))


def _widened(value: Value, kind: str, own: bool) -> tuple[Element, Fact]:
    """The element type in which the language combines, and the fact there."""
    element = value.element
    need(not element.is_fp8 and not element.is_bool, "no reduction of fp8 or booleans")
    if own:
        need(element.name != "bfloat16" or kind not in ("max", "min"), "a maximum of bf16 is fp32")
        return element, value.fact
    if element.is_int and element.bits < 32:
        if kind == "add":
            return integer(32, element.signed), value.fact
        if kind in ("max", "min"):
            return INT32, value.fact
    if (
        element.is_float
        and element.bits < 32
        and (kind in ("max", "min") or (element.name == "bfloat16" and kind == "scan"))
    ):
        return FLOAT32, value.fact
    return element, value.fact


def _reduction(kind: str, own: bool = False) -> Infer:
    def infer(values: list[Value], axis: int | None, keep: bool) -> Value:
        (value,) = values
        count = _along(value, axis)
        if kind in ("xor", "or", "and"):
            need(value.element.is_int, "a bitwise reduction of integers")
        element, fact = _widened(value, kind, own)
        combined = _combined(kind, fact, count, element)
        if isinstance(combined, Ints):
            combined = Ints(
                combined.low, combined.high
            )  # multiplying along one element leaves the numbers, in another shape
        return Value(Type(element, _reduced_shape(value, axis, keep)), combined)

    return infer


def _arg_extreme(values: list[Value], axis: int | None, keep: bool) -> Value:
    (value,) = values
    count = _along(value, axis)
    need(axis is not None and not value.element.is_fp8 and not value.element.is_bool, "argmax along a dimension")
    need(
        not value.element.is_float or (value.fact.error == 0 and not value.fact.special),
        "argmax of approximate numbers",
    )
    return Value(Type(INT32, _reduced_shape(value, axis, keep)), Ints(0, count - 1))


def _scan(kind: str, own: bool) -> Infer:
    def infer(values: list[Value], axis: int | None, reverse: bool) -> Value:
        (value,) = values
        need(axis is not None, "a scan along a dimension")
        count = _along(value, axis)
        if kind == "mul" or kind == "xor":
            need(value.element.is_int, "a scan of integers")
        element, fact = _widened(value, kind if kind != "mul" else "", own)
        if not own and value.element.name == "bfloat16":
            element = FLOAT32
        combined = _combined(kind, fact, count, element)
        if isinstance(combined, Floats) and isinstance(fact, Floats):
            combined = replace(combined, low=min(combined.low, fact.low), high=max(combined.high, fact.high))
        if isinstance(combined, Ints) and isinstance(fact, Ints) and kind == "add":
            combined = ints(element, min(fact.low, fact.low * count), max(fact.high, fact.high * count))
        return Value(Type(element, value.shape), combined)

    return infer


def _sort(values: list[Value], descending: bool) -> Value:
    (value,) = values
    need(value.shape != () and not value.type.pointer and value.element.bits > 1, "a sort of a block")
    need(not value.element.is_fp8, "no sort of fp8")
    fact = value.fact
    if isinstance(fact, Ints):
        return Value(value.type, Ints(fact.low, fact.high))
    need(not fact.special and fact.error == 0, "a sort of approximate numbers")
    return Value(value.type, replace(fact, either_zero=fact.either_zero or fact.negative_zero))


def _histogram(values: list[Value], bins: int) -> Value:
    (value,) = values
    need(len(value.shape) == 1 and value.element == INT32, "a histogram of a row of int32")
    need(value.fact.low >= 0 and value.fact.high < bins, "a number outside of the histogram")
    return Value(Type(INT32, (bins,)), Ints(0, value.shape[0]))


def _exact_in(bits: int, fact: Floats) -> bool:
    return fact.grid is not None and fact.size * 2.0**fact.grid <= 2.0**bits


def _dot(values: list[Value], precision: str, *accumulator: str) -> Value:
    a, b = values[:2]
    need(a.element == b.element and not a.type.pointer, "a dot of one type")
    need(len(a.shape) == len(b.shape) and len(a.shape) in (2, 3), "a dot of matrices")
    need(a.shape[-1] == b.shape[-2] and a.shape[:-2] == b.shape[:-2], "matrices that fit each other")
    need(a.shape[-1] >= (32 if a.element.bits == 8 else 16), "a dot along so few elements")
    count, shape = a.shape[-1], (*a.shape[:-1], b.shape[-1])
    need(a.element.name in ("int8", "float16", "bfloat16", "float32"), "a dot of such elements")
    element = INT32 if a.element.is_int else FLOAT32
    fact = _dot_fact(a, b, count, precision)
    if len(values) == 3:
        need(values[2].type == Type(element, shape), "an accumulator that fits")
        need(accumulator == (element.name,) or element == FLOAT32, "the type of the accumulator is to be named")
        acc = values[2].fact
        if isinstance(fact, Ints):
            fact = ints(element, fact.low + acc.low, fact.high + acc.high)
        else:
            need(not acc.special and acc.error == 0 and acc.grid is not None, "an exact accumulator")
            fact = Floats(
                fact.low + acc.low, fact.high + acc.high, max(fact.grid or 0, acc.grid or 0), either_zero=True
            )
            need(is_exact(fact.size, fact.grid, FLOAT32), "an exact product")
    return Value(Type(element, shape), fact)


def _dot_fact(a: Value, b: Value, count: int, precision: str) -> Ints | Floats:
    """The fact for dots of length `count`, which must be exact: tensor cores round in their own way."""
    if a.element.is_int:
        size = count * max(abs(a.fact.low), abs(a.fact.high)) * max(abs(b.fact.low), abs(b.fact.high))
        return Ints(-size, size)
    for v in (a, b):
        need(v.fact.error == 0 and not v.fact.special and v.fact.grid is not None, "a product of exact numbers")
        need(a.element != FLOAT32 or precision == "ieee" or _exact_in(10, v.fact), "exact as tf32")
    size, grid = count * a.fact.size * b.fact.size, a.fact.grid + b.fact.grid
    need(is_exact(size, grid, FLOAT32), "an exact product")
    return replace(rounded(Floats(-size, size, grid, either_zero=True), FLOAT32), terms=count)


def _dot_text(operands: list[str], precision: str, *accumulator: str) -> str:
    extra = f', input_precision="{precision}"' if precision else ""
    if accumulator:
        extra += f", out_dtype=tl.{accumulator[0]}"
    return f"tl.dot({', '.join(operands)}{extra})"


def _axis_text(function: str) -> Text:
    def text(operands: list[str], axis: int | None, keep: bool) -> str:
        return f"{function.format(operands[0], axis)}{', keep_dims=True' if keep else ''})"

    return text


def _scan_text(function: str) -> Text:
    def text(operands: list[str], axis: int | None, reverse: bool) -> str:
        return f"{function.format(operands[0], axis)}{', reverse=True' if reverse else ''})"

    return text


def _sort_text(operands: list[str], descending: bool) -> str:
    return f"tl.sort({operands[0]}{', descending=True' if descending else ''})"


for _kind, _function in (("add", "sum"), ("max", "max"), ("min", "min"), ("xor", "xor_sum"), ("or", "reduce_or")):
    declare(f"reduce_{_kind}", _axis_text(f"tl.{_function}({{0}}, axis={{1}}"), _reduction(_kind))
for _kind in ("add", "max", "min", "mul", "xor", "or", "and"):
    declare(
        f"own_reduce_{_kind}", _axis_text(f"tl.reduce({{0}}, {{1}}, combine_{_kind}"), _reduction(_kind, own=True),
        prelude=f"combine_{_kind}",
    )  # fmt: skip
for _kind in ("add", "max", "min", "mul", "xor"):
    declare(
        f"own_scan_{_kind}", _scan_text(f"tl.associative_scan({{0}}, {{1}}, combine_{_kind}"), _scan(_kind, own=True),
        prelude=f"combine_{_kind}",
    )  # fmt: skip
declare("argmax", _axis_text("tl.argmax({0}, {1}"), _arg_extreme)
declare("argmin", _axis_text("tl.argmin({0}, {1}"), _arg_extreme)
declare("cumsum", _scan_text("tl.cumsum({0}, {1}"), _scan("add", own=False))
declare("cumprod", _scan_text("tl.cumprod({0}, {1}"), _scan("mul", own=False))
declare("sort", _sort_text, _sort)
declare("histogram", "tl.histogram({0}, {a0})", _histogram)
declare("dot", _dot_text, _dot)
