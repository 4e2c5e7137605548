"""Functions of NVIDIA's device library (libdevice), called by name: `tl.extra.libdevice.asin(x)`.

A signature is written by letters: `ff:f` takes two float32 and gives one. Symbols are those of NVIDIA's libdevice user guide.
"""

from __future__ import annotations

from minitriton.language import dtypes as dt
from minitriton.language.declare import Builtin
from minitriton.language.values import Operand, Overloads, tensor

_LETTERS = {
    "i": dt.int32, "l": dt.int64, "u": dt.uint32, "w": dt.uint64, "f": dt.float32, "d": dt.float64,
}  # fmt: skip

_FLOAT_AND_DOUBLE = {
    1: """
        acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc erfcinv
        erfcx erfinv exp exp10 exp2 expm1 floor j0 j1 lgamma log log10 log1p log2 logb nearbyint normcdf
        normcdfinv rcbrt rint round rsqrt sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1
    """,
    2: """
        atan2 copysign fdim fmod hypot nextafter remainder rhypot
    """,
    3: """
        fma norm3d rnorm3d
    """,
}
"""By number of arguments: float32 by `__nv_<name>f`, float64 by `__nv_<name>`."""

_PREFIXED = {
    1: "rcp_rd rcp_rn rcp_ru rcp_rz sqrt_rd sqrt_rn sqrt_ru sqrt_rz",
    2: (
        "add_rd add_rn add_ru add_rz div_rd div_rn div_ru div_rz mul_rd mul_rn mul_ru mul_rz sub_rd sub_rn sub_ru "
        "sub_rz"
    ),
}
"""By number of arguments: float32 by `__nv_f<name>`, float64 by `__nv_d<name>`."""

_SINGLE = {
    "d:d": "rcp64h",
    "d:f": "double2float_rd double2float_rn double2float_ru double2float_rz",
    "d:i": (
        "double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd "
        "double2uint_rn double2uint_ru double2uint_rz isfinited"
    ),
    "d:l": (
        "double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru "
        "double2ull_rz double_as_longlong"
    ),
    "f:f": "fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_sinf fast_tanf saturatef",
    "f:i": (
        "finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn float2uint_ru "
        "float2uint_rz float_as_int float_as_uint"
    ),
    "f:l": "float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz",
    "ff:f": "fast_powf",
    "i:d": "int2double_rn",
    "i:f": "int2float_rd int2float_rn int2float_ru int2float_rz int_as_float",
    "ii:d": "hiloint2double",
    "iii:i": "byte_perm",
    "l:d": "ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double",
    "l:f": "ll2float_rd ll2float_rn ll2float_ru ll2float_rz",
    "u:d": "uint2double_rn",
    "u:f": "uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float",
    "w:d": "ull2double_rd ull2double_rn ull2double_ru ull2double_rz",
    "w:f": "ull2float_rd ull2float_rn ull2float_ru ull2float_rz",
}
"""By signature: `__nv_<name>`."""

_IRREGULAR = {
    "abs": "i:i=abs l:l=llabs f:f=fabsf d:d=fabs",
    "brev": "i:i=brev l:l=brevll",
    "clz": "i:i=clz l:i=clzll",
    "fast_dividef": "ff:f=fast_fdividef",
    "ffs": "i:i=ffs l:i=ffsll",
    "fma_rd": "fff:f=fmaf_rd ddd:d=fma_rd",
    "fma_rn": "fff:f=fmaf_rn ddd:d=fma_rn",
    "fma_ru": "fff:f=fmaf_ru ddd:d=fma_ru",
    "fma_rz": "fff:f=fmaf_rz ddd:d=fma_rz",
    "hadd": "ii:i=hadd uu:u=uhadd",
    "ilogb": "f:i=ilogbf d:i=ilogb",
    "isinf": "f:i=isinff d:i=isinfd",
    "isnan": "f:i=isnanf d:i=isnand",
    "jn": "if:f=jnf id:d=jn",
    "ldexp": "fi:f=ldexpf di:d=ldexp",
    "llrint": "f:l=llrintf d:l=llrint",
    "llround": "f:l=llroundf d:l=llround",
    "mul24": "ii:i=mul24 uu:u=umul24",
    "mulhi": "ii:i=mulhi uu:u=umulhi ll:l=mul64hi ww:w=umul64hi",
    "norm4d": "ffff:f=norm4df dddd:d=norm4d",
    "popc": "i:i=popc l:i=popcll",
    "pow": "fi:f=powif di:d=powi ff:f=powf dd:d=pow",
    "rhadd": "ii:i=rhadd uu:u=urhadd",
    "rnorm4d": "ffff:f=rnorm4df dddd:d=rnorm4d",
    "rsqrt_rn": "f:f=frsqrt_rn",
    "sad": "iiu:i=sad uuu:u=usad",
    "scalbn": "fi:f=scalbnf di:d=scalbn",
    "signbit": "f:i=signbitf d:i=signbitd",
    "yn": "if:f=ynf id:d=yn",
}
"""Each overload with its own symbol."""

PREDICATES = frozenset(("isnan", "isinf", "finitef", "isfinited"))
"""Functions whose int32 means a boolean."""


def _overload(signature: str, symbol: str) -> Overloads:
    arguments, _, result = signature.partition(":")
    return {tuple(_LETTERS[a] for a in arguments): ("__nv_" + symbol, _LETTERS[result])}


def _all_overloads() -> dict[str, Overloads]:
    found: dict[str, Overloads] = {}
    for table, symbols in ((_FLOAT_AND_DOUBLE, ("{}f", "{}")), (_PREFIXED, ("f{}", "d{}"))):
        for count, names in table.items():
            for name in names.split():
                found[name] = {}
                for letter, symbol in zip("fd", symbols, strict=True):
                    found[name] |= _overload(f"{letter * count}:{letter}", symbol.format(name))
    for signature, names in _SINGLE.items():
        for name in names.split():
            found[name] = _overload(signature, name)
    for name, overloads in _IRREGULAR.items():
        found[name] = {}
        for overload in overloads.split():
            signature, _, symbol = overload.partition("=")
            found[name] |= _overload(signature, symbol)
    return found


OVERLOADS = _all_overloads()
"""Function → argument dtypes → symbol and result dtype."""


def _declare(name: str) -> Builtin[..., tensor]:
    def function(*args: Operand) -> tensor: ...

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    symbols = ", ".join(symbol for symbol, _ in OVERLOADS[name].values())
    function.__doc__ = f"Calls {symbols}, by the dtypes of the arguments."
    return Builtin(function)


FUNCTIONS = {name: _declare(name) for name in OVERLOADS}


def __getattr__(name: str) -> Builtin[..., tensor]:
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"libdevice lacks the function {name!r}")


def __dir__() -> list[str]:
    return sorted(FUNCTIONS)
