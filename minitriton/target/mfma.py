"""The instructions of AMD's matrix cores, `v_mfma`, of each version: 2 gfx90a, 3 gfx942, 4 gfx950.

    mfma_of(3, (32, 32), "f16", "f16", 64)     Mfma("f32.32x32x8f16", 8, 4): a lane holds 4 elements of 8 along k

Sources: AMD Instinct MI200, MI300 and CDNA4 ISA, "Matrix Arithmetic Instructions"; names as LLVM has them (`IntrinsicsAMDGPU.td`).
"""

from __future__ import annotations

from typing import NamedTuple


class Mfma(NamedTuple):
    """An instruction: LLVM's name after `llvm.amdgcn.mfma.`, its k, and how many elements of an operand along k a lane gives it."""

    intrinsic: str
    depth: int
    per_lane: int


Key = tuple[int, str, str]
"""Rows (and columns) of the result, element types of A and B."""

_ALWAYS: dict[Key, tuple[Mfma, ...]] = {
    (16, "f64", "f64"): (Mfma("f64.16x16x4f64", 4, 1),),
    (32, "f32", "f32"): (Mfma("f32.32x32x2f32", 2, 1),),
    (16, "f32", "f32"): (Mfma("f32.16x16x4f32", 4, 1),),
    (32, "f16", "f16"): (Mfma("f32.32x32x8f16", 8, 4),),
    (16, "f16", "f16"): (Mfma("f32.16x16x16f16", 16, 4),),
    (32, "bf16", "bf16"): (Mfma("f32.32x32x8bf16.1k", 8, 4),),
    (16, "bf16", "bf16"): (Mfma("f32.16x16x16bf16.1k", 16, 4),),
    (32, "i8", "i8"): (Mfma("i32.32x32x8i8", 8, 4),),
    (16, "i8", "i8"): (Mfma("i32.16x16x16i8", 16, 4),),
}
_FNUZ = {"fp8": "f8E4M3FNUZ", "bf8": "f8E5M2FNUZ"}
_OCP = {"fp8": "f8E4M3FN", "bf8": "f8E5M2"}


def _of_fp8(types: dict[str, str]) -> dict[Key, tuple[Mfma, ...]]:
    """The instructions of 8-bit floats, by what an architecture means by `fp8` and `bf8`."""
    return {
        (rows, types[a], types[b]): (Mfma(f"f32.{shape}.{a}.{b}", depth, 8),)
        for rows, shape, depth in ((32, "32x32x16", 16), (16, "16x16x32", 32))
        for a in types
        for b in types
    }


_LONG_INT8: dict[Key, tuple[Mfma, ...]] = {
    (32, "i8", "i8"): (Mfma("i32.32x32x16.i8", 16, 8),),
    (16, "i8", "i8"): (Mfma("i32.16x16x32.i8", 32, 8),),
}
_VERSION_3: dict[Key, tuple[Mfma, ...]] = {
    **_ALWAYS,
    **_of_fp8(_FNUZ),
    **_LONG_INT8,
    (32, "tf32", "tf32"): (Mfma("f32.32x32x4.xf32", 4, 2),),
    (16, "tf32", "tf32"): (Mfma("f32.16x16x8.xf32", 8, 2),),
}
_VERSION_4: dict[Key, tuple[Mfma, ...]] = {
    **_ALWAYS,
    **_of_fp8(_OCP),
    (32, "f16", "f16"): (Mfma("f32.32x32x16.f16", 16, 8), *_ALWAYS[32, "f16", "f16"]),
    (16, "f16", "f16"): (Mfma("f32.16x16x32.f16", 32, 8), *_ALWAYS[16, "f16", "f16"]),
    (32, "bf16", "bf16"): (Mfma("f32.32x32x16.bf16", 16, 8), *_ALWAYS[32, "bf16", "bf16"]),
    (16, "bf16", "bf16"): (Mfma("f32.16x16x32.bf16", 32, 8), *_ALWAYS[16, "bf16", "bf16"]),
    (32, "i8", "i8"): (Mfma("i32.32x32x32.i8", 32, 16), *_LONG_INT8[32, "i8", "i8"]),
    (16, "i8", "i8"): (Mfma("i32.16x16x64.i8", 64, 16), *_LONG_INT8[16, "i8", "i8"]),
}
_INSTRUCTIONS = {2: _ALWAYS, 3: _VERSION_3, 4: _VERSION_4}
"""Of each version, the instructions for a key, the longest along k first."""


def mfma_of(version: int, shape: tuple[int, int], a: str, b: str, depth: int) -> Mfma | None:
    """The longest instruction that `depth` is enough for, else the shortest; None if there is none for these rows, columns and types."""
    rows, columns = shape
    found = _INSTRUCTIONS.get(version, {}).get((rows, a, b), ()) if rows == columns else ()
    return next((each for each in found if each.depth <= depth), found[-1] if found else None)
