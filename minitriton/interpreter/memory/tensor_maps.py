"""What a program knows of copies by descriptor: the descriptors that it has written, and the buffers that stores may still read."""

from __future__ import annotations

from dataclasses import dataclass, field

from minitriton.interpreter.memory.shared_views import BufferView


@dataclass(frozen=True)
class DescribedTensor:
    """The contents of a descriptor's 128 bytes: sizes in elements, strides in bytes, slowest dimension first."""

    base: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    fills_with_nan: bool


@dataclass
class TensorCopies:
    """The descriptors that a program has written, by address, and the buffers that its stores may still read."""

    maps: dict[int, DescribedTensor] = field(default_factory=dict[int, DescribedTensor])
    stores: list[BufferView] = field(default_factory=list[BufferView])
