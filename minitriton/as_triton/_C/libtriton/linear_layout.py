"""The extension's `linear_layout`."""

from minitriton.layouts.linear_layout import LinearLayout

__all__ = ["LinearLayout"]
