"""`tt.dot` on AMD's matrix cores.

In: operands in `#ttg.dot_op` layouts of an `#ttg.amd_mfma` or `#ttg.amd_wmma` layout. Out: one `rocdl.mfma` or `rocdl.wmma` for each tile of the result
and each step along k.

A lane's registers of one tile of the result follow each other, and so do those that it gives to one step along k. A transposed layout is that of
the instruction with its operands swapped. Counterpart of Triton's DotOpToLLVM/MFMA.cpp and WMMA.cpp.

A `tt.dot_scaled` has operands of 32 numbers a lane for an instruction, and scales in the layout of `amd_scale`: four of a lane share a register, and
`rocdl.mfma.scale` chooses a byte of it.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen.amd import lowers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.dot import DOT_RULES
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import BF16, I1, I16, I32, I64, bit_width, element_type, lane_type, lanes, vector_type
from minitriton.dialects import rocdl, tt
from minitriton.dialects.attribute_values import string_attr
from minitriton.layouts import f2
from minitriton.layouts.encodings import AmdMfma, AmdWmma, DotOperand
from minitriton.target.amd import SCALED_MFMA, Mfma, Wmma, mfma_of, wmma_of

Multiply = Callable[[SSAValue, SSAValue, SSAValue, int | None], SSAValue]
"""One instruction, of its operands, what it adds to, and the block of the first operand that all blocks multiply with."""


_BLOCKS = 16
"""Of 4x4, in an instruction of 4x64 or 64x4. A lane has all of k of the wide operand, and `kWidth` neighbours along k of each 16 times as many of
the narrow one, whose blocks are broadcast one after the other: those with which lanes hold the same k."""


def mfma(f: FunctionLowering, op: Operation) -> None:
    """On CDNA."""
    assert isinstance(op, tt.DotOp)
    encoding = f.facts(op.result.type).encoding
    assert isinstance(encoding, AmdMfma)
    instruction = _instruction(f, op, encoding)
    properties = {"instruction": string_attr(instruction.intrinsic)}

    def multiply(a: SSAValue, b: SSAValue, total: SSAValue, block: int | None) -> SSAValue:
        chosen = {} if block is None else {"cbsz": IntegerAttr(f2.log2(_BLOCKS), i32), "abid": IntegerAttr(block, i32)}
        return f.b.value(rocdl.MfmaOp, (a, b, total), total.type, properties | chosen)

    _tiled(f, op, instruction, multiply, is_transposed=encoding.is_transposed)


def wmma(f: FunctionLowering, op: Operation) -> None:
    """On RDNA."""
    assert isinstance(op, tt.DotOp)
    encoding = f.facts(op.result.type).encoding
    assert isinstance(encoding, AmdWmma)
    types = [str(element_type(value.type)) for value in (op.a, op.b)]
    into = str(element_type(op.result.type))
    instruction = wmma_of(encoding.version, *(types[::-1] if encoding.is_transpose else types))
    if (
        instruction is None
        or into != instruction.intrinsic[:3]
        or instruction.depth != encoding.instr_shape[2]
        or f.facts(op.a.type).shape[-1] % instruction.depth
    ):
        what = f"operands of {types[0]} and {types[1]} that give {into} on matrix cores of version {encoding.version}"
        raise f.unsupported(op, what, help="let tritonamdgpu-accelerate-matmul choose the layout")
    properties = {"instruction": string_attr(instruction.intrinsic)}
    one, zero = (f.b.constant(I1, bit) for bit in (1, 0))

    def multiply(a: SSAValue, b: SSAValue, total: SSAValue, block: int | None) -> SSAValue:
        given = (one, a, one, b, total, zero) if into == "i32" else (a, b, total)
        return f.b.value(rocdl.WmmaOp, given, total.type, properties)

    _tiled(f, op, instruction, multiply, is_transposed=encoding.is_transpose)


def _tiled(
    f: FunctionLowering, op: tt.DotOp, instruction: Mfma | Wmma, multiply: Multiply, *, is_transposed: bool
) -> None:
    """Step by step along k, all tiles in each: neighbouring instructions do not wait for each other."""
    b = f.b
    encoding = f.facts(op.result.type).encoding
    assert isinstance(encoding, AmdMfma | AmdWmma)
    rows, columns = encoding.instr_shape[:2]
    facts, facts_a, facts_b = (f.facts(value.type).layout for value in (op.result, op.a, op.b))
    left, right, total = f.vector(op.a), f.vector(op.b), f.vector(op.c)
    size = rows * columns >> f.module.lane_bits
    tiles = [(facts.offsets[start], range(start, start + size)) for start in range(0, facts.count, size)]
    values = [b.permute(total, registers) for _, registers in tiles]
    if rows == columns:
        depths = [offset[-1] for offset in facts_a.offsets if not any(offset[:-1])]
    else:
        depths = list(range(f.facts(op.a.type).shape[-1]))
    narrow = (rows < columns, columns < rows)
    k_width = _k_width(f, op)
    for start in range(0, len(depths), instruction.per_lane):
        here = depths[start : start + instruction.per_lane]
        block = here[0] // k_width % _BLOCKS if rows != columns else None
        first = [k // (k_width * _BLOCKS) * k_width * _BLOCKS + k % k_width for k in here]
        ks_a, ks_b = (first if is_narrow else here for is_narrow in narrow)
        for number, ((*batch, m, n), _) in enumerate(tiles):
            one = _operand(b, left, [facts_a.register_of[(*batch, m, k)] for k in ks_a], instruction)
            other = _operand(b, right, [facts_b.register_of[(*batch, k, n)] for k in ks_b], instruction)
            operands = (other, one) if is_transposed else (one, other)
            values[number] = multiply(*operands, values[number], block)
    f.values[op.result] = b.concat(values)


DOT_RULES[AmdMfma] = mfma
DOT_RULES[AmdWmma] = wmma


def _k_width(f: FunctionLowering, op: tt.DotOp) -> int:
    encoding = f.facts(op.a.type).encoding
    assert isinstance(encoding, DotOperand)
    return encoding.k_width or 1


def _instruction(f: FunctionLowering, op: tt.DotOp, encoding: AmdMfma) -> Mfma:
    """The instruction that the layout was made for. Raises `LoweringError` for operands that have none."""
    rows, columns, depth = encoding.instr_shape
    a, b = (str(element_type(value.type)) for value in (op.a, op.b))
    if a == b == "f32" and op.input_precision.data == "tf32":
        a = b = "tf32"
    found = mfma_of(encoding.version, (rows, columns), a, b, depth)
    whole = f.facts(op.a.type).shape[-1]
    if found is None or found.depth != depth or whole % depth:
        raise f.unsupported(
            op,
            f"operands of {a} and {b} with k = {whole} on matrix cores of version {encoding.version} with instrShape {rows}x{columns}x{depth}",
            help="let tritonamdgpu-accelerate-matmul choose the layout",
        )
    return found


def _operand(b: Builder, value: SSAValue, registers: list[int], instruction: Mfma | Wmma) -> SSAValue:
    """Registers of an operand as the instruction takes them: bytes as words, bf16 as integers where the name says `1k`, and for WMMA."""
    part = b.permute(value, registers)
    return b.bitcast(part, _taken(part.type, instruction))


def _taken(type_: Attribute, instruction: Mfma | Wmma) -> Attribute:
    element, count = lane_type(type_), lanes(type_)
    if bit_width(element) == 8:
        alone = {4: I32, 8: I64} if isinstance(instruction, Mfma) else {4: I32}
        return alone.get(count) or vector_type(I32, count // 4)
    as_integers = isinstance(instruction, Wmma) or instruction.intrinsic.endswith(".1k")
    return vector_type(I16, count) if element is BF16 and as_integers else type_


# Dots of scaled numbers, on gfx950.

_FORMATS = {"e4m3": 0, "e5m2": 1, "e2m1": 4}
_GROUP = 32
"""Numbers that share a scale."""
_IN_WORD = 4


@lowers(tt.DotScaledOp)
def dot_scaled(f: FunctionLowering, op: tt.DotScaledOp) -> None:
    """Step by step along k, all tiles in each."""
    b, encoding = f.b, f.facts(op.result.type).encoding
    forms = (op.a_elem_type.data.value, op.b_elem_type.data.value)
    if not isinstance(encoding, AmdMfma) or encoding.version != 4 or any(form not in _FORMATS for form in forms):
        raise f.unsupported(
            op, "a scaled dot without an instruction", help="let tritonamdgpu-accelerate-matmul choose it"
        )
    rows, _, depth = encoding.instr_shape
    facts, facts_a, facts_b = (f.facts(value.type).layout for value in (op.result, op.a, op.b))
    left, right, total = f.vector(op.a), f.vector(op.b), f.vector(op.c)
    scales = [None if scale is None else _Scales(f, scale) for scale in (op.a_scale, op.b_scale)]
    size = rows * rows >> f.module.lane_bits
    tiles = [(facts.offsets[start], range(start, start + size)) for start in range(0, facts.count, size)]
    values = [b.permute(total, registers) for _, registers in tiles]
    held = [_GROUP // 2 if form == "e2m1" else _GROUP for form in forms]
    along_a = [offset[-1] for offset in facts_a.offsets if not any(offset[:-1])]
    along_b = [offset[-2] for offset in facts_b.offsets if not offset[-1]]
    properties = {"instruction": string_attr(SCALED_MFMA[rows].intrinsic)}
    none = (b.i32(0), b.i32(0))
    formats = [b.i32(_FORMATS[form]) for form in forms]
    for step in range(len(along_a) // held[0]):
        ks_a = along_a[step * held[0] : (step + 1) * held[0]]
        ks_b = along_b[step * held[1] : (step + 1) * held[1]]
        for number, ((m, n), _) in enumerate(tiles):
            a = _in_words(b, left, [facts_a.register_of[(m, k)] for k in ks_a])
            c = _in_words(b, right, [facts_b.register_of[(k, n)] for k in ks_b])
            both = [
                none if scale is None else scale.of(where, step * depth // _GROUP)
                for scale, where in zip(scales, (m, n), strict=True)
            ]
            sides = [(a, formats[0], both[0]), (c, formats[1], both[1])]
            if encoding.is_transposed:
                sides.reverse()
            (x, x_format, x_scale), (y, y_format, y_scale) = sides
            operands = (x, y, values[number], x_format, y_format, *x_scale, *y_scale)
            values[number] = b.value(rocdl.ScaledMfmaOp, operands, values[number].type, properties)
    f.values[op.result] = b.concat(values)


def _in_words(b: Builder, value: SSAValue, registers: list[int]) -> SSAValue:
    return b.bitcast(b.permute(value, registers), vector_type(I32, len(registers) // 4))


class _Scales:
    """The scales of an operand, four registers to a word."""

    def __init__(self, f: FunctionLowering, value: SSAValue) -> None:
        self.b = f.b
        self.register_of = f.facts(value.type).layout.register_of
        vector = f.vector(value)
        count = lanes(vector.type)
        padded = f.b.concat([vector] * max(1, _IN_WORD // count))
        self.words = f.b.unpack(f.b.bitcast(padded, vector_type(I32, max(1, count // _IN_WORD))))

    def of(self, row: int, k: int) -> tuple[SSAValue, SSAValue]:
        """Which byte of a word, and the word, for the tile that begins at `row` and the step along k that begins with scale `k`."""
        word, byte = divmod(self.register_of[(row, k)], _IN_WORD)
        return self.b.i32(byte), self.words[word]
