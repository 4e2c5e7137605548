"""The extension's `gluon_ir`: what programs and tests call of it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["make_cga_layout"]


def make_cga_layout(
    ctas_per_cga: Sequence[int], cta_split_num: Sequence[int], cta_order: Sequence[int]
) -> list[list[int]]:
    """Bases of the CTAs of a cluster: along each dimension of `cta_order` `cta_split_num` parts, which the rest of its CTAs repeat.

    make_cga_layout([2, 2], [2, 1], [0, 1])    →    [[1, 0], [0, 0]]
    """
    bases: list[list[int]] = []
    for dim in cta_order:
        split, ctas = cta_split_num[dim], ctas_per_cga[dim]
        for bit in range(ctas.bit_length() - 1):
            step = 1 << bit if 1 << bit < split else 0
            bases.append([step if d == dim else 0 for d in range(len(ctas_per_cga))])
    return bases
