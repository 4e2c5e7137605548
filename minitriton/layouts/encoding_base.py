"""What all encodings have in common: being frozen and checked, and how CTAs share a tensor.

In: nothing. Out: the base classes, the decorator that makes an encoding of a class, and helpers for its checks.

    bases_per_dim(((0, 1), (1, 0), (0, 2)), 2) == (2, 4)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, ClassVar, TypeVar, dataclass_transform

from minitriton.errors import IRError
from minitriton.host.frozen import frozen
from minitriton.layouts import f2

Ints = tuple[int, ...]
Bases = tuple[Ints, ...]

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True)
def encoding(cls: type[_T]) -> type[_T]:
    """A frozen dataclass whose hash is computed once."""
    made: Any = frozen(cls)

    def cached_hash(self: Any) -> int:
        try:
            return self._hash
        except AttributeError:
            value = hash((made, *(getattr(self, f.name) for f in fields(made))))
            object.__setattr__(self, "_hash", value)
            return value

    made.__hash__ = cached_hash
    return made


class Encoding:
    """Base of all encodings."""

    mnemonic: ClassVar[str]
    """The attribute's name in the textual IR, after `ttg.`."""

    def __getstate__(self) -> dict[str, object]:
        """The fields without the hash, which another process would not agree with."""
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @property
    def rank(self) -> int:
        """Number of tensor dimensions the encoding speaks of."""
        raise NotImplementedError

    @property
    def cga(self) -> Bases:
        """The bases of `block`, one per bit of the CTA's number."""
        raise NotImplementedError

    @property
    def ctas_per_cga(self) -> Ints:
        """CTAs along each dimension, those that hold copies included."""
        return bases_per_dim(self.cga, self.rank, skip_broadcast=False)

    @property
    def cta_split(self) -> Ints:
        """Into how many parts the CTAs split each dimension."""
        return bases_per_dim(self.cga, self.rank)

    @property
    def cta_order(self) -> Ints:
        """The dimensions in the order in which consecutive CTAs walk them."""
        return order_of_bases(self.cga, range(self.rank))

    @property
    def num_ctas(self) -> int:
        """Number of CTAs in the cluster."""
        return 1 << len(self.cga)


class DistributedEncoding(Encoding):
    """Elements live in registers of threads."""


class SharedEncoding(Encoding):
    """Elements live in shared memory."""


def bases_per_dim(bases: Bases, rank: int, skip_broadcast: bool = True) -> Ints:
    """How many positions the bases take along each dimension.

    A zero basis (a copy) counts for the dimension of the basis before it, if `skip_broadcast` is off.
    """
    sizes = [1] * rank
    last = 0
    for basis in bases:
        dim = next((d for d, v in enumerate(basis) if v), None)
        if dim is not None:
            last = dim
            sizes[dim] *= 2
        elif not skip_broadcast:
            sizes[last] *= 2
    return tuple(sizes)


def order_of_bases(bases: Iterable[Ints], default: Iterable[int]) -> Ints:
    """The dimensions as the bases reach them, then those they never reach, in the `default` order."""
    order: dict[int, None] = {}
    for basis in bases:
        dim = next((d for d, v in enumerate(basis) if v), None)
        if dim is not None:
            order[dim] = None
    order.update(dict.fromkeys(default))
    return tuple(order)


def freeze_ints(value: Encoding, *names: str) -> None:
    """Make these fields tuples."""
    for name in names:
        object.__setattr__(value, name, tuple(getattr(value, name)))


def freeze_cga(value: Any, rank: int) -> None:
    """Make `cga_layout` tuples of `rank` entries. Raises `IRError` if it has others."""
    if not value.cga_layout:
        object.__setattr__(value, "cga_layout", ())
        return
    bases = tuple(tuple(basis) for basis in value.cga_layout)
    if any(len(basis) != rank for basis in bases):
        raise IRError(f"every basis of CGALayout must have {rank} entries, one per dimension", help=f"got {bases}")
    object.__setattr__(value, "cga_layout", bases)


def freeze_bases(value: Any, *names: str) -> None:
    """Make the bases tuples, and fill in `shape`. Raises `IRError` if they do not fit."""
    shape = tuple(value.shape)
    rank = len(shape)
    sizes = [1] * rank
    for name in names:
        bases = tuple(tuple(basis) for basis in getattr(value, name))
        object.__setattr__(value, name, bases)
        for basis in bases:
            if not rank:
                rank = len(basis)
                sizes = [1] * rank
            if len(basis) != rank:
                raise IRError("all bases must have the same number of entries", help=f"got {list(basis)}, want {rank}")
            for dim, v in enumerate(basis):
                if v < 0:
                    raise IRError("basis values must not be negative", help=f"got {list(basis)}")
                if v >= sizes[dim]:
                    sizes[dim] = 1 << v.bit_length()
    if not shape:
        shape = tuple(sizes)
    elif any(have > size or not f2.is_power_of_two(size) for have, size in zip(sizes, shape, strict=True)):
        raise IRError(f"the bases do not fit in the shape {list(shape)}", help=f"they reach {sizes}")
    object.__setattr__(value, "shape", shape)


def check_order(order: Ints) -> None:
    """Raise `IRError` unless `order` names every dimension once."""
    if sorted(order) != list(range(len(order))):
        shown = ", ".join(map(str, order))
        raise IRError(f"order must be a permutation of 0..(rank-1), but was [{shown}]")


def flatten_basis(basis: Ints, shape: Ints) -> int:
    """The coordinates joined into one number, the first in the lowest bits."""
    flat = shift = 0
    for v, size in zip(basis, shape, strict=True):
        flat |= v << shift
        shift += f2.log2(size)
    return flat


def cga_of_linear(block: Bases, shape: Ints) -> Bases:
    """The bases of `block` in units of what one CTA covers."""
    split = bases_per_dim(block, len(shape))
    return tuple(
        tuple(v // (size // parts) for v, size, parts in zip(basis, shape, split, strict=True)) for basis in block
    )
