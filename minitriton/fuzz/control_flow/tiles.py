"""Statements on tiles, scalars and memory: accumulators that loops carry, loads and stores of the same elements.

v5 = tl.load(state + (i2 & 3) * 32 + lane, mask=n1 > 3, other=0)
tl.store(state + lane, t1)
r6 = tl.where(n1 > 3, v5, 9)
"""

from minitriton.fuzz.control_flow.builder import Block, Buffer, Line, ProgramBuilder, Variable
from minitriton.fuzz.generation.elements import ELEMENTS, INT32, Element

PARTS = 4
"""Tiles that `state` holds."""
LOADED = 8
"""Tiles that `data` holds."""

ELEMENTS_OF_TILES = [
    (ELEMENTS[name], weight)
    for name, weight in [
        ("int32", 6.0), ("float32", 6.0), ("float16", 2.0), ("bfloat16", 1.0), ("float64", 0.5),
        ("int64", 1.0), ("uint32", 1.5), ("int8", 1.0), ("uint8", 0.5), ("int16", 0.5), ("uint64", 0.5),
    ]
]  # fmt: skip


def start(b: ProgramBuilder) -> None:
    """The buffers and accumulators of a program of tiles."""
    element = b.weighted(ELEMENTS_OF_TILES)
    low, high = (0, 9) if not element.signed else (-3, 3) if element.bits <= 16 else (-9, 9)
    b.buffer(Buffer("data", element, LOADED * b.size, low, high))
    b.buffer(Buffer("state", element, PARTS * b.size, low, high, written=True))
    b.buffer(Buffer("cells", INT32, 8, -1, 3, written=True))
    b.line(f"lane = tl.arange(0, {b.size})")
    for _ in range(b.random.choice([1, 1, 2])):
        b.define(
            "t",
            f"tl.full(({b.size},), {b.random.choice([0, 1, 2])}, tl.{element.name})",
            element,
            (b.size,),
            changes=True,
        )
    for kind in b.random.sample(["int32", "int32", "int64", "uint32", "uint8"], b.random.choice([1, 1, 2])):
        b.define("s", f"tl.full((), {b.random.choice([0, 1, 3])}, tl.{kind})", ELEMENTS[kind], changes=True)


def tile_of(b: ProgramBuilder) -> tuple[Element, tuple[int, ...]]:
    """The type of the program's tiles."""
    return next(v.type for v in b.variables if v.name.startswith("t"))


def tile(b: ProgramBuilder, depth: int = 0) -> str:
    """A tile that has a type of its own."""
    element, shape = tile_of(b)
    if b.tile_sources and b.chance(0.3):
        return b.random.choice(b.tile_sources)()
    pick = b.random.random()
    if pick < 0.3:
        return b.random.choice(b.of_type(element, shape)).name
    if pick < 0.55:
        return f"tl.load(data + {b.index(LOADED)} * {b.size} + lane)"
    if pick < 0.65:
        return f"(lane & 3).to(tl.{element.name})"
    if pick < 0.8 or depth > 1:
        return f"tl.full(({b.size},), {b.random.choice([0, 1, 2, 3])}, tl.{element.name})"
    if pick < 0.9:
        return f"tl.where(lane < {b.operand(INT32)}, {tile(b, depth + 1)}, {tile(b, depth + 1)})"
    return _extreme(element, b.random.choice(["minimum", "maximum"]), tile(b, depth + 1), tile(b, depth + 1))


def _extreme(element: Element, function: str, a: str, other: str) -> str:
    """A minimum or maximum, which of bfloat16 is a float32."""
    cast = ".to(tl.bfloat16)" if element.name == "bfloat16" else ""
    return f"tl.{function}({a}, {other}){cast}"


def update_tile(b: ProgramBuilder, other: str = "") -> None:
    """A new value for a tile that loops carry, computed with `other` or any tile."""
    element, shape = tile_of(b)
    name = b.random.choice(b.of_type(element, shape, changes=True)).name
    other = other or tile(b)
    if element.is_float:
        forms = [
            "{0} + {1}",
            "{0} + {1}",
            "{0} - {1}",
            _extreme(element, "maximum", "{0}", "{1}"),
            "tl.where({c}, {0}, {1})",
            "tl.where({c}, {1}, {0})",
        ]
    else:
        forms = [
            "{0} + {1}", "{0} + {1}", "{0} - {1}", "{0} ^ {1}", "{0} * 3 + {1}", "tl.minimum({0}, {1})",
            "tl.where({c}, {1}, {0})",
        ]  # fmt: skip
    condition = b.random.choice([f"lane < {b.operand(INT32)}", f"lane % 2 == {b.random.choice([0, 1])}", b.condition()])
    text = b.random.choice(forms).format(name, other, c=condition)
    if element.is_float and element.bits == 16 and b.chance(0.5):
        text = _extreme(element, "minimum", _extreme(element, "maximum", text, "-60"), "60")
    b.line(f"{name} = {text}")


def update_scalar(b: ProgramBuilder) -> None:
    """A new value for a number that loops carry."""
    found = [v for v in b.variables if v.changes and v.shape == () and v.element.is_int]
    if not found:
        return
    chosen = b.random.choice(found[-4:])
    name, other = chosen.name, b.integer(chosen.element)
    if other == name:
        other = b.parameter(chosen.element, 7)
    same = [v for v in found if v.element == chosen.element and v != chosen]
    if same and b.chance(0.2):
        b.line(f"{name}, {same[0].name} = {same[0].name}, {name}")
        return
    forms = [
        "{0} + {1}", "{0} + {1}", "{0} + 1", "{0} ^ {1}", "{0} * 3 + 1", "{0} - {1}", "tl.maximum({0}, {1})",
        "{0} * 10 + {1}",
    ]  # fmt: skip
    b.line(f"{name} = {b.random.choice(forms).format(name, other)}")


