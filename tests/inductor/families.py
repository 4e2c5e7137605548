"""Kernels as torch's Inductor writes them, and what they compute by NumPy: pointwise maps, strided and transposed tiles,
reductions (looped, persistent, split, of one row), Welford, softmax in one pass, scans, sorts, indirect indexing, padding and
concatenation by masks, lists of tensors. `all_kernels()` has more than 200.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from writing import Kernel, bfloat16_bits


@dataclass(frozen=True)
class Element:
    """An element type: as arrays hold it, as kernels compute it, and how far a float result may be off."""

    name: str
    stored: Any
    computed: str
    tolerance: float


F32 = Element("f32", np.float32, "", 2e-6)
F64 = Element("f64", np.float64, "", 1e-12)
F16 = Element("f16", np.float16, ".to(tl.float32)", 2e-3)
BF16 = Element("bf16", np.uint16, ".to(tl.float32)", 1.6e-2)
I64 = Element("i64", np.int64, "", 0.0)
I32 = Element("i32", np.int32, "", 0.0)
I8 = Element("i8", np.int8, "", 0.0)
BOOL = Element("i1", np.bool_, "", 0.0)
FLOATS = (F32, F16, BF16)


def made(element: Element, shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An array as it is stored, and its numbers in the type that kernels compute in."""
    rng = np.random.default_rng(seed)
    if element is BOOL:
        values = rng.random(shape) < 0.3
    elif np.dtype(element.stored).kind == "i":
        values = rng.integers(-50, 50, shape).astype(element.stored)
    else:
        values = rng.standard_normal(shape).astype(np.float64 if element is F64 else np.float32)
    if element is BF16:
        bits = bfloat16_bits(values)
        return bits, (bits.astype(np.uint32) << 16).view(np.float32)
    stored = values.astype(element.stored)
    return stored, stored.astype(np.float32) if element is F16 else stored


def blank(element: Element, count: int) -> np.ndarray:
    return np.zeros(count, element.stored)


def elements_of(**arrays: Element) -> dict[str, str]:
    return {name: "bfloat16" for name, element in arrays.items() if element is BF16}


def blocks(count: int, block: int) -> int:
    return -(-count // block)


def body(name: str, parameters: str, lines: str) -> str:
    """The text of a kernel."""
    indented = "\n".join(f"    {line}" if line else "" for line in lines.strip("\n").splitlines())
    return f"@triton.jit\ndef triton_{name}({parameters}):\n{indented}\n"


X_INDEX = """xoffset = tl.program_id(0) * XBLOCK
xindex = xoffset + tl.arange(0, XBLOCK)[:]
xmask = xindex < xnumel
x0 = xindex
"""

POINTWISE: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray], tuple[Element, ...]]] = {
    "relu": (
        "tmp1 = tl.full([1], 0, tl.int32)\ntmp2 = maximum(tmp1, tmp0)",
        lambda x: np.maximum(x, 0),
        (*FLOATS, F64, I64, I32),
    ),
    "gelu": (
        "tmp1 = tmp0 * 0.5\ntmp2 = tmp1 * (libdevice.erf(tmp0 * 0.7071067811865476) + 1.0)",
        lambda x: x * 0.5 * (1 + erf(x * np.float32(0.7071067811865476))),
        FLOATS,
    ),
    "silu": ("tmp1 = tl.sigmoid(tmp0)\ntmp2 = tmp0 * tmp1", lambda x: x / (1 + np.exp(-x)), FLOATS),
    "tanh": ("tmp2 = libdevice.tanh(tmp0)", np.tanh, (*FLOATS, F64)),
    "where": (
        "tmp1 = 0.25\ntmp2 = tl.where(tmp0 > tmp1, tmp0 * 3, tmp0 - 1)",
        lambda x: np.where(x > 0.25, x * 3, x - 1),
        (*FLOATS, F64),
    ),
    "expm1": ("tmp1 = libdevice.expm1(tmp0)\ntmp2 = tmp1 * tmp1", lambda x: np.expm1(x) ** 2, FLOATS),
    "log1p": ("tmp1 = tl.math.abs(tmp0)\ntmp2 = libdevice.log1p(tmp1)", lambda x: np.log1p(np.abs(x)), FLOATS),
    "rsqrt": (
        "tmp1 = tmp0 * tmp0\ntmp2 = libdevice.rsqrt(tmp1 + 1e-05)",
        lambda x: 1 / np.sqrt(x * x + x.dtype.type(1e-5)),
        (*FLOATS, F64),
    ),
    "clamp": (
        "tmp1 = -1.0\ntmp3 = maximum(tmp0, tmp1)\ntmp2 = minimum(tmp3, 1.0)",
        lambda x: np.clip(x, -1, 1),
        (*FLOATS, F64),
    ),
    "floordiv": (
        "tmp1 = tl.full([1], 7, tl.int32)\ntmp3 = tmp0 // tmp1\n"
        "tmp2 = tl.where((tmp0 < 0) != (tmp1 < 0), tl.where(tmp0 % tmp1 != 0, tmp3 - 1, tmp3), tmp3)",
        lambda x: x // 7,
        (I64, I32),
    ),
    "remainder": (
        "tmp1 = tl.full([1], 7, tl.int32)\ntmp3 = tmp0 % tmp1\n"
        "tmp2 = tl.where((tmp3 != 0) & ((tmp3 < 0) != (tmp1 < 0)), tmp3 + tmp1, tmp3)",
        lambda x: x % 7,
        (I64, I32),
    ),
    "bits": ("tmp2 = ((tmp0 << 3) ^ (tmp0 >> 1)) & 1023", lambda x: ((x << 3) ^ (x >> 1)) & 1023, (I64, I32)),
    "isfinite": (
        "tmp1 = libdevice.isnan(tmp0).to(tl.int1)\ntmp3 = libdevice.isinf(tmp0).to(tl.int1)\n"
        "tmp2 = tl.where(tmp1 | tmp3, 0.0, tmp0)",
        lambda x: x,
        FLOATS,
    ),
    "logical": ("tmp1 = tmp0 == 0\ntmp2 = tmp1 | (tmp0 & tmp0)", lambda x: np.ones_like(x), (BOOL,)),
}


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(__import__("math").erf)(x).astype(x.dtype)


