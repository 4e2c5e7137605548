"""Pipelined loops compute what they computed, for any number of iterations; schedules, waits and refusals by text."""

from __future__ import annotations

import numpy as np
import pytest
from filecheck_ir import check, run

from minitriton.dialects.text import parse_module
from minitriton.errors import PassError
from minitriton.interpreter import interpret
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.pipelining.assign_latencies import AssignLatencies
from minitriton.passes.pipelining.pipeline import PipelineLoops
from minitriton.passes.pipelining.predication import predicate
from minitriton.passes.pipelining.schedule import Schedule
from minitriton.passes.pipelining.schedule_loops import ScheduleLoops

PIPELINER = (AssignLatencies(), ScheduleLoops(), PipelineLoops())
BLOCK = 128
HEAD = (
    "#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
    'module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", '
    '"ttg.threads-per-warp" = 32 : i32} {'
)


def kernel(body: str, stages: int, low: str = "%c0", step: str = "%c1") -> str:
    """A loop up to n that carries a tensor %acc and a number %last around `body`; both are stored behind it.

    `%at` is the tensor of pointers to row %i of x; `%mask` is true for the first n columns.
    """
    return f"""
{HEAD}
  tt.func @f(%x: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %o: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %n: i32) {{
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %row = arith.constant {BLOCK} : i32
    %zero = arith.constant dense<0.0> : tensor<{BLOCK}xf32, #b>
    %seven = arith.constant dense<7.0> : tensor<{BLOCK}xf32, #b>
    %start = arith.constant 5.0 : f32
    %r = tt.make_range {{end = {BLOCK} : i32, start = 0 : i32}} : tensor<{BLOCK}xi32, #b>
    %ns = tt.splat %n : i32 -> tensor<{BLOCK}xi32, #b>
    %mask = arith.cmpi slt, %r, %ns : tensor<{BLOCK}xi32, #b>
    %os = tt.splat %o : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>, #b>
    %out = tt.addptr %os, %r : tensor<{BLOCK}x!tt.ptr<f32>, #b>, tensor<{BLOCK}xi32, #b>
    %res:2 = scf.for %i = {low} to %n step {step} iter_args(%acc = %zero, %last = %start) -> (tensor<{BLOCK}xf32, #b>, f32) : i32 {{
      %skip = arith.muli %i, %row : i32
      %base = tt.addptr %x, %skip : !tt.ptr<f32>, i32
      %bases = tt.splat %base : !tt.ptr<f32> -> tensor<{BLOCK}x!tt.ptr<f32>, #b>
      %at = tt.addptr %bases, %r : tensor<{BLOCK}x!tt.ptr<f32>, #b>, tensor<{BLOCK}xi32, #b>
      {body}
    }} {{tt.num_stages = {stages} : i32}}
    tt.store %out, %res#0 : tensor<{BLOCK}x!tt.ptr<f32>, #b>
    %behind = tt.addptr %o, %row : !tt.ptr<f32>, i32
    tt.store %behind, %res#1 : !tt.ptr<f32>
    tt.return
  }}
}}"""


T = f"tensor<{BLOCK}xf32, #b>"
P = f"tensor<{BLOCK}x!tt.ptr<f32>, #b>"

BODIES = {
    "a sum": f"""
      %v = tt.load %at : {P}
      %s = arith.addf %acc, %v : {T}
      scf.yield %s, %start : {T}, f32""",
    "a masked load with its own value elsewhere": f"""
      %v = tt.load %at, %mask, %seven : {P}
      %s = arith.addf %acc, %v : {T}
      scf.yield %s, %start : {T}, f32""",
    "a masked load with zero elsewhere": f"""
      %v = tt.load %at, %mask, %zero : {P}
      %s = arith.addf %acc, %v : {T}
      scf.yield %s, %start : {T}, f32""",
    "a number": f"""
      %v = tt.load %base : !tt.ptr<f32>
      %w = arith.mulf %v, %last : f32
      %vs = tt.splat %w : f32 -> {T}
      %s = arith.addf %acc, %vs : {T}
      scf.yield %s, %v : {T}, f32""",
    "the last value read": f"""
      %v = tt.load %at : {P}
      %w = tt.load %base : !tt.ptr<f32>
      scf.yield %v, %w : {T}, f32""",
    "a store in each iteration": f"""
      %v = tt.load %at : {P}
      %s = arith.subf %v, %acc : {T}
      tt.store %out, %s : {P}
      scf.yield %s, %start : {T}, f32""",
    "a conditional behind the load": f"""
      %v = tt.load %at : {P}
      %big = arith.cmpi sgt, %i, %c1 : i32
      %w = scf.if %big -> ({T}) {{
        tt.store %out, %v : {P}
        %d = arith.addf %v, %v : {T}
        scf.yield %d : {T}
      }} else {{
        scf.yield %v : {T}
      }}
      %s = arith.subf %w, %acc : {T}
      scf.yield %s, %start : {T}, f32""",
    "a conditional in front of the load": f"""
      %big = arith.cmpi sgt, %i, %c1 : i32
      %p = scf.if %big -> ({P}) {{
        %q = tt.addptr %at, %r : {P}, tensor<{BLOCK}xi32, #b>
        scf.yield %at : {P}
      }} else {{
        scf.yield %at : {P}
      }}
      %v = tt.load %p : {P}
      %s = arith.subf %v, %acc : {T}
      scf.yield %s, %start : {T}, f32""",
    "one load feeds another": f"""
      %a = tt.load %at : {P}
      %j = arith.fptosi %a : {T} to tensor<{BLOCK}xi32, #b>
      %xs = tt.splat %x : !tt.ptr<f32> -> {P}
      %p = tt.addptr %xs, %j : {P}, tensor<{BLOCK}xi32, #b>
      %v = tt.load %p : {P}
      %s = arith.subf %v, %acc : {T}
      scf.yield %s, %start : {T}, f32""",
}


