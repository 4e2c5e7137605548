"""A random control-flow program from a seed, and what the reference says that it computes.

generate(7)  →  the same `Program` and arrays on every machine

Statements stand in loops, branches and after assumptions:

    for i7 in tl.range(n3, tl.load(bounds_uint8 + 1), flatten=True):        bounds: numbers, parameters, memory, outer variables
        tl.assume(n3 > 4)                                                   true where it runs; where nothing runs it may be false
"""

import random
from collections.abc import Callable

import numpy as np

from minitriton.fuzz.control_flow import tiles
from minitriton.fuzz.control_flow.builder import BOUNDS, Block, Buffer, Line, Program, ProgramBuilder, Variable
from minitriton.fuzz.control_flow.matrices import Descriptors, Matrices
from minitriton.fuzz.control_flow.reference import run_reference
from minitriton.fuzz.control_flow.values import Rejected
from minitriton.fuzz.generation.elements import INT32, INT64, Element, promoted

Write = Callable[[], object]
"""Adds the statements of a body."""

LENGTHS = [(0, 3.0), (-1, 1.0), (-2, 1.0), (-5, 0.5), (1, 3.0), (2, 4.0), (3, 3.0), (4, 2.0), (5, 1.0), (7, 0.5)]
MOST_DEPTH = 3
MOST_COPIES = 3
"""Of a statement, before one more loop around it is unrolled."""


def emit_loop(b: ProgramBuilder, write: Write) -> None:
    """A loop of any kind around what `write` adds."""
    kind = b.weighted([("for", 8.0), ("while", 1.2), ("static", 0.8)])
    if kind == "while":
        _emit_while(b, write)
    elif kind == "static":
        _emit_static(b, write)
    else:
        _emit_for(b, write)


def _emit_for(b: ProgramBuilder, write: Write) -> None:
    outer = [v for v in b.of_type(INT32) if v.name.startswith("i")]
    if outer and b.chance(0.35):
        start, stop, element, dead = *_ragged(b, outer[-1]), INT32, False
        step = b.weighted([("1", 6.0), ("2", 1.0), ("-1", 0.5)])
    else:
        start, stop, step, element, dead = _bounds(b)
    name = b.fresh("i")
    read_after = element == INT32 and b.chance(0.12)
    if read_after:
        b.line(f"{name} = {_typed(b, INT32, b.random.choice([-1, 0, 9]))}")
    factor = b.random.choice([2, 3, 4]) if b.chance(0.25) and b.copies < MOST_COPIES else 1
    header = f"for {name} in {_range(b, start, stop, step, factor)}:"

    def body() -> None:
        b.copies *= factor
        b.variables.append(Variable(name, element))
        if element == INT32 and step.isdigit() and b.chance(0.1):
            b.line(f"tl.assume({name} {b.random.choice([f'< {stop}', f'>= {start}'])})")
            b.features.add("assume about a loop's variable")
        write()

    b.block(header, body, dead=dead)
    if read_after:
        b.features.add("a loop's variable after the loop")
        b.variables.append(Variable(name, element))


def _ragged(b: ProgramBuilder, outer: Variable) -> tuple[str, str]:
    """Bounds that an outer loop's variable decides."""
    b.features.add("bounds by an outer loop")
    if b.chance(0.5):
        if not any(buffer.name == "lengths" for buffer in b.buffers):
            values = tuple(b.weighted(LENGTHS[:8]) for _ in range(8))
            b.buffer(Buffer("lengths", INT32, 8, values=values))
        index = outer.name if b.chance(0.4) else f"({outer.name} & 7)"
        if b.dead and b.chance(0.5):
            b.features.add("a bound out of bounds, never loaded")
            index = str(1 << 20)
        length = f"tl.load(lengths + {index})"
        if b.chance(0.5):
            length = b.define("k", length, INT32).name
        return "0", length
    if b.chance(0.3):
        return outer.name, b.bound(INT32, b.random.choice([1, 2, 4]))
    return "0", b.random.choice(
        [outer.name, f"{outer.name} - 1", f"{outer.name} % 3", f"({outer.name} & 3)", f"tl.cdiv({outer.name}, 2)"]
    )


