"""Functions of NVIDIA's libdevice for AMD's GPUs: programs call them by `tl.extra.libdevice`, whatever the target.

    __nv_floorf %x       ->    llvm.floor.f32          what LLVM has
    __nv_clz %x          ->    llvm.ctlz.i32
    __nv_fadd_rn %x, %y  ->    fadd                    rounded to nearest
    __nv_acosf %x        ->    call __ocml_acos_f32    of ROCm's library, linked as bitcode

ROCm's `ocml.bc` is no part of minitriton: it is searched for in ROCm and next to an installed Triton; `MINITRITON_OCML` names it. No kernel needs it that
keeps to `tl` and 32-bit floats. Names: AMD's "ROCm Device Libraries", OCML.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
from xdsl.dialects import llvm as L
from xdsl.ir import Attribute, SSAValue

from minitriton import knobs
from minitriton.codegen.bitcode_library import functions_of, link
from minitriton.codegen.builder import Builder
from minitriton.codegen.llvm_session import context_of
from minitriton.codegen.lowering.elementwise import Emit, each_lane
from minitriton.codegen.types import F32, F64, I1, I32, I64, bit_width, lane_type, lanes, vector_type
from minitriton.dialects import llvm as ours
from minitriton.errors import LoweringError

PREFIX = "__ocml_"
_FILE = "ocml.bc"


def _candidates() -> Iterator[Path]:
    if given := knobs.amd.ocml_path:
        yield Path(given)
    yield Path("/opt/rocm/amdgcn/bitcode") / _FILE
    spec = importlib.util.find_spec("triton")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        yield Path(folder) / "backends/amd/lib" / _FILE


def find_ocml() -> Path | None:
    """Where ROCm's library is on this machine, or None."""
    return next((path for path in _candidates() if path.is_file()), None)


def ocml(name: str, element: Attribute) -> Emit:
    """Calls the library's function of a name, which gives elements of a type. Raises `LoweringError` where it cannot."""

    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        library = find_ocml()
        if library is None:
            raise LoweringError(
                f"{name} is computed by ROCm's {_FILE} on AMD's GPUs, and none is installed",
                help=f"write it with exp, log, sin, cos of f32, or name {_FILE} of ROCm in MINITRITON_OCML",
            )
        symbol = f"{PREFIX}{name}"
        if symbol not in functions_of(library):
            raise LoweringError(
                f"AMD's GPUs lack {name}: {library} does not have it", help="write it with other functions of tl"
            )
        return each_lane(b, symbol, v, element)

    return emit


# From names of libdevice ----------------------------------------------------------------------------------------------

_OVERLOADED = {
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "nearbyint": "nearbyint", "round": "round",
    "copysign": "copysign", "fma": "fma", "fma_rn": "fma", "sqrt_rn": "sqrt", "fabs": "fabs", "brev": "bitreverse",
    "brevll": "bitreverse",
}  # fmt: skip
_BINARY = {"add_rn": L.FAddOp, "sub_rn": L.FSubOp, "mul_rn": L.FMulOp, "div_rn": L.FDivOp}
_CASTS = ("float_as_int", "float_as_uint", "int_as_float", "uint_as_float", "double_as_longlong", "longlong_as_double")
_OTHER_NAMES = {
    "cyl_bessel_i0": "i0", "cyl_bessel_i1": "i1", "normcdf": "ncdf", "normcdfinv": "ncdfinv", "norm3d": "len3", "norm4d": "len4",
    "rnorm3d": "rlen3", "rnorm4d": "rlen4", "isfinited": "isfinite", "finite": "isfinite", "powi": "pown", "isnand": "isnan", "isinfd": "isinf",
    "signbitd": "signbit",
}  # fmt: skip
"""What ROCm's library calls a function."""
_ROUNDED = re.compile(r"(add|sub|mul|div|sqrt|fma)_(rz|rd|ru)$")
_ROUNDINGS = {"rz": "rtz", "rd": "rtn", "ru": "rtp"}
_FAST = {"fast_exp": "native_exp", "fast_exp10": "native_exp10", "fast_log": "native_log", "fast_log2": "native_log2",
         "fast_log10": "native_log10", "fast_sin": "native_sin", "fast_cos": "native_cos", "fast_pow": "pow", "fast_tan": "tan"}  # fmt: skip
_TO_INTEGER = re.compile(r"(?:float|double)2(u?)(int|ll)_(r[nzud])$")
_FROM_INTEGER = re.compile(r"(u?)(int|ll)2(?:float|double)_rn$")
_ROUND_BEFORE = {"rn": "roundeven", "ru": "ceil", "rd": "floor"}


