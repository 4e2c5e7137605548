"""Arithmetic of two float32 in one instruction (`add.f32x2`, PTX ISA 9.7.3): pairs are held as int64.

y = float2.fma(float2.pack(a, axis=1), float2.pack(b, axis=1), float2.pack(c, axis=1))
x = float2.unpack(y, axis=1)
"""

# The annotation `constexpr` speaks to the kernel compiler; to Python it is any value.
# pyright: standard, reportArgumentType=false, reportAssignmentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from minitriton.language import core as tl
from minitriton.language.aggregates import aggregate
from minitriton.language.declare import constexpr_function, library
from minitriton.language.dtypes import float32, int64
from minitriton.language.gluon import standard
from minitriton.language.values import constexpr, tensor, tuple

__all__ = ["Float2Tensor", "fma", "full_like", "pack", "pack2", "unpack", "unpack2"]


def _text(instruction: str) -> constexpr:
    """The text as Triton has it, spaces too: it is in the IR."""
    return constexpr(f"\n        {instruction};\n        ")


_ADD = _text("add.f32x2 $0, $1, $2")
_SUB = _text("sub.f32x2 $0, $1, $2")
_MUL = _text("mul.f32x2 $0, $1, $2")
_FMA = _text("fma.rn.f32x2 $0, $1, $2, $3")
_PACK = _text("mov.b64 $0, { $1, $2 }")
_UNPACK = _text("mov.b64 { $0, $1 }, $2")


@library
def _add_f32x2(a, b):
    return tl.inline_asm_elementwise(_ADD, "=l,l,l", [a, b], dtype=int64, is_pure=True, pack=1)


@library
def _sub_f32x2(a, b):
    return tl.inline_asm_elementwise(_SUB, "=l,l,l", [a, b], dtype=int64, is_pure=True, pack=1)


@library
def _mul_f32x2(a, b):
    return tl.inline_asm_elementwise(_MUL, "=l,l,l", [a, b], dtype=int64, is_pure=True, pack=1)


@library
def _fma_f32x2(a, b, c):
    return tl.inline_asm_elementwise(_FMA, "=l,l,l,l", [a, b, c], dtype=int64, is_pure=True, pack=1)


@aggregate
class Float2Tensor:
    """A tensor of pairs of float32."""

    value: tensor

    @constexpr_function
    def __init__(self, value):
        self.value = value

    @library
    def __add__(self, rhs):
        tl.static_assert(isinstance(rhs, Float2Tensor), "rhs must be a Float2Tensor")
        return Float2Tensor(_add_f32x2(self.value, rhs.value))

    @library
    def __sub__(self, rhs):
        tl.static_assert(isinstance(rhs, Float2Tensor), "rhs must be a Float2Tensor")
        return Float2Tensor(_sub_f32x2(self.value, rhs.value))

    @library
    def __mul__(self, rhs):
        tl.static_assert(isinstance(rhs, Float2Tensor), "rhs must be a Float2Tensor")
        return Float2Tensor(_mul_f32x2(self.value, rhs.value))

    @library
    def sum(self, axis: constexpr):
        """Sums of each half of the pairs along `axis`."""
        return Float2Tensor(tl.reduce(self.value, axis=axis, combine_fn=_add_f32x2))


@library
def fma(a, b, c):
    """`a * b + c`, rounded once."""
    return Float2Tensor(_fma_f32x2(a.value, b.value, c.value))


@library
def pack2(x0, x1):
    """The pairs of two tensors' elements."""
    return Float2Tensor(tl.inline_asm_elementwise(_PACK, "=l,r,r", [x0, x1], dtype=int64, is_pure=True, pack=1))


@library
def unpack2(x):
    """The two tensors that the pairs are of."""
    return tl.inline_asm_elementwise(_UNPACK, "=r,=r,l", [x.value], dtype=[float32, float32], is_pure=True, pack=1)


@constexpr_function
def _halves(shape, axis):
    """A shape with `axis` in two halves, and the order that has the half last."""
    if shape[axis] < 2:
        raise ValueError(f"not enough elements to pack along axis {axis}")
    split = [*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :]]
    order = list(range(len(split)))
    order[axis + 1], order[-1] = order[-1], order[axis + 1]
    return tuple(split), tuple(order)


@constexpr_function
def _joined(shape, axis):
    """The order that has the last of one dimension more next to `axis`, and the shape with both as one."""
    order = list(range(len(shape)))
    order.insert(axis + 1, len(shape))
    return tuple(order), tuple([*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]])


@library
def pack(x, axis):
    """The pairs of the elements of `x` that are neighbours along `axis`."""
    by: constexpr = _halves(x.shape, axis)
    x0, x1 = x.reshape(*by[0]).permute(*by[1]).split()
    return pack2(x0, x1)


@library
def unpack(x, axis):
    """What `pack` made pairs of."""
    by: constexpr = _joined(x.value.shape, axis)
    x0, x1 = unpack2(x)
    return tl.join(x0, x1).permute(*by[0]).reshape(*by[1])


@library
def full_like(x, fill_value):
    """Pairs of a number, as many as `x` has."""
    tl.static_assert(fill_value.dtype == float32, "fill_value must be a float32")
    fill = standard.full_like(x.value, fill_value, dtype=float32)
    return pack2(fill, fill)
