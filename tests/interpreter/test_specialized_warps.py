"""Partitions, tokens, predicated stages and what else runs out of step: meanings, and programs that forget to wait."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from minitriton.dialects.text import parse_module
from minitriton.interpreter import InterpreterError, interpret

HEADER = """
#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#narrow = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>
#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
!buffer = !ttg.memdesc<32xi32, #plain, #smem, mutable>
!barrier = !ttg.memdesc<1xi64, #plain, #smem, mutable>
!ptrs = tensor<32x!tt.ptr<i32>, #row>
!narrow_ptrs = tensor<32x!tt.ptr<i32>, #narrow>
"""


def kernel(body: str) -> Any:
    return parse_module(
        HEADER
        + f"""
    module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
      tt.func public @f(%x: !tt.ptr<i32>, %o: !tt.ptr<i32>, %n: i32) {{
        %true = arith.constant true
        %c0 = arith.constant 0 : i32
        %c1 = arith.constant 1 : i32
        %j = tt.make_range {{start = 0 : i32, end = 32 : i32}} : tensor<32xi32, #row>
        %o0 = tt.splat %o : !tt.ptr<i32> -> !ptrs
        %os = tt.addptr %o0, %j : !ptrs, tensor<32xi32, #row>
        {body}
        tt.return
      }}
    }}"""
    )


def run(body: str, n: int = 3) -> np.ndarray:
    x, o = np.arange(100, 132, dtype=np.int32), np.zeros(32, np.int32)
    interpret(kernel(body), "f", [x, o, n], (1,))
    return o


def producer_and_consumer(wait_full: bool = True, wait_empty: bool = True, arrivals: int = 1) -> str:
    """A partition fills one buffer `%n` times, with 1, 2, ...; the default region adds up what it holds."""
    full = "ttng.wait_barrier %full, %phase : !barrier" if wait_full else ""
    empty = "ttng.wait_barrier %pempty, %turned : !barrier" if wait_empty else ""
    return f"""
    %b = ttg.local_alloc : () -> !buffer
    %full = ttg.local_alloc : () -> !barrier
    %empty = ttg.local_alloc : () -> !barrier
    ttng.init_barrier %full, {arrivals} : !barrier
    ttng.init_barrier %empty, 1 : !barrier
    %zero = arith.constant dense<0> : tensor<32xi32, #row>
    %sum = ttg.warp_specialize(%b, %full, %empty, %n)
    default {{
      %total = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<32xi32, #row>) : i32 {{
        %phase = arith.andi %i, %c1 : i32
        {full}
        %v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>
        ttng.arrive_barrier %empty, 1 : !barrier
        %next = arith.addi %acc, %v : tensor<32xi32, #row>
        scf.yield %next : tensor<32xi32, #row>
      }}
      ttg.warp_yield %total : tensor<32xi32, #row>
    }}
    partition0(%pb: !buffer, %pfull: !barrier, %pempty: !barrier, %pn: i32) num_warps(1) {{
      %d0 = arith.constant 0 : i32
      %d1 = arith.constant 1 : i32
      scf.for %i = %d0 to %pn step %d1 : i32 {{
        %phase = arith.andi %i, %d1 : i32
        %turned = arith.xori %phase, %d1 : i32
        {empty}
        %value = arith.addi %i, %d1 : i32
        %v = tt.splat %value : i32 -> tensor<32xi32, #narrow>
        ttg.local_store %v, %pb : tensor<32xi32, #narrow> -> !buffer
        ttng.arrive_barrier %pfull, 1 : !barrier
      }}
      ttg.warp_return
    }} : (!buffer, !barrier, !barrier, i32) -> tensor<32xi32, #row>
    tt.store %os, %sum : !ptrs
    """


def test_partitions_hand_buffers_to_each_other() -> None:
    assert run(producer_and_consumer(), 5).tolist() == [15] * 32


def test_a_consumer_that_does_not_wait_reads_what_nothing_has_written() -> None:
    with pytest.raises(InterpreterError, match=r"ttg\.local_load reads shared memory that nothing has written"):
        run(producer_and_consumer(wait_full=False))


def test_a_producer_that_does_not_wait_overwrites_what_nobody_has_read() -> None:
    with pytest.raises(
        InterpreterError, match=r"wait for each other for ever: the default region waits in ttng\.wait_barr"
    ):
        run(producer_and_consumer(wait_empty=False), 2)


def test_partitions_that_wait_for_each_other_are_named_with_what_is_missing() -> None:
    with pytest.raises(InterpreterError) as caught:
        run(producer_and_consumer(arrivals=2))
    message = str(caught.value)
    assert "the default region waits in ttng.wait_barrier (<string>:" in message
    assert "of phase 0, 1 of 2 have arrived" in message
    assert "partition 0 waits in ttng.wait_barrier (<string>:" in message
    assert "of phase 0, 0 of 1 have arrived" in message


def test_an_error_in_a_partition_is_that_of_the_launch() -> None:
    body = producer_and_consumer().replace(
        "ttng.arrive_barrier %pfull", "%own = ttg.local_alloc : () -> !barrier\nttng.arrive_barrier %own"
    )
    with pytest.raises(InterpreterError, match="uses a barrier that is not initialised"):
        run(body)


def test_the_partitions_of_two_programs_know_nothing_of_each_other() -> None:
    x, o = np.zeros(32, np.int32), np.zeros(32, np.int32)
    interpret(kernel(producer_and_consumer()), "f", [x, o, 3], (4,))
    assert o.tolist() == [6] * 32


TOKENS = """
    %t = nvws.create_token {numBuffers = 2 : i32, loadType = 1 : i32} : tensor<2x!nvws.token>
    %b = ttg.local_alloc : () -> !buffer
    ttg.warp_specialize(%b, %t)
    default {
      %zero = arith.constant 0 : i32
      %false = arith.constant false
      nvws.consumer_wait %t, %zero, %false : tensor<2x!nvws.token>, i32, i1
      %v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>
      tt.store %os, %v : !ptrs
      nvws.consumer_release %t, %zero : tensor<2x!nvws.token>, i32
      ttg.warp_yield
    }
    partition0(%pb: !buffer, %pt: tensor<2x!nvws.token>) num_warps(1) {
      %zero = arith.constant 0 : i32
      %false = arith.constant false
      %seven = arith.constant dense<7> : tensor<32xi32, #narrow>
      nvws.producer_acquire %pt, %zero, %false : tensor<2x!nvws.token>, i32, i1
      ttg.local_store %seven, %pb : tensor<32xi32, #narrow> -> !buffer
      nvws.producer_commit %pt, %zero : tensor<2x!nvws.token>, i32
      ttg.warp_return
    } : (!buffer, tensor<2x!nvws.token>) -> ()
