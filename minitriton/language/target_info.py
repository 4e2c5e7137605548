"""What a kernel can ask about the target that it is compiled for; the answers are compile-time values.

if tl.target_info.cuda_capability_geq(9, 0): ...
"""

from __future__ import annotations

from typing import Any

from minitriton.language.declare import builtin


@builtin
def current_target() -> Any:
    """The target: `.backend`, `.arch`, `.warp_size`."""


@builtin
def is_cuda() -> Any:
    """Whether the target is an NVIDIA GPU."""


@builtin
def cuda_capability_geq(major: Any, minor: Any = 0) -> Any:
    """Whether the target has at least compute capability `major`.`minor`."""


@builtin
def is_hip() -> Any:
    """Whether the target is an AMD GPU."""


@builtin
def is_hip_cdna3() -> Any:
    """Whether the target is an AMD GPU of the CDNA 3 generation."""


@builtin
def is_hip_cdna4() -> Any:
    """Whether the target is an AMD GPU of the CDNA 4 generation."""
