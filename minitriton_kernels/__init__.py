"""The corpus of kernels: what the laboratory, benchmarks, tests, lessons and pages run, installed next to minitriton.

    softmax.py, matmul.py, ...   plain Triton programs, which pages compile and benchmarks time
    cases.py                     inputs, a launch and the right answer for them
    families/                    kernels of one kind a file, each with its case: `minitriton corpus` lists them
    gluon/                       programs in Gluon
    mutated.py                   what mutants are made of: `fuzz.mutation`
    lessons/                     what the explorer's tour and exercises open

The files import `triton`, so that each runs under Triton too. `minitriton.lab.corpus.case.load_file` imports one for either compiler;
a file that imports a kernel from another gets it from the same compiler.
"""
