"""Passes that keep tensor cores busy during what stands between products: where products, waits, barriers and turns end up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filecheck_ir import check, run
from test_hold_wgmma_registers import HEAD

import minitriton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.dialects.facts.synchronization import FIRST_WARP_FILLS, SPECIALIZED, TURNS, taken_barriers
from minitriton.dialects.text import parse_module
from minitriton.lab.corpus.case import load_file
from minitriton.passes.asynchronous.first_warp_barriers import AlternateWarpGroups, FirstWarpBarriers
from minitriton.passes.asynchronous.guard_dot_loops import SinkDotWaits
from minitriton.passes.asynchronous.hoist_loop_copies import HoistLoopCopies
from minitriton.passes.asynchronous.hoist_tma_copies import HoistTmaCopies
from minitriton.target import GPUTarget

KERNELS = load_file(Path(__file__).parents[2] / "minitriton_kernels/attention.py", "minitriton")
MATRIX = "!ttg.memdesc<64x64xf16, #sh, #smem>"
F32, F16 = "tensor<64x64xf32, #mma>", "tensor<64x64xf16, #a>"


def attention(rows: int, keys: int, width: int, warps: int, without: str = "", stages: int = 2) -> dict[str, str]:
    """The stages of the forward kernel, not causal."""
    kernel = KERNELS.attention
    signature: dict[str, str] = dict.fromkeys(kernel.arg_names, "constexpr")
    boxes = {"q": rows, "k": keys, "v": keys, "o": rows}
    signature |= {f"{name}_desc": f"tensordesc<fp16[{n}, {width}]>" for name, n in boxes.items()}
    signature |= {"log_sums": "*fp32", "length": "i32", "scale": "fp32"}
    constants: dict[str, Any] = {"BM": rows, "BN": keys, "D": width, "CAUSAL": False, "SPECIALIZE": False}
    source = ASTSource(kernel, signature, constants, {(4,): [["tt.divisibility", 16]]})
    options = {"num_warps": warps, "num_stages": stages, "without": without}
    return minitriton.compile(source, GPUTarget("cuda", 90, 32), options, assemble=False).asm


def body_of_loop(text: str) -> str:
    """From the first line with `scf.for` to the end of that loop."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if "scf.for" in line)
    indent = len(lines[first]) - len(lines[first].lstrip())
    last = next(i for i in range(first + 1, len(lines)) if lines[i].startswith(" " * indent + "}"))
    return "\n".join(lines[first : last + 1])


def names(text: str, *ops: str) -> list[str]:
    """Which of `ops` come, in order."""
    return re.findall("|".join(map(re.escape, ops)), text)


OPS = ("ttng.warp_group_dot ", "math.exp2", "arith.truncf")


def test_the_next_scores_are_started_before_values_are_weighed() -> None:
    text = attention(128, 64, 64, 8)["ttgir"]
    dot = "ttng.warp_group_dot "
    assert names(body_of_loop(text), *OPS) == [dot, dot, "math.exp2", "math.exp2", "arith.truncf"]
    behind = text[text.index(body_of_loop(text)) + len(body_of_loop(text)) :]
    assert names(behind, dot, "scf.yield")[:2] == [dot, "scf.yield"]
    before = attention(128, 64, 64, 8, "minitriton-overlap-dots")["ttgir"]
    assert names(body_of_loop(before), *OPS)[:2] == [dot, "math.exp2"]


@pytest.mark.parametrize(
    ("rows", "keys", "width", "warps", "is_changed"), [(128, 64, 64, 4, True), (128, 64, 128, 4, False)]
)
def test_tiles_that_would_not_fit_into_registers_stay(
    rows: int, keys: int, width: int, warps: int, is_changed: bool
) -> None:
    texts = [attention(rows, keys, width, warps, without)["ttgir"] for without in ("", "minitriton-overlap-dots")]
    assert (texts[0] != texts[1]) == is_changed


@pytest.mark.parametrize(("rows", "warps", "lengths"), [(64, 4, ["2", "3"]), (128, 8, ["3", "3"])])
def test_keys_need_no_buffer_more_where_one_warp_group_has_read_them(rows: int, warps: int, lengths: list[str]) -> None:
    text = attention(rows, 64, 64, warps, stages=3)["ttgir"]
    assert re.findall(r"ttg.local_alloc : \(\) -> !ttg.memdesc<(\d)x64x64xf16", text) == lengths


