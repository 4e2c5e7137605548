"""The registers of `mma.sync`: tiles of the result, and where the operands of one step lie.

A thread holds 4 elements of each tile of 16 x 8: rows m and m + 8, columns n and n + 1. A result with fewer rows or columns fills the
tile with copies of them, as its operands do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.tensor_facts import LayoutFacts
from minitriton.codegen.types import bit_width
from minitriton.target.architectures import least_mma_depth

ROWS, COLUMNS = 16, 8
LANES_ALONG_K = 4
Offset = tuple[int, ...]


class ResultTiles:
    """The accumulators of a dot, tile by tile: `values[i]` belongs to the tile whose first element is `corners[i]`."""

    def __init__(self, f: FunctionLowering, op: Operation) -> None:
        self.f = f
        self.result = op.results[0]
        self.facts = f.facts(self.result.type).layout
        total = f.vector(op.operands[2])
        self.rows = max(o[-2] for o in self.facts.register_of) + 1
        self.corners = [o for o in self.facts.register_of if not o[-2] & 8 and not o[-1] & 1]
        self.values: list[SSAValue] = []
        self._places: dict[int, int] = {}
        for *batch, m, n in self.corners:
            registers = [self._register(batch, m + dm, n + dn) for dm in (0, 8) for dn in (0, 1)]
            for i, register in enumerate(registers):
                self._places.setdefault(register, 4 * len(self.values) + i)
            self.values.append(f.b.permute(total, registers))

    def _register(self, batch: Sequence[int], m: int, n: int) -> int:
        """The register of an element; of one outside, that of the element whose copy stands there."""
        of = self.facts.register_of
        found = of.get((*batch, self.row(m), n))
        return of[(*batch, self.row(m), n & ~1)] if found is None else found

    def row(self, m: int) -> int:
        """Row `m` of the tile in the result and in a, which may have fewer."""
        return m if m < self.rows else m & ~8

    def finish(self) -> None:
        """Gives the tiles to the result of the dot, repeated registers included."""
        facts = self.facts
        copies = [facts.register_of[offset] for offset in facts.offsets]
        b = self.f.b
        self.f.values[self.result] = b.permute(b.concat(self.values), [self._places[register] for register in copies])


def words_along_k(facts: LayoutFacts, k_dim: int, per_word: int) -> list[int]:
    """The offsets along k of the words of a thread's first row, in the order of its registers."""
    found: list[int] = []
    for offset in facts.offsets[::per_word]:
        if not any(o for d, o in enumerate(offset) if d != k_dim) and offset[k_dim] not in found:
            found.append(offset[k_dim])
    return found


def steps_along_k(
    f: FunctionLowering, op: Operation, per_word: int
) -> tuple[list[int], Mapping[Offset, int], Mapping[Offset, int]]:
    """The words of a thread along k, the same for both operands, and the registers of a and of b by element."""
    first, second = op.operands[:2]
    facts_a, facts_b = f.facts(first.type).layout, f.facts(second.type).layout
    rank = len(facts_a.offsets[0])
    depth, least = f.facts(first.type).shape[-1], least_mma_depth(bit_width(f.element_type(first)))
    if depth < least:
        raise f.unsupported(
            op,
            f"k = {depth} on tensor cores, which need {least}",
            help="pad the operands along k with zeros, or use a blocked layout",
        )
    steps = words_along_k(facts_a, rank - 1, per_word)
    if steps != words_along_k(facts_b, rank - 2, per_word):
        raise f.unsupported(op, "operands whose k is spread differently", help="give both the same kWidth")
    if LANES_ALONG_K * per_word * len(steps) != depth:
        raise f.unsupported(
            op,
            f"an operand with k = {depth} of which a thread holds {per_word * len(steps)}: its four lanes along k must "
            "hold different elements",
            help=f"use a kWidth of at most k / {LANES_ALONG_K}",
        )
    return steps, facts_a.register_of, facts_b.register_of
