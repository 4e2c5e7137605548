"""Kernels in the language of Triton 3.9, which Triton 3.6 refuses or understands differently. Loaded with `triton` meaning minitriton and with Triton 3.9.

Each takes an array for its results and one of inputs: 64 numbers of `INPUTS[kernel]`.
"""

import triton
import triton.language as tl


@triton.jit
def walrus(out, x):
    i = tl.arange(0, 64)
    tl.store(out + (j := i), (a := tl.load(x + j)) + a)
    if (first := tl.load(x + 1)) > 0:
        tl.store(out, first - 5)


@triton.jit
def chains(out, x):
    i = tl.arange(0, 64)
    a = tl.load(x + i)
    n = tl.load(x + 9)
    tl.store(out + i, (2 < a <= n != 3).to(tl.int32))
    if 0 < n < 30:
        tl.store(out, 100)


@triton.jit
def total(first, *rest, scale=1):
    for i in tl.static_range(len(rest)):
        first += rest[i]
    return first * scale


@triton.jit
def arguments(out, x):
    a = tl.load(x + 1)
    tl.store(out, total(a))
    tl.store(out + 1, total(a, 2, 3, scale=10))
    products = [p * q for p, q in ((2, 3), (4, 5), (6, 7)) if p != 4]
    tl.store(out + 2, products[0] + products[1])
    count: tl.constexpr
    count = 4
    tl.store(out + 3 + tl.arange(0, count), 1)


@triton.jit
def four():
    return 4


@triton.jit
def either(n):
    if n > 5:
        return 1, 4
    return 3, 4


@triton.jit
def results(out, x):
    tl.store(out + 8 + tl.arange(0, either(tl.load(x))[1]), either(tl.load(x + 1))[0])
    tl.store(out + 12, either(tl.load(x + 20))[0])
    count: tl.constexpr = four()
    narrow = tl.load(x + tl.arange(0, count)).to(tl.int8)
    tl.store(out + tl.arange(0, count), narrow * 20 + four() * 25)


@triton.aggregate
class Point:
    x: tl.tensor
    y: tl.tensor
    scale: tl.constexpr = 2

    @triton.jit
    def total(self):
        return (self.x + self.y) * self.scale

    @triton.jit
    def __add__(self, other):
        return Point(self.x + other, self.y + other)

    @triton.jit
    def __rsub__(self, other):
        return Point(other - self.x, other - self.y)

    @triton.jit
    def __neg__(self):
        return tl.aggregate_replace(self, x=-self.x)

    @triton.jit
    def __lt__(self, other):
        return self.x < other


@triton.aggregate
class Named(Point):
    z: tl.tensor


@triton.jit
def aggregates(out, x):
    one, two = tl.load(x + 1), tl.load(x + 2)
    tl.store(out, Point(one, y=two).total())
    tl.store(out + 1, tl.aggregate_replace(Point(one, two), y=one, scale=10).total())
    tl.store(out + 2, Named(x=one, y=two, z=one).total())
    tl.store(out + 3, (Point(one, two) + 3).x)
    tl.store(out + 4, (5 - Point(one, two)).y)
    tl.store(out + 5, (-Point(one, two)).x)
    tl.store(out + 6, (Point(one, two) < 9).to(tl.int32))


@triton.jit
def shapes(out, x):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    tl.store(out + i, tl.squeeze(tl.unsqueeze(a, 0), 0) + tl.squeeze(tl.unsqueeze(a, -1), 1))
    b = a.reshape(4, 4)
    tl.store(out + 16 + tl.arange(0, 32), tl.cat(b, b * 2, dim=1).reshape(32) + tl.cat(b, -b, dim=0).reshape(32))


@triton.jit
def selections(out, x):
    rows = tl.load(x + tl.arange(0, 64)).reshape(4, 16)
    tl.store(out + tl.arange(0, 4), tl.topk(rows, 1).reshape(4))
    tl.store(out + 4 + tl.arange(0, 16), tl.topk(rows, 4, descending=False).reshape(16))
    tl.store(out + 20 + tl.arange(0, 16), tl.clamp(tl.load(x + tl.arange(0, 16)), 3, 9))


@triton.jit
def running(out, x):
    i = tl.arange(0, 16)
    a = tl.load(x + i)
    tl.store(out + i, tl.cumprod(a, 0, dtype=tl.float32) + tl.cumsum(a, 0, dtype=tl.float32))
    small = (a * 0.25).to(tl.bfloat16)
    tl.store(out + 16 + i, tl.cumsum(small, 0))
    tl.store(out + 32 + i, tl.cumprod(small, 0))


@triton.jit
def numbers(out, x):
    i = tl.arange(0, 16)
    a = (tl.load(x + i) * 0.3 - 1).to(tl.bfloat16)
    b = a.to(tl.float16)
    tl.store(out + i, tl.maximum(a, 0.1) + tl.clamp(a, -0.3, 0.3))
    tl.store(out + 16 + i, tl.fma(b, 0.1, 0.7) - tl.minimum(b, 0.2))
    tl.store(out + 32 + i, (a > 0.2).to(tl.float32) + (b == 0.5).to(tl.float32) * 2)
    tl.store(out + 48 + i, -(a * 0.0) + tl.fdiv(a, b, ieee_rounding=True) * 0)


@triton.jit
def softmaxes(out, x):
    i = tl.arange(0, 16)
    a = tl.load(x + i).reshape(4, 4) * 0.1
    tl.store(out + i, tl.softmax(a, 0).reshape(16))
    tl.store(out + 16 + i, tl.softmax(a, 1).reshape(16))


@triton.jit
def dots(out, x):
    m, k = tl.arange(0, 4), tl.arange(0, 8)
    a = tl.load(x + m[:, None] * 8 + k[None, :])
    tl.store(out + m[:, None] * 4 + m[None, :], tl.dot(a, a.T))


@triton.jit
def ordered_accesses(out, x):
    i = tl.arange(0, 16)
    tl.atomic_store(out + i, tl.atomic_load(x + i, mask=i < 7) + 1, mask=i < 9)
    tl.atomic_store(out + 20, tl.atomic_load(x + 5, sem="relaxed"), scope="sys")
    tl.store(out + 24 + i, tl.atomic_poll(x + i, i, timeout_ns=10).to(tl.int32))
    tl.store(out + 40, tl.atomic_poll(x + 3, tl.load(x + 3)).to(tl.int32))


INPUTS = {
    "walrus": "int32", "chains": "int32", "arguments": "int32", "results": "int32", "aggregates": "int32",
    "shapes": "int32", "selections": "int32", "running": "float32", "numbers": "float32", "softmaxes": "float32",
    "dots": "float32", "ordered_accesses": "int32",
}  # fmt: skip
