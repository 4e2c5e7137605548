"""`LinearLayout`: a linear map over F2 between named index spaces.

In: for each in-dim (`register`, `lane`, `warp`, `block`, or `offset`) the images of its bits 1, 2, 4, ...; the out-dims
(`dim0`, `dim1`, ...) with their sizes, all powers of two. Out: a frozen map that can be applied, composed, inverted, divided.
The image of any input is the exclusive or of the images of its set bits.

    LinearLayout({"register": [[0, 1]], "lane": [[0, 2], [1, 0]]}, {"dim0": 2, "dim1": 4})
    apply({"register": 1, "lane": 2}) == {"dim0": 1, "dim1": 1}

Dims are ordered, the first being the most minor one; the order matters for reshaping and flattening only. Names and meaning
follow Triton's include/triton/Tools/LinearLayout.h; the theory is Zhou et al., arXiv 2505.23819.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NoReturn

from minitriton.errors import MinitritonError
from minitriton.layouts import f2
from minitriton.layouts.views import distributed_view, shared_view

Basis = tuple[int, ...]
Bases = tuple[Basis, ...]
DimSizes = Mapping[str, int] | Iterable[tuple[str, int]]


class LinearLayout:
    """A linear map over F2; immutable and hashable. See the module for the notation."""

    __slots__ = ("_bases", "_flat", "_hash", "_inverse", "_outs", "_rank")

    _bases: dict[str, Bases]
    _outs: dict[str, int]
    _flat: tuple[int, ...] | None
    _hash: int | None
    _inverse: LinearLayout | None
    _rank: int | None

    def __init__(
        self,
        bases: Mapping[str, Iterable[Sequence[int]]] | Iterable[tuple[str, Iterable[Sequence[int]]]] = (),
        out_dims: DimSizes = (),
        require_surjective: bool = False,
    ) -> None:
        """The map with these `bases` into `out_dims` (name to size). Raises `MinitritonError` when they do not fit."""
        self._bases = {dim: tuple(tuple(basis) for basis in images) for dim, images in dict(bases).items()}
        self._outs = dict(out_dims)
        self._flat = self._hash = self._rank = self._inverse = None
        self._check(require_surjective)

    def _check(self, require_surjective: bool) -> None:
        sizes = tuple(self._outs.values())
        for dim, size in self._outs.items():
            if not f2.is_power_of_two(size):
                raise MinitritonError(f"Invalid out-dim size {size} for out-dim '{dim}'.  Must be a power of 2.")
        for dim, images in self._bases.items():
            for basis in images:
                if len(basis) != len(sizes):
                    raise MinitritonError(
                        f"Invalid basis {list(basis)} of in-dim '{dim}'.  Expected {len(sizes)} values, one per out-dim."
                    )
                for value, size, out in zip(basis, sizes, self._outs, strict=True):
                    if not 0 <= value < size:
                        raise MinitritonError(
                            f"Invalid basis {value} for in-dim '{dim}' and out-dim '{out}'.  "
                            f"Basis must be non-negative and less than the out-dim size {size}."
                        )
        if require_surjective and not self.is_surjective():
            raise MinitritonError(
                f"Layout is expected to be surjective, i.e. every `out` coordinate can be reached by some `in` "
                f"coordinate, but was not:{self}"
            )

    @classmethod
    def trusted(cls, bases: dict[str, Bases], out_dims: dict[str, int]) -> LinearLayout:
        """The layout with these parts, unchecked and not copied: for code that derives them from valid layouts."""
        layout = cls.__new__(cls)
        layout._bases = bases
        layout._outs = out_dims
        layout._flat = layout._hash = layout._rank = layout._inverse = None
        return layout

    # Construction.

    @classmethod
    def empty(cls) -> LinearLayout:
        """The layout without dims: the unit of `*`."""
        return cls.trusted({}, {})

    @classmethod
    def identity_1d(cls, size: int, inDim: str, outDim: str) -> LinearLayout:
        """`L(x) = x` for `x` in [0, size)."""
        return _strided_1d(size, 1, inDim, outDim)

    @classmethod
    def strided_1d(cls, size: int, stride: int, inDim: str, outDim: str) -> LinearLayout:
        """`L(x) = stride * x` for `x` in [0, size), into an out-dim of size `stride * size`."""
        return _strided_1d(size, stride, inDim, outDim)

    @classmethod
    def zeros_1d(cls, size: int, inDim: str, outDim: str, outDimSize: int = 1) -> LinearLayout:
        """`L(x) = 0` for `x` in [0, size)."""
        if size == 0:
            return cls.empty()
        _check_size(size)
        return cls.trusted({inDim: ((0,),) * f2.log2(size)}, {outDim: outDimSize})

    @classmethod
    def from_bases(
        cls,
        bases: Mapping[str, Iterable[Sequence[int]]] | Iterable[tuple[str, Iterable[Sequence[int]]]],
        out_dim_names: Sequence[str],
        out_dim_sizes: Sequence[int] | None = None,
        require_surjective: bool = True,
    ) -> LinearLayout:
        """The layout with these bases; left out, sizes are the smallest powers of two that hold every basis."""
        if out_dim_sizes is None:
            if not require_surjective:
                raise ValueError("out_dim_sizes must be provided when require_surjective is false")
            pairs = [(dim, [tuple(b) for b in images]) for dim, images in dict(bases).items()]
            sizes = [1] * len(out_dim_names)
            for _, images in pairs:
                for basis in images:
                    for i, value in enumerate(basis[: len(sizes)]):
                        sizes[i] = max(sizes[i], 1 << value.bit_length())
            return cls(pairs, zip(out_dim_names, sizes, strict=True), require_surjective)
        if len(out_dim_sizes) != len(out_dim_names):
            raise ValueError("out_dim_names and out_dim_sizes must have the same length")
        return cls(bases, zip(out_dim_names, out_dim_sizes, strict=True), require_surjective)

    # What it is made of.

    @property
    def bases(self) -> Mapping[str, Bases]:
        """In-dim to the images of its bits, in order."""
        return self._bases

    @property
    def out_dims(self) -> Mapping[str, int]:
        """Out-dim to its size, in order."""
        return self._outs

    @property
    def in_dims(self) -> dict[str, int]:
        """In-dim to its size, in order."""
        return {dim: 1 << len(images) for dim, images in self._bases.items()}

    @property
    def num_in_dims(self) -> int:
        """Number of in-dims."""
        return len(self._bases)

    @property
    def num_out_dims(self) -> int:
        """Number of out-dims."""
        return len(self._outs)

    def get_in_dim_names(self) -> list[str]:
        """In-dims, most minor first."""
        return list(self._bases)

    def get_out_dim_names(self) -> list[str]:
        """Out-dims, most minor first."""
        return list(self._outs)

    def has_in_dim(self, dim: str) -> bool:
        """Whether `dim` is an in-dim."""
        return dim in self._bases

    def get_in_dim_size(self, dim: str) -> int:
        """Size of in-dim `dim`."""
        return 1 << self.get_in_dim_size_log2(dim)

    def get_in_dim_size_log2(self, dim: str) -> int:
        """Number of bits of in-dim `dim`."""
        images = self._bases.get(dim)
        return len(images) if images is not None else self._no_dim("in", dim)

    def get_out_dim_size(self, dim: str) -> int:
        """Size of out-dim `dim`."""
        size = self._outs.get(dim)
        return size if size is not None else self._no_dim("out", dim)

    def get_out_dim_index(self, dim: str) -> int:
        """Position of `dim` among the out-dims."""
        return list(self._outs).index(dim) if dim in self._outs else self._no_dim("out", dim)

    def get_total_in_dim_size_log2(self) -> int:
        """Number of bits of all in-dims together."""
        return sum(map(len, self._bases.values()))

    def get_total_in_dim_size(self) -> int:
        """Number of inputs."""
        return 1 << self.get_total_in_dim_size_log2()

    def get_total_out_dim_size_log2(self) -> int:
        """Number of bits of all out-dims together."""
        return sum(map(f2.log2, self._outs.values()))

    def get_total_out_dim_size(self) -> int:
        """Number of points in the codomain."""
        return 1 << self.get_total_out_dim_size_log2()

    def flat_bases(self, in_dim: str) -> tuple[int, ...]:
        """The images of the bits of `in_dim` with the out-dims joined into one number, the first in the lowest bits."""
        at = 0
        for dim, images in self._bases.items():
            if dim == in_dim:
                return self.flat[at : at + len(images)]
            at += len(images)
        self._no_dim("in", in_dim)

    @property
    def flat(self) -> tuple[int, ...]:
        """The images of all in-bits, in order, as `flat_bases` gives them: the columns of the matrix."""
        if self._flat is None:
            self._flat = tuple(self.packed(self._outs))
        return self._flat

    def packed(self, sizes: Mapping[str, int]) -> list[int]:
        """`flat`, with the out-dims laid out in the order of `sizes` and with its sizes."""
        index = {dim: i for i, dim in enumerate(self._outs)}
        shifts: list[tuple[int, int]] = []
        shift = 0
        for dim, size in sizes.items():
            if dim in index:
                shifts.append((index[dim], shift))
            shift += size.bit_length() - 1
        columns: list[int] = []
        for images in self._bases.values():
            for basis in images:
                column = 0
                for i, s in shifts:
                    column |= basis[i] << s
                columns.append(column)
        return columns

    @property
    def rank(self) -> int:
        """The rank of the map over F2: the image has `2**rank` points."""
        if self._rank is None:
            self._rank = f2.rank(self.flat)
        return self._rank

    def is_surjective(self) -> bool:
        """Whether every output has an input."""
        return self.rank == self.get_total_out_dim_size_log2()

    def is_injective(self) -> bool:
        """Whether different inputs have different outputs."""
        return self.rank == self.get_total_in_dim_size_log2()

    def is_invertible(self) -> bool:
        """Whether it is a bijection."""
        return self.get_total_in_dim_size_log2() == self.get_total_out_dim_size_log2() == self.rank

    def get_matrix_view(self) -> list[list[int]]:
        """The matrix: a row per out-bit, a column per in-bit."""
        return [[column >> r & 1 for column in self.flat] for r in range(self.get_total_out_dim_size_log2())]

    # Applying.

    def apply(self, inputs: Mapping[str, int] | Iterable[tuple[str, int]]) -> dict[str, int]:
        """The image of a point, given as in-dim to index; every in-dim must be there."""
        point = dict(inputs)
        _check_same_dims(point, self._bases)
        return self._split(self.apply_flat(point))

    def apply_flat(self, point: Mapping[str, int]) -> int:
        """The image of `point` as one number, the first out-dim in the lowest bits. A missing in-dim counts as 0."""
        result = at = 0
        flat = self.flat
        for dim, images in self._bases.items():
            index = point.get(dim, 0)
            for i in range(len(images)):
                if index >> i & 1:
                    result ^= flat[at + i]
            at += len(images)
        return result

    def _split(self, flat: int) -> dict[str, int]:
        """A joined number split into the out-dims."""
        point: dict[str, int] = {}
        for dim, size in self._outs.items():
            point[dim] = flat & (size - 1)
            flat >>= size.bit_length() - 1
        return point

    # Reordering and reshaping.

    def transpose_ins(self, dims: Sequence[str]) -> LinearLayout:
        """The in-dims in the order `dims`."""
        _check_same_dims(dims, self._bases)
        return LinearLayout.trusted({dim: self._bases[dim] for dim in dims}, self._outs)

    def transpose_outs(self, dims: Sequence[str]) -> LinearLayout:
        """The out-dims in the order `dims`."""
        if tuple(dims) == tuple(self._outs):
            return self
        _check_same_dims(dims, self._outs)
        where = [self.get_out_dim_index(dim) for dim in dims]
        return LinearLayout.trusted(
            {dim: tuple(tuple(b[i] for i in where) for b in images) for dim, images in self._bases.items()},
            {dim: self._outs[dim] for dim in dims},
        )

    def reshape_ins(self, dims: DimSizes) -> LinearLayout:
        """All in-bits, in order, dealt out to new in-dims of the given sizes."""
        new = dict(dims)
        _check_total(new, self.get_total_in_dim_size_log2(), "in")
        images = [basis for of_dim in self._bases.values() for basis in of_dim]
        bases: dict[str, Bases] = {}
        at = 0
        for dim, size in new.items():
            end = at + f2.log2(size)
            bases[dim] = tuple(images[at:end])
            at = end
        return LinearLayout.trusted(bases, self._outs)

    def reshape_outs(self, dims: DimSizes) -> LinearLayout:
        """All out-bits, in order, dealt out to new out-dims of the given sizes."""
        new = dict(dims)
        _check_total(new, self.get_total_out_dim_size_log2(), "out")
        flat = iter(self.flat)
        return LinearLayout.trusted({dim: unflatten(flat, len(b), new) for dim, b in self._bases.items()}, new)

    def remove_zero_bases_along_dim(self, dim: str) -> LinearLayout:
        """Without the bits of in-dim `dim` that change nothing."""
        bases = {d: tuple(b for b in images if any(b)) if d == dim else images for d, images in self._bases.items()}
        return LinearLayout.trusted(bases, self._outs)

    # Parts.

    def sublayout(self, in_dims: Iterable[str] | str, out_dims: Iterable[str] | str) -> LinearLayout:
        """The part from these in-dims to these out-dims, in the present order; out-dims keep their sizes."""
        ins = {in_dims} if isinstance(in_dims, str) else set(in_dims)
        outs = {out_dims} if isinstance(out_dims, str) else set(out_dims)
        if not (ins <= self._bases.keys() and outs <= self._outs.keys()):
            raise MinitritonError(f"sublayout asks for dims {ins} and {outs}, which are not all there:{self}")
        if len(outs) == len(self._outs):
            return LinearLayout.trusted({d: b for d, b in self._bases.items() if d in ins}, self._outs)
        keep = [i for i, dim in enumerate(self._outs) if dim in outs]
        return LinearLayout.trusted(
            {d: tuple(tuple(b[i] for i in keep) for b in images) for d, images in self._bases.items() if d in ins},
            {dim: size for dim, size in self._outs.items() if dim in outs},
        )

    def sublayout_is_zero(self, in_dims: Iterable[str] | str, out_dims: Iterable[str] | str) -> bool:
        """Whether these in-dims never move these out-dims."""
        part = self.sublayout(in_dims, out_dims)
        return not any(any(basis) for images in part._bases.values() for basis in images)

    def is_trivial_over(self, dims: Sequence[str]) -> bool:
        """Whether `dims` map to themselves unchanged and neither influence the rest nor are influenced by it."""
        if any(dim not in self._bases or dim not in self._outs for dim in dims):
            return False
        rest_in = [dim for dim in self._bases if dim not in dims]
        rest_out = [dim for dim in self._outs if dim not in dims]
        same_size = all(self.get_in_dim_size(dim) == self._outs[dim] for dim in dims)
        if not same_size or not self.sublayout_is_zero(rest_in, dims) or not self.sublayout_is_zero(dims, rest_out):
            return False
        part = self.sublayout(dims, dims)
        return all(column == 1 << i for i, column in enumerate(part.flat))

    def quotient(self, dims: Sequence[str]) -> LinearLayout | None:
        """Without `dims`, if the layout is trivial over them."""
        if not self.is_trivial_over(dims):
            return None
        return self.sublayout([d for d in self._bases if d not in dims], [d for d in self._outs if d not in dims])

    def get_free_variable_masks(self) -> dict[str, int]:
        """For each in-dim the bits that add nothing to what the bits before them reach.

        With all free bits 0 the layout is injective: a store predicated on it writes each element once.
        """
        masks: dict[str, int] = {}
        basis: list[int] = []
        flat = iter(self.flat)
        for dim, images in self._bases.items():
            mask = 0
            for i in range(len(images)):
                column = f2.reduce_by(basis, next(flat))
                if column:
                    basis.append(column)
                else:
                    mask |= 1 << i
            masks[dim] = mask
        return masks

    def get_num_consecutive_in_out(self) -> int:
        """How many consecutive inputs of the first in-dim go to consecutive outputs of the first out-dim."""
        if not self._bases or not self._outs:
            return 1
        images = [basis for of_dim in self._bases.values() for basis in of_dim]
        first = next(iter(self._bases.values()))
        run = 0
        while run < len(first) and first[run][0] == 1 << run and not any(first[run][1:]):
            run += 1
        others = 0
        for basis in images[run:]:
            others |= basis[0]
        return 1 << (min(run, f2.log2(others & -others)) if others else run)

    # Algebra.

    def __mul__(self, outer: LinearLayout) -> LinearLayout:
        """The direct sum: `self` acts on the low bits of shared dims, `outer` on the high bits."""
        if not self._bases and not self._outs:
            return outer
        ins = supremum(tuple(self._bases), tuple(outer._bases))
        outs = supremum(tuple(self._outs), tuple(outer._outs))
        index = {dim: i for i, dim in enumerate(self._outs)}
        outer_index = {dim: i for i, dim in enumerate(outer._outs)}
        low = [index.get(dim, -1) for dim in outs]
        high = [(outer_index.get(dim, -1), self._outs.get(dim, 1).bit_length() - 1) for dim in outs]
        sizes = {dim: self._outs.get(dim, 1) * outer._outs.get(dim, 1) for dim in outs}
        same = tuple(self._outs) == outs
        bases: dict[str, Bases] = {}
        for dim in ins:
            mine = self._bases.get(dim, ())
            if not same:
                mine = tuple(tuple(b[i] if i >= 0 else 0 for i in low) for b in mine)
            theirs = outer._bases.get(dim, ())
            bases[dim] = mine + tuple(tuple(b[i] << s if i >= 0 else 0 for i, s in high) for b in theirs)
        return LinearLayout.trusted(bases, sizes)

    def compose(self, outer: LinearLayout) -> LinearLayout:
        """`outer` after `self`: the out-dims of `self` are the in-dims of `outer`, in any order."""
        _check_same_dims(self._outs, outer._bases)
        columns: list[tuple[int, ...]] = []
        for dim, size in self._outs.items():
            if size > outer.get_in_dim_size(dim):
                raise MinitritonError(f"compose: out-dim {dim!r} of size {size} exceeds the in-dim it feeds")
            columns.append(outer.flat_bases(dim))
        flat: list[int] = []
        for images in self._bases.values():
            for basis in images:
                value = 0
                for v, of_dim in zip(basis, columns, strict=True):
                    value ^= f2.apply(of_dim, v)
                flat.append(value)
        it = iter(flat)
        layout = LinearLayout.trusted(
            {d: unflatten(it, len(b), outer._outs) for d, b in self._bases.items()}, outer._outs
        )
        layout._flat = tuple(flat)
        return layout

    def invert_and_compose(self, outer: LinearLayout) -> LinearLayout:
        """The smallest C with `outer(C(x)) == self(x)`, from the in-dims of `self` to those of `outer`.

        An in-dim whose bases are the same in both maps to itself, copies included; the rest is the solution of least norm.
        """
        _check_same_dims(self._outs, outer._outs)
        same = {
            dim
            for dim, images in outer._bases.items()
            if dim in self._bases and self._same_images(dim, images, outer._outs)
        }
        result = _least_squares(outer, self, same)
        if result is None and same:
            # The image of those in-dims is needed for the others: nothing can be left out.
            same = set[str]()
            result = _least_squares(outer, self, same)
        if result is None:
            raise MinitritonError(f"no solution: the image of{self}\nis not contained in the image of{outer}")
        for dim in outer._bases:
            if dim in same:
                result = result * _strided_1d(outer.get_in_dim_size(dim), 1, dim, dim)
        return result.transpose_ins(list(self._bases)).transpose_outs(list(outer._bases))

    def _same_images(self, dim: str, images: Bases, outs: Mapping[str, int]) -> bool:
        if dict(outs) != self._outs:
            return False
        if tuple(outs) == tuple(self._outs):
            return images == self._bases[dim]
        where = [list(outs).index(d) for d in self._outs]
        return tuple(tuple(b[i] for i in where) for b in images) == self._bases[dim]

    def invert(self) -> LinearLayout:
        """The inverse map; raises unless the layout is a bijection."""
        if not self.is_invertible():
            raise MinitritonError(f"A linear layout must be surjective and square to be invertible:{self}")
        return self.pseudoinvert()

    def pseudoinvert(self) -> LinearLayout:
        """A right inverse: `self(result(x)) == x`; needs a surjective layout. It is worked out once."""
        if self._inverse is None:
            identity = LinearLayout.empty()
            for dim, size in self._outs.items():
                identity = identity * _strided_1d(size, 1, dim, dim)
            self._inverse = identity.invert_and_compose(self)
        return self._inverse

    # Equality and text.

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, LinearLayout)
            and self.equal_ignoring_out_dim_sizes(other)
            and list(self._outs.values()) == list(other._outs.values())
        )

    def equal_ignoring_out_dim_sizes(self, other: LinearLayout) -> bool:
        """Equal dims and bases."""
        return (
            self._bases == other._bases
            and tuple(self._bases) == tuple(other._bases)
            and tuple(self._outs) == tuple(other._outs)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((tuple(self._bases.items()), tuple(self._outs.items())))
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return (LinearLayout.trusted, (self._bases, self._outs))

    def __repr__(self) -> str:
        outs = ", ".join(f"{dim} (size {size})" for dim, size in self._outs.items())
        if not self._bases:
            return f"\n(empty layout with out-dims [{outs}])" if self._outs else "\n(empty layout)"
        text = "\n"
        for dim, images in self._bases.items():
            lines = [f"{dim}={1 << i} -> ({', '.join(map(str, basis))})" for i, basis in enumerate(images)]
            text += " - " + ("\n   ".join(lines) if lines else f"{dim} is a size 1 dimension") + "\n"
        return f"{text}where out dims are: [{outs}]"

    def get_distributed_view(self, useHWPointOfView: bool) -> str:
        """The layout of registers as a picture (`views.py`)."""
        return distributed_view(self, useHWPointOfView)

    def get_shared_view(self, useHWPointOfView: bool) -> str:
        """The layout of shared memory as a picture (`views.py`)."""
        return shared_view(self, useHWPointOfView)

    def _no_dim(self, kind: str, dim: str) -> NoReturn:
        raise MinitritonError(f"no {kind}-dim {dim!r} in the layout:{self}")


def unflatten(columns: Iterable[int], count: int, sizes: Mapping[str, int]) -> Bases:
    """The next `count` joined numbers, each split into out-dims of these sizes."""
    fields = [(size - 1, size.bit_length() - 1) for size in sizes.values()]
    bases: list[Basis] = []
    it = iter(columns)
    for _ in range(count):
        column = next(it)
        basis: list[int] = []
        for mask, bits in fields:
            basis.append(column & mask)
            column >>= bits
        bases.append(tuple(basis))
    return tuple(bases)


@lru_cache(maxsize=1024)
def _strided_1d(size: int, stride: int, in_dim: str, out_dim: str) -> LinearLayout:
    if size == 0:
        return LinearLayout.empty()
    _check_size(size)
    bases = tuple((stride << i,) for i in range(f2.log2(size)))
    return LinearLayout({in_dim: bases}, {out_dim: stride * size})


def _least_squares(a: LinearLayout, b: LinearLayout, without: set[str]) -> LinearLayout | None:
    """The X of least norm with `a(X) == b`, in-dims of `b` to in-dims of `a`, but for those in `without`."""
    if without:
        a = a.sublayout([dim for dim in a.bases if dim not in without], a.out_dims)
        b = b.sublayout([dim for dim in b.bases if dim not in without], b.out_dims)
    ins = a.in_dims
    columns = f2.solve(a.packed(a.out_dims), b.packed(a.out_dims), a.get_total_out_dim_size_log2())
    if columns is None:
        return None
    it = iter(columns)
    return LinearLayout.trusted({dim: unflatten(it, len(images), ins) for dim, images in b.bases.items()}, ins)


@lru_cache(maxsize=1024)
def supremum(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """The two ordered lists merged so that both orders hold; `first` goes first where they leave a choice.

    `(a, b)` and `(a, c)` give `(a, b, c)`. Raises if there is no such order, as for `(a, b)` and `(b, a)`.
    """
    merged: list[str] = []
    rest = list(second)
    for name in first:
        if name in rest:
            upto = rest.index(name)
            merged += rest[:upto]
            rest = rest[upto + 1 :]
        elif name in second:
            raise MinitritonError(f"Supremum does not exist: {first} and {second} order {name!r} differently")
        merged.append(name)
    return tuple(merged + rest)


def _check_size(size: int, limit: int | None = None) -> None:
    if not f2.is_power_of_two(size) or (limit is not None and size > limit):
        wanted = "a power of 2" if limit is None else f"a power of 2, at most {limit}"
        raise MinitritonError(f"size {size} is not {wanted}")


def _check_total(dims: Mapping[str, int], total_log2: int, kind: str) -> None:
    if sum(f2.log2(size) for size in dims.values()) != total_log2 or not all(map(f2.is_power_of_two, dims.values())):
        raise MinitritonError(f"cannot reshape {1 << total_log2} {kind}puts to {dict(dims)}")


def _check_same_dims(a: Iterable[str], b: Iterable[str]) -> None:
    if set(a) != set(b):
        raise MinitritonError(
            f"Dimensions must match, ignoring order, but they don't.  Got dims: {sorted(a)} and {sorted(b)}"
        )
