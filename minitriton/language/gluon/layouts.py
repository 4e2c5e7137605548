"""Gluon's layouts: what an author says of how a tensor is spread over threads, or over shared memory.

    BlockedLayout(size_per_thread=[1, 4], threads_per_warp=[8, 4], warps_per_cta=[4, 1], order=[1, 0])

A layout has the names and fields of Triton's classes (lists of integers, which may come as `constexpr`). `encoding()` is its value in
`minitriton.layouts.encodings`, checked there; `layout_of(encoding)` goes back. `AutoLayout` and `CoalescedLayout` ask the compiler to choose.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any, ClassVar, TypeVar, cast, dataclass_transform

from minitriton.errors import IRError, MinitritonError
from minitriton.host.identity import PLAIN
from minitriton.language.declare import constexpr_function
from minitriton.language.dtypes import constexpr_type, dtype
from minitriton.language.values import base_value, unwrap
from minitriton.layouts import encodings as enc


class LayoutError(MinitritonError, AssertionError):
    """A layout that cannot be; an `AssertionError` as in Triton."""


Bases = list[list[int]]
"""One vector of coordinates for each bit."""


def frozen(value: Any) -> Any:
    """Lists as tuples: what is compared and hashed."""
    return tuple(frozen(each) for each in cast("list[Any]", value)) if isinstance(value, (tuple, list)) else value


def _joined(values: Sequence[int], separator: str = "_") -> str:
    return separator.join(map(str, values))


def _is_of_run_time(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_of_run_time, cast("list[Any]", value)))
    return isinstance(value, base_value)


class Layout:
    """Base of all layouts."""

    module: ClassVar[str] = "ttgl"
    """What kernels write before its name."""
    __match_args__: ClassVar[tuple[str, ...]] = ()
    """The names of its parameters."""
    in_process_key: ClassVar[Callable[[Layout], object]]
    """What a launch looks for its kernel by: equal for equal layouts of the class alone."""
    lists: ClassVar[tuple[str, ...]] = ()
    """Fields that are lists also where a tuple is given. The others stay as given, which their text shows."""

    def __post_init__(self) -> None:
        for name in self.__match_args__:
            given = getattr(self, name)
            if given.__class__ in PLAIN:
                continue
            value = unwrap(given)
            if _is_of_run_time(value):
                message = f"{name} of {type(self).__name__} holds a value that is not known at compile time"
                raise LayoutError(
                    message, help="annotate variables as ttgl.constexpr; in a tuple that has a name numbers are values"
                )
            object.__setattr__(self, name, list(value) if name in self.lists else value)

    @property
    def type(self) -> constexpr_type:
        return constexpr_type(self)

    def encoding(self) -> enc.Encoding:
        """Its value in the IR. Raises `IRError` for parameters that no layout of the kind has."""
        raise NotImplementedError

    def mangle(self) -> str:
        """Its part in the name of a function that is compiled for it."""
        raise NotImplementedError


L = TypeVar("L", bound=Layout)


def layout_class(name: str) -> type[Layout]:
    """The layout class called `name`. Raises `MinitritonError` if there is none."""
    pending = list(Layout.__subclasses__())
    while pending:
        cls = pending.pop()
        if cls.__name__ == name:
            return cls
        pending += cls.__subclasses__()
    raise MinitritonError(f"unknown layout of Gluon: {name!r}")


@dataclass_transform(frozen_default=True)
def layout(cls: type[L]) -> type[L]:
    """A frozen dataclass that compares lists and tuples alike, and hashes both. Prints a tuple of one element as
    Triton's kernels do, without a comma."""
    made = dataclass(frozen=True, eq=False)(cls)
    plain = made.__repr__
    made.__repr__ = lambda self: re.sub(r"\((\w+),\)", r"(\1)", plain(self))

    def key(self: object) -> tuple[object, ...]:
        values = [getattr(self, name) for name in made.__match_args__]
        return (made, *[value if value.__class__ in PLAIN else frozen(value) for value in values])

    made.__eq__ = lambda self, other: self.__class__ is other.__class__ and key(self) == key(other)
    made.__hash__ = lambda self: hash(key(self))
    made.in_process_key = key
    return made


def _cga_name(cga: Bases) -> str:
    return "_".join(_joined(basis, "~") for basis in cga)


class DistributedLayout(Layout):
    """Base of layouts in registers."""

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        raise NotImplementedError

    def encoding(self) -> enc.DistributedEncoding:
        raise NotImplementedError


