"""Short and odd dots, written by `tl.dot` or as reductions, alone and in loops; tensor descriptors over every edge of a tensor.

    r4 = tl.sum(x1[:, :, None] * y2[None, :, :], 1)         k of 1 to 32, every axis, several types
    r4 = tl.reduce(x1[:, :, None] * y2[None, :, :], 1, added_backward)
    acc = tl.dot(x1, y2, acc)

The first factor of float32 holds numbers of 12 bits: what rounds it to tf32 changes the sum.

    from1 = tl.make_tensor_descriptor(data, [n2, 24], [32, 1], [4, 8])
    v3 = tl.reshape(from1.load([(i4 & 3) - 1, (i4 & 7) * 4 - 8]), (32,))
    to2.store([at2 * 4, 0], tl.reshape(t1, (4, 8)))

Descriptors are used only as hardware and pointers agree: first columns and the rows that are stored to are multiples of 16 bytes, stores begin inside,
and no element is stored to twice or read again, for no barrier is between a tensor copy and other accesses.
"""

from dataclasses import dataclass

from minitriton.fuzz.control_flow.builder import Buffer, ProgramBuilder
from minitriton.fuzz.generation.elements import ELEMENTS, FLOAT32, INT32, Element

STORES = 6
"""Blocks that a tensor holds to store to."""
ADDED = frozenset({"int32", "uint32", "uint64", "float32", "float16", "bfloat16"})
"""Types that `atomic_add` of a descriptor takes."""


@dataclass(frozen=True)
class Descriptor:
    """`text` makes or names it; `block` and `sizes` are the same length. `at` counts the blocks stored."""

    text: str
    block: tuple[int, ...]
    sizes: tuple[int, ...]
    at: str = ""


