"""Layouts of registers, grown bit by bit from what a thread, a warp and a CTA hold.

Tile(2).walk("register", (1, 4), (1, 0)).walk("lane", (8, 4), (1, 0)).on((16, 16), (1, 0), cga=())
"""

from __future__ import annotations

from collections.abc import Sequence

from minitriton.layouts import f2
from minitriton.layouts.algebra import standard_out_dim_pairs, unit
from minitriton.layouts.cta_split import split_among_ctas
from minitriton.layouts.linear_layout import Bases, Basis, LinearLayout

Shape = Sequence[int]


def matrix_order(rank: int, row_major: bool) -> tuple[int, ...]:
    """The order, fastest first, of a batch of matrices."""
    order = list(range(rank - 1, -1, -1))
    if not row_major and rank >= 2:
        order[0], order[1] = order[1], order[0]
    return tuple(order)


def order_for_dot_operand(op_idx: int, rank: int, k_contiguous: bool) -> tuple[int, ...]:
    """The order of operand A (0) or B (1) that runs fastest along K, or along the other dimension."""
    return matrix_order(rank, bool(op_idx) != k_contiguous)


class Tile:
    """Grows the layout of one CTA, bit by bit.

    `identity(in_dim, dim, count)` is `*= identity_1d(count, in_dim, dim)`, `copies(in_dim, count)` is `*= zeros_1d(...)`.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.sizes = [1] * rank
        self.bases: dict[str, list[Basis]] = {"register": [], "lane": [], "warp": []}

    def copies(self, in_dim: str, count: int) -> Tile:
        """`in_dim` holds `count` times as many copies."""
        self.bases[in_dim] += [(0,) * self.rank] * f2.log2(count)
        return self

    def identity(self, in_dim: str, dim: int, count: int) -> Tile:
        """`in_dim` walks `count` more positions along `dim`."""
        images = self.bases[in_dim]
        while count > 1:
            images.append(unit(self.rank, dim, self.sizes[dim]))
            self.sizes[dim] *= 2
            count >>= 1
        return self

    def walk(self, in_dim: str, counts: Sequence[int], order: Sequence[int], broadcast: int = -1) -> Tile:
        """`in_dim` walks the box `counts`, `order[0]` fastest; along dimension `broadcast` it holds copies."""
        for dim in order:
            if dim == broadcast:
                self.copies(in_dim, counts[dim])
            else:
                self.identity(in_dim, dim, counts[dim])
        return self

    def on(self, shape: Shape, rep_order: Sequence[int], cga: Bases) -> LinearLayout:
        """The tile repeated by registers (in `rep_order`) or wrapped until the CTAs of `cga` cover `shape`."""
        rank = self.rank
        blocks, cta_shape = split_among_ctas(cga, shape)
        for dim in rep_order:
            if self.sizes[dim] < cta_shape[dim]:
                self.identity("register", dim, cta_shape[dim] // self.sizes[dim])
        bases: dict[str, Bases] = {}
        if any(size > limit for size, limit in zip(self.sizes, cta_shape, strict=True)):
            zero = (0,) * rank
            for in_dim, images in self.bases.items():
                bases[in_dim] = tuple(
                    zero if any(v >= limit for v, limit in zip(b, cta_shape, strict=True)) else b for b in images
                )
        else:
            bases = {in_dim: tuple(images) for in_dim, images in self.bases.items()}
        bases["block"] = blocks
        return LinearLayout.trusted(bases, standard_out_dim_pairs(shape))
