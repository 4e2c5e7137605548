"""The small functions that host code and kernels share, in kernels at compile time: `cdiv`, `next_power_of_2`."""

from minitriton.language.declare import constexpr_function


@constexpr_function
def cdiv(x: int, y: int) -> int:
    """`x / y` rounded up, for non-negative integers."""
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least `n` (0 for 0, as in Triton)."""
    return 1 << (n - 1).bit_length() if n > 0 else 0
