"""The stages of a compile, by name."""

from __future__ import annotations

from minitriton.target.backends import backend

COMMON_STAGES = ("ttir", "ttgir", "llir")
"""Those of every target."""

STAGES = (*COMMON_STAGES, "ptx")
"""The representations that `CompiledKernel.asm` holds as text, in order; `cubin` follows as bytes."""

ALL_STAGES = (*STAGES, "cubin")


def stages_of(backend_name: str) -> tuple[str, ...]:
    """The stages of a back end that a compile runs, in order: those of every target, then its own."""
    return (*COMMON_STAGES, *backend(backend_name).stages)


def all_stages_of(backend_name: str) -> tuple[str, ...]:
    """Also the stage that is run when its binary is first asked for."""
    return (*stages_of(backend_name), *backend(backend_name).stages_when_asked)
