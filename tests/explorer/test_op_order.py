"""Ops that memory keeps in order: what both reach, and which of them writes."""

from __future__ import annotations

from minitriton.dialects.text import parse_module
from minitriton.explorer.module_lines import Identities
from minitriton.explorer.op_order import order_of
from minitriton.explorer.snapshot import StateRecorder

BLOCKED = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
SHARED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"
TENSOR, POINTERS = f"tensor<128xf32, {BLOCKED}>", f"tensor<128x!tt.ptr<f32>, {BLOCKED}>"
BUFFER = f"!ttg.memdesc<128xf32, {SHARED}, #ttg.shared_memory, mutable>"


def orders(body: str) -> list[tuple[str, str, str]]:
    """The pairs, each op by its line in the body."""
    text = f"""module attributes {{"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32}} {{
tt.func public @k(%p: {POINTERS}, %q: {POINTERS}, %t: {TENSOR}, %c: i1) {{
{body}
tt.return
}}
}}"""
    state = StateRecorder(Identities(), keep=True).take(parse_module(text), "ttgir")
    assert state.kept is not None
    names = {number: op.name for number, op in state.kept.ops.items()}
    return [(names[int(before)], names[int(after)], str(why)) for before, after, why in order_of(state.kept)]


def test_a_buffer_keeps_writes_and_reads_in_order() -> None:
    found = orders(f"""%a = ttg.local_alloc : () -> {BUFFER}
        ttg.local_store %t, %a : {TENSOR} -> {BUFFER}
        %x = ttg.local_load %a : {BUFFER} -> {TENSOR}
        ttg.local_store %x, %a : {TENSOR} -> {BUFFER}""")
    assert [(before, after) for before, after, _ in found] == [
        ("ttg.local_store", "ttg.local_load"),
        ("ttg.local_load", "ttg.local_store"),
    ]
    assert "after it was written" in found[0][2] and "after it was read" in found[1][2]


def test_other_buffers_and_arrays_are_apart_and_reads_too() -> None:
    assert (
        orders(f"""%a = ttg.local_alloc : () -> {BUFFER}
        %b = ttg.local_alloc : () -> {BUFFER}
        ttg.local_store %t, %a : {TENSOR} -> {BUFFER}
        %x = ttg.local_load %b : {BUFFER} -> {TENSOR}
        %y = tt.load %p : {POINTERS}
        %z = tt.load %p : {POINTERS}
        tt.store %q, %x : {POINTERS}""")
        == []
    )


def test_a_barrier_is_between_accesses_of_shared_memory_only() -> None:
    found = orders(f"""%a = ttg.local_alloc : () -> {BUFFER}
        ttg.local_store %t, %a : {TENSOR} -> {BUFFER}
        tt.store %p, %t : {POINTERS}
        ttg.local_barrier
        %x = ttg.local_load %a : {BUFFER} -> {TENSOR}
        tt.store %p, %x : {POINTERS}""")
    assert sorted(found) == [
        ("tt.store", "tt.store", "writes p after it was written"),
        ("ttg.local_barrier", "ttg.local_load", "a barrier"),
        ("ttg.local_store", "ttg.local_barrier", "a barrier"),
    ]


def test_a_region_reaches_what_its_ops_do() -> None:
    found = orders(f"""tt.store %p, %t : {POINTERS}
        scf.if %c {{
          %y = tt.load %p : {POINTERS}
          tt.store %p, %y : {POINTERS}
        }}""")
    assert [(before, after) for before, after, _ in found] == [("tt.store", "scf.if"), ("tt.load", "tt.store")]
