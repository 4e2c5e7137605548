"""Orders a minute: a sweep over 25 kernels, with every different program run and compared, and compile-only.

    python benchmarks/orders_a_minute.py [--orders 200] [--jobs 2] [--only checked|compiled] [--workers N]

For each: orders a minute by the clock, and by processor time, which does not count what else the machine does:
60 x jobs x orders / (seconds of all processes). `--workers N` has N processes of a Dask cluster on this machine judge.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import time
from collections.abc import Iterator
from typing import Any

from minitriton import lab

KERNELS = (
    "running_sums", "suffix_sums", "segmented_sums", "cube_sums", "extremes_with_places", "bit_reductions", "product",
    "log_sum_exp", "distance", "centred_columns", "permute_cube", "join_and_interleave", "split_pairs", "flip_rows",
    "gather_in_rows", "outer_product", "masked_copy", "every_third", "embedding", "convolution", "cross_entropy", "swiglu",
    "adam_step", "tiled_dot", "matrix_vector",
)  # fmt: skip


def processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


@contextlib.contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """A client of a Dask cluster of so many processes; None for 0."""
    if not workers:
        yield None
        return
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=200, help="a kernel (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", choices=("checked", "compiled"))
    parser.add_argument("--workers", type=int, default=0, help="of a Dask cluster, in place of --jobs")
    given = parser.parse_args()
    for kind in (given.only,) if given.only else ("checked", "compiled"):
        before, start = processor_seconds(), time.monotonic()
        with cluster_of(given.workers) as client:
            table = lab.sweep(KERNELS, orders=given.orders, jobs=given.jobs, run=kind == "checked", client=client)
        used, passed = processor_seconds() - before, time.monotonic() - start
        jobs = given.workers or given.jobs
        print(
            f"{kind}: {len(table)} orders, {60 * len(table) / passed:,.0f} a minute by the clock ({passed:.1f} s), "
            f"{60 * jobs * len(table) / used:,.0f} by processor time ({used:.1f} s); {table.counts()}",
            flush=True,
        )


if __name__ == "__main__":
    main()
