"""Random numbers by Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a function of
a seed and an offset, with no state."""

# The annotation `constexpr` speaks to the kernel compiler; to Python it is any value.
# pyright: standard, reportArgumentType=false, reportAssignmentType=false

from __future__ import annotations

from minitriton.language import core as tl
from minitriton.language import math
from minitriton.language.declare import constexpr_function, library

__all__ = [
    "pair_uniform_to_normal", "philox", "philox_impl", "rand", "rand4x", "randint", "randint4x", "randn", "randn4x",
    "uint_to_uniform_float",
]  # fmt: skip
"""What `tl` offers of it."""

N_ROUNDS_DEFAULT = tl.constexpr(10)

_KEY_STEPS = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}
_MULTIPLIERS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
"""What the paper (section 3) adds to the two halves of the key after a round, and multiplies the counter by, for words of 32 and 64 bits."""

_LARGEST_FACTORS = {32: 4.6566127342e-10, 64: 1.0842020432385337e-19}
"""The largest factors of float32 by which the largest signed integer of 32 or 64 bits stays below 1."""


@constexpr_function
def _philox_constants(word: tl.dtype) -> tuple[int, int, int, int]:
    if not word.is_int_unsigned() or word.int_bitwidth not in _KEY_STEPS:
        raise TypeError(f"Philox works on words of uint32 or uint64, not {word}")
    return (*_KEY_STEPS[word.int_bitwidth], *_MULTIPLIERS[word.int_bitwidth])


@constexpr_function
def _word_bits(dtype: tl.dtype) -> int:
    if not dtype.is_int() or dtype.int_bitwidth not in _KEY_STEPS:
        raise TypeError(f"random numbers are made of integers of 32 or 64 bits, not of {dtype}")
    return dtype.int_bitwidth


@constexpr_function
def _largest_factor(bits: int) -> float:
    return _LARGEST_FACTORS[bits]


@library
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """`n_rounds` rounds of Philox on the counter (c0, c1, c2, c3) with the key (k0, k1)."""
    constants: tl.constexpr = _philox_constants(c0.dtype)
    for _ in tl.static_range(n_rounds):
        even = math.umulhi(constants[3], c2) ^ c1 ^ k0
        odd = math.umulhi(constants[2], c0) ^ c3 ^ k1
        c1 = tl.mul(constants[3], c2, sanitize_overflow=False)
        c3 = tl.mul(constants[2], c0, sanitize_overflow=False)
        c0, c2 = even, odd
        k0 = tl.add(k0, constants[0], sanitize_overflow=False)
        k1 = tl.add(k1, constants[1], sanitize_overflow=False)
    return c0, c1, c2, c3


@library
def philox(seed, c0, c1, c2, c3, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Philox on the counter (c0, c1, c2, c3), of 32 or 64 bits each, with the integer `seed` as its key."""
    seed = tl.to_tensor(seed)
    tl.static_assert(seed.dtype.is_int(), "the seed must be an integer")
    key = seed.to(tl.uint64)
    bits: tl.constexpr = _word_bits(tl.to_tensor(c0).dtype)
    if bits == 32:
        word = tl.uint32
        high = ((key >> 32) & 0xFFFFFFFF).to(word)
        low = (key & 0xFFFFFFFF).to(word)
    else:
        word = tl.uint64
        high = tl.full((1,), 0, dtype=word)
        low = key
    counter = [tl.to_tensor(c).to(word, bitcast=True) for c in (c0, c1, c2, c3)]
    return philox_impl(*counter, low, high, n_rounds)


@library
def randint(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """A block of random 32-bit integers for a scalar `seed` and a block of offsets."""
    return randint4x(seed, offset, n_rounds)[0]


@library
def randint4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Four blocks of random 32-bit integers, for the price of one."""
    low = offset.to(tl.uint32)
    zero = low * 0
    if offset.dtype.primitive_bitwidth > 32:
        high = (offset >> 32).to(tl.uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@library
def uint_to_uniform_float(x):
    """A random integer as a float of [0, 1), of the same exactness over the whole range."""
    bits: tl.constexpr = _word_bits(x.dtype)
    if bits == 32:
        x = x.to(tl.int32, bitcast=True)
    else:
        x = x.to(tl.int64, bitcast=True)
    # -x - 1, which maps the smallest integer to the largest. Its first step wraps there, on purpose.
    magnitude = tl.where(x < 0, tl.sub(tl.sub(0, x, sanitize_overflow=False), 1, sanitize_overflow=False), x)
    return magnitude * _largest_factor(bits)


@library
def rand(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """A block of random float32 of [0, 1) for a scalar `seed` and a block of offsets."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@library
def rand4x(seed, offsets, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Four blocks of random float32 of [0, 1), for the price of one."""
    a, b, c, d = [uint_to_uniform_float(i) for i in randint4x(seed, offsets, n_rounds)]
    return a, b, c, d


@library
def pair_uniform_to_normal(u1, u2):
    """Two uniform blocks as two normal ones (Box and Muller, 1958)."""
    positive = tl.maximum(1.0e-7, u1)
    angle = 6.283185307179586 * u2
    radius = math.sqrt(-2.0 * math.log(positive))
    return radius * math.cos(angle), radius * math.sin(angle)


@library
def randn(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """A block of random float32 of the standard normal distribution."""
    first, second, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(first), uint_to_uniform_float(second))[0]


@library
def randn4x(seed, offset, n_rounds: tl.constexpr = N_ROUNDS_DEFAULT):
    """Four blocks of random float32 of the standard normal distribution."""
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