def test_warp_groups_meet_only_behind_the_loop_and_take_turns() -> None:
    ptx = attention(128, 64, 64, 8)["ptx"]
    loop = ptx[ptx.index("wgmma.wait_group.sync.aligned 1") :]
    before, loop = ptx[: ptx.index("wgmma.wait_group.sync.aligned 1")], loop[: loop.index("bar.sync \t0")]
    assert "bar.arrive" in before and re.search(r"@%p\d+ bar\.sync %r\d+, 256", loop)
    plain = attention(128, 64, 64, 8, "minitriton")["ptx"]
    assert "bar.arrive" not in plain


def products(first_pendings: int, between: str = "") -> str:
    """Two products in a loop, each waited for at once; the second takes A from registers."""
    return f"""{HEAD}
  tt.func @f(%q: {MATRIX}, %k: {MATRIX}, %a: {F16}, %n: i32, %p: !tt.ptr<i32>) -> {F32} {{
    %zero = arith.constant dense<0.0> : {F32}
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> ({F32}) : i32 {{
      %s = ttng.warp_group_dot %q, %k, %zero {{isAsync = true}} : {MATRIX} * {MATRIX} -> {F32}
      %s1 = ttng.warp_group_dot_wait %s {{pendings = {first_pendings} : i32}} : {F32}
      %d = ttng.warp_group_dot %a, %k, %c {{isAsync = true}} : {F16} * {MATRIX} -> {F32}
      %d1 = ttng.warp_group_dot_wait %d {{pendings = 0 : i32}} : {F32}{between}
      %e = math.exp2 %s1 : {F32}
      %m = arith.mulf %d1, %e : {F32}
      scf.yield %m : {F32}
    }}
    tt.return %r : {F32}
  }}
}}
"""


def test_waits_stand_where_results_are_needed_and_hold_registers_that_products_read() -> None:
    check(
        products(0),
        SinkDotWaits(),
        """
        CHECK: %[[S:.*]] = ttng.warp_group_dot %arg0, %arg1
        CHECK-NEXT: %[[D:.*]] = ttng.warp_group_dot %arg2, %arg1
        CHECK-NEXT: %[[S1:.*]] = ttng.warp_group_dot_wait %[[S]] {pendings = 1 : i32}
        CHECK-NEXT: %[[E:.*]] = math.exp2 %[[S1]]
        CHECK-NEXT: %[[D1:.*]]:2 = ttng.warp_group_dot_wait %[[D]], %arg2 {pendings = 0 : i32}
        CHECK-NEXT: arith.mulf %[[D1]]#0, %[[E]]
        """,
    )


def test_no_wait_passes_what_may_write_a_buffer() -> None:
    text = run(products(0, "\n      tt.store %p, %i : !tt.ptr<i32>"), SinkDotWaits())
    assert names(text, "pendings", "tt.store", "math.exp2") == ["pendings", "pendings", "tt.store", "math.exp2"]


RING, BAR = "!ttg.memdesc<3x64x64xf16, #sh, #smem, mutable>", "!ttg.memdesc<3x1xi64, #b, #smem, mutable>"
SLOT, ONE = "!ttg.memdesc<64x64xf16, #sh, #smem, mutable>", "!ttg.memdesc<1xi64, #b, #smem, mutable>"


