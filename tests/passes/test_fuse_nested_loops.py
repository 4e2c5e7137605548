"""`tritongpu-fuse-nested-loops`: one loop is left, and it computes what the nest computed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from filecheck_ir import check, run

from minitriton.dialects.text import parse_module
from minitriton.interpreter import interpret
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.cse import Cse
from minitriton.passes.fuse_nested_loops import FuseNestedLoops


def nest(body: str, *, mark: str = "tt.flatten", carried: str = "%a = %c0, %b = %c1") -> str:
    """A loop over n that carries %a and %b around `body`, whose inner loops run to m; results go to memory.

    `%out` counts in its first element how many numbers `log` has written behind it: `record` appends one.
    """
    return f"""
    tt.func private @record(%out: !tt.ptr<i32>, %x: i32) attributes {{noinline = true}} {{
      %c1 = arith.constant 1 : i32
      %count = tt.load %out : !tt.ptr<i32>
      %next = arith.addi %count, %c1 : i32
      tt.store %out, %next : !tt.ptr<i32>
      %p = tt.addptr %out, %next : !tt.ptr<i32>, i32
      tt.store %p, %x : !tt.ptr<i32>
      tt.return
    }}
    tt.func @f(%out: !tt.ptr<i32>, %n: i32, %m: i32) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c10 = arith.constant 10 : i32
      %r:2 = scf.for %i = %c0 to %n step %c1 iter_args({carried}) -> (i32, i32) : i32 {{
        {body}
      }} {{"{mark}"}}
      tt.call @record(%out, %r#0) : (!tt.ptr<i32>, i32) -> ()
      tt.call @record(%out, %r#1) : (!tt.ptr<i32>, i32) -> ()
      tt.return
    }}"""


def record(value: str) -> str:
    """Appends a value to the log."""
    return f"tt.call @record(%out, {value}) : (!tt.ptr<i32>, i32) -> ()"


INNER = f"""
        %s:2 = scf.for %j = %c0 to %m step %c1 iter_args(%x = %a, %y = %c1) -> (i32, i32) : i32 {{
          %t = arith.addi %x, %j : i32
          %u = arith.muli %y, %c10 : i32
          {record("%t")}
          scf.yield %t, %u : i32, i32
        }}"""

BODIES = {
    "everything": f"""
        %p = arith.muli %i, %c10 : i32
        {record("%p")}
        {INNER}
        %q = arith.addi %s#1, %p : i32
        {record("%q")}
        scf.yield %s#0, %q : i32, i32""",
    "swapped": f"""
        {INNER}
        {record("%b")}
        scf.yield %b, %a : i32, i32""",
    "next value known before the inner loop reads the current one": f"""
        %next = arith.addi %a, %c10 : i32
        {record("%next")}
        scf.for %j = %c0 to %m step %c1 : i32 {{
          {record("%a")}
        }}
        {record("%b")}
        scf.yield %next, %i : i32, i32""",
    "one value yielded twice": f"""
        {INNER}
        %q = arith.addi %s#1, %b : i32
        {record("%q")}
        scf.yield %q, %q : i32, i32""",
    "result of the inner loop read behind it": f"""
        scf.for %j = %c0 to %m step %c1 : i32 {{
          {record("%b")}
        }}
        {INNER}
        scf.yield %s#1, %s#0 : i32, i32""",
    "bounds that depend on the outer counter": f"""
        %p = arith.addi %i, %m : i32
        {record("%p")}
        %s = scf.for %j = %i to %p step %c1 iter_args(%x = %b) -> (i32) : i32 {{
          %t = arith.addi %x, %j : i32
          {record("%t")}
          scf.yield %t : i32
        }}
        %q = arith.addi %s, %p : i32
        {record("%q")}
        scf.yield %i, %q : i32, i32""",
    "two inner loops, the bounds of one depend on the outer counter": f"""
        {INNER}
        {record("%s#0")}
        %p = arith.addi %i, %m : i32
        %v = scf.for %k = %c0 to %p step %c1 iter_args(%x = %s#1) -> (i32) : i32 {{
          %t = arith.addi %x, %k : i32
          {record("%t")}
          scf.yield %t : i32
        }}
        {record("%v")}
        scf.yield %v, %b : i32, i32""",
    "two inner loops, the bounds of both depend on the outer counter": f"""
        %p = arith.addi %i, %m : i32
        scf.for %j = %c0 to %p step %c1 : i32 {{
          {record("%j")}
        }}
        scf.for %j = %i to %p step %c1 : i32 {{
          {record("%j")}
        }}
        {record("%b")}
        scf.yield %i, %a : i32, i32""",
    "narrow bounds that are further apart than they can say": f"""
        %low = arith.constant -100 : i8
        %high = arith.constant 100 : i8
        %step = arith.constant 100 : i8
        scf.for %j = %low to %high step %step : i8 {{
          {record("%i")}
        }}
        {record("%b")}
        scf.yield %i, %a : i32, i32""",
    "three levels": f"""
        %s = scf.for %j = %c0 to %m step %c1 iter_args(%x = %a) -> (i32) : i32 {{
          {record("%j")}
          %v = scf.for %k = %c0 to %n step %c1 iter_args(%y = %x) -> (i32) : i32 {{
            %t = arith.addi %y, %k : i32
            {record("%t")}
            scf.yield %t : i32
          }}
          scf.yield %v : i32
        }}
        {record("%s")}
        scf.yield %s, %i : i32, i32""",
}