def _numbers(b: ProgramBuilder, element: Element) -> tuple[int, int, int]:
    """Start, stop and step of a short range: empty, reversed, on both sides of a sign, near the end of the type, downwards."""
    length, step = b.weighted(LENGTHS), b.weighted([(1, 7.0), (2, 1.5), (3, 1.0), (5, 0.5)])
    sign = 1 << (element.bits - 1)
    if b.chance(0.06):
        b.features.add("steps that cross the type")
        step = (sign >> 1) + b.random.choice([0, 0, 1, -1, 5])
        start = element.low + b.random.choice([0, 1, 7])
        return start, start + min(max(length, 0), 2) * step + b.random.choice([0, 1]), step
    near_sign = [(sign - 2, 2.0), (sign - 60, 0.5)] if not element.signed else [(sign - 14, 2.0), (-sign + 50, 0.5)]
    start = b.weighted([(0, 6.0), (1, 1.0), (2, 1.0), (-2 if element.signed else 5, 1.5), *near_sign])
    start = max(start, element.low - length * step)
    stop = start + length * step - (b.random.randrange(step) if length > 0 else 0)
    if not element.low <= stop <= element.high:
        start, stop = 0, max(length, 0)
    if start < sign <= stop and not element.signed:
        b.features.add("unsigned bounds across the sign")
    if b.chance(0.1) and start - step >= element.low and stop > element.low:
        return stop - 1, start - 1, -step
    return start, stop, step


def _bounds(b: ProgramBuilder) -> tuple[str, str, str, Element, bool]:
    """The texts of a range's start, stop and step, the type of its variable, and whether it never runs."""
    element = b.weighted(BOUNDS)
    start, stop, step = _numbers(b, element)
    b.features.add(f"{element.short} bounds")
    length = (stop - start) * (1 if step > 0 else -1)
    if length <= 0:
        b.features.add("a loop that never runs" if length == 0 else "a range below its start")
    if (start, step, element) == (0, 1, INT32) and b.chance(0.6):
        return "0", b.bound(element, stop), "1", element, length <= 0
    texts = [b.bound(element, start), b.bound(element, stop, literal=element == INT32), str(step)]
    if step > 0 and b.chance(0.15):
        b.features.add("a step at run time")
        if element.signed and b.dead:
            b.features.add("a negative step at run time, never run")
            step = -step
        texts[2] = b.bound(element, step, literal=False)
    first, last, by = (_type_of(text, element) for text in texts)
    return texts[0], texts[1], texts[2], promoted(promoted(first, last), by), length <= 0


def _type_of(text: str, element: Element) -> Element:
    """The type of a bound that is a Python number, or has type `element`."""
    if not text.lstrip("-").isdigit():
        return element
    return INT32 if INT32.low <= int(text) <= INT32.high else INT64


def _range(b: ProgramBuilder, start: str, stop: str, step: str, factor: int) -> str:
    """The call of `range` or `tl.range`, perhaps with hints; `factor`: copies of the body that unrolling makes."""
    arguments = [stop] if start == "0" and step == "1" and b.chance(0.6) else [start, stop]
    if step != "1":
        arguments.append(step)
    hints: list[str] = []
    if b.depth < MOST_DEPTH and b.chance(0.4):
        hints.append("flatten=True")
    if b.chance(0.3):
        hints.append(f"num_stages={b.random.choice([1, 2, 3, 4])}")
    if factor > 1:
        hints.append(f"loop_unroll_factor={factor}")
    if b.chance(0.05):
        hints.append(b.random.choice(["disable_licm=True", "disallow_acc_multi_buffer=True"]))
    b.features.update(hint.split("=")[0] for hint in hints)
    name = "tl.range" if hints or b.chance(0.4) else "range"
    return f"{name}({', '.join([*arguments, *hints])})"


def _typed(b: ProgramBuilder, element: Element, value: int) -> str:
    """This number as a value that a loop may carry."""
    if element == INT32 or 0 <= value <= INT32.high:
        return f"tl.full((), {value}, tl.{element.name})"
    return b.in_memory(element, value)


