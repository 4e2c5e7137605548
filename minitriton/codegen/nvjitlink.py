"""nvJitLink through `ctypes`: PTX to cubin inside this process, without a GPU and without starting `ptxas`.

The library comes with the package `nvidia-nvjitlink` or a CUDA toolkit. Its functions carry the version they were added
in (`__nvJitLinkCreate_13_0`), and a library keeps those of its older minor versions (nvJitLink documentation, "API").
"""

import ctypes
import functools
import glob
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from minitriton import knobs
from minitriton.errors import MinitritonError

_INPUT_PTX = 2


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """The library, or None where it is not installed."""
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _candidates() -> Iterator[str]:
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    for root in (spec.submodule_search_locations or []) if spec else []:
        for pattern in ("cu*/lib/libnvJitLink.so.*", "nvjitlink/lib/libnvJitLink.so.*"):
            yield from sorted(glob.glob(str(Path(root) / pattern)), reverse=True)
    for home in knobs.cuda_homes():
        yield from glob.glob(str(Path(home) / "lib64" / "libnvJitLink.so.*"))
    yield from ("libnvJitLink.so.13", "libnvJitLink.so.12")


@functools.cache
def _function(name: str) -> Callable[..., int]:
    library = load_library()
    assert library is not None
    for major in (13, 12):
        for minor in range(10):
            symbol = getattr(library, f"__nvJitLink{name}_{major}_{minor}", None)
            if symbol is not None:
                return symbol
    raise MinitritonError(f"nvJitLink lacks the function {name}", help="install nvidia-nvjitlink 12.4 or newer")


class Assembled(NamedTuple):
    """A cubin, and what the assembler says of it."""

    cubin: bytes
    log: str = ""


MOST_CHARACTERS = 16_000
"""Of a word or a string of PTX. nvJitLink 13.5 ends the process for a file's name of 17,000, a symbol of 100,000, and a pragma of 100,000, and
takes 16,000 of each (2026-11-26)."""
_LONG = re.compile(rf'"[^"\n]{{{MOST_CHARACTERS},}}|[\w$%]{{{MOST_CHARACTERS},}}')


def _check_lengths(ptx: str) -> None:
    """Raises `MinitritonError` for what would end the process."""
    for number, line in enumerate(ptx.split("\n"), 1):
        if len(line) > MOST_CHARACTERS and (found := _LONG.search(line)) is not None:
            raise MinitritonError(
                f"line {number} of the PTX has a word of {len(found[0])} characters",
                help=f"shorten it to {MOST_CHARACTERS}",
            )


