"""Encodings: how a tensor's elements are spread over registers, lanes, warps and blocks, or over shared memory.

In: the parameters of one of Triton's layout attributes. Out: a frozen, validated, hashable value. What it means as a map
from hardware bits to tensor coordinates is `to_linear.to_linear_layout`.

    Blocked(size_per_thread=(1, 4), threads_per_warp=(8, 4), warps_per_cta=(2, 1), order=(1, 0))

gives every thread 4 neighbours of a row, every warp 8 rows of 16, and puts two warps below each other. Dimensions in `order`
run fastest first. `cga_layout` is the part of several CTAs: one basis per bit of the CTA's number, `()` for one CTA.

The errors are those of Triton's attribute verifiers (lib/Dialect/TritonGPU/IR/Dialect.cpp), raised as `IRError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from minitriton.errors import IRError
from minitriton.layouts import f2
from minitriton.layouts.encoding_base import (
    Bases,
    DistributedEncoding,
    Encoding,
    Ints,
    SharedEncoding,
    bases_per_dim,
    cga_of_linear,
    check_order,
    encoding,
    flatten_basis,
    freeze_bases,
    freeze_cga,
    freeze_ints,
    order_of_bases,
)

__all__ = [
    "AmdMfma", "AmdWmma", "Bases", "Blocked", "DistributedEncoding", "DotOperand", "Encoding", "Ints", "Linear",
    "NVMMAShared", "NvidiaMma", "PaddedShared", "SharedEncoding", "SharedLinear", "Slice", "SwizzledShared",
    "bases_per_dim", "order_of_bases",
]  # fmt: skip


@encoding
class Blocked(DistributedEncoding):
    """Each thread owns a box of `size_per_thread` elements, boxes tile a warp, warps tile a CTA (`#ttg.blocked`)."""

    mnemonic: ClassVar[str] = "blocked"

    size_per_thread: Ints
    threads_per_warp: Ints
    warps_per_cta: Ints
    order: Ints
    cga_layout: Bases = ()

    def __post_init__(self) -> None:
        freeze_ints(self, "size_per_thread", "threads_per_warp", "warps_per_cta", "order")
        if not len(self.size_per_thread) == len(self.threads_per_warp) == len(self.warps_per_cta) == len(self.order):
            raise IRError("sizePerThread, threadsPerWarp, warpsPerCTA, and order must all have the same rank.")
        for name, values in (
            ("sizePerThread", self.size_per_thread),
            ("threadsPerWarp", self.threads_per_warp),
            ("warpsPerCTA", self.warps_per_cta),
        ):
            if not all(f2.is_power_of_two(v) for v in values):
                raise IRError(f"Every element in {name} must be a power of two.", help=f"got {list(values)}")
        check_order(self.order)
        freeze_cga(self, self.rank)

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def cga(self) -> Bases:
        return self.cga_layout


@encoding
class Slice(DistributedEncoding):
    """`parent` with dimension `dim` squeezed out (`#ttg.slice`): what a reduction over `dim` leaves."""

    mnemonic: ClassVar[str] = "slice"

    dim: int
    parent: DistributedEncoding

    def __post_init__(self) -> None:
        rank = self.parent.rank
        if rank <= 1:
            raise IRError("parent layout must have at least rank >= 2")
        if not 0 <= self.dim < rank:
            raise IRError(f"slice dim={self.dim} must be less than the parent rank={rank}")

    @property
    def rank(self) -> int:
        return self.parent.rank - 1

    @property
    def cga(self) -> Bases:
        return tuple(basis[: self.dim] + basis[self.dim + 1 :] for basis in self.parent.cga)

    def padded_shape(self, shape: Sequence[int]) -> Ints:
        """`shape` with a 1 put in at `dim`."""
        return (*shape[: self.dim], 1, *shape[self.dim :])


@encoding
class Linear(DistributedEncoding):
    """A map given by its bases (`#ttg.linear`): `lane[i]` is what flipping bit `i` of the lane adds to the coordinates.

    `shape` holds the sizes of the dimensions; left out, the smallest powers of two that hold every basis.
    """

    mnemonic: ClassVar[str] = "linear"

    register: Bases
    lane: Bases
    warp: Bases
    block: Bases = ()
    shape: Ints = ()

    def __post_init__(self) -> None:
        freeze_bases(self, "register", "lane", "warp", "block")
        for basis in self.all_bases:
            if sum(1 for v in basis if v) > 1:
                raise IRError(
                    "In a distributed layout, each base must move in at most one dimension.", help=f"got {list(basis)}"
                )

    @property
    def all_bases(self) -> Bases:
        """The bases of register, lane, warp and block, in this order."""
        return self.register + self.lane + self.warp + self.block

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def cga(self) -> Bases:
        return cga_of_linear(self.block, self.shape)


@encoding
class NvidiaMma(DistributedEncoding):
    """The result of a tensor-core instruction (`#ttg.nvidia_mma`): version 2 is `mma.sync`, version 3 `wgmma`."""

    mnemonic: ClassVar[str] = "nvidia_mma"

    version_major: int
    version_minor: int
    warps_per_cta: Ints
    instr_shape: Ints
    cga_layout: Bases = ()

    def __post_init__(self) -> None:
        freeze_ints(self, "warps_per_cta", "instr_shape")
        freeze_cga(self, self.rank)

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    def cga(self) -> Bases:
        return self.cga_layout

    @property
    def is_ampere(self) -> bool:
        """Whether it is the layout of `mma.sync`."""
        return self.version_major == 2

    @property
    def is_hopper(self) -> bool:
        """Whether it is the layout of `wgmma`."""
        return self.version_major == 3


class _AmdMma(DistributedEncoding):
    """The result of a matrix core instruction of AMD's, `tiles` of them next to each other in a warp."""

    warps_per_cta: Ints
    tiles_per_warp: Ints
    instr_shape: Ints
    cga_layout: Bases

    def __post_init__(self) -> None:
        freeze_ints(self, "warps_per_cta", "tiles_per_warp", "instr_shape")
        freeze_cga(self, self.rank)
        if all(tiles == 1 for tiles in self.tiles_per_warp):
            object.__setattr__(self, "tiles_per_warp", ())

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    @property
    def cga(self) -> Bases:
        return self.cga_layout

    @property
    def tiles(self) -> Ints:
        """Tiles of a warp along each dimension."""
        return self.tiles_per_warp or (1,) * self.rank