def log(text: str, n: int, m: int) -> list[int]:
    """What a kernel writes, in its order."""
    out = np.zeros(2000, np.int32)
    interpret(parse_module(text), "f", (out, n, m), (1,))
    return out[1 : 1 + out[0]].tolist()


def inner_loops(text: str) -> int:
    """How many `scf.for` stand in another one."""
    loops = [op for op in parse_module(text).walk() if op.name == "scf.for"]
    return sum(any(inner is not loop and inner.name == "scf.for" for inner in loop.walk()) for loop in loops)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("cleaned", [False, True], ids=["as it is", "cleaned up"])
@pytest.mark.parametrize("name", BODIES)
def test_a_fused_nest_does_the_same_in_the_same_order(name: str, cleaned: bool) -> None:
    source = nest(BODIES[name], mark="ttg.always-fuse")
    after = run(source, FuseNestedLoops(), *((Canonicalize(), Cse()) if cleaned else ()))
    assert inner_loops(source) > 0 and inner_loops(after) == 0
    lengths = (1, 2, 4) if "iter_args" in BODIES[name] else (-1, 0, 1, 4)
    for n, m in itertools.product((-2, 0, 1, 2, 3), lengths):
        assert log(after, n, m) == log(source, n, m), (n, m)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, body in BODIES.items() if body.count("scf.for") == 1])
def test_a_loop_to_be_flattened_is_fused_only_where_the_inner_one_runs(name: str) -> None:
    source = nest(BODIES[name])
    after = run(source, FuseNestedLoops(), Canonicalize())
    if "depend" in name:
        assert inner_loops(after) == 1
        return
    assert inner_loops(after) == 0 and after.count("scf.for") == (1 if "narrow" in name else 2)
    for n, m in itertools.product((-2, 0, 1, 3), (-3, 0, 1, 4)):
        assert log(after, n, m) == log(source, n, m), (n, m)


def test_an_assumption_replaces_the_test_of_the_length() -> None:
    check(
        """
        tt.func private @body(%i: i32, %j: i32)
        tt.func @f(%n: i32, %m: i32) {
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %positive = arith.cmpi sgt, %m, %c0 : i32
          llvm.intr.assume %positive : i1
          scf.for %i = %c0 to %n step %c1 : i32 {
            scf.for %j = %c0 to %m step %c1 : i32 {
              tt.call @body(%i, %j) : (i32, i32) -> ()
            } {tt.num_stages = 3 : i32}
          } {tt.flatten}
          tt.return
        }""",
        [FuseNestedLoops(), Canonicalize()],
        """
        // CHECK: llvm.intr.assume
        // CHECK-NOT: scf.if
        // CHECK: scf.for
        // CHECK-NOT: scf.for
        // CHECK: scf.if
        // CHECK: tt.call
        // CHECK: tt.num_stages = 3
        """,
    )


ASSUMED = """
    tt.func private @body(%i: i32, %j: i32)
    tt.func @f(%n: i32, %m: i32, %c: i1) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %positive = arith.cmpi sgt, %m, %c0 : i32
      {before}
      scf.for %i = %c0 to %n step %c1 : i32 {{
        {inside}
        scf.for %j = %c0 to %m step %c1 : i32 {{
          {deeper}
          tt.call @body(%i, %j) : (i32, i32) -> ()
        }}
        {behind}
      }} {{tt.flatten}}
      tt.return
    }}"""


