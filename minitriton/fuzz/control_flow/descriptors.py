"""Tensor descriptors made in the kernel: loads over every edge of a tensor, stores and additions up to its edges.

from1 = tl.make_tensor_descriptor(data, [n2, 24], [32, 1], [4, 8])
v3 = tl.reshape(from1.load([(i4 & 3) - 1, (i4 & 7) * 4 - 8]), (32,))
to2.store([at2 * 4, 0], tl.reshape(t1, (4, 8)))

Only what hardware and pointers do alike: first columns and the rows that are stored to are multiples of 16 bytes, stores begin inside, and no element is
stored to twice or read again, for no barrier is between a tensor copy and other accesses.
"""

from __future__ import annotations

from dataclasses import dataclass

from minitriton.fuzz.control_flow.builder import ProgramBuilder
from minitriton.fuzz.control_flow.program import Buffer
from minitriton.fuzz.generation.elements import INT32, Element

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