def outcome(text: str, n: int) -> np.ndarray:
    """What the kernel writes."""
    x = np.random.default_rng(n + 1).integers(0, BLOCK, (12, BLOCK)).astype(np.float32)
    out = np.full(BLOCK + 1, -1, np.float32)
    interpret(parse_module(text), "f", (x, out, n), (1,))
    return out


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stages", [2, 3, 5])
@pytest.mark.parametrize("name", BODIES)
def test_a_pipelined_loop_computes_the_same(name: str, stages: int) -> None:
    source = kernel(BODIES[name], stages)
    after = run(source, *PIPELINER, Canonicalize())
    assert ("ttg.async_copy_global_to_local" in after) == (name != "the last value read")
    for n in (-1, 0, 1, 2, 3, 4, 9):
        np.testing.assert_array_equal(outcome(after, n), outcome(source, n), str(n))


def test_steps_and_bounds_of_any_kind() -> None:
    source = kernel(BODIES["a sum"], 4, low="%c1", step="%c2")
    after = run(source, *PIPELINER, Canonicalize())
    for n in (0, 1, 2, 5, 10):
        np.testing.assert_array_equal(outcome(after, n), outcome(source, n))


def test_a_loop_of_one_stage_stays() -> None:
    source = kernel(BODIES["a sum"], 1)
    assert run(source, *PIPELINER) == run(source)


def test_the_schedule_puts_uses_in_front_of_loads() -> None:
    check(
        kernel(BODIES["a sum"], 3),
        [AssignLatencies(), ScheduleLoops()],
        """
        // CHECK: arith.muli {{.*}} {loop.cluster = 2 : i32, loop.stage = 0 : i32}
        // CHECK: tt.load {{.*}} {loop.cluster = 2 : i32, loop.stage = 0 : i32}
        // CHECK: arith.addf {{.*}} {loop.cluster = 0 : i32, loop.stage = 2 : i32}
        // CHECK: tt.scheduled_max_stage = 2 : i32
        """,
    )


def test_a_schedule_survives_its_attributes() -> None:
    module = parse_module(run(kernel(BODIES["a number"], 4), AssignLatencies(), ScheduleLoops()))
    loop = next(op for op in module.walk() if op.name == "scf.for")
    schedule = Schedule.read(loop)  # pyright: ignore[reportArgumentType]
    assert schedule is not None and schedule.stages == 4
    before = str(module)
    schedule.write(loop)  # pyright: ignore[reportArgumentType]
    assert str(module) == before


def test_waits_leave_later_copies_under_way() -> None:
    check(
        kernel(BODIES["a sum"], 4),
        [*PIPELINER, Canonicalize()],
        """
        // CHECK: ttg.local_alloc : () -> !ttg.memdesc<3x128xf32
        // CHECK-COUNT-3: ttg.async_commit_group
        // CHECK: scf.for
        // CHECK: ttg.async_wait {{.*}} {num = 2 : i32}
        // CHECK-NEXT: ttg.memdesc_index
        // CHECK: ttg.local_load
        // CHECK: arith.addf
        // CHECK: ttg.async_copy_global_to_local
        // CHECK: ttg.async_wait {num = 0 : i32}
        // CHECK: ttg.local_dealloc
        """,
    )


def test_a_loop_whose_address_comes_from_an_atomic_stays() -> None:
    source = kernel(
        f"""
      %true = arith.constant true
      %got = tt.atomic_rmw fadd, relaxed, gpu, %o, %start, %true : (!tt.ptr<f32>, f32, i1) -> f32
      %k = arith.fptosi %got : f32 to i32
      %q = tt.addptr %x, %k : !tt.ptr<f32>, i32
      %c = tt.call @next(%k) : (i32) -> i32
      %qs = tt.splat %q : !tt.ptr<f32> -> {P}
      %cs = tt.splat %c : i32 -> tensor<{BLOCK}xi32, #b>
      %p = tt.addptr %qs, %cs : {P}, tensor<{BLOCK}xi32, #b>
      %v = tt.load %p : {P}
      %s = arith.addf %acc, %v : {T}
      scf.yield %s, %start : {T}, f32""",
        3,
    ).replace("  tt.func @f", "  tt.func private @next(%k: i32) -> i32\n  tt.func @f", 1)
    assert "scheduled" not in run(source, AssignLatencies(), ScheduleLoops())


def test_an_op_that_nothing_holds_back_is_refused() -> None:
    module = parse_module("tt.func private @g()\ntt.func @f(%c: i1) {\n  tt.call @g() : () -> ()\n  tt.return\n}")
    call = next(op for op in module.walk() if op.name == "tt.call")
    assert call.parent is not None
    with pytest.raises(PassError, match=r"cannot hold back tt\.call"):
        predicate(call, call.parent.args[0])