@encoding
class AmdMfma(_AmdMma):
    """The result of `v_mfma` (`#ttg.amd_mfma`), a warp of 64 lanes. Versions: 1 gfx908, 2 gfx90a, 3 gfx942, 4 gfx950."""

    mnemonic: ClassVar[str] = "amd_mfma"
    SHAPES: ClassVar = ((32, 32), (16, 16), (64, 4), (4, 64))
    """The (m, n) of instructions."""

    version: int
    warps_per_cta: Ints
    instr_shape: Ints
    is_transposed: bool
    cga_layout: Bases = ()
    tiles_per_warp: Ints = ()
    element_bit_width: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.version <= 4:
            raise IRError("version must be in the [0, 4] range")
        if self.instr_shape[:2] not in self.SHAPES:
            raise IRError("invalid (mDim, nDim) combination: ({}, {})".format(*self.instr_shape))
        if self.element_bit_width not in (32, 64):
            raise IRError("elementBitWidth must be 32 or 64")


_WMMA_DEPTHS = {1: (16,), 2: (16, 32), 3: (4, 32, 64, 128)}
"""The k of the instructions of a version; m and n are 16."""


@encoding
class AmdWmma(_AmdMma):
    """The result of `v_wmma` (`#ttg.amd_wmma`), a warp of 32 lanes. Versions: 1 RDNA3, 2 RDNA4, 3 gfx1250."""

    mnemonic: ClassVar[str] = "amd_wmma"

    version: int
    is_transpose: bool
    warps_per_cta: Ints
    tiles_per_warp: Ints = ()
    cga_layout: Bases = ()
    instr_shape: Ints = (16, 16, 16)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.instr_shape:
            object.__setattr__(self, "instr_shape", (16, 16, 16))
        if self.version not in _WMMA_DEPTHS:
            raise IRError("WMMA version must be in the [1, 3] range")
        if self.instr_shape not in [(16, 16, depth) for depth in _WMMA_DEPTHS[self.version]]:
            raise IRError(f"invalid WMMA v{self.version} instruction shape")


