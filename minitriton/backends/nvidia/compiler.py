"""`CUDAOptions` and the backend under the module path that Triton programs import them from."""

from minitriton.backends.compiler import CUDABackend
from minitriton.target import CUDAOptions

__all__ = ["CUDABackend", "CUDAOptions"]
