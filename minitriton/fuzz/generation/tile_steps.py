"""Steps that change shapes, go along a dimension, multiply matrices or reach memory; and the table of all steps."""

from __future__ import annotations

from minitriton.fuzz.generation.accesses import emit_load, mask_for, offsets, other_for, plain_offsets
from minitriton.fuzz.generation.builder import KernelBuilder, apply
from minitriton.fuzz.generation.elements import ELEMENTS, FLOAT32, FLOATS, INTEGERS, Element
from minitriton.fuzz.generation.steps import ELEMENTWISE, Step, cast_to, choose, computes, is_tile, literal
from minitriton.fuzz.tree import Apply, Literal, Name, Store
from minitriton.fuzz.validity.facts import need


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
