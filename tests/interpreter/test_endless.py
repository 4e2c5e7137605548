"""A loop that never ends is an error at its place on the interpreter too."""

import numpy as np
import pytest

from minitriton.dialects.text import parse_module
from minitriton.interpreter import InterpreterError, interpret

WHILE = """
tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %end = scf.while (%k = %n) : (i32) -> i32 {
    %more = arith.cmpi sgt, %k, %zero : i32
    scf.condition(%more) %k : i32
  } do {
  ^bb0(%k: i32):
    %next = arith.OP %k, %one : i32
    scf.yield %next : i32
  }
  tt.store %x, %end : !tt.ptr<i32>
  tt.return
}
"""
LEAVES_NOT = """
tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
  cf.br ^bb1
^bb1:
  %old = tt.load %x : !tt.ptr<i32>
  %new = arith.addi %old, %n : i32
  tt.store %x, %new : !tt.ptr<i32>
  cf.br ^bb1
}
"""
LONG_FOR = """
tt.func public @k(%x: !tt.ptr<i32>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %most = arith.constant 2147483647 : i32
  scf.for %i = %zero to %most step %one : i32 {
    tt.store %x, %i : !tt.ptr<i32>
  }
  tt.return
}
"""


def run(text: str, seconds: float = 0.0) -> np.ndarray:
    x = np.zeros(1, np.int32)
    interpret(parse_module(text, "k.ttir"), "k", [x, 5], (2,), seconds=seconds)
    return x


def test_a_loop_that_carries_on_the_same_is_found_without_a_limit() -> None:
    with pytest.raises(InterpreterError, match="a loop that never ends: nothing that it carries changes") as found:
        run(WHILE.replace("OP", "muli"))
    assert found.value.location is not None


@pytest.mark.parametrize("text", [LEAVES_NOT, LONG_FOR, WHILE.replace("OP", "ori")], ids=["branch", "for", "while"])
def test_a_loop_that_takes_too_long_is_ended_at_its_place(text: str) -> None:
    with pytest.raises(InterpreterError, match=r"no end after|never ends") as found:
        run(text, seconds=0.3)
    assert "k.ttir" in str(found.value)


def test_a_loop_that_ends_gives_its_result() -> None:
    assert run(WHILE.replace("OP", "subi"), seconds=60).tolist() == [0]
