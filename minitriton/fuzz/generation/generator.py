"""A random kernel from a seed: loads, a handful of steps, loops and branches around more steps, stores.

generate(7)  →  the same `Kernel` on every machine

Statements around steps: loops that change values, accumulated reductions, branches, calls, atomic updates.
"""

import random

from minitriton.fuzz.generation.accesses import emit_load, emit_store, gathered, mask_for, offsets, program_number
from minitriton.fuzz.generation.builder import KernelBuilder, apply
from minitriton.fuzz.generation.elements import BOOL, ELEMENTS, INT32, INT64
from minitriton.fuzz.generation.steps import ELEMENTWISE, STEPS, cast_to, choose, computes, fitted, is_tile, step
from minitriton.fuzz.tree import (
    Apply,
    Assign,
    Atomic,
    Expr,
    For,
    Helper,
    If,
    Kernel,
    Literal,
    Name,
    Return,
    Stmt,
    While,
    expressions,
    names_in,
    nested,
)
from minitriton.fuzz.validity.analysis import Analysis, analyse
from minitriton.fuzz.validity.facts import Unsound, Value, need
from minitriton.target.architectures import WARP_SIZE


def _update(b: KernelBuilder, name: str) -> Assign:
    """A new value of the same type for a name: `acc += x`, `acc = max(acc, x)`, `acc = where(c, acc, x)`."""
    value = b.type_of(name)
    element, shape = value.element, value.shape
    other = cast_to(b, choose(b, lambda v: computes(v) and (v.element.is_float == element.is_float)), element)
    other = fitted(b, other, shape)
    if element.is_float:
        ops = ["fadd", "fadd", "fmax", "fmin", "fsub"]
    else:
        ops = ["add", "add", "sub", "xor", "max", "min", "or", "and", "mul"]
    found: Expr = apply(b.random.choice(ops), name, other)
    conditions = [n for n in b.values if b.type_of(n).element == BOOL and b.type_of(n).shape in ((), shape)]
    if conditions and b.random.random() < 0.3:
        found = apply("where", b.random.choice(conditions), found, name)
    need(b.infer(found).type == value.type, "another type")
    return Assign(name, found)


def _accumulator(b: KernelBuilder) -> str:
    """A value that a loop or a branch changes: an old one, or zeros."""
    if b.random.random() < 0.5:
        return choose(b, lambda v: computes(v) and is_tile(v))
    element = ELEMENTS[b.random.choice(["float32", "int32", "int32", "float16", "int64", "uint8"])]
    op, zero = ("full_float", 0.0) if element.is_float else ("full_int", 0)
    return b.emit(apply(op, attrs=(b.random.choice(b.shapes), zero, element.name)))


def _bound(b: KernelBuilder) -> Expr:
    """How often a loop runs: a number, a parameter, by program, or by data."""
    pick = b.random.random()
    if pick < 0.4:
        return Literal(b.random.choice([0, 1, 2, 3, 4]))
    if pick < 0.7:
        return Name(b.scalar(INT32, b.random.choice([0, 1, 2, 3, 5])))
    if pick < 0.85:
        return apply("add", apply("program_id", attrs=(0,)), b.random.choice([0, 1]))
    name = cast_to(b, choose(b, lambda v: v.element.is_int and is_tile(v)), INT32)
    masked = b.emit(apply("and", name, 3), usable=False)
    return Name(b.emit(apply("reduce_max", masked, attrs=(None, False)), usable=False))


def emit_loop(b: KernelBuilder) -> None:
    """A loop around a few steps that changes one or two values."""
    need(len(b.loops) < 2, "loops too deep")
    pick = b.random
    changed = [_accumulator(b) for _ in range(pick.choice([1, 1, 2]))]
    names = _alike(b, changed[0]) if pick.random() < 0.35 else ()
    stop, step_size = _bound(b), pick.choice([1, 1, 1, 2, 3])
    pointers = None
    if pick.random() < 0.3:
        source = b.array(b.any_element())
        where = b.emit(offsets(b, pick.choice(b.shapes), distinct=False), "o", usable=False)
        pointers = b.emit(apply("addptr", source, where), "p", usable=False)
    variable = b.fresh("k")
    start = Literal(pick.choice([0, 0, 0, 1]))
    with b.inner_block() as body:
        b.analysis.env[variable] = b.analysis.value(start) if isinstance(stop, Literal) else _around(b, stop)
        b.loops.append(variable)
        try:
            if pointers is not None:
                b.emit(apply("load", pointers))
            elif pick.random() < 0.6:
                emit_load(b, pick.choice(b.shapes))
            for _ in range(pick.randint(0, 3)):
                step(b, STEPS if pick.random() < 0.3 else ELEMENTWISE)
            if len(b.loops) == 1 and pick.random() < 0.25:
                b.attempt(lambda: emit_loop(b))
            if pick.random() < 0.2:
                b.attempt(lambda: emit_branch(b))
            for name in dict.fromkeys(changed):
                b.add(_update(b, name))
            if pick.random() < 0.25:
                b.attempt(lambda: _rearrange(b, changed[0]))
            _exchange(b, names)
            if pointers is not None:
                b.add(Assign(pointers, apply("addptr", pointers, b.number(pick.choice([1, 4, 16, 32])))))
            if pick.random() < 0.15:
                b.attempt(lambda: emit_store(b, choose(b, lambda v: True)))
        finally:
            b.loops.pop()
    kind = pick.choice(["range", "range", "tl.range", "while", "tl.static_range"])
    if kind == "while":
        b.add(While(variable, start, stop, step_size, tuple(body)))
    else:
        if kind == "tl.static_range" and not isinstance(stop, Literal):
            kind = "range"
        b.add(For(variable, start, stop, step_size, tuple(body), kind))


