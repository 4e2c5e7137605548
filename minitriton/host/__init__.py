"""What the compiler needs of the machine and process it runs in: locks, stack, files, and the small functions that host code shares with kernels."""
