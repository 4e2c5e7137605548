"""What only some targets have: the device library, as in `tl.extra`."""

from minitriton.language.extra import libdevice

__all__ = ["libdevice"]
