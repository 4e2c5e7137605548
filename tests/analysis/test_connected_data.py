"""Which accesses work on the same data."""

from __future__ import annotations

from minitriton.analysis.slices.def_use import ConnectedData
from minitriton.dialects import tt
from minitriton.dialects.text import parse_module

SOURCE = """
tt.func @f(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %r:3 = scf.for %i = %c0 to %n step %one iter_args(%a = %p, %b = %q, %sum = %zero) -> (!tt.ptr<f32>, !tt.ptr<f32>, f32) : i32 {
    %x = tt.load %a {name = "of p"} : !tt.ptr<f32>
    %y = tt.load %b {name = "of q"} : !tt.ptr<f32>
    tt.store %b, %y {name = "to q"} : !tt.ptr<f32>
    %one_a = arith.constant 4 : i32
    %one_b = arith.constant 4 : i32
    %na = tt.addptr %a, %one_a : !tt.ptr<f32>, i32
    %nb = tt.addptr %b, %one_b : !tt.ptr<f32>, i32
    %acc = arith.addf %sum, %x : f32
    scf.yield %na, %nb, %acc : !tt.ptr<f32>, !tt.ptr<f32>, f32
  }
  tt.store %q, %r#2 {name = "sum of p"} : !tt.ptr<f32>
  tt.return
}
"""


def _same(first: str, second: str) -> bool:
    module = parse_module(SOURCE)
    data = ConnectedData(module)
    named = {
        str(op.attributes["name"]).strip('"'): op for op in module.walk() if isinstance(op, (tt.LoadOp, tt.StoreOp))
    }
    return data.group(named[first]) is data.group(named[second])


def test_what_a_loop_carries_is_tied_position_by_position():
    assert not _same("of p", "of q")
    assert _same("of q", "to q")


def test_what_comes_out_of_a_loop_is_what_it_carried():
    assert _same("of p", "sum of p")
    assert not _same("of q", "sum of p")