def function_of(symbol: str, operands: Sequence[Attribute], result: Attribute) -> Emit:
    """What computes libdevice's function `symbol` of operands of these element types. The emitted code may raise `LoweringError`."""
    bare = symbol.removeprefix("__nv_")
    is_single = F32 in (*operands, result) and F64 not in operands
    name = bare[:-1] if is_single and bare.endswith("f") and bare not in _CASTS else bare
    name = name[1:] if re.match(r"[fd](add|sub|mul|div|sqrt|rcp)_r", name) else name
    name = name.replace("fmaf_r", "fma_r")
    if name in _OVERLOADED:
        return lambda b, v: b.overloaded(f"llvm.{_OVERLOADED[name]}", v)
    if name in _BINARY:
        return lambda b, v: b.float_binary(_BINARY[name], v[0], v[1])
    if name == "rcp_rn":
        return lambda b, v: b.float_binary(L.FDivOp, b.constant(v[0].type, 1.0), v[0])
    if name in _CASTS:
        return lambda b, v: b.bitcast(v[0], vector_type(result, lanes(v[0].type)))
    if name in ("clz", "clzll", "popc", "popcll", "ffs", "ffsll"):
        return lambda b, v: _counted(b, v[0], name)
    if name in ("abs", "llabs") and result is not F32 and result is not F64:
        return lambda b, v: _with_flag(b, "llvm.abs", v[0])
    if name in ("mulhi", "umulhi", "mul64hi", "umul64hi"):
        return lambda b, v: _high(b, v, is_unsigned=name[0] == "u")
    if name in _INTEGERS:
        return lambda b, v: _in_64_bits(b, v, _INTEGERS[name], is_unsigned=name[0] == "u")
    if name in ("llrint", "llround"):
        return lambda b, v: _to_integer(b, b.overloaded(f"llvm.{name[2:]}", v), "rz", result, is_unsigned=False)
    if name == "double2float_rn":
        return lambda b, v: b.cast(L.FPTruncOp, v[0], F32)
    if name == "fast_fdivide":
        return lambda b, v: b.float_binary(L.FDivOp, v[0], v[1])
    if name in ("double2hiint", "double2loint"):
        shift = 32 if "hi" in name else 0
        return lambda b, v: b.cast(L.TruncOp, b.lshr(b.bitcast(v[0], vector_type(I64, lanes(v[0].type))), shift), I32)
    if name == "saturate":
        return lambda b, v: b.overloaded(
            "llvm.maxnum", (b.overloaded("llvm.minnum", (v[0], b.constant(v[0].type, 1.0))), b.constant(v[0].type, 0.0))
        )
    if match := _TO_INTEGER.match(bare):
        return lambda b, v: _to_integer(b, v[0], match[3], result, is_unsigned=match[1] == "u")
    if match := _FROM_INTEGER.match(bare):
        cast = ours.UIToFPOp if match[1] else L.SIToFPOp
        return lambda b, v: b.cast(cast, v[0], result)
    width = "f32" if is_single else "f64"
    if rounded := _ROUNDED.match(name):
        return ocml(f"{rounded[1]}_{_ROUNDINGS[rounded[2]]}_{width}", result)
    if F32 not in (*operands, result) and F64 not in (*operands, result):
        return _absent(bare)
    return ocml(f"{_FAST.get(name) or _OTHER_NAMES.get(name, name)}_{width}", result)


def _absent(name: str) -> Emit:
    def emit(b: Builder, v: Sequence[SSAValue]) -> SSAValue:
        raise LoweringError(f"libdevice's {name} is not lowered for AMD's GPUs", help="write it with operators of tl")

    return emit


def _mean(b: Builder, v: list[SSAValue]) -> SSAValue:
    return b.lshr(b.add(v[0], v[1]), 1)


def _mean_up(b: Builder, v: list[SSAValue]) -> SSAValue:
    return b.lshr(b.add(b.add(v[0], v[1]), b.constant(v[0].type, 1)), 1)


def _multiply_24(b: Builder, v: list[SSAValue]) -> SSAValue:
    first, second = (b.and_(value, b.constant(value.type, 0xFFFFFF)) for value in v)
    return b.mul(first, second)


_INTEGERS = {"hadd": _mean, "uhadd": _mean, "rhadd": _mean_up, "urhadd": _mean_up, "umul24": _multiply_24}
"""Of integers of 32 bits, computed in 64: means, rounded down and up, and the low half of a multiplication of 24 bits."""


def _in_64_bits(
    b: Builder, v: Sequence[SSAValue], function: Callable[[Builder, list[SSAValue]], SSAValue], *, is_unsigned: bool
) -> SSAValue:
    extend = L.ZExtOp if is_unsigned else L.SExtOp
    return b.cast(L.TruncOp, function(b, [b.cast(extend, value, I64) for value in v]), I32)


