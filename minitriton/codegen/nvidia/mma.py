"""`tt.dot` by `mma.sync`: tensor cores from Ampere on.

In: operands in `#ttg.dot_op` layouts of an `#ttg.nvidia_mma` (version 2) layout. Out: one `nvvm.mma.sync` for each tile of 16 x 8
elements of the result and each step along k.

A thread's part of an operand is read as 32-bit words along k: step i takes words 2i and 2i + 1 of rows m and m + 8 of a and of
column n of b. Which k these are matters to rounding only, as long as both operands agree; with a large `kWidth` they
are those that Triton takes
(`_as_paired`). Where k is shorter than a step, a's other words are zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.lowering.dot import DOT_RULES
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.tensor_facts import LayoutFacts
from minitriton.codegen.types import I32, bit_width, element_type, lane_type, lanes, vector_type
from minitriton.dialects import nvvm
from minitriton.dialects.attribute_values import string_attr
from minitriton.layouts.encodings import DotOperand, NvidiaMma
from minitriton.target.architectures import least_mma_depth

KINDS = {"f16": "f16", "bf16": "bf16", "f32": "tf32", "f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}


def _kind(type_: Attribute) -> str:
    """An element as `mma` names it."""
    element = element_type(type_)
    return KINDS.get(element.name) or f"s{bit_width(element)}"


def _as_words(f: FunctionLowering, value: SSAValue) -> SSAValue:
    vector = f.vector(value)
    bits = bit_width(lane_type(vector.type))
    return f.b.bitcast(vector, vector_type(I32, lanes(vector.type) * bits // 32))


def mma_sync(f: FunctionLowering, op: Operation) -> None:
    """Step by step along k, all tiles in each: neighbouring instructions do not wait for each other."""
    b = f.b
    first, second = op.operands[:2]
    left, right = _as_words(f, first), _as_words(f, second)
    per_word = 32 // bit_width(f.element_type(first))
    steps, at_a, at_b = steps_along_k(f, op, per_word)
    if len(steps) > 1 and len(steps) % 2:
        raise f.unsupported(op, "operands whose k is spread differently", help="give both the same kWidth")
    steps = _as_paired(steps, _words_together(f, first, per_word))
    tiles = ResultTiles(f, op)
    kind_a, kind_b, kind_c = _kind(first.type), _kind(second.type), lane_type(tiles.values[0].type).name
    out = "s32" if kind_a.startswith("s") else kind_c
    properties = {
        "shape": string_attr(f"m{ROWS}n{COLUMNS}k{8 * per_word}"),
        "types": string_attr(f"{out}.{kind_a}.{kind_b}.{out}"),
    }
    for k in range(0, len(steps), 2):
        here = steps[k : k + 2]
        for number, (*batch, m, n) in enumerate(tiles.corners):
            words_a = [at_a[(*batch, tiles.row(m + dm), at)] // per_word for at in here for dm in (0, 8)]
            words_b = [at_b[(*batch, at, n)] // per_word for at in here]
            rows, columns = b.permute(left, words_a), b.permute(right, words_b * (3 - len(here)))
            if len(here) == 1:
                rows = b.concat([rows, b.constant(rows.type, 0)])
            operands = (rows, columns, tiles.values[number])
            tiles.values[number] = b.value(nvvm.MmaSyncOp, operands, operands[2].type, properties)
    tiles.finish()


def _words_together(f: FunctionLowering, operand: SSAValue, per_word: int) -> int:
    """Words of `kWidth` elements, which a thread holds next to each other along k."""
    encoding = f.facts(operand.type).encoding
    assert isinstance(encoding, DotOperand)
    return max(encoding.k_width // per_word, 1)


def _as_paired(steps: list[int], together: int) -> list[int]:
    """The words in the order in which Triton 3.6.0 multiplies them: a step has one word of each of two runs of
    `together` words, where there are two.

    kWidth = 8 of f16, k = 64: words at k = 0, 2, 4, 6, 32, 34, 36, 38    →    0, 32, 2, 34, 4, 36, 6, 38
    """
    if 2 * together > len(steps):
        return steps
    runs = [steps[start : start + together] for start in range(0, len(steps), together)]
    return [
        word for pair in zip(runs[::2], runs[1::2], strict=True) for words in zip(*pair, strict=True) for word in words
    ]


def tensor_cores(f: FunctionLowering, op: Operation) -> None:
    """By the version of the tensor cores."""
    encoding = f.facts(op.results[0].type).encoding
    assert isinstance(encoding, NvidiaMma)
    if encoding.version_major != 2:
        raise f.unsupported(
            op,
            f"tt.dot on tensor cores of version {encoding.version_major}",
            help="version 3 multiplies through ttng.warp_group_dot",
        )
    (mma_f64 if bit_width(f.element_type(op.operands[0])) == 64 else mma_sync)(f, op)


DOT_RULES[NvidiaMma] = tensor_cores

# `tt.dot` of f64 by `mma.sync`: on sm_80 in steps of m8n8k4, on sm_90 of m16n8k16.
#
# In: operands in `#ttg.dot_op` layouts of kWidth 1. Out: for each tile of 16 x 8 elements and four numbers of a thread along k, one
# instruction, or on sm_80 one for each number and half of the tile.
#
# PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f64" and "mma.m16n8k16 with .f64": a has its rows m and m + 8 for each k, b its column.

_MOST_STEPS = 4
"""Numbers along k that a thread gives to one instruction of sm_90."""


def mma_f64(f: FunctionLowering, op: Operation) -> None:
    """Step by step along k, all tiles in each."""
    b = f.b
    left, right = f.vector(op.operands[0]), f.vector(op.operands[1])
    tiles = ResultTiles(f, op)
    steps, at_a, at_b = steps_along_k(f, op, per_word=1)
    whole = f.module.target.has_long_f64_mma
    length = min(_MOST_STEPS, len(steps)) if whole else 1

    def multiply(shape: str, rows: list[int], columns: list[int], total: SSAValue) -> SSAValue:
        properties = {"shape": string_attr(shape), "types": string_attr("f64.f64.f64.f64")}
        operands = (b.permute(left, rows), b.permute(right, columns), total)
        return b.value(nvvm.MmaSyncOp, operands, total.type, properties)

    for start in range(0, len(steps), length):
        here = steps[start : start + length]
        for number, (*batch, m, n) in enumerate(tiles.corners):
            columns = [at_b[(*batch, k, n)] for k in here]
            if whole:
                rows = [at_a[(*batch, tiles.row(m + dm), k)] for k in here for dm in (0, 8)]
                shape = f"m16n8k{4 * length}"
                tiles.values[number] = multiply(shape, rows, columns, tiles.values[number])
                continue
            halves = [b.permute(tiles.values[number], [2 * half, 2 * half + 1]) for half in (0, 1)]
            for half in (0, 1):
                rows = [at_a[(*batch, tiles.row(m + 8 * half), here[0])]]
                halves[half] = multiply("m8n8k4", rows, columns, halves[half])
            tiles.values[number] = b.concat(halves)
    tiles.finish()


# The registers of `mma.sync`: tiles of the result, and where the operands of one step are.
#
# A thread holds 4 elements of each tile of 16 x 8: rows m and m + 8, columns n and n + 1. A result with fewer rows or columns fills the
# tile with copies of them, as its operands do.

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
        self._indices: dict[int, int] = {}
        for *batch, m, n in self.corners:
            registers = [self._register(batch, m + dm, n + dn) for dm in (0, 8) for dn in (0, 1)]
            for i, register in enumerate(registers):
                self._indices.setdefault(register, 4 * len(self.values) + i)
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
        self.f.values[self.result] = b.permute(b.concat(self.values), [self._indices[register] for register in copies])


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
            f"an operand with k = {depth} where a thread holds {per_word * len(steps)}: its four lanes along k must "
            "hold different elements",
            help=f"use a kWidth of at most k / {LANES_ALONG_K}",
        )
    return steps, facts_a.register_of, facts_b.register_of
