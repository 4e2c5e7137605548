"""Triton's module paths for the AMD backend."""
