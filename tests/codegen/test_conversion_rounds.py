"""`minitriton-use-free-shared-memory{separate=false}`: layout conversions use shared memory that is free anyway, for fewer barriers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton import compiler, emulator
from minitriton.analysis.shared_memory.allocation import allocate
from minitriton.codegen.lowering.convert_layout import conversion_of
from minitriton.codegen.place_shared_memory import UseFreeSharedMemory
from minitriton.codegen.scratch import scratch_bytes
from minitriton.dialects.context import make_context
from minitriton.dialects.facts.pass_attributes import SCRATCH_LIMIT
from minitriton.dialects.text import parse_module
from minitriton.layouts.plans import SharedMemoryRoundTrip
from minitriton.target import GPUTarget

LAYOUTS = """
#rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
"""
ROWS, COLUMNS, BUFFER = (
    "tensor<128x128xf16, #rows>",
    "tensor<128x128xf16, #columns>",
    "!ttg.memdesc<128x128xf16, #shared, #smem, mutable>",
)
CONVERSION = f"%y = ttg.convert_layout %x : {ROWS} -> {COLUMNS}"
TILE = 128 * 128 * 2


def module(*body: str, arch: int = 90, more: str = "") -> ModuleOp:
    """A function of `%x`, a tile in rows; in columns the tile is converted in 16 rounds of 2 KB."""
    lines = "\n".join(body)
    return parse_module(
        f"{LAYOUTS}"
        f'module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:{arch}", '
        f'"ttg.threads-per-warp" = 32 : i32}} {{\n'
        f"{more}\ntt.func public @k(%x: {ROWS}) {{\n{lines}\ntt.return\n}}\n}}"
    )


def applied(made: ModuleOp) -> tuple[list[SharedMemoryRoundTrip], int, int]:
    """The plans of all conversions after the pass, and the bytes of shared memory before and after it."""
    before = allocate(made, scratch_bytes).total_bytes
    UseFreeSharedMemory(separate=False).apply(make_context(), made)
    plans = [conversion_of(op) for op in made.walk() if op.name == "ttg.convert_layout"]
    found = [plan for plan in plans if isinstance(plan, SharedMemoryRoundTrip)]
    assert len(found) == len(plans)
    return found, before, allocate(made, scratch_bytes).total_bytes


@pytest.mark.parametrize(("arch", "rounds"), [(90, 2), (80, 2), (86, 4)])
def test_a_lone_conversion_gets_what_its_tile_in_registers_leaves_to_it(arch: int, rounds: int) -> None:
    (plan,), before, after = applied(module(CONVERSION, arch=arch))
    assert plan.rounds == rounds
    assert (before, after) == (TILE // 16, TILE // rounds)


def test_buffers_that_are_dead_lend_their_memory() -> None:
    (plan,), before, after = applied(
        module(
            f"%b = ttg.local_alloc %x : ({ROWS}) -> {BUFFER}",
            f"%l = ttg.local_load %b : {BUFFER} -> {ROWS}",
            CONVERSION.replace("%x", "%l"),
        )
    )
    assert plan.rounds == 1
    assert before == after == TILE


def test_nothing_grows_beside_a_buffer_that_is_alive() -> None:
    (plan,), before, after = applied(
        module(
            f"%b = ttg.local_alloc %x : ({ROWS}) -> {BUFFER}",
            CONVERSION,
            f"%l = ttg.local_load %b : {BUFFER} -> {ROWS}",
        )
    )
    assert plan.rounds == 16
    assert before == after == TILE + TILE // 16


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_kernel_needs_more_for_buffers_of_any_size_and_life(data: st.DataObject) -> None:
    lines = {place: list[str]() for place in range(6)}
    for number in range(data.draw(st.integers(1, 5))):
        height = data.draw(st.sampled_from([1, 2, 8, 32, 64]))
        first, last = sorted(data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))))
        kind = f"!ttg.memdesc<{height}x128xf16, #shared, #smem, mutable>"
        lines[first].append(f"%b{number} = ttg.local_alloc : () -> {kind}")
        lines[last].append(f"ttg.local_dealloc %b{number} : {kind}")
    body = [line for place in range(3) for line in lines[place]]
    body += [CONVERSION, *(line for place in range(3, 6) for line in lines[place])]
    (plan,), before, after = applied(module(*body))
    assert after <= max(before, TILE // 2)
    assert plan.scratch_bytes <= after
    assert plan.rounds * plan.scratch_bytes == TILE


def test_a_function_that_is_called_takes_no_more_than_it_did() -> None:
    callee = f"tt.func private @f(%x: {ROWS}) attributes {{noinline = true}} {{\n{CONVERSION}\ntt.return\n}}"
    (plan,), before, after = applied(module(f"tt.call @f(%x) : ({ROWS}) -> ()", more=callee))
    assert plan.rounds == 16
    assert before == after


def test_conversions_of_one_round_are_left_as_they_are() -> None:
    made = module(f"%y = ttg.convert_layout %x : {ROWS} -> {ROWS}")
    UseFreeSharedMemory(separate=False).apply(make_context(), made)
    marked = [op for op in made.walk() if isinstance(op, Operation) and SCRATCH_LIMIT in op.attributes]
    assert marked == []


COPY = """
#rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 4], order = [0, 1]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @transpose(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f16> {tt.divisibility = 16 : i32}) {
    %width = arith.constant dense<128> : tensor<128x1xi32, #rows>
    %height = arith.constant dense<128> : tensor<1x128xi32, #columns>
    %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #rows}>>
    %j = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #rows}>>
    %i1 = tt.expand_dims %i {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #rows}>> -> tensor<128x1xi32, #rows>
    %j1 = tt.expand_dims %j {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #rows}>> -> tensor<1x128xi32, #rows>
    %row = arith.muli %i1, %width : tensor<128x1xi32, #rows>
    %rows = tt.broadcast %row : tensor<128x1xi32, #rows> -> tensor<128x128xi32, #rows>
    %cols = tt.broadcast %j1 : tensor<1x128xi32, #rows> -> tensor<128x128xi32, #rows>
    %at = arith.addi %rows, %cols : tensor<128x128xi32, #rows>
    %xs = tt.splat %x : !tt.ptr<f16> -> tensor<128x128x!tt.ptr<f16>, #rows>
    %xp = tt.addptr %xs, %at : tensor<128x128x!tt.ptr<f16>, #rows>, tensor<128x128xi32, #rows>
    %v = tt.load %xp : tensor<128x128x!tt.ptr<f16>, #rows>
    %w = ttg.convert_layout %v : tensor<128x128xf16, #rows> -> tensor<128x128xf16, #columns>
    %k = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #columns}>>
    %l = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #columns}>>
    %k1 = tt.expand_dims %k {axis = 1 : i32} : tensor<128xi32, #ttg.slice<{dim = 1, parent = #columns}>> -> tensor<128x1xi32, #columns>
    %l1 = tt.expand_dims %l {axis = 0 : i32} : tensor<128xi32, #ttg.slice<{dim = 0, parent = #columns}>> -> tensor<1x128xi32, #columns>
    %column = arith.muli %l1, %height : tensor<1x128xi32, #columns>
    %ks = tt.broadcast %k1 : tensor<128x1xi32, #columns> -> tensor<128x128xi32, #columns>
    %ls = tt.broadcast %column : tensor<1x128xi32, #columns> -> tensor<128x128xi32, #columns>
    %to = arith.addi %ks, %ls : tensor<128x128xi32, #columns>
    %ys = tt.splat %y : !tt.ptr<f16> -> tensor<128x128x!tt.ptr<f16>, #columns>
    %yp = tt.addptr %ys, %to : tensor<128x128x!tt.ptr<f16>, #columns>, tensor<128x128xi32, #columns>
    tt.store %yp, %w : tensor<128x128x!tt.ptr<f16>, #columns>
    tt.return
  }
}
"""


def test_a_transpose_waits_three_times_instead_of_thirty_one_and_meets_no_bank_conflict(tmp_path: Path) -> None:
    path = tmp_path / "transpose.ttgir"
    path.write_text(COPY)
    tile = np.random.default_rng(0).integers(0, 1 << 16, (128, 128), dtype=np.uint16)
    waits = {}
    for without in ("", UseFreeSharedMemory.name):
        kernel = compiler.compile(str(path), GPUTarget("cuda", 90), {"without": without})
        out = np.zeros_like(tile)
        report = emulator.run(kernel.asm["ptx"], None, (1,), [tile, out], kernel.metadata.shared)
        assert report.ok, report.findings
        assert (out == tile.T).all()
        assert report.total("shared").conflicts == 0
        waits[without] = report.mix()["bar.sync"] // 4
    assert waits == {"": 3, UseFreeSharedMemory.name: 31}
