"""The device library under the name that says whose it is: the functions of `tl.extra.libdevice`."""

from minitriton.language.extra.libdevice import __dir__, __getattr__

__all__ = ["__dir__", "__getattr__"]
