"""Learning with the explorer: a guided tour, and exercises that the emulator checks.

tour        seven kernels from Python to PTX, each stop a view of the explorer, and those of minitriton_kernels/gluon
exercises   kernels to be fixed, with what is asked of each
checks      what an exercise may ask: the same numbers, wide loads, no conflicts, a pass named
"""