def ring(fill: int, barriers: str = "      ttg.local_barrier\n", behind: str = "", warps: int = 8) -> str:
    """A loop that reads buffer i modulo 3 and copies to buffer `fill` + 1 + i."""
    head = HEAD.replace("warpsPerCTA = [4, 1]", "warpsPerCTA = [8, 1]").replace(
        'num-warps" = 4', f'num-warps" = {warps}'
    )
    return f"""
#b = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>{head}
  tt.func @f(%desc: !tt.tensordesc<tensor<64x64xf16, #sh>>, %n: i32) -> {F32} {{
    %q = ttg.local_alloc : () -> {SLOT}
    %zero = arith.constant dense<0.0> : {F32}
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %before = arith.constant -1 : i32
    %start = arith.constant {fill} : i32
    %ring = ttg.local_alloc : () -> {RING}
    %bars = ttg.local_alloc : () -> {BAR}
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero, %fill = %start, %read = %before) -> ({F32}, i32, i32) : i32 {{
      %f1 = arith.addi %fill, %c1 : i32
      %f2 = arith.cmpi sge, %f1, %c3 : i32
      %f = arith.select %f2, %c0, %f1 : i32
      %r1 = arith.addi %read, %c1 : i32
      %r2 = arith.cmpi sge, %r1, %c3 : i32
      %r = arith.select %r2, %c0, %r1 : i32
      %full = ttg.memdesc_index %bars[%r] : {BAR} -> {ONE}
      ttng.wait_barrier %full, %c0 : {ONE}
      %k = ttg.memdesc_index %ring[%r] : {RING} -> {SLOT}
      %d = ttng.warp_group_dot %q, %k, %c {{isAsync = true}} : {SLOT} * {SLOT} -> {F32}
      %w:2 = ttng.warp_group_dot_wait %d, %k {{pendings = 0 : i32}} : {F32}, {SLOT}
      %bar = ttg.memdesc_index %bars[%f] : {BAR} -> {ONE}
      ttng.barrier_expect %bar, 8192, %true : {ONE}
      %to = ttg.memdesc_index %ring[%f] : {RING} -> {SLOT}
{barriers}      ttng.async_tma_copy_global_to_local %desc[%c0, %c0] %to, %bar, %true : !tt.tensordesc<tensor<64x64xf16, #sh>>, {ONE} -> {SLOT}
{behind}      scf.yield %w#0, %f, %r : {F32}, i32, i32
    }}
    tt.return %r#0 : {F32}
  }}
}}
"""


def test_warps_that_start_no_copies_do_not_wait_in_the_loop() -> None:
    check(
        ring(1),
        FirstWarpBarriers(),
        """
        CHECK: scf.for
        CHECK-SAME: %cst, %[[FILL:.*]] = %c1_i32_0,
        CHECK: ttng.arrive_for_first_warp %[[FILL]] from 1
        CHECK: ttng.wait_barrier
        CHECK: ttng.warp_group_dot_wait
        CHECK: ttng.first_warp_waits %[[FILL]] from 1
        CHECK-NEXT: ttng.async_tma_copy_global_to_local
        CHECK-NEXT: scf.yield
        CHECK-NEXT: }
        CHECK-NEXT: ttg.local_barrier
        """,
    )


@pytest.mark.parametrize(
    "text",
    [
        ring(-1),
        ring(1, barriers=""),
        ring(1, barriers="      ttg.local_barrier\n      ttg.local_barrier\n"),
        ring(1, behind="      %x = ttg.local_load %k : !ttg.memdesc<64x64xf16, #sh, #smem, mutable> -> tensor<64x64xf16, #a>\n"),
        ring(1, warps=4).replace("warpsPerCTA = [8, 1]", "warpsPerCTA = [4, 1]"),
    ],
    ids=["the buffer that is read", "no barrier", "two barriers", "threads read too", "one warp group"],
)  # fmt: skip
def test_barriers_that_order_more_stay(text: str) -> None:
    assert run(text, FirstWarpBarriers()) == run(text)


def test_two_warp_groups_take_turns_and_one_does_not() -> None:
    text = (
        products(0).replace("warpsPerCTA = [4, 1]", "warpsPerCTA = [8, 1]").replace('num-warps" = 4', 'num-warps" = 8')
    )
    check(
        text,
        [SinkDotWaits(), AlternateWarpGroups()],
        """
        CHECK: ttng.end_turn from 14 only 1
        CHECK-NEXT: scf.for
        CHECK-NEXT: ttng.wait_for_turn from 14
        CHECK-NEXT: ttng.warp_group_dot
        CHECK-NEXT: ttng.warp_group_dot
        CHECK-NEXT: ttng.end_turn from 14
        CHECK-NEXT: ttng.warp_group_dot_wait
        CHECK-NEXT: ttng.warp_group_dot_wait
        CHECK: scf.yield
        CHECK-NEXT: }
        CHECK-NEXT: ttng.wait_for_turn from 14 only 0
        CHECK-NEXT: ttg.local_barrier
        """,
    )
    assert run(products(0), AlternateWarpGroups()) == run(products(0))
    once = run(text, SinkDotWaits(), AlternateWarpGroups())
    assert run(once, AlternateWarpGroups()) == once, "the turns are taken"


def test_named_barriers_are_for_one_thing_each() -> None:
    assert not set(FIRST_WARP_FILLS) & set(TURNS) and 0 not in {*FIRST_WARP_FILLS, *TURNS, *SPECIALIZED}
    assert taken_barriers(parse_module(run(ring(1), FirstWarpBarriers()))) == {*FIRST_WARP_FILLS}
    assert taken_barriers(parse_module(ring(1))) == set()