def pointwise() -> Iterator[Kernel]:
    for operation, (lines, numpy, types) in POINTWISE.items():
        for element in types:
            for count, block in ((1000, 256), (4096, 512)):
                name = f"poi_fused_{operation}_{element.name}_{count}"
                x, values = made(element, (count,), count)
                read = f"tmp0 = tl.load(in_ptr0 + (x0), xmask){element.computed}\n"
                text = X_INDEX + read + lines + "\ntl.store(out_ptr0 + (x0), tmp2, xmask)"
                with np.errstate(all="ignore"):
                    expected = numpy(values)
                yield Kernel(
                    name,
                    body(name, "in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr", text),
                    {"in_ptr0": x, "out_ptr0": blank(element, count)},
                    (count,),
                    {"XBLOCK": block},
                    (blocks(count, block), 1, 1),
                    {"out_ptr0": expected},
                    elements_of(in_ptr0=element, out_ptr0=element),
                    element.tolerance,
                )


def broadcasts() -> Iterator[Kernel]:
    """A bias by row and a scale by column, read by quotients and remainders of the flat index."""
    lines = """x2 = xindex
x0 = xindex % {cols}
x1 = xindex // {cols}
tmp0 = tl.load(in_ptr0 + (x2), xmask){to}
tmp1 = tl.load(in_ptr1 + (x0), xmask, eviction_policy='evict_last'){to}
tmp2 = tl.load(in_ptr2 + (x1), xmask, eviction_policy='evict_last'){to}
tmp3 = tmp0 * tmp1 + tmp2
tl.store(out_ptr0 + (x2), tmp3, xmask)"""
    for element in (*FLOATS, F64, I64):
        for rows, cols in ((37, 33), (16, 64), (5, 300)):
            name = f"poi_fused_broadcast_{element.name}_{rows}_{cols}"
            x, a = made(element, (rows, cols), rows)
            s, b = made(element, (cols,), cols)
            t, c = made(element, (rows,), 7)
            yield Kernel(
                name,
                body(
                    name,
                    "in_ptr0, in_ptr1, in_ptr2, out_ptr0, xnumel, XBLOCK : tl.constexpr",
                    X_INDEX + lines.format(cols=cols, to=element.computed),
                ),
                {"in_ptr0": x.reshape(-1), "in_ptr1": s, "in_ptr2": t, "out_ptr0": blank(element, rows * cols)},
                (rows * cols,),
                {"XBLOCK": 256},
                (blocks(rows * cols, 256), 1, 1),
                {"out_ptr0": (a * b + c[:, None]).reshape(-1)},
                elements_of(in_ptr0=element, in_ptr1=element, in_ptr2=element, out_ptr0=element),
                max(element.tolerance * 4, 0.0),
            )