def _with_flag(b: Builder, name: str, value: SSAValue) -> SSAValue:
    """An intrinsic with a last argument that says whether one operand has no result: false."""
    type_ = value.type
    count = f"v{lanes(type_)}" if lanes(type_) > 1 else ""
    found = b.intrinsic(f"{name}.{count}i{bit_width(lane_type(type_))}", (value, b.constant(I1, 0)), type_)
    assert found is not None
    return found


def _counted(b: Builder, value: SSAValue, name: str) -> SSAValue:
    """`clz`, `popc` and `ffs`, which counts from 1 and gives 0 for 0, as 32 bits."""
    kind = name.removesuffix("ll")
    if kind == "popc":
        found = b.overloaded("llvm.ctpop", (value,))
    else:
        found = _with_flag(b, "llvm.ctlz" if kind == "clz" else "llvm.cttz", value)
    if kind == "ffs":
        next_ = b.add(found, b.constant(value.type, 1))
        found = b.select(b.icmp("eq", value, b.constant(value.type, 0)), b.constant(value.type, 0), next_)
    return found if bit_width(lane_type(value.type)) == bit_width(I32) else b.cast(L.TruncOp, found, I32)


def _high(b: Builder, v: Sequence[SSAValue], *, is_unsigned: bool) -> SSAValue:
    """The upper half of a multiplication; of 64 bits by those of the halves."""
    element = lane_type(v[0].type)
    if element is not I64:
        extend = L.ZExtOp if is_unsigned else L.SExtOp
        both = b.mul(b.cast(extend, v[0], I64), b.cast(extend, v[1], I64))
        return b.cast(L.TruncOp, b.lshr(both, 32), element)
    low, high = [_low_half(b, value) for value in v], [b.lshr(value, 32) for value in v]
    first, second = b.mul(low[0], high[1]), b.mul(high[0], low[1])
    carry = b.add(b.lshr(b.mul(low[0], low[1]), 32), b.add(_low_half(b, first), _low_half(b, second)))
    upper = b.add(b.mul(high[0], high[1]), b.add(b.lshr(first, 32), b.lshr(second, 32)))
    result = b.add(upper, b.lshr(carry, 32))
    if is_unsigned:
        return result
    zero = b.constant(v[0].type, 0)
    for one, other in (v, v[::-1]):
        result = b.sub(result, b.select(b.icmp("slt", one, zero), other, zero))
    return result


def _low_half(b: Builder, value: SSAValue) -> SSAValue:
    return b.and_(value, b.constant(value.type, 0xFFFFFFFF))


def _to_integer(b: Builder, value: SSAValue, rounding: str, result: Attribute, *, is_unsigned: bool) -> SSAValue:
    """Rounded, and to the nearest that the type has (libdevice's conversions saturate; NaN is 0 here)."""
    if rounding in _ROUND_BEFORE:
        value = b.overloaded(f"llvm.{_ROUND_BEFORE[rounding]}", (value,))
    count = lanes(value.type)
    prefix = f"v{count}" if count > 1 else ""
    name = f"llvm.fpto{'u' if is_unsigned else 's'}i.sat.{prefix}i{bit_width(result)}.{prefix}f{bit_width(lane_type(value.type))}"
    found = b.intrinsic(name, (value,), vector_type(result, count))
    assert found is not None
    return found


# Linking --------------------------------------------------------------------------------------------------------------


def link_device_library(module: llvm.ModuleRef, arch: str, lanes_of_wave: int) -> None:
    """Links what `module` lacks of ROCm's library, and the constants by which that asks what it is compiled for."""
    names = [f.name for f in module.functions if f.is_declaration and f.name.startswith(PREFIX)]
    library = find_ocml()
    if not names or library is None:
        return
    link(module, library, names)
    settings = llvm.parse_assembly(_settings(arch, lanes_of_wave), context_of(module))
    settings.triple, settings.data_layout = module.triple, module.data_layout
    module.link_in(settings)


@cache
def _settings(arch: str, lanes_of_wave: int) -> str:
    """`__oclc_*` as Triton has them: accurate square roots, no assumptions of finite numbers."""
    digits = arch.removeprefix("gfx")
    version = int(digits[:-2]) * 1000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)
    numbers = {
        "unsafe_math_opt": ("i8", 0), "finite_only_opt": ("i8", 0), "correctly_rounded_sqrt32": ("i8", 1), "daz_opt": ("i8", 0),
        "wavefrontsize64": ("i8", int(lanes_of_wave == 64)), "ISA_version": ("i32", version), "ABI_version": ("i32", 500),
    }  # fmt: skip
    return "".join(
        f"@__oclc_{n} = linkonce_odr hidden addrspace(4) constant {t} {value}\n" for n, (t, value) in numbers.items()
    )
