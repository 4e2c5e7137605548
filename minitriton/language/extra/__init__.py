"""What only some targets have: `tl.extra.cuda`, and `tl.extra.libdevice`, the target's device library."""

from minitriton.language.extra import cuda, libdevice

__all__ = ["cuda", "libdevice"]