def transposes() -> Iterator[Kernel]:
    lines = """yoffset = tl.program_id(1) * YBLOCK
yindex = yoffset + tl.arange(0, YBLOCK)[:, None]
ymask = yindex < ynumel
xoffset = tl.program_id(0) * XBLOCK
xindex = xoffset + tl.arange(0, XBLOCK)[None, :]
xmask = xindex < xnumel
x1 = xindex
y0 = yindex
tmp0 = tl.load(in_ptr0 + (y0 + {rows}*x1), xmask & ymask, eviction_policy='evict_last'){to}
tmp1 = tl.load(in_ptr1 + (x1 + {cols}*y0), xmask & ymask, eviction_policy='evict_last'){to}
tmp2 = tmp0 + tmp1
tl.store(out_ptr0 + (x1 + {cols}*y0), tmp2, xmask & ymask)"""
    for element in (F32, F16, BF16, I64):
        for rows, cols in ((33, 50), (64, 64), (7, 130)):
            name = f"poi_fused_transpose_{element.name}_{rows}_{cols}"
            x, a = made(element, (cols, rows), rows)
            z, b = made(element, (rows, cols), cols)
            yield Kernel(
                name,
                body(
                    name,
                    "in_ptr0, in_ptr1, out_ptr0, ynumel, xnumel, YBLOCK : tl.constexpr, XBLOCK : tl.constexpr",
                    lines.format(rows=rows, cols=cols, to=element.computed),
                ),
                {"in_ptr0": x.reshape(-1), "in_ptr1": z.reshape(-1), "out_ptr0": blank(element, rows * cols)},
                (rows, cols),
                {"YBLOCK": 16, "XBLOCK": 32},
                (blocks(cols, 32), blocks(rows, 16), 1),
                {"out_ptr0": (a.T + b).reshape(-1)},
                elements_of(in_ptr0=element, in_ptr1=element, out_ptr0=element),
                element.tolerance,
            )


REDUCTIONS: dict[str, tuple[str, str, str, Callable[[np.ndarray], np.ndarray], tuple[Element, ...]]] = {
    "sum": ("0", "_tmp + tmp0", "tl.sum({}, 1)[:, None]", lambda x: x.sum(1), (*FLOATS, F64, I64)),
    "amax": ("float('-inf')", "maximum(_tmp, tmp0)", "largest({}, 1)[:, None]", lambda x: x.max(1), (*FLOATS, F64)),
    "amin": ("float('inf')", "minimum(_tmp, tmp0)", "smallest({}, 1)[:, None]", lambda x: x.min(1), FLOATS),
    "imax": ("-1000", "maximum(_tmp, tmp0)", "largest({}, 1)[:, None]", lambda x: x.max(1), (I64, I32, I8)),
    "prod": (
        "1",
        "_tmp * (tmp0 * 0.125 + 1)",
        "product({}, 1)[:, None]",
        lambda x: (x * x.dtype.type(0.125) + 1).prod(1),
        (F32, F64),
    ),
    "any": ("False", "_tmp | tmp0", "any_of({}, 1)[:, None]", lambda x: x.any(1), (BOOL,)),
}
_COMPUTED_IN = {"f32": "tl.float32", "f16": "tl.float32", "bf16": "tl.float32", "f64": "tl.float64", "i64": "tl.int64", "i32": "tl.int32", "i8": "tl.int8", "i1": "tl.int1"}  # fmt: skip

ROWS = """xoffset = tl.program_id(0) * XBLOCK
xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
xmask = xindex < xnumel
x0 = xindex
"""