def _alike(b: KernelBuilder, name: str) -> tuple[str, ...]:
    """Names of values of the type of `name`, which is the first: what a loop hands from one to the other."""
    value = b.type_of(name)
    op, zero = ("full_float", 0.0) if value.element.is_float else ("full_int", b.random.choice([0, 1, 3]))
    made = [b.emit(apply(op, attrs=(value.shape, zero, value.element.name))) for _ in range(b.random.choice([1, 1, 2]))]
    return (name, *made)


def _exchange(b: KernelBuilder, names: tuple[str, ...]) -> None:
    """In a loop: `a = c`, in turn for all of `names` or one of them, and branches known at compile time that would change one."""
    for target, source in zip(names, names[1:] + names[:1], strict=True):
        if b.random.random() < 0.6:
            b.add(Assign(target, Name(source)))
        if b.random.random() < 0.5:
            side = (_update(b, source),)
            b.add(If(Literal(b.random.random() < 0.3), side, (Assign(target, Name(source)),)))


def _rearrange(b: KernelBuilder, name: str) -> None:
    """The elements of a tile in another order: permuted, and reshaped back to what it was."""
    value = b.type_of(name)
    shape = value.shape
    need(len(shape) > 0, "a tile")
    if len(shape) == 1:
        rows = 1 << b.random.randrange(shape[0].bit_length())
        tile: Expr = apply("reshape", name, attrs=((rows, shape[0] // rows),))
        order: tuple[int, ...] = (1, 0)
    else:
        tile, order = Name(name), tuple(b.random.sample(range(len(shape)), len(shape)))
    b.add(Assign(name, apply("reshape", apply("permute", tile, attrs=(order,)), attrs=(shape,))))


def emit_return(b: KernelBuilder) -> None:
    """An early end: `if c: store; return`."""
    need(not b.loops, "not in a loop")
    condition = _condition(b)
    with b.inner_block() as body:
        if b.random.random() < 0.7:
            b.attempt(lambda: emit_store(b, choose(b, lambda v: True)))
        b.add(Return())
    b.add(If(condition, tuple(body)))


def emit_accumulated_reduction(b: KernelBuilder) -> None:
    """A loop that reduces a tile in every iteration and accumulates what comes out: what passes move out of the loop."""
    pick = b.random
    shape = pick.choice([s for s in b.shapes if s] or [(16,)])
    element = ELEMENTS[
        pick.choice(["float32", "float32", "float16", "int32", "int32", "int8", "uint16", "int64", "float64"])
    ]
    axis = None if pick.random() < 0.2 else pick.randrange(len(shape))
    kind = pick.choice(["add", "add", "add", "max", "min"] + (["xor"] if element.is_int else []))
    variable, stop = b.fresh("k"), _bound(b)
    need(b.infer(stop).fact.high <= 5, "few iterations")
    with b.inner_block() as body:
        b.analysis.env[variable] = b.infer(stop)
        b.loops.append(variable)
        try:
            name = emit_load(b, shape, element)
            for _ in range(pick.choice([0, 0, 1, 2])):
                step(b, ELEMENTWISE)
            name = choose(b, lambda v: v.shape == shape and v.element == element) if pick.random() < 0.5 else name
            reduced = b.emit(apply(f"reduce_{kind}", name, attrs=(axis, False)))
        finally:
            b.loops.pop()
        found = b.type_of(reduced)
    combine = {"add": "add", "max": "max", "min": "min", "xor": "xor"}[kind if pick.random() < 0.8 else "add"]
    zero = ("full_float", 0.0) if found.element.is_float else ("full_int", pick.choice([0, 1, 5]))
    accumulator = b.emit(apply(zero[0], attrs=(found.shape, zero[1], found.element.name)))
    if pick.random() < 0.15:
        combine = "sub" if combine == "add" else combine
    combine = f"f{combine}" if found.element.is_float else combine
    sides = (Name(accumulator), Name(reduced))
    if combine.endswith(("add", "max", "min")) and pick.random() < 0.3:
        sides = sides[::-1]
    body.append(Assign(accumulator, apply(combine, *sides)))
    kind_of_loop = pick.choice(["range", "range", "tl.range", "while"])
    start = Literal(pick.choice([0, 0, 1]))
    if kind_of_loop == "while":
        b.add(While(variable, start, stop, 1, tuple(body)))
    else:
        b.add(For(variable, start, stop, pick.choice([1, 1, 2]), tuple(body), kind_of_loop))


def _around(b: KernelBuilder, stop: Expr) -> Value:
    """A value like the loop's variable, while the body is made."""
    return b.infer(stop)


def _condition(b: KernelBuilder) -> Expr:
    """A scalar boolean: of a parameter, the program or data."""
    pick = b.random.random()
    if pick < 0.3:
        return apply(b.random.choice(["eq", "lt", "ge"]), program_number(b), b.random.choice([0, 1, 2]))
    if pick < 0.5:
        return apply(b.random.choice(["gt", "ne"]), b.scalar(INT32, b.random.choice([0, 3, 17])), 3)
    name = choose(b, lambda v: computes(v) and is_tile(v) and v.element.is_int)
    total = b.emit(
        apply(b.random.choice(["reduce_max", "reduce_add", "reduce_xor"]), name, attrs=(None, False)), usable=False
    )
    return apply(b.random.choice(["gt", "lt", "eq"]), total, b.random.choice([0, 5, 100]))


def emit_branch(b: KernelBuilder) -> None:
    """An `if` that changes a value or two, in one branch or in both."""
    pick = b.random
    changed = [_accumulator(b) for _ in range(pick.choice([1, 1, 2]))]
    condition = _condition(b)
    sides: list[tuple[Stmt, ...]] = []
    for side in range(2):
        with b.inner_block() as body:
            for _ in range(pick.randint(0, 2)):
                step(b, ELEMENTWISE)
            for name in dict.fromkeys(changed):
                if side == 0 or pick.random() < 0.6:
                    b.add(_update(b, name))
            if pick.random() < 0.2:
                b.attempt(lambda: emit_store(b, choose(b, lambda v: True)))
        sides.append(tuple(body))
    if pick.random() < 0.4:
        sides[1] = ()
    b.add(If(condition, sides[0], sides[1]))


def emit_call(b: KernelBuilder) -> None:
    """A function of one or two values, and a call of it."""
    arguments = [choose(b, computes) for _ in range(b.random.choice([1, 2, 2]))]
    shapes = [b.type_of(a).shape for a in arguments]
    name, outside = b.fresh("helper"), b.loops
    parameters = tuple(f"p{i}" for i in range(len(arguments)))
    with b.inner_block() as body:
        env = {p: b.type_of(a) for p, a in zip(parameters, arguments, strict=True)}
        b.analysis.env, b.values, b.loops = env, list(parameters), []
        kept = b.shapes, len(b.arrays), len(b.scalars)
        b.shapes = [s for s in shapes if s] or [(4,)]
        try:
            for _ in range(b.random.randint(1, 4)):
                step(b, ELEMENTWISE)
            need(len(b.arrays) == kept[1] and len(b.scalars) == kept[2], "a function of its arguments only")
            result = Name(b.values[-1])
        finally:
            b.shapes, b.loops = kept[0], outside
    # A function that is compiled by itself takes and gives numbers only.
    numbers_only = not any(shapes) and b.random.random() < 0.5
    helper = Helper(name, parameters, tuple(body), result, numbers_only)
    b.helpers.append(helper)
    b.analysis.helpers[name] = helper
    for _ in range(b.random.choice([1, 1, 2])):
        b.emit(Apply(f"call:{name}", tuple(map(Name, arguments))))


def emit_atomic(b: KernelBuilder) -> None:
    """Atomic updates, at addresses that data or the launch decides."""
    value = choose(b, lambda v: computes(v) and v.type.size <= 512)
    element = b.type_of(value).element
    if element.is_float:
        value = cast_to(b, value, ELEMENTS["float32"])
        op = "add"
    else:
        if element.bits < 32:
            value = cast_to(b, value, ELEMENTS[b.random.choice(["int32", "uint32"])])
        op = b.random.choice(["add", "add", "max", "min", "and", "or", "xor"])
    found = b.type_of(value)
    target = b.array(found.element, written=True)
    where = gathered(b, found.shape) if b.random.random() < 0.4 else None
    where = where or b.emit(offsets(b, found.shape, distinct=False), "o", usable=False)
    mask = mask_for(b, found.shape, where) if b.random.random() < 0.4 else None
    b.add(Atomic(op, apply("addptr", target, where), Name(value), mask))


ATTEMPTS = 50
MOST_STORES = 4


def kernel_seed(seed: int, number: int) -> int:
    """The seed of kernel `number` of the run `seed`."""
    return random.Random(f"{seed}:{number}").getrandbits(48)


def generate(seed: int) -> Kernel:
    """The kernel of `seed`."""
    return generate_analysed(seed)[0]


def generate_analysed(seed: int) -> tuple[Kernel, Analysis]:
    """The kernel of `seed`, and what is known of it."""
    for attempt in range(ATTEMPTS):
        try:
            kernel = _generate(seed, random.Random(f"{seed}/{attempt}"))
            return kernel, analyse(kernel)
        except Unsound:
            continue
    raise AssertionError(f"no kernel for seed {seed} in {ATTEMPTS} attempts")


def _generate(seed: int, rng: random.Random) -> Kernel:
    grid = rng.choice([(1,), (2,), (2,), (3,), (4,), (2, 2), (1, 3)])
    num_warps = rng.choice([1, 2, 4, 4, 4, 8])
    is_small = rng.random() < 0.2
    b = KernelBuilder(seed, rng, grid, num_warps, rng.random() < 0.75)
    b.shapes = _shapes(rng, WARP_SIZE * num_warps if is_small else 1 << 10)
    for _ in range(rng.randint(2, 4)):
        b.attempt(lambda: emit_load(b, rng.choice(b.shapes)))
    if rng.random() < 0.3:
        b.attempt(lambda: b.emit(_scalar_value(b)))
    for _ in range(rng.randint(3, 10)):
        pick = rng.random()
        if pick < 0.12:
            b.attempt(lambda: emit_loop(b))
        elif pick < 0.15:
            b.attempt(lambda: emit_accumulated_reduction(b))
        elif pick < 0.21:
            b.attempt(lambda: emit_branch(b))
        elif pick < 0.25:
            b.attempt(lambda: emit_call(b))
        elif pick < 0.28:
            b.attempt(lambda: emit_atomic(b))
        elif pick < 0.3:
            b.attempt(lambda: emit_return(b))
        else:
            step(b, STEPS)
    _stores(b)
    return b.finished()


def _shapes(rng: random.Random, largest: int) -> list[tuple[int, ...]]:
    """A few shapes that go together, of at most `largest` elements: one whole, and parts of it."""
    rank = rng.choice([1, 1, 1, 2, 2, 2, 3])
    most = min(largest, 512 if rank == 3 else 1024)
    while True:
        shape = tuple(
            1 << rng.choice([0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8] if rank < 3 else [0, 1, 2, 3, 4]) for _ in range(rank)
        )
        size = 1
        for n in shape:
            size *= n
        if 2 <= size <= most:
            break
    found = [shape, shape, shape]
    if rank > 1:
        found += [(n,) for n in shape if n > 1]
    if rank == 3:
        found.append(shape[1:])
    if rng.random() < 0.2:
        found.append(())
    return found


def _scalar_value(b: KernelBuilder) -> Expr:
    """A number from outside: a parameter, or the program's."""
    pick = b.random.random()
    if pick < 0.3:
        return program_number(b)
    if pick < 0.7:
        return Name(b.scalar(INT32, b.random.choice([0, 1, 2, 3, 7, 16, 48, -5, 1000])))
    if pick < 0.8:
        return Name(b.scalar(INT64, b.random.choice([1 << 40, -(1 << 33), 1 << 31])))
    return Name(b.scalar(ELEMENTS["float32"], b.random.choice([0.5, 2.0, -1.25, 3.0])))


def _stores(b: KernelBuilder) -> None:
    """Stores what nothing else uses, the newest first."""
    used = {name for s in b.body for name in _mentioned(s)}
    loose = [n for n in b.values if n in b.analysis.env and n not in used and not b.type_of(n).type.pointer]
    stored = 0
    for name in reversed(loose):
        if stored < MOST_STORES and b.attempt(lambda name=name: emit_store(b, name)):
            stored += 1
    if not stored:
        emit_store(b, choose(b, lambda v: True))


def _mentioned(statement: Stmt) -> set[str]:
    found = {n for e in expressions(statement) for n in names_in(e)}
    for body in nested(statement):
        for inner in body:
            found |= _mentioned(inner)
    return found
