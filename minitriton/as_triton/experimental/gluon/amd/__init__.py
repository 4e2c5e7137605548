"""Values that programs pass to Gluon kernels for AMD's GPUs."""

from minitriton.as_triton.experimental.gluon.amd import gfx1250

__all__ = ["gfx1250"]
