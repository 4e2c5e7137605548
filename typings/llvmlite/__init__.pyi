"""What minitriton uses of llvmlite, which has no types of its own (0.50)."""

__version__: str
