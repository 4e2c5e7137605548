"""Special registers that do not change during a run: where a thread stands in its warp, CTA, cluster and grid.

value_of(x, "%ctaid.x") -> the x coordinate of each thread's CTA; value_of(x, "%ntid.x") -> the block size
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minitriton.emulator.batch import Batch
from minitriton.emulator.lanes import Lanes, same
from minitriton.emulator.ptx.program import EmulationError


def value_of(x: Batch, name: str) -> Lanes:
    """The 32-bit value of a special register: a scalar, or an array with one element per thread."""
    size, grid = x.program.kernel.threads, x.grid
    base, _, axis = name[1:].partition(".")
    number = "xyz".find(axis) if axis else 0

    def along(value: np.ndarray, extents: tuple[int, int, int]) -> np.ndarray:
        below = int(np.prod(extents[:number]))
        return (value // below % extents[number]).astype(np.uint32)

    cluster = x.program.kernel.cluster
    if base == "tid":
        return along(x.thread, size)
    if base in ("ctaid", "clusterid", "cluster_ctaid"):
        place = same(np.uint32(0)) if grid[number] == 1 else along(x.cta_number, grid)
        extent = np.uint32(cluster[number])
        return {"ctaid": place, "clusterid": place // extent, "cluster_ctaid": place % extent}[base]
    if base == "cluster_ctarank":
        return same(np.uint32(0)) if x.cluster == 1 else x.rank.astype(np.uint32)
    lane = x.lane.astype(np.uint64)
    one = np.uint64(1)
    scalars: dict[str, int] = {
        "ntid": size[number], "nctaid": grid[number], "nclusterid": grid[number] // cluster[number],
        "cluster_nctaid": cluster[number], "cluster_nctarank": x.cluster, "is_explicit_cluster": x.cluster > 1,
        "warpsize": 32, "smid": 0, "nsmid": 132, "gridid": 0, "nwarpid": 64,
        "dynamic_smem_size": x.shared.size - x.program.static_shared, "total_smem_size": x.shared.size,
    }  # fmt: skip
    if base in scalars:
        return same(np.uint32(scalars[base]))
    arrays: dict[str, Callable[[], np.ndarray]] = {
        "laneid": lambda: x.lane, "warpid": lambda: x.thread // 32,
        "lanemask_eq": lambda: one << lane, "lanemask_lt": lambda: (one << lane) - one,
        "lanemask_le": lambda: (one << (lane + one)) - one,
        "lanemask_gt": lambda: np.uint64(0xFFFFFFFF) ^ ((one << (lane + one)) - one),
        "lanemask_ge": lambda: np.uint64(0xFFFFFFFF) ^ ((one << lane) - one),
    }  # fmt: skip
    if base in arrays:
        return arrays[base]().astype(np.uint32)
    raise EmulationError(f"the emulator does not know the special register `{name}`")