def _emit_while(b: ProgramBuilder, write: Write) -> None:
    b.features.add("while")
    element, length, step = b.weighted(BOUNDS), b.weighted(LENGTHS), b.random.choice([1, 1, 1, 2, 3])
    base = b.weighted([(0, 4.0), (1, 1.0), (max(element.high // 2 - 1, 0), 1.0)])
    stop = max(min(base + length * step, element.high - step), element.low)
    counter = Variable(b.fresh("c"), element)
    b.line(f"{counter.name} = {_typed(b, element, base)}")
    limit = b.bound(element, stop) if element.bits >= 32 else b.bound(element, stop, literal=False)
    condition = f"{counter.name} < {limit}"
    go_on = ""
    pick = b.random.random()
    if pick < 0.2:
        condition = f"({condition}) & ({b.condition()})"
    elif pick < 0.4:
        b.features.add("a loop that a load ends")
        condition = (
            f"({condition}) {b.random.choice(['&', 'and'])} (tl.load(cells + {b.index(8)}) < {b.random.choice([2, 3])})"
        )
    elif pick < 0.65:
        b.features.add("a loop that its body ends")
        go_on = b.fresh("go")
        b.line(f"{go_on} = tl.full((), 1, tl.int32)")
        condition = f"({condition}) {b.random.choice(['&', 'and'])} ({go_on} != 0)"
    with b.scope(dead=length <= 0) as body:
        b.variables.append(counter)
        write()
        if go_on and b.chance(0.5):
            b.line(f"{go_on} = ({b.condition()}).to(tl.int32)")
        elif go_on:
            b.lines.append(Block(f"if {b.condition()}:", (Line(f"{go_on} = tl.full((), 0, tl.int32)"),)))
        elif b.chance(0.1):
            b.features.add("a loop that its body ends")
            b.line(f"{counter.name} = tl.where({b.condition()}, {limit}, {counter.name})")
        b.line(f"{counter.name} += {step}")
    b.lines.append(Block(f"while {condition}:", tuple(body)))
    b.variables.append(counter)


def _emit_static(b: ProgramBuilder, write: Write) -> None:
    b.features.add("static_range")
    name = b.fresh("u")

    first, count = b.random.choice([0, 0, 1, 3]), b.random.choice([0, 1, 2, 3] if b.copies < MOST_COPIES else [0, 1])

    def body() -> None:
        b.copies *= max(count, 1)
        b.numbers.append(name)
        write()

    b.block(f"for {name} in tl.static_range({first}, {first + count}):", body, dead=count == 0)


def emit_local_sum(b: ProgramBuilder, write: Write) -> None:
    """A loop around updates of a number of its own, which is added to another one afterwards."""
    own = b.define("q", f"tl.full((), {b.random.choice([0, 1])}, tl.int32)", INT32, changes=True).name

    def body() -> None:
        b.line(f"{own} = {own} + {b.integer()}")
        if b.chance(0.3):
            write()

    emit_loop(b, body)
    total = b.random.choice(b.of_type(INT32, changes=True)).name
    b.line(f"{total} = {total} + {own} * {b.operand(INT32)}")


def emit_branch(b: ProgramBuilder, write: Write) -> None:
    """An `if`, perhaps on a number that is known to decide it, with or without `else`."""
    dead = False
    if b.chance(0.4):
        value = b.random.choice([0, 1, 2, 16, 33, -4])
        limit = b.random.choice([0, 2, 5])
        condition, dead = f"{b.parameter(INT32, value)} > {limit}", value <= limit
    else:
        condition = b.condition()
    with b.scope(dead=dead) as then:
        if b.chance(0.35):
            b.line(f"tl.assume({condition})")
            b.features.add("assume in a branch")
        write()
    otherwise: list[Line | Block] = []
    if b.chance(0.4):
        with b.scope() as otherwise:
            if b.chance(0.2):
                b.line(
                    f"tl.assume(({condition}) == 0)"
                    if " > " not in condition or "(" in condition
                    else f"tl.assume({condition.replace('>', '<=')})"
                )
                b.features.add("assume in an else branch")
            write()
    b.lines.append(Block(f"if {condition}:", tuple(then), tuple(otherwise)))


def emit_assume(b: ProgramBuilder, write: Write) -> None:
    """An assumption about the parameters: true where it runs, anything where nothing runs it."""
    scalars = [s for s in b.scalars if not s.element.is_float]
    if not scalars:
        return
    one = b.random.choice(scalars)
    other = b.random.choice([s for s in scalars if s.element == one.element])
    choices = [
        (f"{one.name} {op} {text}", truth)
        for text, value in ((other.name, int(other.value)), ("0", 0), ("2", 2))
        for op, truth in (
            (">", one.value > value),
            (">=", one.value >= value),
            ("<", one.value < value),
            ("!=", one.value != value),
        )
        if text != one.name
    ]
    choices.append((f"{one.name} % 16 == 0", int(one.value) % 16 == 0))
    condition, truth = b.random.choice(choices)
    if b.dead or truth:
        b.line(f"tl.assume({condition})")
        b.features.add("assume" if truth else "a false assume, never run")
    elif b.chance(0.7):
        b.lines.append(Block(f"if {condition}:", (Line(f"tl.assume({condition})"),)))
        b.features.add("assume in a branch")


ATTEMPTS = 200

Statement = Callable[[], object]


def generate(seed: int) -> tuple[Program, list[np.ndarray]]:
    """The program of `seed`, and its arrays after the run."""
    for attempt in range(ATTEMPTS):
        program = _drawn(seed, random.Random(f"{seed}/{attempt}"))
        try:
            return program, run_reference(program)
        except Rejected:
            continue
    raise AssertionError(f"no program for seed {seed} in {ATTEMPTS} attempts")


def _drawn(seed: int, rng: random.Random) -> Program:
    b = ProgramBuilder(seed, rng)
    matrices = Matrices(b) if b.chance(0.3) else None
    if matrices is None:
        tiles.start(b)
    statements = _of_matrices(b, matrices) if matrices is not None else _of_tiles(b)
    budget = rng.randint(2, 7) if matrices is not None else rng.randint(3, 13)

    def some() -> None:
        """A few statements, or a block of them."""
        nonlocal budget
        for _ in range(rng.choice([1, 1, 2, 2, 3])):
            budget -= 1
            pick = rng.random()
            if b.depth < MOST_DEPTH and budget > 0 and pick < 0.33:
                emit_loop(b, some)
            elif b.depth < MOST_DEPTH and budget > 0 and pick < 0.4:
                emit_local_sum(b, some)
            elif b.depth < MOST_DEPTH and budget > 0 and pick < 0.5:
                emit_branch(b, some)
            elif pick < 0.56:
                emit_assume(b, some)
            else:
                b.weighted(statements)()
        if b.depth and rng.random() < 0.5:
            tiles.update_scalar(b)

    while budget > 0:
        emit_loop(b, some) if b.chance(0.6) else some()
    if matrices is not None and b.chance(0.7):
        b.weighted([(matrices.dot, 1.0), (matrices.sum_of_products, 2.0)])()
    matrices.finish() if matrices is not None else tiles.finish(b)
    return b.finished()


def _of_tiles(b: ProgramBuilder) -> list[tuple[Statement, float]]:
    kinds: list[tuple[Callable[[ProgramBuilder], None], float]] = [
        (tiles.update_tile, 5.0), (tiles.update_scalar, 5.0), (tiles.load, 3.0), (tiles.store, 3.0), (tiles.store_cell, 1.5),
        (tiles.load_cell, 1.5), (tiles.reduce_tile, 1.5), (tiles.select_of_masked_load, 1.2), (tiles.call, 0.8), (tiles.atomic, 0.6),
    ]  # fmt: skip
    statements: list[tuple[Statement, float]] = [((lambda kind=kind: kind(b)), weight) for kind, weight in kinds]
    element, _ = tiles.tile_of(b)
    if b.chance(0.25) and Descriptors.possible(b, element):
        descriptors = Descriptors(b, element, tiles.LOADED)
        b.tile_sources.append(descriptors.load)
        statements.append((lambda: descriptors.store(tiles.tile(b)), 4.0))
    return statements


def _of_matrices(b: ProgramBuilder, matrices: Matrices) -> list[tuple[Statement, float]]:
    return [
        (matrices.dot, 4.0),
        (matrices.sum_of_products, 4.0),
        (matrices.rewrite, 2.0),
        (lambda: tiles.update_scalar(b), 3.0),
        (lambda: tiles.store_cell(b), 1.0),
        (lambda: tiles.load_cell(b), 1.0),
    ]
