"""Values that programs pass to Gluon kernels for NVIDIA GPUs."""

from minitriton.as_triton.experimental.gluon.nvidia import hopper

__all__ = ["hopper"]
