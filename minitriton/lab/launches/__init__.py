"""Launches written down and taken up again: what a program passed to its kernels, as folders that commands read.

`recorder` writes one for each launch of a program that runs under `minitriton record`; `recorded` is what stands in it;
`replay` makes a source and arguments of it; `spans` is the memory between.
"""
