"""Kernels of loops, branches, memory order and short sums of products, judged by plain Python on NumPy numbers."""
