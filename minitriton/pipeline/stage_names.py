"""The stages of a compile, by name."""

from __future__ import annotations

from minitriton.target.backends import backend

COMMON_STAGES = ("ttir", "ttgir", "llir")
"""Those of every target."""

STAGES = (*COMMON_STAGES, "ptx")
"""The representations that `CompiledKernel.asm` holds as text, in order; `cubin` follows as bytes."""


def stages_of(backend_name: str) -> tuple[str, ...]:
    """The stages of a back end, in order: those of every target, then its own."""
    return (*COMMON_STAGES, *backend(backend_name).stages)