def assemble(ptx: str, options: list[str]) -> Assembled:
    """The cubin of `ptx`. `options` are nvJitLink's, such as `-arch=sm_90a`. Raises `MinitritonError` with the library's log.

    Without nvJitLink's own cache on disk, which gives cubins back without the log, and would make timings of it wrong.
    """
    _check_lengths(ptx)
    options = [*options, "-Xptxas=-v", "-no-cache"]
    handle = ctypes.c_void_p()
    encoded = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    code = _function("Create")(ctypes.byref(handle), len(options), encoded)
    if code:
        raise MinitritonError(f"nvJitLink does not take the options {options} (error {code})")
    try:
        data = without_calls(ptx).encode()
        code = _function("AddData")(handle, _INPUT_PTX, data, ctypes.c_size_t(len(data)), b"kernel.ptx")
        code = code or _function("Complete")(handle)
        if code:
            raise MinitritonError(_log(handle, "Error") or f"nvJitLink error {code}")
        size = ctypes.c_size_t()
        _function("GetLinkedCubinSize")(handle, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        _function("GetLinkedCubin")(handle, cubin)
        return Assembled(cubin.raw, _log(handle, "Info"))
    finally:
        _function("Destroy")(ctypes.byref(handle))


def _log(handle: ctypes.c_void_p, kind: str) -> str:
    """nvJitLink's `Error` or `Info` log."""
    size = ctypes.c_size_t()
    _function(f"Get{kind}LogSize")(handle, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    _function(f"Get{kind}Log")(handle, log)
    return log.value.decode(errors="replace").strip()


# Instructions of PTX that nvJitLink turns into calls, written out for kernels with `wgmma`.
#
#     rem.u64 %rd3, %rd1, %rd2;    →    { .reg ...; mov.b64 {lo, hi}, d; cvt.rn.f32.u32 f, lo; ... mov.b64 %rd3, r; }
#
# nvJitLink assembles relocatable code, in which integer division of 16 and 64 bits and f32 division, reciprocal and square root rounded to
# nearest call functions of the CUDA runtime. In a function with such a call ptxas serializes every `wgmma.mma_async` (its message C7509).
#
# - 64 bits: a reciprocal of 32-bit floats, two Newton steps in 64-bit integers and two corrections (LLVM, `AMDGPUTargetLowering::LowerUDIVREM64`).
# - f32: the same in f64, by two Newton steps from `rcp.approx` or `rsqrt.approx`. Neither a quotient nor a root of f32 is within 2^-51 of the middle
#   between two f32 numbers, so the f64 result rounds to the right one. Zeros, infinities and NaNs take what the approximate instructions give for them.
#
# Each instruction stays on its line.

_OPERAND = r"(%\w+|-?\d+|0[fF][0-9A-Fa-f]{8})"
_CALLED = re.compile(
    rf"(?<=[\t ])(?:(div|rem)\.([su])(64|16)|(div|rcp|sqrt)\.rn(\.ftz)?\.f32)\s+(%\w+), {_OPERAND}(?:, {_OPERAND})?;"
)


def without_calls(ptx: str) -> str:
    """`ptx`, what nvJitLink makes calls of written out where it has `wgmma` instructions."""
    return _CALLED.sub(_written_out, ptx) if "wgmma.mma_async" in ptx else ptx


def _written_out(found: re.Match[str]) -> str:
    """The instructions for one that becomes a call."""
    kind, sign, bits, float_kind, ftz, result, first, second = found.groups()
    if bits == "16":
        widened = f"cvt.{sign}32.{sign}16 n, {first}; cvt.{sign}32.{sign}16 d, {second};"
        return f"{{ .reg .b32 n, d; {widened} {kind}.{sign}32 n, n, d; cvt.u16.u32 {result}, n; }}"
    if bits == "64":
        return _integers(kind, sign, result, first, second)
    return _floats(float_kind, ftz or "", result, first, second)


_QUOTIENT = (
    "mov.b64 {lo, hi}, d; cvt.rn.f32.u32 f, lo; cvt.rn.f32.u32 g, hi; fma.rn.f32 f, g, 0f4F800000, f; "  # f = d
    "rcp.approx.ftz.f32 f, f; mul.rn.f32 f, f, 0f5F7FFFFC; mul.rn.f32 g, f, 0f2F800000; cvt.rzi.f32.f32 g, g; "  # f ≤ 2^64 / d
    "fma.rn.f32 f, g, 0fCF800000, f; cvt.rzi.u32.f32 hi, g; cvt.rzi.u32.f32 lo, f; mov.b64 x, {lo, hi}; neg.s64 e, d; "
    + "mul.lo.s64 p, e, x; mul.hi.u64 p, x, p; add.s64 x, x, p; " * 2
    + "mul.hi.u64 q, n, x; mul.lo.s64 p, q, d; sub.s64 r, n, p; "
    + "setp.ge.u64 k, r, d; selp.b64 p, d, 0, k; sub.s64 r, r, p; selp.b64 p, 1, 0, k; add.s64 q, q, p; " * 2
)
"""The 64-bit quotient `q` and remainder `r` of the unsigned `n` and `d`."""


def _integers(kind: str, sign: str, result: str, dividend: str, divisor: str) -> str:
    """A 64-bit `div` or `rem`."""
    wanted = "q" if kind == "div" else "r"
    registers = "{ .reg .b32 lo, hi; .reg .f32 f, g; .reg .b64 n, d, e, x, p, q, r, s, t; .reg .pred k; "
    load = f"{registers}mov.b64 n, {dividend}; mov.b64 d, {divisor}; "
    if sign == "u":
        return f"{load}{_QUOTIENT}mov.b64 {result}, {wanted}; }}"
    magnitudes = (
        "shr.s64 s, n, 63; xor.b64 n, n, s; sub.s64 n, n, s; shr.s64 t, d, 63; xor.b64 d, d, t; sub.s64 d, d, t; "
    )
    signs = "xor.b64 s, s, t; " if kind == "div" else ""
    return f"{load}{magnitudes}{_QUOTIENT}{signs}xor.b64 {wanted}, {wanted}, s; sub.s64 {result}, {wanted}, s; }}"


def _floats(kind: str, ftz: str, result: str, first: str, second: str | None) -> str:
    """An f32 `div.rn`, `rcp.rn` or `sqrt.rn`; `c` holds the approximate result, `q` the one of f64."""
    dividend, divisor = (first, second) if kind == "div" else ("0f3F800000", first)
    load = f"{{ .reg .f32 a, b, c; .reg .f64 m, n, y, e, q; .reg .pred k; mov.b32 b, {divisor}; cvt{ftz}.f64.f32 n, b; "
    if kind == "sqrt":
        step = "mul.rn.f64 e, q, y; fma.rn.f64 e, e, 0dBFE0000000000000, 0d3FE0000000000000; fma.rn.f64 q, q, e, q; fma.rn.f64 y, y, e, y; "
        newton = f"rsqrt.approx.ftz.f64 y, n; mul.rn.f64 q, n, y; {step * 2}"
        last = "neg.f64 m, q; fma.rn.f64 e, m, q, n; mul.rn.f64 y, y, 0d3FE0000000000000; fma.rn.f64 q, e, y, q; "
        rest = f"sqrt.approx{ftz}.f32 c, b; "
    else:
        step = "fma.rn.f64 e, m, y, 0d3FF0000000000000; fma.rn.f64 y, y, e, y; "
        newton = f"mov.b32 a, {dividend}; neg.f64 m, n; rcp.approx.ftz.f64 y, n; {step * 2}"
        last = f"cvt{ftz}.f64.f32 n, a; mul.rn.f64 q, n, y; fma.rn.f64 e, m, q, n; fma.rn.f64 q, e, y, q; "
        rest = f"div.full{ftz}.f32 c, a, b; "
    rounded = (
        f"setp.equ.f64 k, q, 0d0000000000000000; cvt.rn{ftz}.f32.f64 a, q; selp.f32 a, c, a, k; mov.b32 {result}, a; }}"
    )
    return f"{load}{newton}{last}{rest}{rounded}"