_WMMA_K_WIDTHS = {1: (8, 16), 2: (4, 8, 16)}


@encoding
class DotOperand(DistributedEncoding):
    """Operand `op_idx` (0: A, 1: B) of a dot whose result is laid out as `parent` (`#ttg.dot_op`).

    `k_width` is the number of consecutive elements along K in a thread; 0 for a blocked parent.
    """

    mnemonic: ClassVar[str] = "dot_op"

    op_idx: int
    parent: DistributedEncoding
    k_width: int = 0

    def __post_init__(self) -> None:
        if self.op_idx not in (0, 1):
            raise IRError(f"ttg.dot_op opIdx parameter can be 0 or 1, got: {self.op_idx}")
        parent = self.parent
        if isinstance(parent, NvidiaMma):
            tensor_core = parent.is_ampere or parent.is_hopper
            if self.k_width != 0 and not tensor_core:
                raise IRError("ttg.dot_op kWidth parameter can only be non-zero for Ampere or Hopper MMA parent")
            if self.k_width == 0 and tensor_core:
                raise IRError("ttg.dot_op kWidth parameter is mandatory for Ampere or Hopper MMA parent")
            if self.op_idx != 0 and parent.is_hopper:
                raise IRError(
                    "ttg.dot_op opIdx parameter must be 0 for Hopper MMA parent, "
                    "since Hopper WGMMA only allows first operand to be in registers"
                )
        elif isinstance(parent, Blocked):
            if self.k_width != 0:
                raise IRError("ttg.dot_op kWidth parameter is not supported when the parent is a blocked layout")
        elif isinstance(parent, AmdWmma):
            allowed = _WMMA_K_WIDTHS.get(parent.version, ())
            if allowed and self.k_width not in allowed:
                widths = "/".join(map(str, allowed))
                raise IRError(
                    f"ttg.dot_op kWidth parameter must be {widths} for WMMA v{parent.version} "
                    "(including packed cases for `scaled_dot`)"
                )
            if self.k_width == 0:
                raise IRError("ttg.dot_op kWidth parameter is mandatory for WMMA v3 ")
        elif isinstance(parent, AmdMfma):
            if self.k_width == 0:
                raise IRError("ttg.dot_op kWidth parameter is mandatory for MFMA parent")
        else:
            raise IRError("ttg.dot_op unexpected parent layout: " + type(parent).__name__)

    @property
    def rank(self) -> int:
        return self.parent.rank

    @property
    def k_dim(self) -> int:
        """The dimension that the dot reduces."""
        return self.rank - 1 if self.op_idx == 0 else self.rank - 2

    @property
    def cga(self) -> Bases:
        k = self.k_dim
        return tuple((*basis[:k], 0, *basis[k + 1 :]) for basis in self.parent.cga)


@encoding
class SwizzledShared(SharedEncoding):
    """Rows whose groups of `vec` elements are xor-ed with the row's phase (`#ttg.swizzled_shared`).

    The phase changes every `per_phase` rows and counts modulo `max_phase`.
    """

    mnemonic: ClassVar[str] = "swizzled_shared"

    vec: int
    per_phase: int
    max_phase: int
    order: Ints
    cga_layout: Bases = ()

    def __post_init__(self) -> None:
        freeze_ints(self, "order")
        check_order(self.order)
        freeze_cga(self, self.rank)

    @property
    def rank(self) -> int:
        return len(self.order)

    @property
    def cga(self) -> Bases:
        return self.cga_layout


@encoding
class AmdRotatingShared(SwizzledShared):
    """As `SwizzledShared`, but each block of `per_phase * max_phase` rows begins with the phase of its number, xor-ed to the others'
    (`#ttg.amd_rotating_shared`). Writes along columns meet fewer banks twice."""

    mnemonic: ClassVar[str] = "amd_rotating_shared"


