"""Tools around compiled kernels and layouts."""

from minitriton.layouts.linear_layout import LinearLayout

__all__ = ["LinearLayout"]