class _Asked(DistributedLayout):
    """Base of layouts that the compiler chooses."""

    @property
    def rank(self) -> int:
        raise ValueError(f"{type(self).__name__} lacks a rank: the compiler chooses it")

    def encoding(self) -> enc.DistributedEncoding:
        raise LayoutError(f"the compiler chooses {type(self).__name__}", help="name the layout that it is to be")


@layout
class AutoLayout(_Asked):
    """The layout that the uses ask for (`gluon-resolve-auto-encodings`)."""

    def mangle(self) -> str:
        return "AL"


@layout
class CoalescedLayout(_Asked):
    """The layout with which memory is accessed in the fewest transactions (`gluon-infer-coalesced-encodings`)."""

    def mangle(self) -> str:
        return "CL"


@layout
class BlockedLayout(DistributedLayout):
    """Each thread owns a box of `size_per_thread` elements; boxes tile a warp, warps tile a CTA, CTAs tile by `cga_layout`."""

    size_per_thread: list[int]
    threads_per_warp: list[int]
    warps_per_cta: list[int]
    order: list[int]
    cga_layout: Bases = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        super().__post_init__()
        rank = len(self.size_per_thread)
        _same_rank(self, rank, self.threads_per_warp, self.warps_per_cta, self.order)

    @property
    def rank(self) -> int:
        return len(self.order)

    def encoding(self) -> enc.DistributedEncoding:
        return enc.Blocked(
            tuple(self.size_per_thread), tuple(self.threads_per_warp), tuple(self.warps_per_cta), tuple(self.order),
            frozen(self.cga_layout),
        )  # fmt: skip

    def mangle(self) -> str:
        parts = (self.size_per_thread, self.threads_per_warp, self.warps_per_cta, self.order)
        return f"B{'_'.join(map(_joined, parts))}_{_cga_name(self.cga_layout)}B"


def _same_rank(layout: Layout, rank: int, *values: Sequence[object]) -> None:
    if any(len(value) != rank for value in values):
        raise LayoutError(f"the fields of {layout} must have one length, that of the rank ({rank})")


@layout
class SliceLayout(DistributedLayout):
    """`parent` without dimension `dim`: what a reduction over it gives."""

    dim: int
    parent: DistributedLayout

    @property
    def rank(self) -> int:
        return self.parent.rank - 1

    @property
    def cga_layout(self) -> Bases:
        """Bases of the CTAs, those of the parent without the dimension."""
        return [basis[: self.dim] + basis[self.dim + 1 :] for basis in getattr(self.parent, "cga_layout", [])]

    def encoding(self) -> enc.DistributedEncoding:
        return enc.Slice(self.dim, self.parent.encoding())

    def mangle(self) -> str:
        return f"SL{self.dim}_{self.parent.mangle()}SL"


