"""The stages of a compile, by name."""

from __future__ import annotations

STAGES = ("ttir", "ttgir", "llir", "ptx")
"""The representations that `CompiledKernel.asm` holds as text, in order; `cubin` follows as bytes."""

ALL_STAGES = (*STAGES, "cubin")