@pytest.mark.parametrize("place", ["before", "inside", "deeper", "behind", "in a branch"])
def test_an_assumption_counts_where_it_comes_before_each_run_of_the_inner_loop(place: str) -> None:
    assumption = "llvm.intr.assume %positive : i1"
    texts = dict.fromkeys(("before", "inside", "deeper", "behind"), "")
    texts[place if place in texts else "before"] = assumption if place in texts else f"scf.if %c {{ {assumption} }}"
    text = run(ASSUMED.format(**texts), FuseNestedLoops(), Canonicalize())
    assert ("arith.cmpi sle, %arg1" not in text) == (place in ("before", "inside"))


BOUND_IN_MEMORY = """
    tt.func @f(%q: !tt.ptr<i32>, %out: !tt.ptr<i32>, %n: i32) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c1) -> (i32) : i32 {{
        %m = tt.load %q : !tt.ptr<i32>
        %s = scf.for %j = %c0 to %m step %c1 iter_args(%y = %x) -> (i32) : i32 {{
          %t = arith.addi %y, %j : i32
          scf.yield %t : i32
        }}
        {store}
        scf.yield %s : i32
      }} {{tt.flatten}}
      tt.store %out, %r : !tt.ptr<i32>
      tt.return
    }}"""


@pytest.mark.parametrize("stores_to", ["nothing", "out", "q"])
def test_a_bound_is_read_ahead_where_the_loop_runs_and_does_not_write_it(stores_to: str) -> None:
    store = "" if stores_to == "nothing" else f"tt.store %{stores_to}, %s : !tt.ptr<i32>"
    text = run(BOUND_IN_MEMORY.format(store=store), FuseNestedLoops(), Canonicalize())
    assert inner_loops(text) == (1 if stores_to == "q" else 0)
    for n in (0, 3):
        q, out = np.full(n and 1, 3, np.int32), np.zeros(1, np.int32)
        interpret(parse_module(text), "f", (q, out, n), (1,))
        assert out[0] == {"q": 1 + 3 + 6 + 45 if n else 1}.get(stores_to, 1 + 3 * n)


def test_a_division_of_a_bound_does_not_move_in_front_of_a_loop_that_may_not_run() -> None:
    source = nest(
        f"""
        %d = arith.divsi %c10, %m : i32
        scf.for %j = %c0 to %d step %c1 : i32 {{
          {record("%j")}
        }}
        scf.yield %i, %i : i32, i32"""
    )
    after = run(source, FuseNestedLoops(), Canonicalize())
    assert inner_loops(after) == 0
    assert "scf.if" in after[: after.index("arith.divsi")]
    for n, m in ((0, 0), (2, 5), (3, -5)):
        assert log(after, n, m) == log(source, n, m), (n, m)


def test_an_inner_loop_that_the_outer_one_does_not_touch_moves_in_front_of_it() -> None:
    source = nest(
        f"""
        %s = scf.for %j = %c0 to %m step %c1 iter_args(%x = %c1) -> (i32) : i32 {{
          %t = arith.addi %x, %j : i32
          scf.yield %t : i32
        }}
        {record("%s")}
        scf.yield %s, %i : i32, i32"""
    )
    after = run(source, FuseNestedLoops())
    assert inner_loops(after) == 0
    for n, m in ((0, 3), (2, 5), (3, -5)):
        assert log(after, n, m) == log(source, n, m), (n, m)


def test_the_length_of_a_fused_loop_is_a_product_of_64_bits() -> None:
    check(
        nest(BODIES["everything"]),
        [FuseNestedLoops(), Canonicalize()],
        """
        // CHECK: [[TOTAL:%.*]] = arith.muli {{.*}} : i64
        // CHECK: scf.for {{.*}} to [[TOTAL]]
        """,
    )


def test_what_only_the_end_uses_moves_behind_the_inner_loop() -> None:
    source = nest(
        f"""
        %p = arith.muli %i, %c10 : i32
        scf.for %j = %c0 to %m step %c1 : i32 {{
          {record("%j")}
        }}
        {record("%p")}
        scf.yield %i, %i : i32, i32"""
    )
    text = run(source, FuseNestedLoops(), Canonicalize())
    fused = text[text.rindex("scf.for") :]
    assert fused.index("tt.call") < fused.index("arith.muli")


@pytest.mark.parametrize("mark", ["tt.num_ctas", "tt.warp_specialize"])
def test_a_nest_without_the_mark_stays(mark: str) -> None:
    source = nest(BODIES["everything"], mark=mark)
    assert run(source, FuseNestedLoops()) == run(source)
