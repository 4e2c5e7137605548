"""How the CTAs of a cluster share a tensor.

In: the bases of `block` (an encoding's `cga`) and a shape. Out: the share of one CTA, and a layout of one CTA repeated over all.

    cga ((1, 0), (0, 0)) on (128, 64): one CTA holds (64, 64); the second bit of the CTA's number makes copies
"""

from collections.abc import Sequence

from minitriton.layouts.algebra import (
    ensure_layout_not_larger_than,
    ensure_layout_not_smaller_than,
    standard_out_dim_pairs,
)
from minitriton.layouts.encodings import Bases, Encoding, bases_per_dim
from minitriton.layouts.linear_layout import LinearLayout

Shape = Sequence[int]


def shape_of_cta(cga: Bases, shape: Shape) -> tuple[int, ...]:
    """What one CTA holds of a tensor of `shape`. Leading dimensions that `cga` does not know (buffers) are not split."""
    if not cga:
        return tuple(shape)
    rank = len(shape)
    split = bases_per_dim(cga, len(cga[0]))
    split = (1,) * (rank - len(split)) + split[max(0, len(split) - rank) :]
    return tuple(size // min(size, parts) for size, parts in zip(shape, split, strict=True))


def shape_per_cta(encoding: Encoding, shape: Shape) -> tuple[int, ...]:
    """What one CTA holds of a tensor of `shape` under `encoding`."""
    return shape_of_cta(encoding.cga, shape)


def split_among_ctas(cga: Bases, shape: Shape) -> tuple[Bases, tuple[int, ...]]:
    """The bases of `block` in units of elements, and the shape that one CTA covers."""
    if not cga:
        return (), tuple(shape)
    sizes = [1] * len(shape)
    for basis in cga:
        for dim, v in enumerate(basis):
            sizes[dim] = max(sizes[dim], 1 << v.bit_length())
    sizes = [min(size, extent) for size, extent in zip(sizes, shape, strict=True)]
    cta_shape = tuple(max(1, extent // size) for size, extent in zip(sizes, shape, strict=True))
    blocks = tuple(
        tuple(v * c if v < size else 0 for v, c, size in zip(basis, cta_shape, sizes, strict=True)) for basis in cga
    )
    return blocks, cta_shape


def combine_cta_cga_with_shape(cta_layout: LinearLayout, cga: Bases, shape: Shape) -> LinearLayout:
    """The layout of one CTA, fitted to its share of `shape` and repeated over the CTAs."""
    blocks, cta_shape = split_among_ctas(cga, shape)
    sizes = standard_out_dim_pairs(cta_shape)
    fitted = ensure_layout_not_larger_than(ensure_layout_not_smaller_than(cta_layout, sizes), sizes)
    fitted = fitted.transpose_outs(list(sizes))
    return LinearLayout.trusted({**fitted.bases, "block": blocks}, standard_out_dim_pairs(shape))
