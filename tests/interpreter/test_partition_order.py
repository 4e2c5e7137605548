"""Partitions of a `ttg.warp_specialize` that touch the same bytes with no memory barrier between are found, whichever runs first."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from test_specialized_warps import producer_and_consumer, run

from minitriton.dialects.text import parse_module
from minitriton.interpreter import InterpreterError, interpret


def test_a_consumer_that_does_not_wait_reads_what_the_other_writes() -> None:
    body = producer_and_consumer(wait_full=False, wait_empty=False)
    # The default region turns producer: it runs first, so that its data is there when the consumer does not wait for it.
    swapped = body.replace(
        "%v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>",
        "%v = arith.constant dense<1> : tensor<32xi32, #row>\nttg.local_store %v, %b : tensor<32xi32, #row> -> !buffer",
    )
    swapped = swapped.replace(
        "ttg.local_store %v, %pb : tensor<32xi32, #narrow> -> !buffer",
        "%w = ttg.local_load %pb : !buffer -> tensor<32xi32, #narrow>",
    )
    with pytest.raises(
        InterpreterError,
        match=r"ttg\.local_load in partition 0 reads element \(0,\) of the buffer of ttg\.local_alloc \(<string>:\d+\), which the default "
        r"region writes in ttg\.local_store \(<string>:\d+\), with no memory barrier between them",
    ) as caught:
        run(swapped, 1)
    assert caught.value.location is not None and "ttng.wait_barrier" in str(caught.value.help)


def test_a_buffer_that_is_released_before_it_is_read_may_be_overwritten() -> None:
    load, release = (
        "%v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>",
        "ttng.arrive_barrier %empty, 1 : !barrier",
    )
    body = producer_and_consumer()
    early = body.replace(release, "").replace(load, f"{release}\n{load}")
    with pytest.raises(
        InterpreterError,
        match=r"ttg\.local_store in partition 0 writes .* which the default region reads in ttg\.local_load",
    ):
        run(early, 3)


def test_a_buffer_that_is_announced_before_it_is_filled_is_read_too_early() -> None:
    store, arrive = (
        "ttg.local_store %v, %pb : tensor<32xi32, #narrow> -> !buffer",
        "ttng.arrive_barrier %pfull, 1 : !barrier",
    )
    body = producer_and_consumer()
    early = body.replace(arrive, "").replace(store, f"{arrive}\n{store}")
    with pytest.raises(
        InterpreterError, match=r"in the default region reads .* which partition 0 writes in ttg\.local_store"
    ):
        run(early, 3)


def test_two_partitions_that_write_one_buffer_are_found() -> None:
    body = """
    %b = ttg.local_alloc : () -> !buffer
    ttg.warp_specialize(%b)
    default { ttg.warp_yield }
    partition0(%p: !buffer) num_warps(1) {
      %v = arith.constant dense<1> : tensor<32xi32, #narrow>
      ttg.local_store %v, %p : tensor<32xi32, #narrow> -> !buffer
      ttg.warp_return
    }
    partition1(%p: !buffer) num_warps(1) {
      %v = arith.constant dense<2> : tensor<32xi32, #narrow>
      ttg.local_store %v, %p : tensor<32xi32, #narrow> -> !buffer
      ttg.warp_return
    } : (!buffer) -> ()"""
    with pytest.raises(
        InterpreterError, match=r"local_store in partition 1 writes .* which partition 0 writes in ttg\.local_store"
    ):
        run(body)


def test_what_the_program_did_before_and_does_after_is_ordered() -> None:
    body = """
    %one = arith.constant dense<1> : tensor<32xi32, #row>
    %b = ttg.local_alloc %one : (tensor<32xi32, #row>) -> !buffer
    ttg.warp_specialize(%b)
    default { ttg.warp_yield }
    partition0(%p: !buffer) num_warps(1) {
      %v = ttg.local_load %p : !buffer -> tensor<32xi32, #narrow>
      %w = arith.addi %v, %v : tensor<32xi32, #narrow>
      ttg.local_store %w, %p : tensor<32xi32, #narrow> -> !buffer
      ttg.warp_return
    } : (!buffer) -> ()
    %r = ttg.local_load %b : !buffer -> tensor<32xi32, #row>
    ttg.local_store %one, %b : tensor<32xi32, #row> -> !buffer
    tt.store %os, %r : !ptrs"""
    assert run(body).tolist() == [2] * 32


def test_what_one_partition_learns_it_passes_on() -> None:
    """0 fills, 1 waits for it and tells the default region, which never meets 0."""
    body = """
    %b = ttg.local_alloc : () -> !buffer
    %first = ttg.local_alloc : () -> !barrier
    %second = ttg.local_alloc : () -> !barrier
    ttng.init_barrier %first, 1 : !barrier
    ttng.init_barrier %second, 1 : !barrier
    ttg.warp_specialize(%b, %first, %second)
    default {
      ttng.wait_barrier %second, %c0 : !barrier
      %v = ttg.local_load %b : !buffer -> tensor<32xi32, #row>
      tt.store %os, %v : !ptrs
      ttg.warp_yield
    }
    partition0(%p: !buffer, %f: !barrier, %s: !barrier) num_warps(1) {
      %v = arith.constant dense<5> : tensor<32xi32, #narrow>
      ttg.local_store %v, %p : tensor<32xi32, #narrow> -> !buffer
      ttng.arrive_barrier %f, 1 : !barrier
      ttg.warp_return
    }
    partition1(%p: !buffer, %f: !barrier, %s: !barrier) num_warps(1) {
      %zero = arith.constant 0 : i32
      WAIT
      ttng.arrive_barrier %s, 1 : !barrier
      ttg.warp_return
    } : (!buffer, !barrier, !barrier) -> ()"""
    assert run(body.replace("WAIT", "ttng.wait_barrier %f, %zero : !barrier")).tolist() == [5] * 32
    with pytest.raises(InterpreterError, match=r"default region reads .* which partition 0 writes"):
        run(body.replace("WAIT", ""))


@pytest.mark.oracle
def test_every_wait_that_a_real_kernel_needs_is_missed() -> None:
    """Triton's partitioned product: a producer, two consumers. Two of its waits follow from others, and change nothing."""
    triton = pytest.importorskip("triton")
    sys.path.insert(0, str(Path(__file__).parents[1] / "emulator"))
    from matrix_cases import MATRIX_CASES, signature
    from triton.backends.compiler import GPUTarget

    from minitriton_kernels.cases import load_kernels

    one = next(m for m in MATRIX_CASES if m.case.name == "matmul_specialized")
    kinds, attrs = signature(one.case, "triton")
    kernel = getattr(load_kernels("matrix", "triton"), one.case.kernel)
    source = triton.compiler.ASTSource(kernel, kinds, dict(one.case.constexprs), attrs)
    text = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=one.options).asm["ttgir"]
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((128, 448)).astype(np.float16), rng.standard_normal((128, 448)).astype(np.float16)

    def launch(text: str) -> None:
        c = np.zeros((128, 128), np.float16)
        interpret(parse_module(text), one.case.kernel, [a, b, c, 128, 128, 448], (1, 1))
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.T.astype(np.float64), rtol=0.01, atol=0.1)

    launch(text)
    found: list[str] = []
    for wait in re.finditer(r"ttng\.wait_barrier[^\n]*", text):
        try:
            launch(text[: wait.start()] + text[wait.end() :])
        except InterpreterError as error:
            assert error.location is not None
            found.append(str(error))
    assert len(found) == 6
    assert sum("with no memory barrier between them" in message for message in found) == 2
    assert sum("may still write it" in message for message in found) == 4
