"""Layouts of AMD's matrix cores: of results, and of the scales of operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from minitriton.language.gluon.layouts import (
    OF_ENCODING,
    Bases,
    DistributedLayout,
    DotOperandLayout,
    LayoutError,
    distributed_layout_of,
    frozen,
    layout,
    lists,
)
from minitriton.language.values import unwrap
from minitriton.layouts import encodings as enc
from minitriton.layouts.to_linear import amd_scale


class _Matrix(DistributedLayout):
    """Base of both: what has a default that depends on the rank gets it, and what the IR refuses is refused."""

    module = "ttgl.amd"
    warps_per_cta: list[int]
    tiles_per_warp: list[int] | None
    cga_layout: Bases

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tiles_per_warp is None:
            object.__setattr__(self, "tiles_per_warp", [1] * self.rank)
        if any(len(basis) != self.rank for basis in self.cga_layout):
            raise LayoutError("cga_layout basis rank mismatch")

    @property
    def rank(self) -> int:
        return len(self.warps_per_cta)

    def _name(self, kind: str, *values: object) -> str:
        def text(value: Any) -> str:
            return "_".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)  # pyright: ignore[reportUnknownArgumentType]

        cga = ["~".join(map(str, basis)) for basis in self.cga_layout]
        return f"{kind}_{'_'.join(map(text, (*values, cga)))}_{kind}"


@layout
class AMDMFMALayout(_Matrix):
    """The result of `v_mfma` of (m, n, k) `instr_shape`, on warps of 64. Versions: 1 gfx908, 2 gfx90a, 3 gfx942, 4 gfx950.

    `transposed`: a thread's neighbours are in a row. `element_bitwidth`: of the result, 32 or 64. `tiles_per_warp`: instructions next to each other.
    """

    version: int
    instr_shape: list[int]
    transposed: bool
    warps_per_cta: list[int]
    element_bitwidth: int | None = None
    tiles_per_warp: list[int] | None = None
    cga_layout: Bases = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.element_bitwidth is None:
            object.__setattr__(self, "element_bitwidth", 32)
        if not 1 <= self.version <= 4:
            raise LayoutError("version must be in the [1, 4] range")
        if len(self.instr_shape) != 3:
            raise LayoutError("instr_shape must follow the (M, N, K) format")
        if tuple(self.instr_shape[:2]) not in enc.AmdMfma.SHAPES:
            raise LayoutError(f"invalid intrinsic shape {self.instr_shape}")
        if self.element_bitwidth not in (32, 64):
            raise LayoutError("element bitwidth must be 32 or 64")

    def encoding(self) -> enc.DistributedEncoding:
        assert self.element_bitwidth is not None
        return enc.AmdMfma(
            self.version, tuple(self.warps_per_cta), tuple(self.instr_shape), self.transposed, frozen(self.cga_layout),
            frozen(self.tiles_per_warp), self.element_bitwidth,
        )  # fmt: skip

    def mangle(self) -> str:
        return self._name(
            "MFMA", self.version, self.instr_shape, self.transposed, self.warps_per_cta, self.element_bitwidth, self.tiles_per_warp
        )  # fmt: skip


@layout
class AMDWMMALayout(_Matrix):
    """The result of `v_wmma` of (m, n, k) `instr_shape`, on warps of 32. Versions: 1 RDNA3, 2 RDNA4, 3 gfx1250."""

    version: int
    transposed: bool
    warps_per_cta: list[int]
    instr_shape: list[int] | None = None
    tiles_per_warp: list[int] | None = None
    cga_layout: Bases = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instr_shape is None:
            object.__setattr__(self, "instr_shape", [16, 16, 16])
        if not 1 <= self.version <= 3:
            raise LayoutError("version must be in the [1, 3] range")

    def encoding(self) -> enc.DistributedEncoding:
        return enc.AmdWmma(
            self.version, self.transposed, tuple(self.warps_per_cta), frozen(self.tiles_per_warp), frozen(self.cga_layout),
            frozen(self.instr_shape),
        )  # fmt: skip

    def mangle(self) -> str:
        return self._name(
            "WMMA", self.version, self.transposed, self.warps_per_cta, self.tiles_per_warp, self.instr_shape
        )


OF_ENCODING.update(
    {
        enc.AmdMfma: lambda e: AMDMFMALayout(
            e.version, lists(e.instr_shape), e.is_transposed, lists(e.warps_per_cta), e.element_bit_width,
            lists(e.tiles), lists(e.cga_layout),
        ),
        enc.AmdWmma: lambda e: AMDWMMALayout(
            e.version, e.is_transpose, *map(lists, (e.warps_per_cta, e.instr_shape, e.tiles, e.cga_layout))
        ),
    }
)  # fmt: skip


def scale_layout(operand: DotOperandLayout, shape: Sequence[int], parent: type[DistributedLayout]) -> DistributedLayout:
    """Of the scales, of `shape`, of an operand of a dot whose result has a layout of class `parent`. Raises `LayoutError` for another."""
    operand = unwrap(operand)
    if not isinstance(operand, DotOperandLayout) or not isinstance(operand.parent, parent):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LayoutError(f"expected a DotOperandLayout whose parent is an {parent.__name__}, got {operand}")
    encoding = operand.encoding()
    assert isinstance(encoding, enc.DotOperand)
    return distributed_layout_of(amd_scale(encoding, [unwrap(size) for size in unwrap(shape)]))
