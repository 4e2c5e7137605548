"""What a worker needs, imported once for all of them: the process that forks workers imports this module, and nothing else does.

Imports take a second of processor time; a worker that is forked afterwards begins at once, also the one that follows one that died.
"""

import gc
import importlib
import signal

from minitriton.pipeline.pass_registry import load_own_passes

# Ctrl-C in the terminal is for the server, which then ends its workers.
signal.signal(signal.SIGINT, signal.SIG_IGN)

for module in (
    "minitriton.explorer.session", "minitriton.frontend.code_generator", "minitriton.runtime.jit",
    "minitriton.explorer.sass",
):  # fmt: skip
    importlib.import_module(module)
load_own_passes()

# Nothing of this becomes garbage, and pages that no collection writes to stay shared.
gc.freeze()
