"""Gluon's name for the shared-memory layout of matrix instructions: part of the type of a Gluon descriptor.

NVMMASharedLayout(128, 16, 2)    →    rows of 128 bytes swizzled, 16-bit elements, two dimensions
"""

from __future__ import annotations

from dataclasses import dataclass, field

from minitriton.errors import MinitritonError


@dataclass(frozen=True)
class NVMMASharedLayout:
    """Bytes of a swizzled row, bits of an element, rank, and whether the last two dimensions are swapped.

    Raises `MinitritonError` for widths that the hardware does not have.
    """

    swizzle_byte_width: int
    element_bitwidth: int
    rank: int = 2
    transposed: bool = False
    fp4_padded: bool = False
    cga_layout: list[list[int]] = field(default_factory=list[list[int]])

    def __post_init__(self) -> None:
        if self.element_bitwidth not in (8, 16, 32, 64):
            raise MinitritonError(f"elements of {self.element_bitwidth} bits", help="they have 8, 16, 32 or 64")
        if self.swizzle_byte_width not in (0, 32, 64, 128):
            raise MinitritonError(f"a swizzle of {self.swizzle_byte_width} bytes", help="it is 0, 32, 64 or 128")
        if self.cga_layout and len(self.cga_layout[0]) != self.rank:
            raise MinitritonError(f"CTA bases of rank {len(self.cga_layout[0])} in a layout of rank {self.rank}")