def reductions() -> Iterator[Kernel]:
    """Loops over the reduced axis that keep a tile of partial results."""
    lines = """r0_base = tl.arange(0, R0_BLOCK)[None, :]
_tmp = tl.full([XBLOCK, R0_BLOCK], {neutral}, {type})
for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
    r0_index = r0_offset + r0_base
    r0_mask = r0_index < r0_numel
    r0_1 = r0_index
    tmp0 = tl.load(in_ptr0 + (r0_1 + {cols}*x0), r0_mask & xmask, eviction_policy='evict_first', other=0){to}
    tmp1 = {update}
    _tmp = tl.where(r0_mask & xmask, tmp1, _tmp)
tmp2 = {final}
tl.store(out_ptr0 + (x0), tmp2, xmask)"""
    for operation, (neutral, update, final, numpy, types) in REDUCTIONS.items():
        for element in types:
            for rows, cols in ((37, 300), (8, 64)):
                name = f"red_fused_{operation}_{element.name}_{rows}_{cols}"
                x, values = made(element, (rows, cols), rows + cols)
                text = ROWS + lines.format(
                    neutral=neutral,
                    type=_COMPUTED_IN[element.name],
                    cols=cols,
                    update=update,
                    final=final.format("_tmp"),
                    to=element.computed,
                )
                yield Kernel(
                    name,
                    body(
                        name,
                        "in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr",
                        text,
                    ),
                    {"in_ptr0": x.reshape(-1), "out_ptr0": blank(element, rows)},
                    (rows, cols),
                    {"XBLOCK": 4, "R0_BLOCK": 64},
                    (blocks(rows, 4), 1, 1),
                    {"out_ptr0": numpy(values)},
                    elements_of(in_ptr0=element, out_ptr0=element),
                    element.tolerance * 30,
                )


def argmaxima() -> Iterator[Kernel]:
    lines = """r0_base = tl.arange(0, R0_BLOCK)[None, :]
_tmp1 = tl.full([XBLOCK, R0_BLOCK], float('-inf'), tl.float32)
_tmp1_index = tl.full([XBLOCK, R0_BLOCK], 9223372036854775807, tl.int64)
for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
    r0_index = r0_offset + r0_base
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_ptr0 + (r0_index + {cols}*x0), r0_mask & xmask, other=0){to}
    tmp2, tmp3 = larger_with_index(_tmp1, _tmp1_index, tmp0, tl.broadcast_to(r0_index, tmp0.shape).to(tl.int64))
    _tmp1 = tl.where(r0_mask & xmask, tmp2, _tmp1)
    _tmp1_index = tl.where(r0_mask & xmask, tmp3, _tmp1_index)
tmp4, tmp5 = largest_with_index(_tmp1, _tmp1_index, 1)
tl.store(out_ptr0 + (x0), tmp5[:, None], xmask)"""
    for element in FLOATS:
        for rows, cols in ((9, 150), (16, 32)):
            name = f"red_fused_argmax_{element.name}_{rows}_{cols}"
            x, values = made(element, (rows, cols), cols)
            yield Kernel(
                name,
                body(
                    name,
                    "in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr",
                    ROWS + lines.format(cols=cols, to=element.computed),
                ),
                {"in_ptr0": x.reshape(-1), "out_ptr0": blank(I64, rows)},
                (rows, cols),
                {"XBLOCK": 2, "R0_BLOCK": 64},
                (blocks(rows, 2), 1, 1),
                {"out_ptr0": values.argmax(1)},
                elements_of(in_ptr0=element),
            )


PERSISTENT: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "softmax": (
        """tmp1 = tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK])
tmp3 = tl.where(r0_mask & xmask, tmp1, float('-inf'))
tmp4 = largest(tmp3, 1)[:, None]
tmp5 = tl.math.exp(tmp0 - tmp4)
tmp6 = tl.where(r0_mask & xmask, tl.broadcast_to(tmp5, [XBLOCK, R0_BLOCK]), 0)
tmp7 = tl.sum(tmp6, 1)[:, None]
tmp8 = tmp5 / tmp7""",
        lambda x: np.exp(x - x.max(1, keepdims=True)) / np.exp(x - x.max(1, keepdims=True)).sum(1, keepdims=True),
    ),
    "layer_norm": (
        """tmp1 = tl.where(r0_mask & xmask, tmp0, 0)
tmp2 = tl.sum(tmp1, 1)[:, None] / {cols}
tmp3 = tl.where(r0_mask & xmask, tmp0 - tmp2, 0)
tmp4 = tl.sum(tmp3 * tmp3, 1)[:, None] / {cols}
tmp8 = (tmp0 - tmp2) * libdevice.rsqrt(tmp4 + 1e-05)""",
        lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5),
    ),
    "cumsum": (
        """tmp1 = tl.broadcast_to(tl.where(r0_mask & xmask, tmp0, 0), [XBLOCK, R0_BLOCK])
tmp8, = tl.associative_scan((tmp1,), 1, add_tuple)""",
        lambda x: np.cumsum(x, 1, dtype=np.float64),
    ),
    "reverse_cumsum": (
        """tmp1 = tl.broadcast_to(tl.where(r0_mask & xmask, tmp0, 0), [XBLOCK, R0_BLOCK])
tmp8 = tl.associative_scan(tmp1, 1, add, reverse=True)""",
        lambda x: np.cumsum(x[:, ::-1], 1, dtype=np.float64)[:, ::-1],
    ),
    "cummax": (
        """tmp1 = tl.where(r0_mask & xmask, tmp0, float('-inf'))
tmp8 = tl.associative_scan(tmp1, 1, maximum)""",
        lambda x: np.maximum.accumulate(x, 1),
    ),
}