def test_first_warp_barriers_are_made_once() -> None:
    once = run(ring(1), FirstWarpBarriers())
    assert run(once, FirstWarpBarriers()) == once


EXP2 = "\n      %e = math.exp2 %s1"


@pytest.mark.parametrize(
    ("op", "stays"),
    [
        ('%k1 = arith.cmpf ole, %s1, %zero : {F32}\n      tt.assert %k1, "" : tensor<64x64xi1, #mma>', True),
        ('%k1 = arith.cmpi sge, %i, %c0 : i32\n      tt.assert %k1, "" : i1', False),
        ("%k1 = tt.atomic_load acquire, gpu, %p : (!tt.ptr<i32>) -> i32", True),
        ("%k1 = ttg.convert_layout %s1 {{allocation.offset = 0 : i32}} : {F32} -> tensor<64x64xf32, #t>", True),
        ("%k1 = ttg.convert_layout %s1 : {F32} -> tensor<64x64xf32, #t>", False),
    ],
    ids=[
        "assert of a tensor",
        "assert of a scalar",
        "acquire",
        "conversion by shared memory",
        "conversion by shuffles",
    ],
)
def test_loops_in_which_all_threads_meet_do_not_alternate(op: str, stays: bool) -> None:
    """A group in its turn would wait at the barrier for the other, which waits for its turn."""
    text = (
        products(0).replace("warpsPerCTA = [4, 1]", "warpsPerCTA = [8, 1]").replace('num-warps" = 4', 'num-warps" = 8')
    )
    text = (
        "#t = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [8, 1], order = [1, 0]}>\n"
        + text
    )
    text = text.replace(EXP2, "\n      " + op.format(F32=F32) + EXP2)
    assert ("end_turn" not in run(text, SinkDotWaits(), AlternateWarpGroups())) == stays


def copied(name: str, text: str) -> str:
    """A buffer that is filled and waited for."""
    return f"""
    %{name} = ttg.local_alloc : () -> {SLOT}
    %{name}b = ttg.local_alloc : () -> {ONE}
    ttng.init_barrier %{name}b, 1 : {ONE}
    ttng.barrier_expect %{name}b, 8192, %true : {ONE}
    ttng.async_tma_copy_global_to_local %desc[%c0, %c0] %{name}, %{name}b, %true : !tt.tensordesc<tensor<64x64xf16, #sh>>, {ONE} -> {SLOT}
    ttng.wait_barrier %{name}b, %c0 : {ONE}
    ttng.inval_barrier %{name}b : {ONE}{text}"""


def straight(between: str = "") -> str:
    first = f"\n    %s = ttng.warp_group_dot %k, %k, %zero : {SLOT} * {SLOT} -> {F32}{between}"
    return f"""
#b = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>{HEAD}
  tt.func @f(%desc: !tt.tensordesc<tensor<64x64xf16, #sh>>, %p: !tt.ptr<i32>) -> {F32} {{
    %zero = arith.constant dense<0.0> : {F32}
    %true = arith.constant true
    %c0 = arith.constant 0 : i32{copied("k", first)}{copied("v", "")}
    %o = ttng.warp_group_dot %v, %v, %s : {SLOT} * {SLOT} -> {F32}
    tt.return %o : {F32}
  }}
}}
"""


COPY, WAIT = "ttng.async_tma_copy_global_to_local", "ttng.wait_barrier"


def test_copies_start_before_products_and_are_waited_for_behind_them() -> None:
    text = run(straight(), HoistTmaCopies())
    assert names(text, COPY, WAIT, "warp_group_dot") == [COPY, COPY, WAIT, "warp_group_dot", WAIT, "warp_group_dot"]


def test_no_copy_starts_before_a_store_that_it_may_read() -> None:
    text = straight("\n    tt.store %p, %c0 : !tt.ptr<i32>")
    assert names(run(text, HoistTmaCopies()), COPY, "tt.store") == [COPY, "tt.store", COPY]


