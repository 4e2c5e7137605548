"""What a process of a sweep needs, made once: the process that forks them imports this module, and nothing else does.

Importing the compiler takes a second of processor time, a fork of a process that has done so milliseconds.
"""

import gc
import signal

from minitriton.lab.sweeping import serving

signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the starter, which ends the others

serving.prepare()

# Nothing of this becomes garbage, and pages that no collection writes to stay shared.
gc.collect()
gc.freeze()
