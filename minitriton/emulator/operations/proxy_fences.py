"""Stores, fences and copies as the async proxy sees them: the checks after `fence.proxy.async`."""

import numpy as np

from minitriton.emulator.batch import Batch
from minitriton.emulator.memory.proxy_fences import NO_STORE
from minitriton.emulator.threads import Mask, Threads
from minitriton.target.architectures import WARP_SIZE


def note_store(x: Threads, site: int, granules: np.ndarray, threads: np.ndarray) -> None:
    """Threads have written granules of shared memory, one row each."""
    if x.shared.proxies is not None and granules.size:
        x.shared.proxies.stored(site, granules, threads, x.shared.clock)


def fence(x: Batch, mask: Mask) -> None:
    """`fence.proxy.async` of the active threads."""
    if x.shared.proxies is not None:
        x.shared.proxies.fence(x.mask(mask), x.shared.clock, x.shared.known)


def check(x: Batch, site: int, thread: int, granules: np.ndarray | slice, what: str) -> None:
    """Reports `what` ("a bulk copy reads") of granules whose stores no fence makes visible to the copies of `thread`.

    The granules ascend.
    """
    proxies, shared = x.shared.proxies, x.shared
    if proxies is None:
        return
    low, high = (granules.start, granules.stop - 1) if isinstance(granules, slice) else (granules[0], granules[-1])
    if high < proxies.first or low > proxies.last or (proxies.site[granules] == NO_STORE).all():
        return
    writers, warp = proxies.thread[granules], x.warp[thread]
    columns = writers // WARP_SIZE % shared.warps
    unordered = (proxies.fence_time[granules] > shared.known[warp, columns]) & (writers != thread)
    wrong = (proxies.site[granules] != NO_STORE) & (proxies.unfenced[granules] | unordered)
    if proxies.took_part[thread]:
        wrong &= proxies.time[granules] > proxies.known_at_fence[warp, columns]
    if not wrong.any():
        return
    position = int(np.argmax(wrong))
    granule = granules.start + position if isinstance(granules, slice) else int(granules[position])
    store = x.instruction(int(proxies.site[granule]))
    line = f"ptx:{store.line}" + (f", {store.source}" if store.source else "")
    why = (
        "after which it executed no fence.proxy.async"
        if proxies.unfenced[granule]
        else "and no barrier orders its fence.proxy.async before this"
    )
    text = (
        f"{what} byte {granule * shared.granule % shared.stride} of shared memory, which thread {int(x.thread[writers[position]])} "
        f"has written ({line}: `{store.text}`), {why}"
    )
    x.find("proxy-fence", site, np.array([thread]), text)
