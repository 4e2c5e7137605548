"""Tensor maps: the 128 bytes that describe a tensor to the copy unit of sm_90, as the driver encodes them.

In: a `TensorMap`, sizes in elements (innermost dimension first) and strides in bytes. Out: the bytes that
`cuTensorMapEncodeTiled` writes, and back.

    TensorMap(0x7f0000001000, "f16", dims=(256, 512), strides=(512,), box=(64, 32))
        →   word 2: 0x310 (type f16, rank 2), word 3: 0x20 (stride / 16), words 8 and 9: 255 and 511, ...

The offsets of the fields are those that 777 calls of the driver on an H200 showed (2026-11) and that `ptxas` writes for
`tensormap.replace`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

from minitriton.host.frozen import frozen

SIZE = 128
MOST_DIMS = 5
GRAIN = 16
"""Bytes; the address, the strides and a box's rows are multiples."""
SHARED_ALIGNMENT = 128
"""Bytes; a box's address in shared memory is a multiple (PTX ISA, "Tensor Copy")."""
ELEMENT_BYTES = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f32.ftz": 4, "f64": 8, "bf16": 2,
    "tf32": 4, "tf32.ftz": 4,
}  # fmt: skip
"""Element types in the order of the `elemtype` values of the PTX ISA (`tensormap.replace`)."""
DRIVER_TYPES = (
    "u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f64", "bf16", "f32.ftz", "tf32", "tf32.ftz",
)  # fmt: skip
"""The same in the order of the driver's CUtensorMapDataType."""
_TYPES = tuple(ELEMENT_BYTES)
_INTEGERS = ("u8", "u16", "u32", "s32", "u64", "s64")
_TF32 = 1 << 16
_SHARED_ALIGNMENT = (16, 256, 512, 1024)
"""By swizzle mode."""


class DescriptorCopy(TypedDict):
    """What the host has to know of a tensor descriptor that becomes a tensor map, as kernels' metadata say it. Names are Triton's."""

    swizzle: int
    """0 none, 1 to 3 for 32, 64 and 128 bytes."""
    elem_size: int
    """Bytes."""
    elem_type: int
    """Of the PTX ISA (`tensormap.replace`)."""
    block_size: list[int]
    """The box that one copy moves, in elements, outermost dimension first."""
    fp4_padded: bool


