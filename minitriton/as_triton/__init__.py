"""What a program that calls minitriton `triton` is given: its version, and CUDA devices where there is only a CPU."""
