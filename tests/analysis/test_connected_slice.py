"""Which ops hang together through values."""

from __future__ import annotations

from xdsl.ir import Operation

from minitriton.analysis.slices.def_use import ConnectedSlices
from minitriton.dialects.text import parse_module

SOURCE = """
tt.func @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %x = tt.load %p : !tt.ptr<f32>
  tt.store %p, %x : !tt.ptr<f32>
  %y = tt.load %q : !tt.ptr<f32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %fixed = tt.load %q : !tt.ptr<f32>
    %r = tt.addptr %q, %i : !tt.ptr<f32>, i32
    %moving = tt.load %r : !tt.ptr<f32>
    tt.store %q, %fixed : !tt.ptr<f32>
  }
  tt.return
}
"""


def slices() -> tuple[ConnectedSlices, dict[str, Operation]]:
    module = parse_module(SOURCE)
    ops: dict[str, Operation] = {op.name: op for op in module.walk()}
    ops |= {op.results[0].name_hint or "": op for op in module.walk() if op.results}
    return ConnectedSlices(module), ops


def reaches(source: str, target: str) -> bool:
    found, ops = slices()
    return found.component(ops[target]) in found.reachable(ops[source])


def test_uses_and_definitions_are_connected():
    found, ops = slices()
    store = next(use.operation for use in ops["x"].results[0].uses)
    assert found.component(store) == found.component(ops["x"])


def test_function_arguments_connect_nothing():
    assert not reaches("x", "y")
    assert not reaches("fixed", "y")


def test_a_loop_reaches_all_of_its_body():
    assert reaches("scf.for", "fixed")
    assert reaches("c1", "fixed")


def test_a_user_of_the_loop_variable_reaches_the_loop_but_other_ops_of_the_body_do_not():
    assert reaches("moving", "scf.for")
    assert reaches("moving", "fixed")
    assert not reaches("fixed", "scf.for")
