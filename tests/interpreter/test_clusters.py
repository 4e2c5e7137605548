"""The barrier of a cluster orders what came before the arrival, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from test_ttgir_shared_memory import kernel, run

from minitriton.interpreter import InterpreterError
from minitriton.interpreter.errors import UnsupportedOpError

EXCHANGE = """
    %b = ttg.local_alloc {{allocation.offset = 0 : i32}} : () -> !buffer
    {early}
    ttng.cluster_arrive {{relaxed = {relaxed}}}
    {late}
    ttng.cluster_wait
    {after}
    %w = ttg.local_load %b : !buffer -> tensor<16x32xf32, #column>
    %r = ttg.convert_layout %w {{allocation.offset = 4096 : i32}} : tensor<16x32xf32, #column> -> !tile
    tt.store %os, %r : !pointers
"""
STORE = "ttg.local_store %v, %b : !tile -> !buffer"


def exchange(early: str = "", late: str = "", after: str = "", relaxed: str = "false") -> tuple[np.ndarray, np.ndarray]:
    text = EXCHANGE.format(early=early, late=late, after=after, relaxed=relaxed)
    return run(kernel(text, shared=8192), barriers_placed=True)


def test_what_precedes_the_arrival_is_seen_behind_the_wait() -> None:
    x, o = exchange(early=STORE)
    np.testing.assert_array_equal(o, x)


def test_what_follows_the_arrival_is_not() -> None:
    with pytest.raises(
        InterpreterError, match=r"ttg\.local_load reads .* in ttg\.local_store .*, with no barrier between"
    ):
        exchange(late=STORE)


def test_a_read_behind_the_arrival_may_race_with_a_write_behind_the_wait() -> None:
    read = "%e = ttg.local_load %b : !buffer -> tensor<16x32xf32, #column>"
    with pytest.raises(InterpreterError, match=r"ttg\.local_store writes .* which was read by another warp"):
        exchange(early=f"{STORE}\nttg.local_barrier", late=read, after=STORE)


def test_a_relaxed_arrival_orders_nothing() -> None:
    with pytest.raises(InterpreterError, match=r"ttg\.local_load reads .* with no barrier between"):
        exchange(early=STORE, relaxed="true")


def test_a_barrier_of_the_threads_between_the_two_orders_what_came_before_it() -> None:
    x, o = exchange(late=f"{STORE}\nttg.local_barrier", relaxed="true")
    np.testing.assert_array_equal(o, x)


def test_a_wait_without_an_arrival_waits_for_ever() -> None:
    with pytest.raises(InterpreterError, match=r"ttng\.cluster_wait waits for ever: no thread has arrived"):
        run(kernel("ttng.cluster_wait"))


def test_two_arrivals_without_a_wait_are_refused() -> None:
    with pytest.raises(InterpreterError, match=r"ttng\.cluster_arrive comes a second time before the wait"):
        run(kernel("ttng.cluster_arrive {relaxed = false}\nttng.cluster_arrive {relaxed = false}"))


def test_partitions_do_not_take_part() -> None:
    body = """
    ttg.warp_specialize()
    default { ttg.warp_yield }
    partition0() num_warps(1) { ttng.cluster_arrive {relaxed = false}\nttg.warp_return } : () -> ()"""
    with pytest.raises(UnsupportedOpError, match=r"does not support ttng\.cluster_arrive in a partition"):
        run(kernel(body))
