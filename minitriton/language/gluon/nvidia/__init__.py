"""What NVIDIA GPUs have beyond the common language, an architecture a package: each has what the one before has."""

from minitriton.language.gluon.nvidia import ampere, blackwell, hopper

__all__ = ["ampere", "blackwell", "hopper"]
