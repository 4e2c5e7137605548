"""Stores and reductions into shared memory that complete on an mbarrier next to it, mostly that of another CTA of the cluster.

st.async....mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3]        →   4 bytes, there once a wait sees the phase of [%r3] end
red.async....mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3]   →   likewise, added to what is there
cp.reduce.async.bulk.shared::cluster.shared::cta....add.u32           →   likewise, for every word of the source

Reductions are atomic: several at an address do not race with each other.
"""

from __future__ import annotations

import numpy as np

from minitriton.emulator.lanes import Lanes
from minitriton.emulator.machine import Machine
from minitriton.emulator.operations import bulk_copies
from minitriton.emulator.threads import Mask


def store_async(
    x: Machine, site: int, target: Lanes, values: list[Lanes], operation: str, element: str, barrier: Lanes, mask: Mask
) -> None:
    """`st.async` (no `operation`) and `red.async`: the elements of `values` from every active thread."""
    targets, barriers = (x.spread(v).astype(np.int64) for v in (target, barrier))
    words = np.stack([x.spread(v) for v in values], axis=-1)
    size: int = words.shape[1] * words.itemsize
    for thread in bulk_copies.active_threads(x, mask):
        start = bulk_copies.shared_range(x, site, thread, int(targets[thread]), size, size)
        bar = bulk_copies.shared_range(x, site, thread, int(barriers[thread]), 8, 8)
        if start is not None and bar is not None:
            where = np.arange(start, start + size, words.itemsize)
            new = words[thread].copy()
            how = bulk_copies.Delivery("an asynchronous store", operation, element, by_copy_unit=False)
            bulk_copies.deliver_later(x, site, thread, bar, start, size, where, new, how)


def reduce_into_cluster(
    x: Machine,
    site: int,
    target: Lanes,
    source: Lanes,
    size: Lanes,
    barrier: Lanes,
    operation: str,
    element: str,
    mask: Mask,
) -> None:
    """`cp.reduce.async.bulk` from the CTA's own shared memory to that of a CTA of the cluster."""
    targets, sources, sizes, barriers = (x.spread(v).astype(np.int64) for v in (target, source, size, barrier))
    item = int(element.lstrip("bsu")) // 8
    for thread in bulk_copies.active_threads(x, mask):
        count = int(sizes[thread])
        start = bulk_copies.shared_range(x, site, thread, int(sources[thread]), count)
        goal = bulk_copies.shared_range(x, site, thread, int(targets[thread]), count)
        bar = bulk_copies.shared_range(x, site, thread, int(barriers[thread]), 8, 8)
        if start is None or goal is None or bar is None or not bulk_copies.is_whole(x, site, thread, start, count):
            continue
        bulk_copies.check_source(x, site, thread, start, count)
        values = x.shared.views[item][start // item :][: count // item].copy()
        where = goal + item * np.arange(len(values))
        how = bulk_copies.Delivery("a bulk reduction", operation, element)
        bulk_copies.deliver_later(x, site, thread, bar, goal, count, where, values, how)
