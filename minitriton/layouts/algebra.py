"""Operations on linear layouts that are not methods: division, fitting to a shape, register permutations.

    divide_left(identity_1d(8, "register", "offset"), identity_1d(4, "register", "offset"))
    == identity_1d(2, "register", "offset")

Counterpart of Triton's lib/Tools/LayoutUtils.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from minitriton.errors import MinitritonError
from minitriton.host.frozen import frozen
from minitriton.layouts import f2
from minitriton.layouts.linear_layout import Bases, Basis, LinearLayout

_T = TypeVar("_T")


@lru_cache(maxsize=16)
def standard_out_dim_names(rank: int) -> tuple[str, ...]:
    """`("dim0", "dim1", ...)`."""
    return tuple(f"dim{i}" for i in range(rank))


def standard_out_dim_pairs(shape: Iterable[int]) -> dict[str, int]:
    """`{"dim0": shape[0], ...}`."""
    return {f"dim{i}": size for i, size in enumerate(shape)}


def divide_left(a: LinearLayout, b: LinearLayout) -> LinearLayout | None:
    """The C with `a == b * C`, or None."""
    if not (b.bases.keys() <= a.bases.keys() and b.out_dims.keys() <= a.out_dims.keys()):
        return None
    shifts = [f2.log2(b.out_dims.get(dim, 1)) for dim in a.out_dims]
    if any(size >> s == 0 for size, s in zip(a.out_dims.values(), shifts, strict=True)):
        return None
    low = [(1 << s) - 1 for s in shifts]
    b_at = _out_positions(a, b)
    bases: dict[str, Bases] = {}
    for dim, images in a.bases.items():
        divisor = b.bases.get(dim, ())
        if len(divisor) > len(images):
            return None
        for mine, theirs in zip(images, divisor, strict=False):
            if any(v != (theirs[i] if i >= 0 else 0) for v, i in zip(mine, b_at, strict=True)):
                return None
        rest = images[len(divisor) :]
        if any(v & m for basis in rest for v, m in zip(basis, low, strict=True)):
            return None
        bases[dim] = tuple(tuple(v >> s for v, s in zip(basis, shifts, strict=True)) for basis in rest)
    sizes = {dim: size >> s for (dim, size), s in zip(a.out_dims.items(), shifts, strict=True)}
    return LinearLayout.trusted(bases, sizes)


def _out_positions(a: LinearLayout, b: LinearLayout) -> list[int]:
    names = list(b.out_dims)
    return [names.index(dim) if dim in b.out_dims else -1 for dim in a.out_dims]


def ensure_layout_not_larger_than(
    layout: LinearLayout, shape: Mapping[str, int], broadcast_registers: bool = True
) -> LinearLayout:
    """Out-dims restricted to `shape`, in-dims as they are: what pointed beyond holds copies.

    With `broadcast_registers` off, the registers that would hold copies are dropped. Bases must be powers of two.
    """
    if all(size <= shape[dim] for dim, size in layout.out_dims.items()):
        return layout
    bases = {dim: [list(basis) for basis in images] for dim, images in layout.bases.items()}
    dropped: set[int] = set()
    for out, (dim, size) in enumerate(layout.out_dims.items()):
        bits = [(basis[out], name, i) for name, of in bases.items() for i, basis in enumerate(of) if basis[out]]
        bits.sort(key=lambda bit: -bit[0])
        for _, name, i in bits:
            if size <= shape[dim]:
                break
            if not broadcast_registers and name == "register":
                dropped.add(i)
            else:
                bases[name][i][out] = 0
            size >>= 1
    if dropped:
        bases["register"] = [basis for i, basis in enumerate(bases["register"]) if i not in dropped]
    return LinearLayout.trusted(
        {dim: tuple(map(tuple, images)) for dim, images in bases.items()},
        {dim: min(size, shape[dim]) for dim, size in layout.out_dims.items()},
    )


def ensure_layout_not_smaller_than(layout: LinearLayout, shape: Mapping[str, int]) -> LinearLayout:
    """The first in-dim made longer, in the order of the out-dims, until the layout covers `shape`."""
    if all(size >= shape[dim] for dim, size in layout.out_dims.items()):
        return layout
    first, images = next(iter(layout.bases.items()))
    sizes = dict(layout.out_dims)
    added: list[Basis] = []
    for out, dim in enumerate(sizes):
        while sizes[dim] < shape[dim]:
            added.append(unit(len(sizes), out, sizes[dim]))
            sizes[dim] *= 2
    return LinearLayout.trusted({**layout.bases, first: images + tuple(added)}, sizes)


@lru_cache(maxsize=4096)
def unit(rank: int, dim: int, value: int) -> Basis:
    """The basis that is `value` at `dim` and 0 elsewhere."""
    return (0,) * dim + (value,) + (0,) * (rank - dim - 1)


def remove_standard_dim(layout: LinearLayout, dim: int) -> LinearLayout:
    """Without out-dim `dim`; the later ones move down one number."""
    names = list(layout.out_dims)
    part = layout.sublayout(layout.bases, [name for i, name in enumerate(names) if i != dim])
    return LinearLayout.trusted(dict(part.bases), standard_out_dim_pairs(part.out_dims.values()))


def reshape_layout(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """The layout of the same elements, row-major, under another shape."""
    back = list(standard_out_dim_pairs(shape).items())[::-1]
    transposed = layout.transpose_outs(list(layout.out_dims)[::-1]).reshape_outs(back)
    return transposed.transpose_outs(standard_out_dim_names(len(shape)))


def transpose_linear_layout(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """The layout of the transposed tensor: result dimension `i` is dimension `order[i]`."""
    sizes = list(layout.out_dims.values())
    return LinearLayout.trusted(
        {dim: tuple(tuple(b[i] for i in order) for b in images) for dim, images in layout.bases.items()},
        {name: sizes[i] for name, i in zip(layout.out_dims, order, strict=True)},
    )


@frozen
class ColumnAction:
    """Picks and reorders the bits of one in-dim: new bit `i` is old bit `action[i]`; bits not named are dropped.

    `(2, 0, 1)` turns the bases `1, 2, 4` into `4, 1, 2`, and eight values into `x[0], x[4], x[1], x[5], x[2], ...`.
    """

    action: tuple[int, ...]
    in_dim: str
    in_size_log2: int

    def __post_init__(self) -> None:
        if any(not 0 <= a < self.in_size_log2 for a in self.action):
            raise MinitritonError(f"{self.action} names bits that {self.in_dim!r} ({self.in_size_log2} bits) has not")

    @classmethod
    def identity(cls, in_dim: str, in_size_log2: int) -> ColumnAction:
        """The action that changes nothing."""
        return cls(tuple(range(in_size_log2)), in_dim, in_size_log2)

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        return self.action == tuple(range(self.in_size_log2))

    def apply(self, layout: LinearLayout) -> LinearLayout:
        """The layout that sees the reordered in-dim."""
        images = layout.bases[self.in_dim]
        if len(images) != self.in_size_log2:
            raise MinitritonError(f"in-dim {self.in_dim!r} has {len(images)} bits, the action {self.in_size_log2}")
        if self.is_identity:
            return layout
        return LinearLayout.trusted(
            {**layout.bases, self.in_dim: tuple(images[a] for a in self.action)}, dict(layout.out_dims)
        )

    def source_indices(self) -> tuple[int, ...]:
        """For each new index, the old one: `permute(x)[i] == x[source_indices()[i]]`."""
        return tuple(f2.span([1 << a for a in self.action]))

    def permute(self, values: Sequence[_T]) -> list[_T]:
        """The values in the new order."""
        return [values[i] for i in self.source_indices()]


def action_remove_broadcasted_regs(layout: LinearLayout) -> ColumnAction:
    """Drops the register bits that change nothing."""
    images = layout.bases["register"]
    return ColumnAction(tuple(i for i, basis in enumerate(images) if any(basis)), "register", len(images))
