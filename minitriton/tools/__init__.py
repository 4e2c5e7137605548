"""Tools around compiled kernels."""