PERSISTENT_ROWS = """R0_BLOCK: tl.constexpr = {block}
xoffset = tl.program_id(0) * XBLOCK
xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
xmask = xindex < xnumel
r0_index = tl.arange(0, R0_BLOCK)[None, :]
r0_mask = r0_index < r0_numel
r0_1 = r0_index
x0 = xindex
tmp0 = tl.load(in_ptr0 + (r0_1 + {cols}*x0), r0_mask & xmask, other=0){to}
"""

_ADD_TUPLE = "@triton.jit\ndef add_tuple(a, b):\n    return a + b\n\n\n"


def persistent() -> Iterator[Kernel]:
    """The reduced axis in one tile."""
    for operation, (lines, numpy) in PERSISTENT.items():
        for element in FLOATS:
            for rows, cols in ((10, 100), (16, 64), (3, 33)):
                name = f"per_fused_{operation}_{element.name}_{rows}_{cols}"
                x, values = made(element, (rows, cols), cols)
                block = 1 << (cols - 1).bit_length()
                text = (PERSISTENT_ROWS + lines).format(block=block, cols=cols, to=element.computed)
                text += f"\ntl.store(out_ptr0 + (r0_1 + {cols}*x0), tmp8, r0_mask & xmask)"
                yield Kernel(
                    name,
                    _ADD_TUPLE + body(name, "in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr", text),
                    {"in_ptr0": x.reshape(-1), "out_ptr0": blank(element, rows * cols)},
                    (rows, cols),
                    {"XBLOCK": 2},
                    (blocks(rows, 2), 1, 1),
                    {"out_ptr0": numpy(values).reshape(-1)},
                    elements_of(in_ptr0=element, out_ptr0=element),
                    element.tolerance * 20,
                )


def sorts() -> Iterator[Kernel]:
    lines = """tmp1 = r0_index.to(tl.int32)
tmp2 = tl.broadcast_to(tmp1, [XBLOCK, R0_BLOCK])
tmp3 = tl.where(r0_mask, tmp0, {last})
tmp4, tmp5 = sort_with_index(tl.broadcast_to(tmp3, [XBLOCK, R0_BLOCK]), tmp2, {bits}, {descending})
tl.store(out_ptr0 + (r0_1 + {cols}*x0), tmp4, r0_mask & xmask)
tl.store(out_ptr1 + (r0_1 + {cols}*x0), tmp5.to(tl.int64), r0_mask & xmask)"""
    for element in (F32, F16, I32):
        for descending in (False, True):
            for rows, cols in ((4, 32), (3, 20)):
                name = f"per_fused_sort_{element.name}_{rows}_{cols}_{'down' if descending else 'up'}"
                x, values = made(element, (rows, cols), cols + descending)
                bits = (cols - 1).bit_length()
                infinite = "1000" if element is I32 else "float('inf')"
                text = (PERSISTENT_ROWS + lines).format(
                    block=1 << bits,
                    cols=cols,
                    to=element.computed,
                    bits=bits,
                    descending=descending,
                    last=f"-{infinite}" if descending else infinite,
                )
                order = np.argsort(-values if descending else values, 1, kind="stable")
                yield Kernel(
                    name,
                    body(name, "in_ptr0, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr", text),
                    {
                        "in_ptr0": x.reshape(-1),
                        "out_ptr0": blank(element, rows * cols),
                        "out_ptr1": blank(I64, rows * cols),
                    },
                    (rows, cols),
                    {"XBLOCK": 2},
                    (blocks(rows, 2), 1, 1),
                    {"out_ptr0": np.take_along_axis(values, order, 1).reshape(-1), "out_ptr1": order.reshape(-1)},
                )


