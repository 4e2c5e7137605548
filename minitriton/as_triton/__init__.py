"""What a program that calls minitriton `triton` is told: its version, and CUDA devices where there is only a CPU."""
