"""Whether what a kernel stores, an address that it reaches, or a branch depends on memory that nobody gave a value.

In: a kernel, run several times with other values there: where a mask turns a load without `other` off, and in arrays that the launch was
given unwritten. Out: the ops that then do something else. Exact, whatever lies between, for nothing is said of single ops:

    x = tl.load(p, mask=mask)                     lanes that `mask` turns off: 0, then NaN, huge, and like a neighbour
    tl.store(q, tl.exp(x), mask=mask)             stores the same each time: sound
    tl.store(r, tl.sum(x))                        does not: a `PoisonUse`, with the load that it comes from
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.ir import Operation

from minitriton.dialects import tt
from minitriton.dialects.locations import user_location
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import MinitritonError, SourceLocation
from minitriton.host.source_text import line_at
from minitriton.interpreter.registry import Array, Meaning

WORDS = (0x7FFF7FFF, 0x7B7B7B7B, 0xFBFBFBFB)
"""Signalling values as 32 bits; narrower types have the low ones, wider types two words: NaN, huge, and huge with the other sign
in every float, far outside of every array as an index. (float16 0x7b7b is 61,280, bf16 1.3e36; of int8 they are -1, 123, -5.)"""
LIKE_A_NEIGHBOUR = -1
"""In place of a word: what another lane of the tile has, which comparisons and counts take for one of their own."""
UNWRITTEN = "an array that nothing has written"


def repeated(word: int, dtype: np.dtype, count: int) -> np.ndarray:
    """`count` elements of `dtype` with the bits of `word`."""
    if dtype == np.bool_:
        return np.full(count, bool(word & 1))
    return np.full(count * 8 // 4, word, np.uint32).view(f"u{dtype.itemsize}")[:count].view(dtype)


class Contents:
    """What arrays hold before launches that are made again, and after the first."""

    def __init__(self, values: Iterable[object]) -> None:
        self.arrays = [value for value in values if instance_of(value, np.ndarray) and value.flags.writeable]
        self.before = [array.copy() for array in self.arrays]
        self.after: list[np.ndarray] = []

    def restore(self) -> None:
        """The arrays hold again what they did before any launch."""
        self._put(self.before)

    def keep_result(self) -> None:
        """A launch is over: what it left is the result if it is the first."""
        self.after = self.after or [array.copy() for array in self.arrays]

    def restore_result(self) -> None:
        """The arrays hold what the first launch left."""
        self._put(self.after)

    def _put(self, contents: list[np.ndarray]) -> None:
        for array, content in zip(self.arrays, contents, strict=True):
            array[...] = content


class Diverged(Exception):
    """A launch went another way than with other values of what nobody gave: it has been seen, and need not end."""


@dataclass(frozen=True)
class PoisonUse:
    """An op that does something else when what nobody gave has other values, and where these come from."""

    what: str
    location: SourceLocation | None
    sources: tuple[SourceLocation | str, ...]

    def fault(self) -> MinitritonError:
        """As an error at the kernel's line."""
        loads = [str(source) for source in self.sources if isinstance(source, SourceLocation)]
        parts = [f"the lanes that the mask of the load at {', '.join(loads)} turns off"] if loads else []
        parts += [UNWRITTEN] if UNWRITTEN in self.sources else []
        line = line_at(self.location.file, self.location.line) if self.location is not None else None
        return MinitritonError(
            f"poison: {self.what} depends on {' and '.join(parts) or 'values that nobody gave'}",
            self.location,
            help=(
                "give that load `other=` (of a block pointer `padding_option=`), or mask this access too"
                if loads
                else "write the array before it is read"
            ),
            source_line=line,
        )