class Descriptors:
    """The descriptors of a program of tiles, and statements about them. `tile` is the type of its tiles."""

    def __init__(self, b: ProgramBuilder, element: Element, loaded: int) -> None:
        self.b, self.element = b, element
        self.chunk = 128 // element.bits
        self.loads = [self._of("data", loaded * b.size, whole_rows=False) for _ in range(b.random.choice([1, 1, 2]))]
        self.stores: list[Descriptor] = []
        for method in ("store", "atomic_add") if element.name in ADDED else ("store",):
            if b.chance(0.5):
                part = STORES * b.size
                name = b.buffer(Buffer(f"rows_{method}", element, part, 0, 3, written=True))
                found = self._of(name, part, whole_rows=True)
                at = b.define("at", f"tl.full((), {b.random.choice([0, 0, 1])}, tl.int32)", INT32).name
                self.stores.append(Descriptor(f"{found.text}.{method}", found.block, found.sizes, at))

    @staticmethod
    def possible(b: ProgramBuilder, element: Element) -> bool:
        """Whether a tile's bytes are enough for a tensor copy."""
        return element.name != "float64" and b.size * element.bits >= 128

    def _of(self, buffer: str, length: int, *, whole_rows: bool) -> Descriptor:
        """A descriptor of a buffer of `length` elements; with `whole_rows` a row's bytes are a multiple of 16."""
        b, chunk = self.b, self.chunk
        unit = chunk if whole_rows else 1
        columns = b.random.choice([c for c in (chunk, 2 * chunk, 4 * chunk, b.size) if chunk <= c <= b.size])
        if columns == b.size:
            sizes, strides, block = (unit * b.random.randint(1, length // unit),), "[1]", (b.size,)
        else:
            stride = columns * b.random.choice([1, 2])
            rows = b.random.randint(1, length // stride)
            sizes = rows, unit * b.random.randint(1, stride // unit)
            strides, block = f"[{stride}, 1]", (b.size // columns, columns)
        shape = ", ".join(b.bound(INT32, size) for size in sizes)
        text = f"tl.make_tensor_descriptor({buffer}, [{shape}], {strides}, {list(block)})"
        b.features.add(f"descriptors of {len(block)} dimensions")
        if b.chance(0.3):
            b.features.add("a descriptor made where it is used")
            return Descriptor(text, block, sizes)
        name = b.fresh("d")
        b.line(f"{name} = {text}")
        return Descriptor(name, block, sizes)

    def load(self) -> str:
        """A tile loaded at any rows and any chunk of 16 bytes, before the tensor and after it too."""
        b = self.b
        found = b.random.choice(self.loads)
        column = f"(({b.integer()} & {b.random.choice([1, 3, 7])}) - {b.random.choice([0, 0, 1, 2])}) * {self.chunk}"
        offsets = [column] if len(found.block) == 1 else [f"({b.integer()} & 3) - {b.random.choice([0, 1])}", column]
        loaded = f"{found.text}.load([{', '.join(offsets)}])"
        return loaded if len(found.block) == 1 else f"tl.reshape({loaded}, ({b.size},))"

    def store(self, tile: str) -> None:
        """Stores or adds a tile to the next block."""
        if not self.stores:
            return
        found = self.b.random.choice(self.stores)
        block = found.block
        offsets = [f"{found.at} * {block[0]}"]
        if len(block) == 2:
            offsets.append("0")
            tile = f"tl.reshape({tile}, {block})"
        self.b.line(f"{found.text}([{', '.join(offsets)}], {tile})")
        self.b.line(f"{found.at} += 1")


CHUNKS = 3
"""Slices of K that the factors hold, for loops over them."""

_BODIES = {
    "added": "return a + b",
    "added_backward": "return b + a",
    "larger": "return tl.maximum(a, b).to(a.dtype)",
    "chosen": "return tl.where(a > b, a, b)",
    "added_with_zero": "return a + b + 0",
    "negated": "return -(-a - b)",
}
_TWO = "@triton.jit\ndef both(a0, a1, b0, b1):\n    total = a0 + b0\n    return {}\n"
_TWO_RESULTS = {"both": "total, total", "both_and_larger": "total, tl.maximum(a1, b1).to(a1.dtype)"}
_INDICES = ("[:, :, None]", "[None, :, :]", "[:, None, :]")


class Matrices:
    """The shapes and factors of a program of matrices, and statements about them."""

    def __init__(self, b: ProgramBuilder) -> None:
        self.b = b
        name = b.weighted(
            [("float32", 5.0), ("float16", 3.0), ("bfloat16", 1.5), ("int8", 1.0), ("int32", 1.0), ("float64", 0.5)]
        )
        self.element: Element = ELEMENTS[name]
        self.m, self.n = b.random.choice([(16, 16), (16, 16), (16, 16), (32, 16), (16, 32), (8, 16), (4, 8), (2, 16)])
        self.k = b.weighted([(1, 1.0), (2, 1.0), (4, 1.0), (8, 1.0), (16, 1.5), (32, 0.2)])
        if b.chance(0.3):
            self.m = self.n = self.k = 16
        self.has_dot = self.k >= (32 if name == "int8" else 16) and name != "int32"
        self.sum = INT32 if self.element.is_int else ELEMENTS["float64"] if name == "float64" else FLOAT32
        wide = name == "float32" and b.chance(0.7)
        self.precise = wide
        b.buffer(Buffer("x", self.element, self.m * self.k * CHUNKS, *((-4095, 4095) if wide else (-3, 3))))
        self.is_rewritten = b.chance(0.35)
        b.buffer(Buffer("y", self.element, self.k * self.n * CHUNKS, -3, 3, written=self.is_rewritten))
        b.line(f"rows, columns, inner = tl.arange(0, {self.m}), tl.arange(0, {self.n}), tl.arange(0, {self.k})")
        b.size = self.m * self.n
        if self.m * self.k * self.n > 2048:  # few elements a lane: little code
            b.warps = [4, 4, 4, 8]
        self.shape = self.m, self.n
        self.copied = (
            b.chance(0.2) and self.k * self.element.bits >= 128 <= self.n * self.element.bits and not self.is_rewritten
        )
        if self.copied:
            b.features.add("factors through descriptors")
            b.line(
                f"copied_x = tl.make_tensor_descriptor(x, [{self.m}, {self.k * CHUNKS}], [{self.k * CHUNKS}, 1], [{self.m}, {self.k}])"
            )
            b.line(
                f"copied_y = tl.make_tensor_descriptor(y, [{self.k * CHUNKS}, {self.n}], [{self.n}, 1], [{self.k}, {self.n}])"
            )
        self.accumulator = b.define(
            "t", f"tl.zeros(({self.m}, {self.n}), tl.{self.sum.name})", self.sum, self.shape, changes=True
        )
        b.define("s", f"tl.full((), {b.random.choice([0, 1, 3])}, tl.int32)", INT32, changes=True)
        self.buffers = b.buffer(Buffer("cells", INT32, 8, -1, 3, written=True))

    def chunk(self) -> str:
        """Which slice of K: a number below `CHUNKS`."""
        b = self.b
        return str(b.random.randrange(CHUNKS)) if b.chance(0.4) else f"({b.integer()} & 1)"

    def factors(self) -> tuple[str, str]:
        """Names of two tiles, (m, k) and (k, n)."""
        b, chunk = self.b, self.chunk()
        rows = f"x + rows[:, None] * {self.k * CHUNKS} + ({chunk} * {self.k} + inner)[None, :]"
        pick = b.random.random()
        if pick < 0.15:
            x = f"tl.broadcast_to(tl.load(x + {chunk} + inner)[None, :], ({self.m}, {self.k}))"
            b.features.add("a factor broadcast twice")
        elif pick < 0.3:
            x = f"tl.load({rows}, mask=inner[None, :] < {b.operand(INT32)}, other=0)"
        else:
            x = f"copied_x.load([0, {chunk} * {self.k}])" if self.copied else f"tl.load({rows})"
        if self.copied and b.chance(0.7):
            y = f"copied_y.load([{chunk} * {self.k}, 0])"
        elif b.chance(0.15):
            y = f"tl.trans(tl.load(y + ({chunk} * {self.k} + inner)[None, :] * {self.n} + columns[:, None]))"
        else:
            y = f"tl.load({self.part_of_y(chunk)})"
        found = b.define("x", x, self.element, (self.m, self.k)), b.define("y", y, self.element, (self.k, self.n))
        return found[0].name, found[1].name

    def part_of_y(self, chunk: str) -> str:
        """Pointers to a slice of the second factor."""
        return f"y + ({chunk} * {self.k} + inner)[:, None] * {self.n} + columns[None, :]"

    def rewrite(self) -> None:
        """A store to the second factor, which what is loaded later must see and what was loaded before must not."""
        b = self.b
        if not self.is_rewritten:
            b.weighted([(self.dot, 1.0), (self.sum_of_products, 1.0)])()
            return
        b.features.add("a factor stored between loads")
        number = b.random.choice([-2, 1, 2, 3])
        tile = f"tl.full(({self.k}, {self.n}), {number}, tl.{self.element.name})"
        b.line(f"tl.store({self.part_of_y(self.chunk())}, {tile})", writes=True)

    def dot(self) -> None:
        """A `tl.dot` into the accumulator; where shapes or types have none, a reduction of a multiplication."""
        b = self.b
        if not self.has_dot:
            self.sum_of_products()
            return
        b.features.add("dot")
        x, y = self.factors()
        precision = ', input_precision="ieee"' if self.element == FLOAT32 and (self.precise or b.chance(0.3)) else ""
        name = self.accumulator.name
        if b.chance(0.5):
            b.line(f"{name} = tl.dot({x}, {y}, {name}{precision})")
        else:
            b.line(f"{name} = {name} + tl.dot({x}, {y}{precision})")

    def sum_of_products(self) -> None:
        """`tl.sum` or another reduction of a multiplication of broadcast tiles; the result is used where its shape is the accumulator's."""
        b = self.b
        x, y = self.factors()
        first, second, axis = _INDICES[0], _INDICES[1], b.weighted([(1, 6.0), (0, 1.0), (2, 1.0)])
        left, right = f"{x}{first}", f"{y}{second}"
        if b.chance(0.15):
            left, right = right, left
        product = f"{left} * {right}"
        if b.chance(0.15) and self.element.is_float:
            product = f"({product}).to(tl.{self.sum.name})"
            element = self.sum
        else:
            element = self.element
        shape = tuple(size for position, size in enumerate((self.m, self.k, self.n)) if position != axis)
        b.features.add(f"reduced multiplication, k={self.k}, axis {axis}")
        if b.chance(0.12):
            self._two_results(product, element, shape, axis)
            return
        name = b.weighted([("sum", 7.0), *((body, 0.6) for body in _BODIES)])
        if name == "sum":
            text = f"tl.sum({product}, {axis})"
            element = INT32 if element.is_int else element
        else:
            b.functions[name] = f"@triton.jit\ndef {name}(a, b):\n    {_BODIES[name]}\n"
            text = f"tl.reduce({product}, {axis}, {name})"
        self._use(b.define("r", text, element, shape).name, shape)

    def _two_results(self, product: str, element: Element, shape: tuple[int, ...], axis: int) -> None:
        b = self.b
        name = b.random.choice(list(_TWO_RESULTS))
        b.functions[name] = _TWO.format(_TWO_RESULTS[name]).replace("both(", f"{name}(")
        p, first, second = b.fresh("p"), b.fresh("r"), b.fresh("r")
        b.line(f"{p} = {product}")
        b.line(f"{first}, {second} = tl.reduce(({p}, {p}), {axis}, {name})")
        b.features.add("a reduction of two tiles")
        self._use(b.random.choice([first, second]), shape)

    def _use(self, name: str, shape: tuple[int, ...]) -> None:
        """Adds a result to the accumulator, or stores it by itself."""
        b, to = self.b, f".to(tl.{self.sum.name})"
        if shape == self.shape and b.chance(0.8):
            b.line(f"{self.accumulator.name} = {self.accumulator.name} + {name}{to}")
            return
        out = b.buffer(Buffer(b.fresh("out"), self.sum, shape[0] * shape[1], written=True))
        b.line(
            f"tl.store({out} + tl.arange(0, {shape[0]})[:, None] * {shape[1]} + tl.arange(0, {shape[1]})[None, :], {name}{to})",
            writes=True,
        )

    def finish(self) -> None:
        """Stores the accumulator."""
        b = self.b
        out = b.buffer(Buffer("out", self.sum, self.m * self.n, written=True))
        b.line(f"tl.store({out} + rows[:, None] * {self.n} + columns[None, :], {self.accumulator.name})")
        for scalar in b.of_type(INT32, changes=True):
            b.line(f"tl.store({b.buffer(Buffer(f'out_{scalar.name}', INT32, 1, written=True))}, {scalar.name})")
