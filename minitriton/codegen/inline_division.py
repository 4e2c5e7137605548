"""64-bit division in PTX without a call, for kernels with `wgmma`.

    rem.u64 %rd3, %rd1, %rd2;    →    { .reg ...; mov.b64 {lo, hi}, d; cvt.rn.f32.u32 f, lo; ... mov.b64 %rd3, r; }

nvJitLink assembles relocatable code, in which `div` and `rem` of 64 bits call a function of the CUDA runtime. In a function with such a call
ptxas serializes every `wgmma.mma_async` (its message C7509). The quotient here comes from a reciprocal of 32-bit floats, two Newton steps
in 64-bit integers and two corrections (LLVM, `AMDGPUTargetLowering::LowerUDIVREM64`). Each division stays on its line.
"""

from __future__ import annotations

import re

_DIVISION = re.compile(r"(?<=[\t ])(div|rem)\.([su])64\s+(%rd\d+), (%rd\d+|-?\d+), (%rd\d+|-?\d+);")

_UNSIGNED = (
    "mov.b64 {lo, hi}, d; cvt.rn.f32.u32 f, lo; cvt.rn.f32.u32 g, hi; fma.rn.f32 f, g, 0f4F800000, f; "  # f = d
    "rcp.approx.ftz.f32 f, f; mul.rn.f32 f, f, 0f5F7FFFFC; mul.rn.f32 g, f, 0f2F800000; cvt.rzi.f32.f32 g, g; "  # f ≤ 2^64 / d
    "fma.rn.f32 f, g, 0fCF800000, f; cvt.rzi.u32.f32 hi, g; cvt.rzi.u32.f32 lo, f; mov.b64 x, {lo, hi}; neg.s64 e, d; "
    + "mul.lo.s64 p, e, x; mul.hi.u64 p, x, p; add.s64 x, x, p; " * 2
    + "mul.hi.u64 q, n, x; mul.lo.s64 p, q, d; sub.s64 r, n, p; "
    + "setp.ge.u64 k, r, d; selp.b64 p, d, 0, k; sub.s64 r, r, p; selp.b64 p, 1, 0, k; add.s64 q, q, p; " * 2
)
"""`q` and `r` from `n` and `d`."""

_REGISTERS = "{ .reg .b32 lo, hi; .reg .f32 f, g; .reg .b64 n, d, e, x, p, q, r, s, t; .reg .pred k; "


def without_division_calls(ptx: str) -> str:
    """`ptx`, its 64-bit divisions written out where it has `wgmma` instructions."""
    return _DIVISION.sub(_written_out, ptx) if "wgmma.mma_async" in ptx else ptx


def _written_out(found: re.Match[str]) -> str:
    """The instructions for one `div` or `rem`."""
    kind, sign, result, dividend, divisor = found.groups()
    wanted = "q" if kind == "div" else "r"
    load = f"mov.b64 n, {dividend}; mov.b64 d, {divisor}; "
    if sign == "u":
        return f"{_REGISTERS}{load}{_UNSIGNED}mov.b64 {result}, {wanted}; }}"
    magnitudes = (
        "shr.s64 s, n, 63; xor.b64 n, n, s; sub.s64 n, n, s; shr.s64 t, d, 63; xor.b64 d, d, t; sub.s64 d, d, t; "
    )
    signed = (
        "xor.b64 s, s, t; " if kind == "div" else ""
    ) + f"xor.b64 {wanted}, {wanted}, s; sub.s64 {result}, {wanted}, s; }}"
    return f"{_REGISTERS}{load}{magnitudes}{_UNSIGNED}{signed}"