def scores_and_values(slots: int, computed: str = "", width: int = 64) -> str:
    """A loop in which the copies for a later iteration stand at the end, into rings of so many buffers."""
    matrix, scores = f"!ttg.memdesc<{width}x{width}xf16, #sh, #smem, mutable>", f"tensor<{width}x{width}xf32, #mma>"
    ring, bars = (
        f"!ttg.memdesc<{slots}x{width}x{width}xf16, #sh, #smem, mutable>",
        f"!ttg.memdesc<{slots}x1xi64, #b, #smem, mutable>",
    )
    weights = f"tensor<{width}x{width}xf16, #a>"

    def use(name: str) -> str:
        return (
            f"\n      %{name}b = ttg.memdesc_index %{name}bars[%read] : {bars} -> {ONE}"
            f"\n      ttng.wait_barrier %{name}b, %phase : {ONE}"
            f"\n      %{name} = ttg.memdesc_index %{name}ring[%read] : {ring} -> {matrix}"
        )

    def fill(name: str) -> str:
        return (
            f"\n      %{name}fb = ttg.memdesc_index %{name}bars[%fill] : {bars} -> {ONE}"
            f"\n      ttng.barrier_expect %{name}fb, 8192, %true : {ONE}"
            f"\n      %{name}f = ttg.memdesc_index %{name}ring[%fill] : {ring} -> {matrix}"
            f"\n      ttng.async_tma_copy_global_to_local %desc[%i, %c0] %{name}f, %{name}fb, %true : "
            f"!tt.tensordesc<tensor<{width}x{width}xf16, #sh>>, {ONE} -> {matrix}"
        )

    def count(name: str, before: str) -> str:
        return (
            f"\n      %{name}1 = arith.addi %{before}, %c1 : i32\n      %{name}2 = arith.cmpi sge, %{name}1, %cn : i32"
            f"\n      %{name} = arith.select %{name}2, %c0, %{name}1 : i32"
        )

    allocated = "".join(
        f"\n    %{n}ring = ttg.local_alloc : () -> {ring}\n    %{n}bars = ttg.local_alloc : () -> {bars}" for n in "kv"
    )
    return f"""
#b = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}}>{HEAD}
  tt.func @f(%desc: !tt.tensordesc<tensor<{width}x{width}xf16, #sh>>, %q: {matrix}, %n: i32) -> {scores} {{
    %zero = arith.constant dense<0.0> : {scores}
    %true = arith.constant true
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %cn = arith.constant {slots} : i32
    %ahead = arith.constant {slots - 2} : i32
    %none = arith.constant -1 : i32{allocated}
    %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %was = %none, %filled = %ahead, %phase = %c0) -> ({
        scores
    }, i32, i32, i32) : i32 {{{count("read", "was")}{use("k")}
      %s = ttng.warp_group_dot %q, %k, %zero {{isAsync = true}} : {matrix} * {matrix} -> {scores}
      %s1:2 = ttng.warp_group_dot_wait %s, %acc {{pendings = 0 : i32}} : {scores}, {scores}{computed}
      %p = math.exp2 %s1#0 : {scores}{use("v")}
      %h = arith.truncf %p : {scores} to tensor<{width}x{width}xf16, #mma>
      %a = ttg.convert_layout %h : tensor<{width}x{width}xf16, #mma> -> {weights}
      %o = ttng.warp_group_dot %a, %v, %s1#1 {{isAsync = true}} : {weights} * {matrix} -> {scores}{
        count("fill", "filled")
    }{fill("k")}{fill("v")}
      scf.yield %o, %read, %fill, %phase : {scores}, i32, i32, i32
    }}
    tt.return %r#0 : {scores}
  }}
}}
"""


IN_LOOP = (COPY, WAIT, "warp_group_dot_wait", "warp_group_dot ", "exp2", "tt.store")
DOT, DONE = "warp_group_dot ", "warp_group_dot_wait"


@pytest.mark.parametrize(
    ("slots", "computed", "order"),
    [
        pytest.param(2, "", [WAIT, WAIT, DOT, DONE, COPY, COPY, "exp2", DOT], id="the next iteration waits for them"),
        pytest.param(3, "", [WAIT, WAIT, DOT, DONE, "exp2", DOT, COPY, COPY], id="a later one does"),
        pytest.param(
            2, "\n      tt.store %p0, %c0 : !tt.ptr<i32>",
            [WAIT, DOT, DONE, "tt.store", COPY, COPY, "exp2", WAIT, DOT], id="not past a store that they may read",
        ),
        pytest.param(
            2, f"\n      ttng.wait_barrier %free, %phase : {ONE}",
            [WAIT, DOT, DONE, WAIT, COPY, COPY, "exp2", WAIT, DOT], id="not past a wait for other threads",
        ),
    ],
)  # fmt: skip
def test_copies_of_a_loop_start_before_what_is_computed(slots: int, computed: str, order: list[str]) -> None:
    text = scores_and_values(slots, computed).replace("%n: i32)", f"%n: i32, %p0: !tt.ptr<i32>, %free: {ONE})")
    assert names(body_of_loop(run(text, HoistLoopCopies())), *IN_LOOP) == order