@dataclass
class Trace:
    """The accesses and branches of one launch, in their order: `before` is that of the first launch, in which all that nobody gave is 0."""

    word: int | None = None
    before: Trace | None = None
    only: Operation | str | None = None
    """The one load, or `UNWRITTEN`, that has other values; None: all of them."""
    op: Operation | None = None
    """The op that runs at the moment."""
    events: list[tuple[Operation, int]] = field(default_factory=list[tuple[Operation, int]])
    position: int = 0
    partial: dict[Operation | str, None] = field(default_factory=dict["Operation | str", None])
    """What had lanes that nobody gave a value."""
    uses: dict[tuple[Operation, str], None] = field(default_factory=dict[tuple[Operation, str], None])

    def followed(self, op: Operation, function: Meaning) -> Meaning:
        """`function`, which is what `op` does."""

        def run(*operands: object) -> object:
            self.op = op
            return function(*operands)

        return run

    def masked_off(self, active: np.ndarray, count: int) -> np.ndarray:
        """The values of `count` lanes that a load leaves open; `active` are those of the others."""
        if not isinstance(self.op, tt.LoadOp | tt.AtomicLoadOp):
            return np.zeros(count, active.dtype)  # Asynchronous copies fill with zeros (PTX ISA, cp.async).
        self.partial[self.op] = None
        if self.word is None or self.only not in (None, self.op):
            return np.zeros(count, active.dtype)
        if self.word == LIKE_A_NEIGHBOUR:
            return np.resize(active.reshape(-1)[::-1], count) if active.size else np.ones(count, active.dtype)
        return repeated(self.word, active.dtype, count)

    def spoil(self, arrays: Iterable[np.ndarray]) -> None:
        """Gives arrays that nothing has written other contents, before the launch."""
        for array in arrays:
            self.partial[UNWRITTEN] = None
            if self.word is not None and self.only in (None, UNWRITTEN):
                word = WORDS[0] if self.word == LIKE_A_NEIGHBOUR else self.word
                array[...] = repeated(word, array.dtype, array.size).reshape(array.shape)

    def reaches(self, addresses: np.ndarray) -> None:
        """The op reads or writes there."""
        self._note(self.op, "the address", hash(addresses.tobytes()), ends=True)

    def stores(self, values: Array) -> None:
        """The op writes these."""
        self._note(self.op, "what is stored", hash(np.asarray(values).tobytes()), ends=False)

    def branches(self, op: Operation, values: Sequence[Array]) -> None:
        """Where the program goes on depends on `values`."""
        self._note(op, "the branch", hash(tuple(np.asarray(value).tobytes() for value in values)), ends=True)

    def _note(self, op: Operation | None, what: str, digest: int, *, ends: bool) -> None:
        assert op is not None
        if self.before is None:
            self.events.append((op, digest))
            return
        expected = self.before.events[self.position] if self.position < len(self.before.events) else None
        self.position += 1
        if expected != (op, digest):
            self.uses[op, what] = None
            if ends or expected is None or expected[0] is not op:
                raise Diverged


def poison_uses(run: Callable[[Trace], None]) -> list[PoisonUse]:
    """What depends on values that nobody gave in a launch that `run` makes, anew each time, with the trace that it is given.

    Raises what the launch raises with zeros there.
    """
    first = Trace()
    run(first)

    def uses(words: Iterable[int], only: Operation | str | None = None) -> dict[tuple[Operation, str], int]:
        found: dict[tuple[Operation, str], int] = {}
        for word in words:
            trace = Trace(word, first, only)
            try:
                run(trace)
            except Diverged:
                pass
            except Exception:  # NumPy's too, of numbers that the kernel does not expect
                if trace.op is not None:
                    trace.uses[trace.op, "what goes wrong here"] = None
            found.update(dict.fromkeys(trace.uses, word))
        return found

    if not first.partial:
        return []
    found = uses((*WORDS, LIKE_A_NEIGHBOUR))
    sources: dict[tuple[Operation, str], list[SourceLocation | str]] = {use: [] for use in found}
    for source in first.partial if found else ():
        for use in uses(dict.fromkeys(found.values()), source) if len(first.partial) > 1 else found:
            location = source if isinstance(source, str) else user_location(source.location)
            if use in sources and location is not None and location not in sources[use]:
                sources[use].append(location)
    return [PoisonUse(what, user_location(op.location), tuple(sources[op, what])) for op, what in found]