def reduce_tile(b: ProgramBuilder) -> None:
    """A number computed from all elements of a tile."""
    element, _ = tile_of(b)
    if element not in (INT32, ELEMENTS["int8"], ELEMENTS["int16"]):
        return
    target = b.random.choice(b.of_type(INT32, changes=True) or [Variable("", INT32)])
    if target.name:
        name = b.random.choice(["max", "min"]) if element == INT32 and b.chance(0.4) else "sum"
        b.line(f"{target.name} = {target.name} + tl.{name}({tile(b)}, 0)")


def part_of_state(b: ProgramBuilder) -> str:
    """Pointers to a tile of `state`."""
    return "state + lane" if b.chance(0.4) else f"state + {b.index(PARTS)} * {b.size} + lane"


def mask(b: ProgramBuilder) -> str:
    """A mask of a tile."""
    return f"lane < {b.operand(INT32)}" if b.chance(0.6) else b.condition()


def load(b: ProgramBuilder) -> None:
    element, shape = tile_of(b)
    masked = f", mask={mask(b)}, other={b.random.choice([0, 1, 5])}" if b.chance(0.4) else ""
    update_tile(b, b.define("v", f"tl.load({part_of_state(b)}{masked})", element, shape).name)


def store(b: ProgramBuilder) -> None:
    masked = f", mask={mask(b)}" if b.chance(0.3) else ""
    b.line(f"tl.store({part_of_state(b)}, {tile(b)}{masked})", writes=True)


def store_cell(b: ProgramBuilder) -> None:
    b.line(f"tl.store(cells + {b.index(8)}, ({b.integer()}) & 3)", writes=True)


def load_cell(b: ProgramBuilder) -> None:
    loaded = b.define("m", f"tl.load(cells + {b.index(8)})", INT32).name
    for variable in b.of_type(INT32, changes=True)[-1:]:
        b.line(f"{variable.name} = {variable.name} * 3 + {loaded}")


def atomic(b: ProgramBuilder) -> None:
    element, _ = tile_of(b)
    has_tile_atomics = element.name in ("int32", "int64", "float32")
    target, value = (
        (part_of_state(b), tile(b)) if has_tile_atomics and b.chance(0.6) else (f"cells + {b.index(8)}", "1")
    )
    b.line(f"tl.atomic_add({target}, {value})", writes=True)


def select_of_masked_load(b: ProgramBuilder) -> None:
    """A masked load, perhaps a store to the same elements, then the loaded value or another by the mask's condition."""
    b.features.add("a select of a masked load")
    element, shape = tile_of(b)
    condition = Variable(b.fresh("on"), ELEMENTS["int1"])
    b.line(f"{condition.name} = {b.condition()}")
    where = part_of_state(b)
    loaded = b.define("v", f"tl.load({where}, mask={condition.name}, other=0)", element, shape)
    if b.chance(0.7):
        again = where if b.chance(0.7) else part_of_state(b)
        b.line(f"tl.store({again}, {tile(b)})", writes=True)
    other = f"tl.full(({b.size},), 9, tl.{element.name})"
    name = b.fresh("r")
    if b.chance(0.3):
        b.line(f"{name} = tl.where({condition.name}, {loaded.name}, {other})")
    else:
        then, otherwise = Line(f"{name} = {loaded.name}"), Line(f"{name} = {other}")
        b.lines.append(Block(f"if {condition.name}:", (then,), (otherwise,)))
    b.variables.append(Variable(name, element, shape))
    update_tile(b, name)


HELPERS = {
    "summed": "@triton.jit\ndef summed(low, high, total):\n    for t in range(low, high):\n        total += t\n    return total\n",
    "nested": (
        "@triton.jit\ndef nested(n, m, total):\n    for t in tl.range(0, n, flatten=True):\n"
        "        for w in tl.range(t, m):\n            total += w * 3 + t\n    return total\n"
    ),
    "halved": "@triton.jit\ndef halved(n, m, total):\n    while n > m:\n        n = n // 2\n        total += n\n    return total\n",
}
"""Functions with loops of their own, of three int32."""


def call(b: ProgramBuilder) -> None:
    target = b.random.choice(b.of_type(INT32, changes=True) or [Variable("", INT32)])
    if target.name:
        name = b.random.choice(list(HELPERS))
        b.functions[name] = HELPERS[name]
        arguments = [f"({b.integer()} & 3)" if b.chance(0.8) else f"({b.integer()} % 4)" for _ in range(2)]
        b.line(f"{target.name} = {name}({', '.join(arguments)}, {target.name})")
        b.features.add("a call")


def finish(b: ProgramBuilder) -> None:
    """Stores what the accumulators hold at the end, each to its own buffer."""
    for variable in [v for v in b.variables if v.changes]:
        size = max(b.size if variable.shape else 1, 1)
        name = b.buffer(Buffer(f"out_{variable.name}", variable.element, size, written=True))
        b.line(f"tl.store({name}{' + lane' if variable.shape else ''}, {variable.name})")
