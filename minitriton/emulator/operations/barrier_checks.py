"""What is checked of barriers: their numbers, and that those that met may meet."""

import numpy as np

from minitriton.emulator.batch import Batch
from minitriton.emulator.operations.barriers import BARRIERS, Arrival, BarrierArrivals
from minitriton.target.architectures import WARP_SIZE


def check_numbers(x: Batch, number: int, expected: int, site: int) -> None:
    """A barrier's number and its count of threads, which must be whole warps."""
    if number >= BARRIERS:
        x.find("barrier", site, x.index[:1], f"barrier {number}: a CTA has barriers 0 to {BARRIERS - 1}")
    if expected % WARP_SIZE and expected != x.threads:
        x.find("barrier", site, x.index[:1], f"a barrier of {expected} threads, which are not whole warps")


def check_completed(x: Batch, arrivals: BarrierArrivals, last: Arrival) -> None:
    """Of threads that have met at a barrier: whether aligned instructions were executed by whole warps, and only one of them."""
    for site, threads in arrivals.aligned.items():
        warps = threads.reshape(-1, WARP_SIZE)
        some = np.any(warps, axis=1, keepdims=True)
        apart = (some & x.alive.reshape(-1, WARP_SIZE) & ~warps).ravel()
        if apart.any():
            x.find(
                "barrier", site, np.nonzero(apart)[0],
                f"threads do not execute barrier {last.number} with the others of their warp: barrier.sync without .aligned may part them",
            )  # fmt: skip
            return
    if len(arrivals.aligned) > 1:
        other = x.instruction(next(iter(arrivals.aligned)))
        x.find(
            "barrier", last.site, np.nonzero(arrivals.aligned.get(last.site, arrivals.here))[0],
            f"threads meet others at barrier {last.number} that execute it at ptx:{other.line}: those of bar.sync must be one instruction",
        )  # fmt: skip