@frozen
class TensorMap:
    """A tiled tensor map: `dims`, `box` and `steps` per dimension, `strides` for all but the innermost."""

    address: int
    element: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...] = ()
    """Element strides: every `steps[d]`-th index is taken. Empty: 1 everywhere."""
    interleave: int = 0
    """0 none, 1 and 2: slices of 16 and 32 bytes."""
    swizzle: int = 0
    """0 none, 1, 2 and 3: spans of 32, 64 and 128 bytes."""
    l2_promotion: int = 0
    """0 none, 1, 2 and 3: 64, 128 and 256 bytes."""
    nan_fill: bool = False
    """Elements outside the tensor read as NaN rather than 0."""

    def __post_init__(self) -> None:
        if not self.steps:
            object.__setattr__(self, "steps", (1,) * len(self.dims))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.dims)

    @property
    def item(self) -> int:
        """Bytes of an element."""
        return ELEMENT_BYTES[self.element]

    @property
    def taken(self) -> tuple[int, ...]:
        """Elements that a copy takes per dimension; without interleave the innermost step has no effect."""
        steps = self.steps if self.interleave else (1, *self.steps[1:])
        return tuple(-(-b // s) for b, s in zip(self.box, steps, strict=True))

    def refusal(self) -> str | None:
        """Why the driver does not encode this map (CUDA driver API, cuTensorMapEncodeTiled); None if it does."""
        if not 1 <= self.rank <= MOST_DIMS or self.element not in ELEMENT_BYTES:
            return f"a tensor map has 1 to {MOST_DIMS} dimensions of a known element type"
        if (len(self.strides), len(self.box), len(self.steps)) != (self.rank - 1, self.rank, self.rank):
            return "a tensor map has a box size and a step per dimension, a stride for all but the innermost"
        grain = 32 if self.interleave == 2 else GRAIN
        checks = (
            (self.address % grain == 0, f"the address must be a multiple of {grain}"),
            (all(0 < d <= 1 << 32 for d in self.dims), "a dimension must be 1 to 2**32"),
            (all(s % grain == 0 and 0 <= s < 1 << 40 for s in self.strides), f"strides: multiples of {grain} < 2**40"),
            (all(0 < b <= 256 for b in self.box), "a box dimension must be 1 to 256"),
            (all(0 < s <= 8 for s in self.steps), "a step must be 1 to 8"),
            (0 <= self.swizzle <= 3 and 0 <= self.interleave <= 2 and 0 <= self.l2_promotion <= 3, "unknown mode"),
            (not (self.nan_fill and self.element in _INTEGERS), "only floats can be filled with NaN"),
            (self.interleave == 0 or self.rank >= 3, "interleaved maps have 3 dimensions or more"),
            (self.interleave != 2 or self.swizzle == 1, "32-byte slices need the 32-byte swizzle"),
            (self.box[0] * self.item % GRAIN == 0, f"the innermost box size must be a multiple of {GRAIN} bytes"),
            (self._fits_swizzle(), "the innermost box size exceeds the swizzle's span"),
        )
        return next((text for good, text in checks if not good), None)

    def _fits_swizzle(self) -> bool:
        return self.interleave != 0 or self.swizzle == 0 or self.box[0] * self.item <= 16 << self.swizzle

    def encode(self) -> bytes:
        """The 128 bytes. Raises `ValueError` for a map that the driver refuses."""
        if (why := self.refusal()) is not None:
            raise ValueError(why)
        words = [0] * (SIZE // 4)
        words[0], words[1] = self.address & 0xFFFFFFFF, self.address >> 32
        base = self.element.replace("tf32", "f32")
        words[2] = (
            (self.rank - 1) << 4 | _TYPES.index(base) << 7 | self.interleave << 11 | self.swizzle << 13
            | self.nan_fill << 15 | (_TF32 if base != self.element else 0) | self.l2_promotion << 17
        )  # fmt: skip
        for d, stride in enumerate(self.strides):
            words[3 + d] = stride >> 4 & 0xFFFFFFFF
            words[7] |= stride >> 36 << 4 * d
        for d in range(self.rank):
            words[8 + d] = self.dims[d] - 1
            words[13] |= (self.steps[d] - 1) << 3 * d
        words[13] |= (self.box[0] - 1) << 24
        for d in range(1, self.rank):
            words[14] |= (self.box[d] - 1) << 8 * (d - 1)
        words[16] = self.item * math.prod(b // s for b, s in zip(self.box, self.steps, strict=True))
        words[18] = _SHARED_ALIGNMENT[self.swizzle]
        return b"".join(w.to_bytes(4, "little") for w in words)


def end_of_row(columns: int, item: int) -> int:
    """The first column that a store to rows of `columns` elements of `item` bytes leaves alone: chunks of 16 bytes are written whole."""
    return -(-columns * item // GRAIN) * GRAIN // item


def illegal_corner(corner: Sequence[int], item: int, *, stores: bool) -> str | None:
    """Why the copy unit stops, with an illegal instruction, at a box that begins at `corner` (innermost dimension first); None if it copies.

    Measured on an H200 (`benchmarks/tensor_copy_edges.py`); the documents do not say it.
    """
    if corner[0] * item % GRAIN:
        return f"begins {corner[0] * item} bytes into the rows, not at a multiple of {GRAIN}"
    if stores and min(corner) < 0:
        return f"begins at {', '.join(map(str, reversed(corner)))}: only loads may begin before the tensor"
    return None


def decode(data: bytes) -> TensorMap:
    """The map that 128 bytes describe. Raises `ValueError` for bytes that name no rank or element type."""
    words = [int.from_bytes(data[4 * i : 4 * i + 4], "little") for i in range(SIZE // 4)]
    mode = words[2]
    rank, code = (mode >> 4 & 7) + 1, mode >> 7 & 15
    if len(data) < SIZE or rank > MOST_DIMS or code >= _TYPES.index("tf32"):
        raise ValueError(f"no tensor map: rank {rank}, element type {code}")
    element = _TYPES[code]
    if mode & _TF32 and element.startswith("f32"):
        element = "t" + element
    return TensorMap(
        address=words[1] << 32 | words[0],
        element=element,
        dims=tuple(words[8 + d] + 1 for d in range(rank)),
        strides=tuple((words[7] >> 4 * d & 15) << 36 | words[3 + d] << 4 for d in range(rank - 1)),
        box=((words[13] >> 24) + 1, *((words[14] >> 8 * d & 255) + 1 for d in range(rank - 1))),
        steps=tuple((words[13] >> 3 * d & 7) + 1 for d in range(rank)),
        interleave=mode >> 11 & 3,
        swizzle=mode >> 13 & 3,
        l2_promotion=mode >> 17 & 3,
        nan_fill=bool(mode >> 15 & 1),
    )


def replace_field(data: bytes, field: str, index: int, value: int) -> bytes:
    """`tensormap.replace.tile.<field>` (PTX ISA): the bytes with one field set; `index` is the dimension it is of.

    Raises `KeyError` for an unknown field.
    """
    if field == "elemtype":
        if value >= _TYPES.index("tf32"):
            value = value - _TYPES.index("tf32") + _TYPES.index("f32") | _TF32 >> 7
        return _put(data, 8, 7, 0xF | _TF32 >> 7, value)
    if field == "global_stride":
        data = _put(data, 28, 4 * index, 15, value >> 36)
        return _put(data, 12 + 4 * index, 0, 0xFFFFFFFF, value >> 4)
    if field == "box_dim":
        return _put(data, 52 if index == 0 else 56, 24 if index == 0 else 8 * (index - 1), 255, value - 1)
    fields = {
        "global_address": (0, 0, (1 << 64) - 1, value), "rank": (8, 4, 7, value),
        "global_dim": (32 + 4 * index, 0, 0xFFFFFFFF, value - 1), "element_stride": (52, 3 * index, 7, value - 1),
        "interleave_layout": (8, 11, 3, value), "swizzle_mode": (8, 13, 3, value), "fill_mode": (8, 15, 1, value),
    }  # fmt: skip
    return _put(data, *fields[field])


def _put(data: bytes, start: int, shift: int, mask: int, value: int) -> bytes:
    size = 8 if mask >> 32 else 4
    word = int.from_bytes(data[start : start + size], "little")
    word = word & ~(mask << shift) | (value & mask) << shift
    return data[:start] + word.to_bytes(size, "little") + data[start + size :]
