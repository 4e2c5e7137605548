"""The steps a fuzzed kernel is made of: each picks operands among the values at hand and adds an operation or two.

A step that leads to nothing well-formed raises `Unsound` and is taken back (`KernelBuilder.attempt`).
"""

from __future__ import annotations

from collections.abc import Callable

from minitriton.fuzz.generation.builder import KernelBuilder, apply
from minitriton.fuzz.generation.elements import BOOL, ELEMENTS, FLOAT32, FLOATS, INTEGERS, Element
from minitriton.fuzz.tree import Expr, Literal, Name
from minitriton.fuzz.validity.facts import Unsound, Value, broadcast_shapes

Step = Callable[[KernelBuilder], object]

INT_BINARY = ["add", "sub", "mul", "and", "or", "xor", "min", "max", "div", "mod", "shl", "shr"]
FLOAT_BINARY = ["fadd", "fadd", "fsub", "fsub", "fmul", "fmul", "fmin", "fmax"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]
SMOOTH = ["exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "sin", "cos", "erf", "sigmoid"]


def choose(b: KernelBuilder, accept: Callable[[Value], bool]) -> str:
    """A value that is acceptable, one of the newest more likely."""
    found = [n for n in b.values if n in b.analysis.env and not b.type_of(n).type.pointer and accept(b.type_of(n))]
    if not found:
        raise Unsound("no such value")
    recent = found[-4:]
    return b.random.choice(recent if b.random.random() < 0.6 else found)


def is_tile(v: Value) -> bool:
    return v.shape != ()


def computes(v: Value) -> bool:
    """Whether there is arithmetic on it."""
    return not v.element.is_bool and not v.element.is_fp8


def cast_to(b: KernelBuilder, name: str, element: Element) -> str:
    """A value as another element type."""
    if b.type_of(name).element == element:
        return name
    return b.emit(apply("cast", name, attrs=(element.name,)), usable=b.random.random() < 0.3)


def fitted(b: KernelBuilder, name: str, shape: tuple[int, ...]) -> Expr:
    """A value in a form that broadcasts to `shape`, or with it."""
    value = b.type_of(name)
    have = value.shape
    if have in ((), shape):
        return Name(name)
    if len(have) == 1 and len(shape) == 2:
        axes = [axis for axis in (0, 1) if shape[1 - axis] == have[0]]
        if axes:
            return apply("index", name, attrs=(1, b.random.choice(axes)))
    if value.type.size == _size(shape):
        return apply("reshape", name, attrs=(shape,))
    if len(have) == len(shape) == 2 and have == shape[::-1]:
        return apply("permute", name, attrs=((1, 0),))
    if len(have) < len(shape):
        have = (1,) * (len(shape) - len(have)) + have
    broadcast_shapes(have, shape)
    return Name(name)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def literal(b: KernelBuilder, element: Element) -> Literal:
    """A number for an operand of this type."""
    pick = b.random
    if element.is_float:
        return Literal(pick.choice([0.5, 1.0, 2.0, -1.0, 0.25, 3.0, -0.5, 4.0, 0.0]))
    small = [0, 1, 2, 3, 5, 7, 8, 16, 100, -1, -2, -7, element.high, element.low, 1 << pick.randrange(element.bits - 1)]
    fitting = [v for v in small if element.low <= v <= element.high and -(1 << 31) <= v < 1 << 31]
    return Literal(pick.choice(fitting))


def integers(b: KernelBuilder) -> None:
    op = b.random.choice(INT_BINARY)
    a = choose(b, lambda v: v.element.is_int)
    value = b.type_of(a)
    second = _second(b, value, lambda v: v.element.is_int)
    if op in ("div", "mod"):
        second = _divisor(b, second, value.element)
    elif op in ("shl", "shr"):
        second = _amount(b, second, value.element)
    first, second = (
        (Name(a), second) if b.random.random() < 0.75 or op in ("shl", "shr", "div", "mod") else (second, Name(a))
    )
    b.emit(apply(op, first, second))


def _second(b: KernelBuilder, other: Value, accept: Callable[[Value], bool]) -> Expr:
    """Another operand for an operation on a value of this type."""
    if b.random.random() < 0.3:
        return literal(b, other.element)
    name = choose(b, accept)
    mixed = other.element.is_int and b.random.random() < 0.15
    if not mixed:
        name = cast_to(b, name, other.element)
    return fitted(b, name, other.shape)


def _divisor(b: KernelBuilder, found: Expr, element: Element) -> Expr:
    if isinstance(found, Literal):
        choices = [2, 3, 5, 7, 8, 10, 16, 33, 64, 100] + ([-2, -3, -7] if element.signed else [])
        return Literal(b.random.choice([c for c in choices if c <= element.high]))
    fact = b.infer(found).fact
    if fact.low > 0 or fact.high < -1:
        return found
    return apply("add", apply("and", found, b.random.choice([3, 7, 15])), b.random.choice([1, 2, 5]))


def _amount(b: KernelBuilder, found: Expr, element: Element) -> Expr:
    if isinstance(found, Literal):
        return Literal(b.random.randrange(element.bits))
    return apply("and", found, min(b.random.choice([3, 7, element.bits - 1]), element.bits - 1))


def floats(b: KernelBuilder) -> None:
    op = b.random.choice(FLOAT_BINARY)
    a = choose(b, lambda v: v.element.is_float and computes(v))
    second = _second(b, b.type_of(a), lambda v: computes(v) and (v.element.is_float or b.random.random() < 0.3))
    first, second = (Name(a), second) if b.random.random() < 0.7 else (second, Name(a))
    b.emit(apply(op, first, second))


def one_float(b: KernelBuilder) -> None:
    kind = b.random.choice(
        ["neg", "abs", "floor", "ceil", "isnan", "clamp", "fma", "fdiv", "div_rn", "iabs", "not", "umulhi"]
    )
    if kind in ("iabs", "not", "umulhi"):
        name = choose(b, lambda v: v.element.is_int)
        if kind == "umulhi":
            name = cast_to(b, name, ELEMENTS[b.random.choice(["int32", "uint32", "int64"])])
            other = cast_to(b, choose(b, lambda v: v.element.is_int), b.type_of(name).element)
            b.emit(apply("umulhi", name, fitted(b, other, b.type_of(name).shape)))
        else:
            b.emit(apply("abs" if kind == "iabs" else "not", name))
        return
    name = choose(b, lambda v: v.element.is_float and computes(v))
    if kind in ("floor", "ceil", "fma", "fdiv", "div_rn"):
        name = cast_to(b, name, FLOAT32)
    if kind == "clamp":
        low = b.random.choice([-4.0, -1.0, 0.0])
        element = b.type_of(name).element.name
        bounds = [apply("full_float", attrs=((), x, element)) for x in (low, low + b.random.choice([1.0, 2.5, 5.0]))]
        b.emit(apply("clamp", name, *bounds))
    elif kind == "fma":
        shape = b.type_of(name).shape
        others = [cast_to(b, choose(b, computes), FLOAT32) for _ in range(2)]
        b.emit(apply("fma", name, *(fitted(b, o, shape) for o in others)))
    elif kind in ("fdiv", "div_rn"):
        b.emit(apply(kind, name, _float_divisor(b, name)))
    else:
        b.emit(apply(kind, name))


def _float_divisor(b: KernelBuilder, other: str) -> Expr:
    found = [n for n in b.values if b.type_of(n).element == FLOAT32 and b.type_of(n).fact.low > 0.1]
    if found and b.random.random() < 0.6:
        return fitted(b, b.random.choice(found), b.type_of(other).shape)
    return apply("full_float", attrs=((), b.random.choice([2.0, 3.0, -4.0, 0.75]), "float32"))


def smooth(b: KernelBuilder) -> None:
    name = choose(b, lambda v: v.element.is_float and computes(v))
    name = cast_to(b, name, FLOAT32)
    op = b.random.choice(SMOOTH)
    if b.attempt(lambda: b.emit(apply(op, name))):
        return
    # Numbers from 0.5 to 2, where every function is defined.
    small = apply("cast", apply("and", choose(b, lambda v: v.element.is_int), 3), attrs=("float32",))
    b.emit(apply(op, b.emit(apply("fadd", apply("fmul", small, 0.5), 0.5))))


def casts(b: KernelBuilder) -> None:
    name = choose(b, lambda v: True)
    element = b.random.choice([*INTEGERS, *FLOATS, FLOAT32, BOOL, ELEMENTS["float8e4nv"], ELEMENTS["float8e5"]])
    if b.type_of(name).element.is_fp8:
        element = b.random.choice([FLOAT32, FLOATS[0]])
    if b.random.random() < 0.2 and not b.type_of(name).element.is_bool:
        same = [e for e in INTEGERS if e.bits == b.type_of(name).element.bits]
        b.emit(apply("bitcast", name, attrs=(b.random.choice(same).name,)))
    else:
        b.emit(apply("cast", name, attrs=(element.name,)))


def comparisons(b: KernelBuilder) -> None:
    a = choose(b, computes)
    second = _second(b, b.type_of(a), lambda v: computes(v) and v.element.is_float == b.type_of(a).element.is_float)
    b.emit(apply(b.random.choice(COMPARISONS), a, second))


def booleans(b: KernelBuilder) -> None:
    a = choose(b, lambda v: v.element.is_bool)
    if b.random.random() < 0.25:
        b.emit(apply("not", a))
        return
    second = fitted(b, choose(b, lambda v: v.element.is_bool), b.type_of(a).shape)
    b.emit(apply(b.random.choice(["and", "or", "xor", "eq", "ne"]), a, second))


def choices(b: KernelBuilder) -> None:
    condition = choose(b, lambda v: v.element.is_bool)
    a = choose(b, lambda v: True)
    element, shape = b.type_of(a).element, b.type_of(a).shape
    other = cast_to(b, choose(b, lambda v: v.element.is_float == element.is_float or computes(v)), element)
    b.emit(apply("where", fitted(b, condition, shape), a, fitted(b, other, shape)))


ELEMENTWISE: list[tuple[Step, int]] = [
    (integers, 26), (floats, 22), (one_float, 8), (smooth, 4), (casts, 10), (comparisons, 8), (booleans, 3), (choices, 9),
]  # fmt: skip


def step(b: KernelBuilder, kinds: list[tuple[Step, int]]) -> bool:
    """One step, of a kind that leads to something; False if none was found in some attempts."""
    for _ in range(12):
        (chosen,) = b.random.choices([k for k, _ in kinds], [w for _, w in kinds])
        if b.attempt(lambda chosen=chosen: chosen(b)):
            return True
    return False
