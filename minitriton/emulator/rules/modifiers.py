"""Which modifiers an instruction may carry: those that its rule honours, and those that change nothing that can be seen.

In: an opcode. Out: the first modifier that the emulator does not know there, or None.

    unknown_modifier("add.rn.f32") -> None;  unknown_modifier("add.banana.f32") -> "banana"
"""

import re

_INTEGERS = "u16 u32 u64 s16 s32 s64"
_BITS = "b16 b32 b64"
_FLOATS = "f16 f16x2 bf16 bf16x2 f32 f64"
_ROUNDING = "rn rz rm rp"
_ELEMENTS = "b8 u8 s8 b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64"
_SCOPES = "cta cluster gpu sys"
_ORDER = f"weak volatile relaxed acquire release acq_rel mmio unified {_SCOPES}"
_SPACES = "global shared local const param shared::cta shared::cluster"
_MATRIX = "sync aligned row col satfinite f16 bf16 tf32 f32 f64 s32 s8 u8 e4m3 e5m2"
_COMPLETION = "mbarrier::complete_tx::bytes bulk_group"
_REDUCTIONS = "add min max inc dec and or xor"

_ALLOWED: dict[str, str] = {
    "abs": f"ftz s16 s32 s64 {_FLOATS}", "neg": f"ftz s16 s32 s64 {_FLOATS}",
    "add": f"cc sat ftz {_ROUNDING} u16x2 s16x2 {_INTEGERS} {_FLOATS} f32x2",
    "sub": f"cc sat ftz {_ROUNDING} {_INTEGERS} {_FLOATS} f32x2",
    "addc": f"cc {_INTEGERS}", "subc": f"cc {_INTEGERS}", "madc": f"cc lo hi {_INTEGERS}",
    "mul": f"lo hi wide sat ftz {_ROUNDING} {_INTEGERS} {_FLOATS} f32x2",
    "mad": f"lo hi wide cc ftz {_ROUNDING} {_INTEGERS} f32 f64", "mul24": "lo u32 s32", "mad24": "lo u32 s32",
    "fma": f"sat ftz relu {_ROUNDING} {_FLOATS} f32x2",
    "div": f"approx full ftz {_ROUNDING} {_INTEGERS} f32 f64", "rem": _INTEGERS,
    "min": f"ftz NaN xorsign abs relu relu u16x2 s16x2 {_INTEGERS} {_FLOATS}",
    "max": f"ftz NaN xorsign abs relu relu u16x2 s16x2 {_INTEGERS} {_FLOATS}",
    "ex2": "approx ftz f16 f16x2 bf16 bf16x2 f32", "lg2": "approx ftz f32", "sin": "approx ftz f32", "cos": "approx ftz f32",
    "tanh": "approx f16 f16x2 bf16 bf16x2 f32", "sqrt": f"approx ftz {_ROUNDING} f32 f64",
    "rsqrt": "approx ftz f32 f64", "rcp": f"approx ftz {_ROUNDING} f32 f64",
    "copysign": "f32 f64", "testp": "finite infinite number notanumber normal subnormal f32 f64",
    "and": f"pred {_BITS}", "or": f"pred {_BITS}", "xor": f"pred {_BITS}", "not": f"pred {_BITS}", "cnot": _BITS,
    "shl": _BITS, "shr": f"{_BITS} {_INTEGERS}", "shf": "l r clamp wrap b32",
    "prmt": "b32 f4e b4e rc8 ecl ecr rc16", "lop3": "b32", "bfe": _INTEGERS, "bfi": "b32 b64",
    "popc": _BITS, "clz": _BITS, "brev": _BITS, "bfind": f"shiftamt {_INTEGERS}", "sad": _INTEGERS,
    "dp4a": "u32 s32", "dp2a": "lo hi u32 s32", "szext": "clamp wrap u32 s32", "bmsk": "clamp wrap b32", "fns": "b32",
    "cvt": f"pack sat satfinite relu ftz {_ROUNDING} rni rzi rmi rpi rna u2 s2 u4 s4 u8 s8 e4m3x2 e5m2x2 tf32 b32 "
           f"{_INTEGERS} {_FLOATS}",
    "mov": f"pred u16 s16 u32 s32 u64 s64 f16 f32 f64 {_BITS}", "selp": f"{_BITS} {_INTEGERS} f32 f64",
    "slct": f"ftz {_BITS} {_INTEGERS} f32 f64",
    "setp": f"eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan and or xor ftz {_BITS} {_INTEGERS} {_FLOATS}",
    "set": f"eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan ftz {_BITS} {_INTEGERS} f16 bf16 f32 f64",
    "cvta": "to global shared local const param shared::cta shared::cluster u32 u64",
    "isspacep": "global shared local shared::cta shared::cluster",
    "ld": f"{_ORDER} {_SPACES} nc ca cg cs cv lu v2 v4 v8 {_ELEMENTS}", "ldu": f"global v2 v4 {_ELEMENTS}",
    "st": f"{_ORDER} {_SPACES} async mbarrier::complete_tx::bytes wb cg cs wt v2 v4 v8 {_ELEMENTS}",
    "atom": f"{_ORDER} {_SPACES} {_REDUCTIONS} exch cas noftz v2 v4 v8 {_BITS} {_INTEGERS} {_FLOATS}",
    "red": f"{_ORDER} {_SPACES} async mbarrier::complete_tx::bytes {_REDUCTIONS} noftz v2 v4 v8 {_BITS} {_INTEGERS} {_FLOATS}",
    "shfl": "sync up down bfly idx b32", "vote": "sync all any uni ballot pred b32", "match": "any all sync b32 b64",
    "redux": "sync add min max and or xor u32 s32 b32", "activemask": "b32", "elect": "sync",
    "bra": "uni", "brx": "idx uni", "call": "uni", "ret": "uni", "exit": "", "trap": "", "brkpt": "",
    "bar": "cta warp sync arrive red popc and or pred u32", "barrier":
        "cta cluster sync arrive wait red popc and or pred u32 aligned all acquire release relaxed",
    "ldmatrix": "sync aligned m8n8 x1 x2 x4 trans shared shared::cta b16",
    "stmatrix": "sync aligned m8n8 x1 x2 x4 trans shared shared::cta b16",
    "mma": f"{_MATRIX} s4 u4 b1 and xor popc", "wgmma": f"mma_async fence commit_group wait_group {_MATRIX}",
    "cp": f"async ca cg shared shared::cta shared::cluster global mbarrier arrive noinc b64 commit_group wait_group wait_all "
          f"bulk tensor tile prefetch reduce read multicast::cluster 1d 2d 3d 4d 5d {_COMPLETION} {_REDUCTIONS} "
          f"{_INTEGERS} {_BITS} {_FLOATS} noftz",
    "mbarrier": f"init inval arrive arrive_drop expect_tx complete_tx try_wait test_wait parity noComplete shared "
                f"shared::cta shared::cluster b64 {_ORDER}",
    "tensormap": "replace tile global_address rank box_dim global_dim global_stride element_stride elemtype "
                 "interleave_layout swizzle_mode fill_mode cp_fenceproxy global shared::cta tensormap::generic release gpu "
                 "sync aligned b1024 b32 b64",
    "mapa": "shared::cluster u32 u64", "getctarank": "shared::cluster u32 u64",
    "fence": f"proxy async alias acquire release acq_rel sc sync_restrict::shared::cta sync_restrict::shared::cluster "
             f"mbarrier_init global shared::cta shared::cluster tensormap::generic async::generic {_SCOPES}",
    "membar": f"gl proxy alias {_SCOPES}", "nanosleep": "u32", "pmevent": "mask",
    "prefetch": "global local const param tensormap", "prefetchu": "",
    "griddepcontrol": "launch_dependents wait", "setmaxnreg": "inc dec sync aligned u32", "discard": "global",
    "applypriority": "global", "createpolicy": "fractional range global b64 cvt", "stacksave": "u32 u64",
}  # fmt: skip
_SETS = {name: frozenset(words.split()) for name, words in _ALLOWED.items()}
_CACHE = re.compile(r"L[12](::\w+)?$")
_SHAPE = re.compile(r"m\d+n\d+k\d+$")
_CACHED = frozenset(
    ("ld", "ldu", "st", "atom", "red", "cp", "prefetch", "prefetchu", "discard", "applypriority", "createpolicy")
)


def unknown_modifier(opcode: str) -> str | None:
    """The first modifier of an opcode that the emulator does not know, the opcode itself if it knows none of that name."""
    name, *modifiers = opcode.split(".")
    known = _SETS.get(name)
    if known is None:
        return opcode
    for modifier in modifiers:
        hint = name in _CACHED and _CACHE.match(modifier)
        shape = name in ("mma", "wgmma") and _SHAPE.match(modifier)
        if modifier not in known and not hint and not shape:
            return modifier
    return None
