"""Kernels of loops, branches, memory order and short dots, compared with plain Python on NumPy numbers."""