@layout
class DistributedLinearLayout(DistributedLayout):
    """A linear layout by its bases (https://arxiv.org/abs/2505.23819) of a tensor of `shape`."""

    lists = ("reg_bases", "lane_bases", "warp_bases", "block_bases", "shape")
    reg_bases: Bases
    lane_bases: Bases
    warp_bases: Bases
    block_bases: Bases
    shape: list[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        for bases in (self.reg_bases, self.lane_bases, self.warp_bases, self.block_bases):
            _same_rank(self, self.rank, *bases)

    @property
    def rank(self) -> int:
        return len(self.shape)

    def encoding(self) -> enc.DistributedEncoding:
        return enc.Linear(
            frozen(self.reg_bases), frozen(self.lane_bases), frozen(self.warp_bases), frozen(self.block_bases),
            tuple(self.shape),
        )  # fmt: skip

    def mangle(self) -> str:
        return f"DLL{self.reg_bases}_{self.lane_bases}_{self.warp_bases}_{self.block_bases}_{self.shape}DLL"


@layout
class DotOperandLayout(DistributedLayout):
    """Operand 0 or 1 of a dot whose result has `parent`; `k_width` consecutive elements along K are in a thread."""

    operand_index: int
    parent: DistributedLayout
    k_width: int

    @property
    def rank(self) -> int:
        return self.parent.rank

    @property
    def cga_layout(self) -> Bases:
        """Bases of the CTAs: none along K."""
        k = self.rank - 1 if self.operand_index == 0 else self.rank - 2
        return [[0 if d == k else v for d, v in enumerate(basis)] for basis in getattr(self.parent, "cga_layout", [])]

    def encoding(self) -> enc.DistributedEncoding:
        return enc.DotOperand(self.operand_index, self.parent.encoding(), self.k_width)

    def mangle(self) -> str:
        return f"DO{self.operand_index}_{self.parent.mangle()}_{self.k_width}DO"


@layout
class NVMMADistributedLayout(DistributedLayout):
    """The result of a tensor-core instruction: `version` [2, 0] is `mma.sync`, [3, 0] `wgmma`."""

    version: list[int]
    warps_per_cta: list[int]
    instr_shape: list[int]
    cga_layout: Bases = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        super().__post_init__()
        shape = list(self.instr_shape)
        if self.version[0] == 2 and shape[-2:] not in ([16, 8], [8, 8]):
            raise LayoutError(f"instr_shape of mma.sync is {shape}", help="[16, 8], or [1, 16, 8] of a batch")
        if self.version[0] == 3 and (shape[0] != 16 or shape[1] not in range(8, 257, 8)):
            raise LayoutError(
                f"instr_shape of wgmma is {shape}", help="[16, n, k]: 16 rows a warp, n a multiple of 8 up to 256"
            )

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    def encoding(self) -> enc.DistributedEncoding:
        major, minor = self.version
        return enc.NvidiaMma(major, minor, tuple(self.warps_per_cta), tuple(self.instr_shape), frozen(self.cga_layout))

    def mangle(self) -> str:
        return f"MMA_{self.version}_{self.warps_per_cta}_{self.instr_shape}_{_cga_name(self.cga_layout)}_MMA"


class SharedLayout(Layout):
    """Base of layouts in shared memory."""

    def encoding(self) -> enc.SharedEncoding:
        raise NotImplementedError


def shape_per_cta(shape: Sequence[int], cga_layout: Bases) -> list[int]:
    """The part of `shape` that a CTA has. Raises `LayoutError` where the CTAs do not divide it."""
    if not cga_layout:
        return list(shape)
    parts = [2 * max(1, *(basis[dim] for basis in cga_layout)) for dim in range(len(shape))]
    if any(size % part for size, part in zip(shape, parts, strict=True)):
        raise LayoutError(f"Shape {list(shape)} is not divisible by CGA layout {cga_layout}")
    return [size // part for size, part in zip(shape, parts, strict=True)]


@layout
class NVMMASharedLayout(SharedLayout):
    """Rows of `swizzle_byte_width` bytes (0, 32, 64, 128) swizzled as TMA and `wgmma` want them."""

    swizzle_byte_width: int
    element_bitwidth: int
    rank: int = 2
    transposed: bool = False
    fp4_padded: bool = False
    cga_layout: Bases = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cga_layout", self.cga_layout or [])
        _same_rank(self, self.rank, *self.cga_layout)
        for name, allowed in (("element_bitwidth", (8, 16, 32, 64)), ("swizzle_byte_width", (0, 32, 64, 128))):
            if getattr(self, name) not in allowed:
                raise LayoutError(f"{name} is {getattr(self, name)}, and must be one of {allowed}")

    def encoding(self) -> enc.SharedEncoding:
        return enc.NVMMAShared(
            self.swizzle_byte_width, self.transposed, self.element_bitwidth, self.fp4_padded, frozen(self.cga_layout),
            self.rank,
        )  # fmt: skip

    @staticmethod
    @constexpr_function
    def get_default_for(
        block_shape: Sequence[int],
        dtype: dtype,
        transposed: bool = False,
        fp4_padded: bool = False,
        cga_layout: Bases | None = None,
    ) -> NVMMASharedLayout:
        """The layout of a block with the widest swizzle that its rows are a multiple of: TMA and MMA take the fewest instructions then."""
        shape = shape_per_cta(block_shape, cga_layout or [])
        if transposed:
            shape = shape[1:] + shape[:1]
        row = shape[-1] * (2 if fp4_padded else 1) * dtype.primitive_bitwidth // 8
        width = next((w for w in (128, 64, 32) if row >= w and row % w == 0), 0)
        if len(block_shape) < 2 or math.prod(shape[:-1]) < 8:
            width = 0
        return NVMMASharedLayout(
            width, dtype.primitive_bitwidth, len(block_shape), transposed, fp4_padded, cga_layout or []
        )

    def mangle(self) -> str:
        parts = (self.swizzle_byte_width, self.element_bitwidth, self.transposed, self.fp4_padded)
        return f"NVMMA_{'_'.join(map(str, parts))}_{_cga_name(self.cga_layout)}_NVMMA"


@layout
class SwizzledSharedLayout(SharedLayout):
    """Groups of `vec` elements xor-ed with the row's phase, which changes every `per_phase` rows, modulo `max_phase`."""

    vec: int
    per_phase: int
    max_phase: int
    order: list[int]
    cga_layout: Bases = field(default_factory=list[list[int]])

    def encoding(self) -> enc.SharedEncoding:
        return enc.SwizzledShared(self.vec, self.per_phase, self.max_phase, tuple(self.order), frozen(self.cga_layout))

    def mangle(self) -> str:
        return (
            f"SSS_{self.vec}_{self.per_phase}_{self.max_phase}_{_joined(self.order)}_{_cga_name(self.cga_layout)}_SSS"
        )


@layout
class PaddedSharedLayout(SharedLayout):
    """Elements by `offset_bases`, with `padding` elements put in after every `interval`, for each pair of them."""

    lists = ("interval_padding_pairs", "offset_bases", "block_bases", "shape")
    interval_padding_pairs: Bases
    offset_bases: Bases
    block_bases: Bases
    shape: list[int]

    def __post_init__(self) -> None:
        super().__post_init__()
        _same_rank(self, len(self.shape), *self.offset_bases, *self.block_bases)
        _same_rank(self, 2, *self.interval_padding_pairs)
        if len({interval for interval, _ in self.interval_padding_pairs}) != len(self.interval_padding_pairs):
            raise LayoutError(f"{self.interval_padding_pairs} has an interval twice")
        self.encoding()

    def encoding(self) -> enc.SharedEncoding:
        pairs = self.interval_padding_pairs
        return enc.PaddedShared(
            tuple(p[0] for p in pairs), tuple(p[1] for p in pairs), frozen(self.offset_bases), frozen(self.block_bases),
            tuple(self.shape),
        )  # fmt: skip

    @staticmethod
    @constexpr_function
    def with_identity_for(
        interval_padding_pairs: Bases, shape: Sequence[int], order: Sequence[int]
    ) -> PaddedSharedLayout:
        """Elements of `shape` in their order, the dimensions of `order` from the fastest on."""
        require_powers_of_two(shape)
        bases = [
            [1 << bit if d == dim else 0 for d in range(len(shape))]
            for dim in order
            for bit in range(shape[dim].bit_length() - 1)
        ]
        return PaddedSharedLayout(interval_padding_pairs, bases, [], list(shape))

    def mangle(self) -> str:
        return f"PaddedShared_{self.interval_padding_pairs}_{self.offset_bases}_{self.block_bases}_{self.shape}_PaddedShared"


def require_powers_of_two(sizes: Sequence[int]) -> None:
    if any(size < 1 or size & (size - 1) for size in sizes):
        raise LayoutError(f"{list(sizes)} must be powers of two")


@layout
class SharedLinearLayout(SharedLayout):
    """A linear layout by its bases; buffers begin at a multiple of `alignment` bytes."""

    lists = ("offset_bases", "block_bases")
    offset_bases: Bases
    block_bases: Bases = field(default_factory=list[list[int]])
    alignment: int = 16

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.offset_bases or not self.offset_bases[0]:
            raise LayoutError("SharedLinearLayout offset_bases must not be empty")
        _same_rank(self, len(self.offset_bases[0]), *self.offset_bases, *self.block_bases)
        require_powers_of_two([self.alignment])

    def encoding(self) -> enc.SharedEncoding:
        return enc.SharedLinear(frozen(self.offset_bases), frozen(self.block_bases), self.alignment)

    def mangle(self) -> str:
        return f"SharedLinear_{self.offset_bases}_{self.block_bases}_{self.alignment}_SharedLinear"


def lists(value: Any) -> Any:
    """Tuples as lists: what fields hold."""
    return [lists(each) for each in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value


def written(value: object) -> str:
    """A layout as a kernel writes it, trailing defaults left out: `ttgl.SliceLayout(1, ttgl.BlockedLayout(...))`."""
    if not isinstance(value, Layout):
        return str(lists(value))
    given = [(each, getattr(value, name)) for name, each in signature(type(value)).parameters.items()]
    while given and given[-1][0].default is not Parameter.empty and given[-1][1] in (given[-1][0].default, []):
        given.pop()
    return f"{value.module}.{type(value).__name__}({', '.join(written(part) for _, part in given)})"


def read_layout(text: str) -> Layout:
    """The layout that `text` writes, as a kernel does or as `repr` does: the reverse of `written`. Raises `LayoutError`."""
    try:
        found = _read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, TypeError, ValueError) as error:
        raise LayoutError(f"cannot read the layout {text!r}: {error}", help=_AS_WRITTEN) from None
    if not isinstance(found, Layout):
        raise LayoutError(f"{text!r} is not a layout", help=_AS_WRITTEN)
    return found


_AS_WRITTEN = "write it as a kernel does: BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])"


def _read(node: ast.expr) -> object:
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    given = {str(each.arg): _read(each.value) for each in node.keywords}
    cls = layout_class(name)
    taken = signature(cls).parameters
    found = cls(*map(_read, node.args), **{each: value for each, value in given.items() if each in taken})
    for each, value in given.items():  # fields that the class itself sets, which `repr` shows
        if each not in taken and frozen(getattr(found, each, None)) != frozen(value):
            raise TypeError(f"{cls.__name__} takes no {each!r}, or is another with {value!r}")
    return found


def conversion_to(name: str, layout: DistributedLayout) -> str:
    """The call that gives the tensor `name` a layout."""
    return f"ttgl.convert_layout({name}, {written(layout)})"


OF_ENCODING: dict[type[enc.Encoding], Callable[[Any], Layout]] = {
    enc.Blocked: lambda e: BlockedLayout(
        *map(lists, (e.size_per_thread, e.threads_per_warp, e.warps_per_cta, e.order, e.cga_layout))
    ),
    enc.Slice: lambda e: SliceLayout(e.dim, distributed_layout_of(e.parent)),
    enc.Linear: lambda e: DistributedLinearLayout(*map(lists, (e.register, e.lane, e.warp, e.block, e.shape))),
    enc.DotOperand: lambda e: DotOperandLayout(e.op_idx, distributed_layout_of(e.parent), e.k_width),
    enc.NvidiaMma: lambda e: NVMMADistributedLayout(
        [e.version_major, e.version_minor], *map(lists, (e.warps_per_cta, e.instr_shape, e.cga_layout))
    ),
    enc.NVMMAShared: lambda e: NVMMASharedLayout(
        e.swizzling_byte_width, e.element_bit_width, e.rank, e.transposed, e.fp4_padded, lists(e.cga_layout)
    ),
    enc.SwizzledShared: lambda e: SwizzledSharedLayout(
        e.vec, e.per_phase, e.max_phase, lists(e.order), lists(e.cga_layout)
    ),
    enc.SharedLinear: lambda e: SharedLinearLayout(lists(e.offset), lists(e.block), e.alignment),
    enc.PaddedShared: lambda e: PaddedSharedLayout(
        [list(pair) for pair in zip(e.intervals, e.paddings, strict=True)],
        *map(lists, (e.offset, e.block, e.shape)),
    ),
}


def layout_of(encoding: enc.Encoding) -> Layout:
    """The layout that `encoding` is the value of. Raises `IRError` for one that Gluon has no class for."""
    make = OF_ENCODING.get(type(encoding))
    if make is None:
        raise IRError(f"Gluon lacks a layout for {type(encoding).__name__}")
    return make(encoding)


def distributed_layout_of(encoding: enc.DistributedEncoding) -> DistributedLayout:
    """`layout_of` an encoding of registers."""
    found = layout_of(encoding)
    assert isinstance(found, DistributedLayout)
    return found


def bases_per_dim(bases: Bases, rank: int, skip_broadcast: bool = True) -> list[int]:
    """How far `bases` extend each dimension; without `skip_broadcast` a zero basis counts for the dimension before it."""
    result = [1] * rank
    last = None
    for basis in bases:
        moved = next((d for d, v in enumerate(basis) if v), None)
        if moved is not None:
            last = moved
        elif skip_broadcast:
            continue
        assert last is not None, f"the first basis of {bases} is zero"
        result[last] *= 2
    return result


def warps_per_cta(layout: DistributedLayout, shape: Sequence[int]) -> list[int]:
    """How many warps there are along each dimension."""
    if isinstance(layout, DistributedLinearLayout):
        return bases_per_dim(layout.warp_bases, len(shape))
    if isinstance(layout, (SliceLayout, DotOperandLayout)):
        return warps_per_cta(layout.parent, shape)
    return getattr(layout, "warps_per_cta")  # noqa: B009 (a field of the other classes)