"""


def test_tokens_say_when_buffers_are_full_and_empty() -> None:
    assert run(TOKENS).tolist() == [7] * 32


def test_a_producer_that_commits_nothing_leaves_its_consumer_waiting() -> None:
    body = TOKENS.replace("nvws.producer_commit %pt, %zero : tensor<2x!nvws.token>, i32", "")
    with pytest.raises(InterpreterError, match=r"nvws\.consumer_wait .*: no producer has filled the buffer"):
        run(body)


PREDICATED = """
    %p = ttg.predicate_stage %n, %limit, %c1 maxStage 3 stage 0 : i32 -> i1
    %v = "ttg.mask"(%p) ({
      %seven = arith.constant dense<7> : tensor<32xi32, #row>
      "ttg.mask.return"(%seven) : (tensor<32xi32, #row>) -> ()
    }) : (i1) -> tensor<32xi32, #row>
"""


@pytest.mark.parametrize(("n", "runs"), [(7, True), (8, False)])
def test_a_stage_runs_where_enough_iterations_are_left(n: int, runs: bool) -> None:
    kept = "%zero = arith.constant dense<0> : tensor<32xi32, #row>\n%limit = arith.constant 10 : i32\n" + PREDICATED
    body = kept + "%r = arith.select %p, %v, %zero : tensor<32xi32, #row>\ntt.store %os, %r : !ptrs"
    assert run(body, n).tolist() == [7 * runs] * 32


def test_the_result_of_a_stage_that_did_not_run_cannot_be_used() -> None:
    body = "%limit = arith.constant 10 : i32\n" + PREDICATED + "tt.store %os, %v : !ptrs"
    assert run(body, 0).tolist() == [7] * 32
    with pytest.raises(InterpreterError, match="the result of a stage that did not run is used"):
        run(body, 9)


def test_a_barrier_learns_of_the_end_of_asynchronous_copies() -> None:
    body = """
    %x0 = tt.splat %x : !tt.ptr<i32> -> !ptrs
    %xs = tt.addptr %x0, %j : !ptrs, tensor<32xi32, #row>
    %b = ttg.local_alloc : () -> !buffer
    %done = ttg.local_alloc : () -> !barrier
    ttng.init_barrier %done, 128 : !barrier
    %t = ttg.async_copy_global_to_local %xs, %b : !ptrs -> !buffer
    ttng.async_copy_mbarrier_arrive %done {noIncrement} : !barrier
    WAIT
    %v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>
    tt.store %os, %v : !ptrs
    """
    assert run(body.replace("WAIT", "ttng.wait_barrier %done, %c0 : !barrier")).tolist() == list(range(100, 132))
    with pytest.raises(InterpreterError, match="may still write it"):
        run(body.replace("WAIT", ""))
