"""The steps a fuzzed kernel is made of: each picks operands among the values at hand and adds an operation or two.

A step that leads to nothing well-formed raises `Unsound` and is taken back (`KernelBuilder.attempt`).

Steps that change shapes, go along a dimension, multiply matrices or reach memory; and the table of all steps.
"""

from collections.abc import Callable

from minitriton.fuzz.generation.accesses import emit_load, mask_for, offsets, other_for, plain_offsets
from minitriton.fuzz.generation.builder import KernelBuilder, apply
from minitriton.fuzz.generation.elements import BOOL, ELEMENTS, FLOAT32, FLOATS, INTEGERS, Element
from minitriton.fuzz.tree import Apply, Expr, Literal, Name, Store
from minitriton.fuzz.validity.facts import Unsound, Value, broadcast_shapes, need

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


def shapes(b: KernelBuilder) -> None:
    name = choose(b, is_tile)
    value = b.type_of(name)
    shape, rank = value.shape, len(value.shape)
    kind = b.random.choice(
        [
            "reshape",
            "reshape",
            "permute",
            "permute",
            "expand",
            "broadcast",
            "join",
            "interleave",
            "split",
            "flip",
            "gather",
        ]
    )
    if kind == "reshape":
        b.emit(apply("reshape", name, attrs=(_other_shape(b, value.type.size),)))
    elif kind == "permute":
        order = list(range(rank))
        b.random.shuffle(order)
        b.emit(apply("permute", name, attrs=(tuple(order),)))
    elif kind == "expand":
        need(rank < 3, "too many dimensions")
        b.emit(apply("expand_dims", name, attrs=(b.random.randrange(rank + 1),)))
    elif kind == "broadcast":
        wide = tuple(b.random.choice([2, 4, 8]) if n == 1 else n for n in shape)
        if wide == shape and rank < 3 and value.type.size <= 128:
            name, wide = b.emit(apply("expand_dims", name, attrs=(0,))), (b.random.choice([2, 4, 8]), *shape)
        need(wide != shape, "nothing to broadcast")
        b.emit(apply("broadcast_to", name, attrs=(wide,)))
    elif kind in ("join", "interleave"):
        need(value.type.size <= 1024 and (kind == "interleave" or rank < 3), "too large")
        other = cast_to(b, choose(b, lambda v: v.shape == shape), value.element)
        joint = b.emit(apply(kind, name, other))
        if kind == "join" and b.random.random() < 0.5:
            b.emit_pair(apply("split", joint))
    elif kind == "split":
        if shape[-1] != 2:
            name = b.emit(apply("reshape", name, attrs=((value.type.size // 2, 2),)))
        b.emit_pair(apply("split", name))
    elif kind == "flip":
        b.emit(apply("flip", name, attrs=(b.random.randrange(rank),)))
    else:
        axis = b.random.randrange(rank)
        index = cast_to(b, choose(b, lambda v: v.element.is_int and v.shape == shape), ELEMENTS["int32"])
        index = b.emit(apply("and", index, shape[axis] - 1), usable=False)
        b.emit(apply("gather", name, index, attrs=(axis,)))


def _other_shape(b: KernelBuilder, size: int) -> tuple[int, ...]:
    rank = b.random.choice([1, 2, 2, 3])
    bits = size.bit_length() - 1
    bounds = sorted(b.random.randint(0, bits) for _ in range(rank - 1))
    ends = [0, *bounds, bits]
    return tuple(1 << (ends[i + 1] - ends[i]) for i in range(rank))


def reductions(b: KernelBuilder) -> None:
    name = choose(b, lambda v: is_tile(v) and computes(v))
    value = b.type_of(name)
    rank = len(value.shape)
    axis = b.random.randrange(rank)
    own = b.random.random() < 0.25
    kinds = ["add", "add", "max", "min"] + (["xor", "or"] if value.element.is_int else [])
    kind = b.random.choice(kinds + (["and", "mul"] if own and value.element.is_int else []))
    if b.random.random() < 0.15:
        b.emit(apply(b.random.choice(["argmax", "argmin"]), name, attrs=(axis, b.random.random() < 0.2)))
        return
    attrs = (None if b.random.random() < 0.2 else axis, b.random.random() < 0.25)
    b.emit(apply(f"{'own_' if own else ''}reduce_{kind}", name, attrs=attrs))


def scans(b: KernelBuilder) -> None:
    name = choose(b, lambda v: is_tile(v) and computes(v) and v.type.size <= 512)
    axis, reverse = b.random.randrange(len(b.type_of(name).shape)), b.random.random() < 0.3
    op = b.random.choice(
        ["cumsum", "cumsum", "cumprod", "own_scan_add", "own_scan_max", "own_scan_min", "own_scan_xor", "own_scan_mul"]
    )
    b.emit(apply(op, name, attrs=(axis, reverse)))


def sorts(b: KernelBuilder) -> None:
    name = choose(b, lambda v: is_tile(v) and v.type.size <= 64 and computes(v))
    if b.random.random() < 0.5:
        b.emit(apply("sort", name, attrs=(b.random.random() < 0.5,)))
        return
    row = choose(b, lambda v: len(v.shape) == 1 and v.element.is_int and v.type.size <= 256)
    bins = b.random.choice([8, 16, 32])
    row = cast_to(b, row, ELEMENTS["int32"])
    b.emit(apply("histogram", b.emit(apply("and", row, bins - 1), usable=False), attrs=(bins,)))


def dots(b: KernelBuilder) -> None:
    name = b.random.choice(["int8", "float16", "bfloat16", "float32"])
    element = ELEMENTS[name]
    rows, inner, columns = (b.random.choice([16, 32]) for _ in range(3))
    inner = max(inner, 32) if element.is_int else inner
    left = cast_to(b, emit_load(b, (rows, inner), _dot_input(b, element)), element)
    right = cast_to(b, emit_load(b, (inner, columns), _dot_input(b, element)), element)
    precision = b.random.choice(["ieee", "ieee", ""]) if name == "float32" else ""
    operands: list[str] = [left, right]
    if b.random.random() < 0.4:
        kind = ELEMENTS["int32"] if element.is_int else FLOAT32
        operands.append(
            b.emit(
                apply(
                    "full_int" if element.is_int else "full_float",
                    attrs=((rows, columns), 1 if element.is_int else 1.0, kind.name),
                )
            )
        )
    b.emit(apply("dot", *operands, attrs=(precision, "int32") if element.is_int else (precision,)))


def _dot_input(b: KernelBuilder, element: Element) -> Element:
    return ELEMENTS["int8"] if element.is_int or b.random.random() < 0.1 else element


def more_loads(b: KernelBuilder) -> None:
    emit_load(b, b.random.choice(b.shapes))


def masked_copies(b: KernelBuilder) -> None:
    """Loads under a mask without `other`, and stores under the same mask what is computed from them."""
    shape = b.random.choice(b.shapes)
    element = b.random.choice([*INTEGERS, *FLOATS])
    source = b.array(element)
    plain = b.random.random() < 0.5
    where = b.emit(plain_offsets(b, shape) if plain else offsets(b, shape, distinct=True), "o", usable=False)
    mask = mask_for(b, shape, where)
    if b.random.random() < 0.5:
        mask = Name(b.emit(mask, "m", usable=False))
    found = b.emit(Apply("load", (apply("addptr", source, where), mask)), usable=False)
    for _ in range(b.random.choice([0, 1, 2])):
        value = b.type_of(found)
        if value.element.is_float:
            made = apply(b.random.choice(["fadd", "fmul", "fsub"]), found, literal(b, value.element))
        else:
            made = apply(b.random.choice(["add", "mul", "xor", "sub", "and"]), found, literal(b, value.element))
        found = b.emit(made, usable=False)
    target = b.array(b.type_of(found).element, written=True)
    b.add(Store(apply("addptr", target, where), Name(found), mask))
    need(not b.loops, "a store in each iteration")
    b.analysis.check_offsets(target)


def constants(b: KernelBuilder) -> None:
    shape = b.random.choice([*b.shapes, ()])
    element = b.random.choice([*INTEGERS, *FLOATS])
    number = other_for(b, element)
    assert isinstance(number, Literal)
    op = "full_float" if element.is_float else "full_int"
    b.emit(apply(op, attrs=(shape, float(number.value) if element.is_float else number.value, element.name)))


STEPS: list[tuple[Step, int]] = [
    *ELEMENTWISE, (shapes, 14), (reductions, 15), (scans, 4), (sorts, 2), (dots, 2), (more_loads, 10), (masked_copies, 5), (constants, 2),
]  # fmt: skip
