"""`tt.dot_scaled` on the matrix cores of gfx950.

In: operands in `#ttg.dot_op` layouts of an `#ttg.amd_mfma` layout, 32 numbers a lane for an instruction; scales in the layout of `amd_scale`. Out: one
`rocdl.mfma.scale` for each tile of the result and each step along k. Four scales of a lane share a register, and an instruction chooses a byte of it.

Counterpart of ScaledDotOpMFMAConversionHelper in Triton's DotOpToLLVM/MFMA.cpp.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from minitriton.codegen.amd import lowers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.types import I32, lanes, vector_type
from minitriton.dialects import rocdl, tt
from minitriton.dialects.attribute_values import string_attr
from minitriton.layouts.encodings import AmdMfma
from minitriton.target.amd import SCALED_MFMA

_FORMATS = {"e4m3": 0, "e5m2": 1, "e2m1": 4}
_GROUP = 32
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
            a = _words(b, left, [facts_a.register_of[(m, k)] for k in ks_a])
            c = _words(b, right, [facts_b.register_of[(k, n)] for k in ks_b])
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


def _words(b: Builder, value: SSAValue, registers: list[int]) -> SSAValue:
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