def test_copies_stay_where_dots_take_all_registers() -> None:
    text = run(scores_and_values(2, width=128), HoistLoopCopies())
    assert names(body_of_loop(text), *IN_LOOP) == [WAIT, WAIT, DOT, DONE, "exp2", DOT, COPY, COPY]


def _turns(order: str) -> bool:
    """Whether two warp groups take turns in a loop of these ops: a dot, exponentials, an arrival for the first warp, its wait."""
    ops = {
        "s": f"%s = ttng.warp_group_dot %q, %q, %zero {{isAsync = true}} : {MATRIX} * {MATRIX} -> {F32}\n"
        f"      %s1 = ttng.warp_group_dot_wait %s {{pendings = 0 : i32}} : {F32}",
        "e": f"%e = math.exp2 %s1 : {F32}",
        "o": f"%o = ttng.warp_group_dot %q, %q, %e {{isAsync = true}} : {MATRIX} * {MATRIX} -> {F32}\n"
        f"      %o1 = ttng.warp_group_dot_wait %o {{pendings = 0 : i32}} : {F32}",
        "a": "ttng.arrive_for_first_warp %i from 1",
        "w": "ttng.first_warp_waits %i from 1",
    }
    body = "\n      ".join(ops[each] for each in order)
    text = f"""{HEAD}
  tt.func @f(%q: {MATRIX}, %n: i32) {{
    %zero = arith.constant dense<0.0> : {F32}
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %n step %c1 : i32 {{
      {body}
    }}
    tt.return
  }}
}}
""".replace("warpsPerCTA = [4, 1]", "warpsPerCTA = [8, 1]").replace('num-warps" = 4', 'num-warps" = 8')
    return "end_turn" in run(text, AlternateWarpGroups())


@pytest.mark.parametrize(("order", "turns"), [("aseow", True), ("asweo", True), ("awseo", False), ("seoaw", False)])
def test_the_first_warp_never_waits_for_a_group_whose_turn_is_later(order: str, turns: bool) -> None:
    assert _turns(order) == turns


@minitriton.jit
def two_dots(a_ptr, b_ptr, c_ptr, side_ptr, k, SUMS: tl.constexpr, M: tl.constexpr, K: tl.constexpr):
    i, inner = tl.arange(0, M), tl.arange(0, K)
    total = tl.zeros((M, M), tl.float32)
    for start in range(0, k, K):
        a = tl.load(a_ptr + i[:, None] * k + (start + inner)[None, :])
        b = tl.load(b_ptr + (start + inner)[:, None] * M + i[None, :])
        if SUMS:
            total = tl.dot(a, b, total)
            tl.store(side_ptr + start + inner, tl.sum(a.to(tl.float32), 0))
        else:
            e = tl.exp2(tl.dot(a, b) * 0.01)
            total = tl.dot(a, b, total) + e
    tl.store(c_ptr + i[:, None] * M + i[None, :], total)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("sums", "warps", "stages"),
    [
        pytest.param(False, 8, 2, id="copies before the first of two dots: groups that took turns would wait for each other"),
        pytest.param(True, 4, 1, id="a barrier of the sums ends no read of a dot that runs"),
    ],
)  # fmt: skip
def test_a_loop_of_dots_and_other_work_gives_the_numbers(sums: bool, warps: int, stages: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((64, 128)).astype(np.float16), rng.standard_normal((128, 64)).astype(np.float16)
    c, side = np.zeros((64, 64), np.float32), np.zeros(128, np.float32)
    two_dots[(1,)](a, b, c, side, 128, sums, 64, 64, num_warps=warps, num_stages=stages)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    if sums:
        np.testing.assert_allclose(side, a.astype(np.float64).sum(0), atol=1e-2)
    else:
        parts = (a[:, at : at + 64].astype(np.float64) @ b[at : at + 64].astype(np.float64) for at in (0, 64))
        wanted = wanted + sum(np.exp2(part * 0.01) for part in parts)
    np.testing.assert_allclose(c, wanted, atol=1e-2)
