"""Offsets, masks, loads and stores of fuzzed kernels: what decides how memory is reached.

[8, 16], reversed rows, columns by `(i * 5 + 3) % 16`, a row stride in a parameter, the program's block in front:

    v1 = 7 - tl.arange(0, 8)
    v2 = (tl.arange(0, 16) * 5 + 3) % 16
    v3 = v1[:, None] * s1 + v2[None, :] + tl.program_id(0) * 128
"""

from minitriton.fuzz.generation.builder import KernelBuilder, apply
from minitriton.fuzz.generation.elements import BOOL, INT32, Element
from minitriton.fuzz.tree import Apply, Expr, Literal, Name, Store
from minitriton.fuzz.validity.facts import Ints, Unsound

Shape = tuple[int, ...]


def program_number(b: KernelBuilder) -> Expr:
    """The number of this program in the grid."""
    first: Expr = apply("program_id", attrs=(0,))
    if len(b.kernel.grid) == 1:
        return first
    rows = apply("num_programs", attrs=(0,)) if b.random.random() < 0.5 else Literal(b.kernel.grid[0])
    return apply("add", apply("mul", apply("program_id", attrs=(1,)), rows), first)


def coordinate(b: KernelBuilder, size: int, distinct: bool) -> Expr:
    """An expression of shape [size], below `size`; a permutation of the numbers there if `distinct`."""
    pick = b.random
    plain = apply("arange", attrs=(0, size))
    if size == 1 or pick.random() < 0.45:
        return plain
    half = 1 << pick.randrange(size.bit_length())
    odd = pick.choice([1, 3, 5, 7, 9])
    kinds = ["reverse", "step", "xor", "rotate", "blocks", "swap"]
    if not distinct:
        kinds += ["group", "repeat", "clip", "thirds"]
    kind = pick.choice(kinds)
    if kind == "reverse":
        return apply("sub", b.number(size - 1), plain)
    if kind == "step":
        return apply("mod", apply("add", apply("mul", plain, odd), pick.randrange(8)), b.number(size))
    if kind == "xor":
        return apply("xor", plain, b.number(pick.randrange(size)))
    if kind == "rotate":
        return apply("mod", apply("add", plain, b.number(pick.randrange(20))), b.number(size))
    if kind == "blocks":
        block = min(half, size)
        high = apply("mul", apply("div", plain, b.number(block)), block)
        return apply("add", high, apply("sub", block - 1, apply("mod", plain, b.number(block))))
    if kind == "swap":
        # The two parts of the number are swapped: (i % m) * (size / m) + i // m.
        m = min(half, size)
        return apply("add", apply("mul", apply("mod", plain, b.number(m)), size // m), apply("div", plain, b.number(m)))
    if kind == "group":
        return apply("div", plain, b.number(pick.choice([2, 3, 4, 8])))
    if kind == "repeat":
        return apply("mod", plain, b.number(pick.choice([2, 3, 4, 5, 7, 16])))
    if kind == "clip":
        return apply("min", plain, b.number(pick.randrange(size)))
    return apply("mod", apply("div", apply("mul", plain, 2), 3), b.number(size))


def placed(expression: Expr, axis: int, rank: int) -> Expr:
    """A row of numbers as dimension `axis` of `rank`."""
    found, have = expression, 1
    for dimension in range(rank):
        if dimension != axis:
            found = apply("index", found, attrs=(have, dimension))
            have += 1
    return found


def offsets(b: KernelBuilder, shape: Shape, *, distinct: bool) -> Expr:
    """Offsets of `shape` in elements, none below 0; if `distinct`, no two of the launch are equal."""
    pick = b.random
    rank = len(shape)
    if rank == 0:
        where = program_number(b)
        return where if distinct or pick.random() < 0.7 else apply("div", where, 2)
    total = 1
    terms: list[Expr] = []
    order = list(range(rank))
    if pick.random() < 0.3:
        pick.shuffle(order)
    for axis in reversed(order):
        row = coordinate(b, shape[axis], distinct)
        if pick.random() < 0.5:
            row = Name(b.emit(row, "i", usable=pick.random() < 0.3))
        term = placed(row, axis, rank)
        terms.append(term if total == 1 and pick.random() < 0.8 else apply("mul", term, b.number(total)))
        gap = pick.choice([0, 0, 0, 1, 3]) if rank > 1 else 0
        total *= shape[axis] + gap
    if rank == 1 and not distinct and pick.random() < 0.25:
        terms = [apply("mul", terms[0], b.number(pick.choice([2, 3, -1, -2, 4])))]
    if b.kernel.programs > 1 and (distinct or pick.random() < 0.6):
        terms.append(apply("mul", program_number(b), b.number(total)))
    for variable in b.loops:
        if distinct or pick.random() < 0.6:
            total *= b.kernel.programs
            terms.append(apply("mul", Name(variable), b.number(total)))
            total *= 8
    pick.shuffle(terms)
    found = terms[0]
    for term in terms[1:]:
        found = apply("add", found, term)
    if not distinct and pick.random() < 0.15:
        found = apply(pick.choice(["div", "mod"]), found, b.number(pick.choice([2, 3, 4, 16, 5])))
    low = b.infer(found).fact.low
    if low < 0 or pick.random() < 0.1:
        found = apply("add", found, max(-low, 0) + pick.choice([0, 0, 1, 8, 16]))
    if pick.random() < 0.1:
        found = apply("cast", found, attrs=("int64",))
    return found


def mask_for(b: KernelBuilder, shape: Shape, where: str) -> Expr:
    """A mask over offsets `where` of `shape`: by the launch, or by data."""
    pick = b.random
    fact: Ints = b.type_of(where).fact
    booleans = [
        n
        for n in b.values
        if b.type_of(n).element == BOOL and b.type_of(n).shape == shape and not b.type_of(n).type.pointer
    ]
    kind = pick.choice(["limit", "limit", "limit", "part", "pattern", "data"])
    if kind == "data" and booleans:
        return Name(pick.choice(booleans))
    if kind == "pattern":
        rest = apply("mod", Name(where), b.number(pick.choice([2, 3, 4, 8])))
        return apply(pick.choice(["eq", "ne", "lt"]), rest, pick.choice([0, 1, 2]))
    limit = pick.choice(
        [fact.high, fact.high, max(fact.high // 2, 1), max(fact.high - pick.randrange(20), 0), fact.high // 4 * 4]
    )
    found = apply(pick.choice(["lt", "le"]), Name(where), b.number(min(limit, INT32.high)))
    if kind == "part" and shape:
        axis = pick.randrange(len(shape))
        row = placed(apply("arange", attrs=(0, shape[axis])), axis, len(shape))
        found = apply("and", found, apply(pick.choice(["lt", "ge"]), row, b.number(pick.randrange(shape[axis] + 1))))
        if pick.random() < 0.3:
            found = apply("and", found, apply("lt", program_number(b), b.number(b.kernel.programs - 1)))
    return found


def other_for(b: KernelBuilder, element: Element) -> Expr:
    """What masked-off elements become."""
    if element.is_bool or element.is_fp8:
        return (
            apply("full_int", attrs=((), 1, "int1"))
            if element.is_bool
            else apply("cast", apply("full_float", attrs=((), 1.0, "float32")), attrs=(element.name,))
        )
    if element.is_float:
        return Literal(b.random.choice([0.0, 1.0, -2.0, 0.5]))
    return Literal(b.random.choice([0, 1, 7, element.low if element.bits <= 32 else -1, min(element.high, 127)]))


def emit_load(b: KernelBuilder, shape: Shape, element: Element | None = None) -> str:
    """A load of `shape`, from a new array or one that is loaded from already."""
    pick = b.random
    element = element or b.any_element()
    old = [a.name for a in b.arrays if not a.written and a.element == element]
    base = pick.choice(old) if old and pick.random() < 0.4 else b.array(element)
    where = gathered(b, shape) if pick.random() < 0.2 else None
    if where is None:
        where = b.emit(offsets(b, shape, distinct=False), "o", usable=pick.random() < 0.2)
    pointer: Expr = apply("addptr", Name(base), Name(where))
    if pick.random() < 0.15:
        pointer = apply("addptr", apply("addptr", Name(base), pick.choice([1, 4, 16])), Name(where))
    args: list[Expr] = [pointer]
    if pick.random() < 0.45:
        args += [mask_for(b, shape, where), other_for(b, element)]
    return b.emit(Apply("load", tuple(args)))


def gathered(b: KernelBuilder, shape: Shape) -> str | None:
    """Offsets taken from data: integers of `shape` brought into a range."""
    found = [
        n
        for n in b.values
        if b.type_of(n).shape == shape and b.type_of(n).element.is_int and not b.type_of(n).type.pointer
    ]
    if not found:
        return None
    name = b.random.choice(found)
    if b.type_of(name).element.name != "int32":
        name = b.emit(apply("cast", name, attrs=("int32",)), "g", usable=False)
    return b.emit(apply("and", name, (1 << b.random.randrange(3, 9)) - 1), "g", usable=False)


def stored_type(b: KernelBuilder, name: str) -> str:
    """The value as something that can be stored: booleans mostly as int8."""
    if b.type_of(name).element == BOOL and b.random.random() < 0.7:
        return b.emit(apply("cast", name, attrs=("int8",)), usable=False)
    return name


def emit_store(b: KernelBuilder, name: str) -> None:
    """Stores a value to a new array."""
    pick = b.random
    name = stored_type(b, name)
    value = b.type_of(name)
    target = b.array(value.element, written=True)
    for attempt in range(3):
        plain = attempt == 2
        where = b.emit(
            plain_offsets(b, value.shape) if plain else offsets(b, value.shape, distinct=True), "o", usable=False
        )
        mask = mask_for(b, value.shape, where) if pick.random() < 0.35 and not plain else None
        snapshot = b.analysis.snapshot()
        try:
            statement = Store(apply("addptr", Name(target), Name(where)), Name(name), mask)
            b.add(statement)
            if not b.loops:
                b.analysis.check_offsets(target)
            return
        except Unsound:
            if b.body and isinstance(b.body[-1], Store):
                b.body.pop()
            b.restore(snapshot)
    raise Unsound("no address to store to")


def plain_offsets(b: KernelBuilder, shape: Shape) -> Expr:
    """Row-major offsets of `shape`, each program after the one before."""
    total, found = 1, None
    for axis in reversed(range(len(shape))):
        term = placed(apply("arange", attrs=(0, shape[axis])), axis, len(shape))
        term = apply("mul", term, total) if total > 1 else term
        found = term if found is None else apply("add", term, found)
        total *= shape[axis]
    for index, variable in enumerate(b.loops):
        term = apply("mul", Name(variable), total * b.kernel.programs * 8**index)
        found = term if found is None else apply("add", found, term)
    start = apply("mul", program_number(b), total)
    return start if found is None else apply("add", found, start)
