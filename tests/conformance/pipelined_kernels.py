"""Kernels with products on tensor cores, as people write them, for comparisons with Triton pass by pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    pa, pb = a + rows[:, None] * sa + ks[None, :], b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        x = tl.load(pa, mask=ks[None, :] < K - k * BK, other=0.0)
        acc = tl.dot(x, tl.load(pb, mask=ks[:, None] < K - k * BK, other=0.0), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (cols[None, :] < N))


@triton.jit
def descriptor_matmul(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        acc = tl.dot(a.load([row, k * BK]), b.load([col, k * BK]).T, acc)
    c.store([row, col], acc.to(tl.float16))


@triton.jit
def persistent_matmul(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLAT: tl.constexpr
):
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    across = tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0), flatten=FLAT):
        row, col = tile // across * BM, tile % across * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row, k * BK]), b.load([col, k * BK]).T, acc)
        c.store([row, col], acc.to(tl.float16))


@triton.jit
def grouped_matmul(a_ptrs, b_ptrs, c_ptrs, sizes, groups, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    for g in range(groups):
        m, n, k = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        f16 = tl.pointer_type(tl.float16)
        a = tl.make_tensor_descriptor(tl.load(a_ptrs + g).to(f16), [m, k], [k, 1], [BM, BK])
        b = tl.make_tensor_descriptor(tl.load(b_ptrs + g).to(f16), [n, k], [k, 1], [BN, BK])
        c = tl.make_tensor_descriptor(tl.load(c_ptrs + g).to(f16), [m, n], [n, 1], [BM, BN])
        row, col = tl.program_id(0) * BM, tl.program_id(1) * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for i in range(tl.cdiv(k, BK)):
            acc += tl.dot(a.load([row, i * BK]), b.load([col, i * BK]).T)
        c.store([row, col], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, length, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    row = tl.program_id(0) * BM
    x = q.load([row, 0])
    top = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start in range(0, length, BN):
        scores = tl.dot(x, k.load([start, 0]).T) * scale
        higher = tl.maximum(top, tl.max(scores, 1))
        p = tl.math.exp2(scores - higher[:, None])
        shrink = tl.math.exp2(top - higher)
        acc = acc * shrink[:, None]
        acc = tl.dot(p.to(tl.float16), v.load([start, 0]), acc)
        total = total * shrink + tl.sum(p, 1)
        top = higher
    o.store([row, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def upcast_matmul(a, b, c, K, sa, sb, sc, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows, cols, ks = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    pa, pb = a + rows[:, None] * sa + ks[None, :], b + ks[:, None] * sb + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(pa).to(tl.bfloat16), tl.load(pb), acc)
        pa += BK
        pb += BK * sb
    tl.store(c + rows[:, None] * sc + cols[None, :], acc)


@dataclass(frozen=True)
class DotCase:
    """A kernel with the types of its arguments: `*fp16` is a pointer to 16-byte aligned data, `i32` a multiple of 16."""

    kernel: Any
    types: dict[str, str]
    constants: dict[str, Any]
    arch: int
    options: dict[str, Any] = field(default_factory=lambda: {"num_warps": 4, "num_stages": 3})

    def arguments(self) -> tuple[dict[str, str], dict[Any, Any], dict[Any, Any]]:
        """Signature, constants and attributes as `ASTSource` takes them."""
        names = self.kernel.arg_names
        signature = {name: self.types.get(name, "constexpr") for name in names}
        constants = {(names.index(name),): value for name, value in self.constants.items()}
        aligned = [
            i for i, name in enumerate(names) if self.types.get(name, "")[:1] == "*" or self.types.get(name) == "i32"
        ]
        return signature, constants, {(i,): [["tt.divisibility", 16]] for i in aligned}


def _tile(rows: int, cols: int) -> str:
    return f"tensordesc<fp16[{rows}, {cols}]>"


_INTS = dict.fromkeys(("M", "N", "K", "sa", "sb", "sc"), "i32")
_PLAIN = {"a": "*fp16", "b": "*fp16", "c": "*fp16", **_INTS}
_DEVICE = {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "M": "i32", "N": "i32", "K": "i32"}
_SIZES = {"BM": 128, "BN": 128, "BK": 64}
_GROUPS = {"a_ptrs": "*i64", "b_ptrs": "*i64", "c_ptrs": "*i64", "sizes": "*i32", "groups": "i32"}
_HEADS = {
    "q": _tile(128, 64),
    "k": _tile(64, 64),
    "v": _tile(64, 64),
    "o": _tile(128, 64),
    "length": "i32",
    "scale": "fp32",
}
_MIXED = {"a": "*i8", "b": "*bf16", "c": "*fp32", "K": "i32", "sa": "i32", "sb": "i32", "sc": "i32"}

CASES = {
    "matmul on sm_80": DotCase(matmul, _PLAIN, {**_SIZES, "BK": 32}, 80),
    "matmul on sm_90": DotCase(matmul, _PLAIN, _SIZES, 90),
    "i8 times bf16 on sm_80": DotCase(upcast_matmul, _MIXED, _SIZES, 80),
    "i8 times bf16 on sm_90": DotCase(upcast_matmul, _MIXED, _SIZES, 90),
    "matmul of descriptors": DotCase(
        descriptor_matmul,
        {"a": _tile(128, 64), "b": _tile(128, 64), "c": _tile(128, 128), "K": "i32"},
        _SIZES,
        90,
    ),
    "persistent matmul": DotCase(persistent_matmul, _DEVICE, {**_SIZES, "FLAT": False}, 90),
    "persistent matmul in one loop": DotCase(persistent_matmul, _DEVICE, {**_SIZES, "FLAT": True}, 90),
    "grouped matmul": DotCase(grouped_matmul, _GROUPS, _SIZES, 90),
    "attention": DotCase(attention, _HEADS, {"BM": 128, "BN": 64, "D": 64}, 90),
}
