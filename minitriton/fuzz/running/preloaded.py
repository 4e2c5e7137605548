"""What a process of a campaign needs, made once for all: the process that forks them imports this module, and nothing else does.

Importing both compilers takes a second of processor time, and the first kernel three times as long as the others. A process that takes the place of one
that was given up on begins at once.
"""

import gc
import importlib.util
import signal

from minitriton.fuzz.kinds import fuzz_kernel

# Ctrl-C in the terminal is for the campaign, which then ends its processes.
signal.signal(signal.SIGINT, signal.SIG_IGN)

# Not by Triton, whose compiler has threads, nor by a GPU: neither outlives a fork.
fuzz_kernel("tiles", 0, 0, ["interpreter", "ttgir", "emulator"])
fuzz_kernel("control-flow", 0, 0, ["python", "emulator-sm80"])

if importlib.util.find_spec("triton") is not None:
    importlib.import_module("triton.language")
    importlib.import_module("triton.compiler")

# Nothing of this becomes garbage, and pages that no collection writes to stay shared.
gc.collect()
gc.freeze()
