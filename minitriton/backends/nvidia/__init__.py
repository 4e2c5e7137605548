"""Triton's module paths for the NVIDIA backend (`triton.backends.nvidia`)."""
