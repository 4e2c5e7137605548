"""Random well-formed kernels, run by every oracle: where two of them give different numbers, one is wrong.

minitriton fuzz --count 1000 --seed 1        see docs/fuzzing.md
"""
