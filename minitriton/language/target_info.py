"""What a kernel can ask about the target that it is compiled for; the answers are compile-time values.

if tl.target_info.cuda_capability_geq(9, 0): ...
"""

# Declarations have no bodies: what they give is what the frontend emits.
# pyright: reportReturnType=false

from __future__ import annotations

from minitriton.language.declare import builtin
from minitriton.language.values import ConstInt, constexpr


@builtin
def current_target() -> constexpr:
    """The target: `.backend`, `.arch`, `.warp_size`."""


@builtin
def is_cuda() -> constexpr:
    """Whether the target is an NVIDIA GPU."""


@builtin
def cuda_capability_geq(major: ConstInt, minor: ConstInt = 0) -> constexpr:
    """Whether the target has at least compute capability `major`.`minor`."""


@builtin
def is_hip() -> constexpr:
    """Whether the target is an AMD GPU."""


@builtin
def is_hip_cdna3() -> constexpr:
    """Whether the target is an AMD GPU of the CDNA 3 generation."""


@builtin
def is_hip_cdna4() -> constexpr:
    """Whether the target is an AMD GPU of the CDNA 4 generation."""