def splits() -> Iterator[Kernel]:
    """A long sum in two steps: the first has a program for each part, whose last may be short."""
    lines = """x0 = xindex
r0_base = tl.arange(0, R0_BLOCK)[None, :]
_tmp5 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
    r0_index = r0_offset + r0_base
    r0_mask = r0_index < r0_numel
    r0_1 = r0_index
    tmp0 = r0_1 + {part}*x0
    tmp1 = tl.full([1, 1], {total}, tl.int32)
    tmp2 = tmp0 < tmp1
    tmp3 = tl.load(in_ptr0 + (r0_1 + {part}*x0), r0_mask & tmp2 & xmask, eviction_policy='evict_first', other=0.0){to}
    tmp4 = tl.full(tmp3.shape, 0, tmp3.dtype)
    tmp6 = tl.where(tmp2, tmp3 * tmp3, tmp4)
    _tmp5 = tl.where(r0_mask & xmask, _tmp5 + tl.broadcast_to(tmp6, [XBLOCK, R0_BLOCK]), _tmp5)
tmp5 = tl.sum(_tmp5, 1)[:, None]
tl.store(out_ptr0 + (x0), tmp5, xmask)"""
    for element in FLOATS:
        for total, parts in ((1000, 7), (2048, 8)):
            part = blocks(total, parts)
            name = f"red_fused_split_{element.name}_{total}"
            x, values = made(element, (total,), total)
            squares = np.zeros(part * parts, np.float64)
            squares[:total] = values.astype(np.float64) ** 2
            yield Kernel(
                name,
                body(
                    name,
                    "in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr",
                    ROWS + lines.format(part=part, total=total, to=element.computed),
                ),
                {"in_ptr0": x, "out_ptr0": blank(F32, parts)},
                (parts, part),
                {"XBLOCK": 2, "R0_BLOCK": 64},
                (blocks(parts, 2), 1, 1),
                {"out_ptr0": squares.reshape(parts, part).sum(1)},
                elements_of(in_ptr0=element),
                1e-4,
            )


def welfords() -> Iterator[Kernel]:
    lines = """r0_base = tl.arange(0, R0_BLOCK)[None, :]
tmp2_mean = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
tmp2_m2 = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
tmp2_weight = tl.zeros([XBLOCK, R0_BLOCK], tl.float32)
for r0_offset in tl.range(0, r0_numel, R0_BLOCK):
    r0_index = r0_offset + r0_base
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_ptr0 + (r0_index + {cols}*x0), r0_mask & xmask, other=0.0){to}
    next_mean, next_m2, next_weight = welford_combine(tmp2_mean, tmp2_m2, tmp2_weight, tmp0, tl.zeros_like(tmp0), tl.full([XBLOCK, R0_BLOCK], 1.0, tl.float32))
    tmp2_mean = tl.where(r0_mask & xmask, next_mean, tmp2_mean)
    tmp2_m2 = tl.where(r0_mask & xmask, next_m2, tmp2_m2)
    tmp2_weight = tl.where(r0_mask & xmask, next_weight, tmp2_weight)
tmp3, tmp4, tmp5 = welford(tmp2_mean, tmp2_m2, tmp2_weight, 1)
tl.store(out_ptr0 + (x0), tmp3[:, None], xmask)
tl.store(out_ptr1 + (x0), tmp4[:, None] / {cols}, xmask)"""
    for element in FLOATS:
        for rows, cols in ((6, 200), (5, 64), (33, 17)):
            name = f"red_fused_native_batch_norm_{element.name}_{rows}_{cols}"
            x, values = made(element, (rows, cols), rows)
            wide = values.astype(np.float64)
            yield Kernel(
                name,
                body(
                    name,
                    "in_ptr0, out_ptr0, out_ptr1, xnumel, r0_numel, XBLOCK : tl.constexpr, R0_BLOCK : tl.constexpr",
                    ROWS + lines.format(cols=cols, to=element.computed),
                ),
                {"in_ptr0": x.reshape(-1), "out_ptr0": blank(F32, rows), "out_ptr1": blank(F32, rows)},
                (rows, cols),
                {"XBLOCK": 2, "R0_BLOCK": 32},
                (blocks(rows, 2), 1, 1),
                {"out_ptr0": wide.mean(1), "out_ptr1": wide.var(1)},
                elements_of(in_ptr0=element),
                1e-4,
            )


