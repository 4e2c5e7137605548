"""What no GPU has: refused before NumPy is asked for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from minitriton.emulator.ptx.program import EmulationError, PTXKernel, Variable
from minitriton.errors import SourceLocation
from minitriton.target.architectures import LIMITS

MOST_GLOBAL = 1 << 30
"""Bytes of a variable in global or constant memory: a choice of the emulator's."""
MOST_PARAMETERS = 1 << 20
"""Bytes, likewise."""


def check_threads(kernel: PTXKernel) -> None:
    """Raises `EmulationError`, at the line of the directive, for a number of threads that no CTA can have."""
    count = int(np.prod(kernel.threads, dtype=object))
    if not kernel.threads_line:
        raise EmulationError(
            f"kernel `{kernel.name}` states no .reqntid, so its number of threads is not known",
            SourceLocation("<ptx>", kernel.line),
            help="write .reqntid N after its parameters",
        )
    if not 0 < count <= LIMITS.threads_per_cta:
        raise EmulationError(
            f"kernel `{kernel.name}` has {count} threads a block; the most is {LIMITS.threads_per_cta}, the least is 1",
            SourceLocation("<ptx>", kernel.threads_line),
        )


def check_sizes(kernel: PTXKernel, variables: Sequence[Variable], shared: int, local: int) -> None:
    """Raises `EmulationError`, naming `kernel`, for what goes beyond."""
    other = max((v.size for v in variables if v.space in ("global", "const")), default=0)
    parameters = max((p.offset + p.size for p in kernel.parameters), default=0)
    for what, number, most in (
        ("CTAs a cluster", int(np.prod(kernel.cluster, dtype=object)), LIMITS.ctas_per_cluster),
        ("bytes of shared memory", shared, LIMITS.max_shared_memory),
        ("bytes of local memory a thread", local, LIMITS.local_bytes_per_thread),
        ("bytes in one variable", other, MOST_GLOBAL),
        ("bytes of parameters", parameters, MOST_PARAMETERS),
    ):
        if number > most:
            raise EmulationError(f"<ptx>: kernel `{kernel.name}` has {number} {what}; the most is {most}")
    if min(kernel.cluster) < 1:
        raise EmulationError(f"<ptx>: kernel `{kernel.name}` has a cluster of {kernel.cluster} CTAs")
