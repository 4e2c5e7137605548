"""minitriton: a Triton-compatible GPU compiler in pure Python."""

__version__ = "0.1.0"