def one_rows() -> Iterator[Kernel]:
    """A row a program, without an x axis in the tile."""
    lines = """XBLOCK: tl.constexpr = 1
R0_BLOCK: tl.constexpr = {block}
xoffset = tl.program_id(0) * XBLOCK
xindex = tl.full([1], xoffset, tl.int32)
xmask = tl.full([R0_BLOCK], True, tl.int1)
r0_index = tl.arange(0, R0_BLOCK)[:]
r0_mask = r0_index < r0_numel
x0 = xindex
tmp0 = tl.load(in_ptr0 + (r0_index + {cols}*x0), r0_mask, other=0.0){to}
tmp1 = tl.broadcast_to(tl.where(r0_mask, tmp0 * tmp0, 0), [R0_BLOCK])
tmp2 = (tl.sum(tmp1, 0))
tmp3 = libdevice.rsqrt(tmp2 / {cols} + 1e-06)
tl.store(in_out_ptr0 + (x0), tmp3, None)"""
    for element in FLOATS:
        for rows, cols in ((5, 500), (7, 256)):
            name = f"per_fused_rms_{element.name}_{rows}_{cols}"
            x, values = made(element, (rows, cols), rows)
            yield Kernel(
                name,
                body(
                    name,
                    "in_out_ptr0, in_ptr0, xnumel, r0_numel",
                    lines.format(block=1 << (cols - 1).bit_length(), cols=cols, to=element.computed),
                ),
                {"in_out_ptr0": blank(F32, rows), "in_ptr0": x.reshape(-1)},
                (rows, cols),
                {},
                (rows, 1, 1),
                {"in_out_ptr0": 1 / np.sqrt((values.astype(np.float64) ** 2).mean(1) + 1e-6)},
                elements_of(in_ptr0=element),
                1e-4,
            )


def lookups() -> Iterator[Kernel]:
    """Rows taken by indices that may be negative, with the assertion that Inductor writes."""
    lines = """x1 = xindex // {cols}
x0 = xindex % {cols}
x2 = xindex
tmp0 = tl.load(in_ptr0 + (x1), xmask, eviction_policy='evict_last')
tmp1 = tl.full([XBLOCK], {rows}, tl.int32)
tmp2 = tmp0 + tmp1
tmp3 = tmp0 < 0
tmp4 = tl.where(tmp3, tmp2, tmp0)
tl.device_assert(((0 <= tmp4) & (tmp4 < {rows})) | ~(xmask), "index out of bounds: 0 <= tmp4 < {rows}")
tmp6 = tl.load(in_ptr1 + (x0 + {cols}*tmp4), xmask)
{end}"""
    for element in (*FLOATS, I64):
        for rows, cols, taken in ((50, 24, 30), (11, 64, 16)):
            for scatter in (False, True):
                if scatter and element not in (F32, I64):
                    continue
                kind = "index_add" if scatter else "embedding"
                name = f"poi_fused_{kind}_{element.name}_{rows}_{cols}"
                table, values = made(element, (rows, cols), rows)
                index = np.random.default_rng(cols).integers(-rows, rows, taken)
                end = (
                    f"tl.atomic_add(out_ptr0 + (x0 + {cols}*tmp4), tmp6, xmask, sem='relaxed')"
                    if scatter
                    else "tl.store(out_ptr0 + (x2), tmp6, xmask)"
                )
                expected = values[index]
                if scatter:
                    expected = np.zeros_like(values)
                    np.add.at(expected, index, values[index])
                yield Kernel(
                    name,
                    body(
                        name,
                        "in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr",
                        X_INDEX + lines.format(cols=cols, rows=rows, end=end),
                    ),
                    {"in_ptr0": index, "in_ptr1": table.reshape(-1), "out_ptr0": blank(element, expected.size)},
                    (taken * cols,),
                    {"XBLOCK": 128},
                    (blocks(taken * cols, 128), 1, 1),
                    {"out_ptr0": expected.reshape(-1)},
                    elements_of(in_ptr1=element, out_ptr0=element),
                    element.tolerance if scatter else 0.0,
                )