@encoding
class NVMMAShared(SharedEncoding):
    """Tiles of 8 rows by `swizzling_byte_width` bytes, swizzled as wgmma and TMA want them (`#ttg.nvmma_shared`)."""

    mnemonic: ClassVar[str] = "nvmma_shared"

    swizzling_byte_width: int
    transposed: bool
    element_bit_width: int
    fp4_padded: bool = False
    cga_layout: Bases = ()
    rank: int = 2  # pyright: ignore[reportIncompatibleMethodOverride]

    def __post_init__(self) -> None:
        freeze_cga(self, self.rank)

    @property
    def cga(self) -> Bases:
        return self.cga_layout

    @property
    def vec(self) -> int:
        """Elements in one swizzled group (16 bytes); 1 without swizzling."""
        return 128 // self.element_bit_width if self.swizzling_byte_width else 1

    @property
    def per_phase(self) -> int:
        """Rows that share a phase."""
        return 128 // self.swizzling_byte_width if self.swizzling_byte_width else 1

    @property
    def max_phase(self) -> int:
        """Number of phases."""
        return self.swizzling_byte_width // 16 if self.swizzling_byte_width else 1


@encoding
class PaddedShared(SharedEncoding):
    """A linear arrangement with `paddings[i]` elements put in after every `intervals[i]` (`#ttg.padded_shared`)."""

    mnemonic: ClassVar[str] = "padded_shared"

    intervals: Ints
    paddings: Ints
    offset: Bases
    block: Bases = ()
    shape: Ints = ()

    def __post_init__(self) -> None:
        freeze_ints(self, "intervals", "paddings")
        freeze_bases(self, "offset", "block")
        if len(self.intervals) != len(self.paddings):
            raise IRError(f"intervals size ({len(self.intervals)}) must match paddings size ({len(self.paddings)})")
        if not self.intervals:
            raise IRError("must have at least one interval-padding pair")
        if not all(f2.is_power_of_two(v) for v in self.intervals):
            raise IRError("interval values must all be power of two")
        if not all(f2.is_power_of_two(v) for v in self.paddings):
            raise IRError("padding values must all be power of two")
        if len(set(self.intervals)) != len(self.intervals):
            raise IRError("interval values cannot have duplicates")
        bases = self.offset + self.block
        flat = [flatten_basis(basis, self.shape) for basis in bases]
        if len(bases) != sum(map(f2.log2, self.shape)) or f2.rank(flat) != len(bases):
            raise IRError("Broadcasting is not supported.")
        for basis in bases:
            if sum(1 for v in basis if v) > 1:
                raise IRError("Each offset basis must move in at most one dimension.")
            if not all(v == 0 or f2.is_power_of_two(v) for v in basis):
                raise IRError("Each offset basis must be 0 or a power of two.")

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def cga(self) -> Bases:
        return cga_of_linear(self.block, self.shape)

    @property
    def order(self) -> Ints:
        """Dimensions, fastest first."""
        return order_of_bases(self.offset, range(self.rank - 1, -1, -1))

    def padded_offset(self, offset: int) -> int:
        """The offset of the element at linear `offset` (in elements) once the padding is put in."""
        return offset + sum(
            (offset // interval) * padding for interval, padding in zip(self.intervals, self.paddings, strict=True)
        )

    def padded_size(self, shape: Sequence[int]) -> int:
        """Elements that a tensor of `shape` takes, padding included."""
        size = 1
        for extent in shape:
            size *= extent
        return self.padded_offset(size - 1) + 1


@encoding
class SharedLinear(SharedEncoding):
    """Shared memory by the bases of its offset (`#ttg.shared_linear`); `alignment` is in bytes."""

    mnemonic: ClassVar[str] = "shared_linear"

    offset: Bases
    block: Bases = ()
    alignment: int = 16
    shape: Ints = ()

    def __post_init__(self) -> None:
        freeze_bases(self, "offset", "block")
        if not f2.is_power_of_two(self.alignment):
            raise IRError("alignment must be a positive power of two")
        if not self.shape:
            raise IRError("SharedLinearEncodingAttr requires at least one output dimension.")
        flat = [flatten_basis(basis, self.shape) for basis in self.offset + self.block]
        size = sum(map(f2.log2, self.shape))
        if f2.rank(flat) != size:
            raise IRError("The layout must be surjective")
        if sum(1 for v in flat if v) != size:
            raise IRError("After removing the zero bases the layout must be bijective")

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def cga(self) -> Bases:
        return cga_of_linear(self.block, self.shape)

    @property
    def order(self) -> Ints:
        """Dimensions, fastest first."""
        return order_of_bases(self.offset, range(self.rank - 1, -1, -1))
