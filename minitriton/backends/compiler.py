"""`GPUTarget` and the options, under the module path that Triton programs import them from."""

from minitriton.target import CUDAOptions, GPUTarget

__all__ = ["CUDAOptions", "GPUTarget"]