def pads() -> Iterator[Kernel]:
    """A row padded on both sides, and two tensors side by side, by masks."""
    pad = """x0 = xindex % {wide}
x1 = xindex // {wide}
x2 = xindex
tmp0 = (-2) + x0
tmp1 = tl.full([1], 0, tl.int64)
tmp2 = tmp0 >= tmp1
tmp3 = tl.full([1], {cols}, tl.int64)
tmp4 = tmp0 < tmp3
tmp5 = tmp2 & tmp4
tmp6 = tl.load(in_ptr0 + ((-2) + x0 + {cols}*x1), tmp5 & xmask, other=0.0)
tl.store(out_ptr0 + (x2), tmp6, xmask)"""
    cat = """x0 = xindex % {wide}
x1 = xindex // {wide}
x2 = xindex
tmp0 = x0
tmp3 = tl.full([1], {cols}, tl.int64)
tmp4 = tmp0 < tmp3
tmp5 = tl.load(in_ptr0 + ({cols}*x1 + (x0)), tmp4 & xmask, eviction_policy='evict_last', other=0.0)
tmp6 = tmp0 >= tmp3
tmp9 = tl.load(in_ptr1 + (5*x1 + ((-{cols}) + x0)), tmp6 & xmask, eviction_policy='evict_last', other=0.0)
tmp10 = tl.where(tmp4, tmp5, tmp9)
tl.store(out_ptr0 + (x2), tmp10, xmask)"""
    for element in FLOATS:
        for rows, cols in ((12, 33), (8, 16)):
            x, values = made(element, (rows, cols), rows)
            y, others = made(element, (rows, 5), cols)
            wide = cols + 5
            for kind, lines, expected in (
                ("pad", pad, np.pad(values, ((0, 0), (2, 3)))),
                ("cat", cat, np.concatenate([values, others], 1)),
            ):
                name = f"poi_fused_{kind}_{element.name}_{rows}_{cols}"
                arrays = {"in_ptr0": x.reshape(-1), "in_ptr1": y.reshape(-1), "out_ptr0": blank(element, rows * wide)}
                yield Kernel(
                    name,
                    body(
                        name,
                        "in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr",
                        X_INDEX + lines.format(wide=wide, cols=cols),
                    ),
                    arrays,
                    (rows * wide,),
                    {"XBLOCK": 128},
                    (blocks(rows * wide, 128), 1, 1),
                    {"out_ptr0": expected.reshape(-1)},
                    elements_of(in_ptr0=element, in_ptr1=element, out_ptr0=element),
                )


def foreach() -> Iterator[Kernel]:
    """A list of tensors in one launch: the program's number says which."""
    sizes = (700, 64, 1024)
    part = """{word} pid < num_xblocks_{i}:
    pid_offset = {offset}
    xnumel = {size}
    xoffset = pid_offset * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex
    tmp0 = tl.load(in_ptr{i} + (x0), xmask){to}
    tmp1 = tmp0 * {factor} + 1.0
    tl.store(out_ptr{i} + (x0), tmp1, xmask)"""
    for element in FLOATS:
        for block in (128, 1024):
            lines, arrays, expected, ends, total = (
                ["pid = tl.program_id(0)", f"XBLOCK: tl.constexpr = {block}"],
                {},
                {},
                [],
                0,
            )
            for i, size in enumerate(sizes):
                total += blocks(size, block)
                ends.append(total)
                lines.append(f"num_xblocks_{i} = {total}")
            for i, size in enumerate(sizes):
                offset = "pid" if i == 0 else f"pid - num_xblocks_{i - 1}"
                lines.append(
                    part.format(
                        word="elif" if i else "if", i=i, offset=offset, size=size, to=element.computed, factor=i + 2
                    )
                )
                arrays[f"in_ptr{i}"], values = made(element, (size,), i)
                expected[f"out_ptr{i}"] = values * (i + 2) + 1
            arrays |= {f"out_ptr{i}": blank(element, size) for i, size in enumerate(sizes)}
            lines.append("else:\n    pass")
            name = f"for_fused_mul_{element.name}_{block}"
            yield Kernel(
                name,
                body(name, ", ".join(arrays), "\n".join(lines)),
                arrays,
                (),
                {},
                (total, 1, 1),
                expected,
                dict.fromkeys(arrays, "bfloat16") if element is BF16 else {},
                element.tolerance * 3,
            )


@functools.cache
def all_kernels() -> tuple[Kernel, ...]:
    """Every kernel, always the same ones in the same order."""
    families = (
        pointwise,
        broadcasts,
        transposes,
        reductions,
        argmaxima,
        persistent,
        sorts,
        splits,
        welfords,
        one_rows,
        lookups,
        pads,
        foreach,
    )
    return tuple(kernel for family in families for kernel in family())


def sample() -> tuple[Kernel, ...]:
    """One kernel in ten, at least one of each family."""
    return all_kernels()[::10]
