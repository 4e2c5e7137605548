"""`ring_position`: where a loop's counters stand, beside what they count in a loop that is run."""

from __future__ import annotations

import pytest
from xdsl.dialects import scf

from minitriton.analysis.ring_positions import ring_position
from minitriton.dialects.fast_paths.operations import ops_in
from minitriton.dialects.text import parse_module

LENGTH = 3


def loop(start: int, before: int, zero: int = 0, step: int = 1) -> scf.ForOp:
    """A loop with a counter from `start`, and an argument that begins as `before` and then has what it counted."""
    module = parse_module(f"""
      module {{
        tt.func @f(%n: i32) {{
          %c0 = arith.constant 0 : i32
          %c1 = arith.constant 1 : i32
          %zero = arith.constant {zero} : i32
          %step = arith.constant {step} : i32
          %start = arith.constant {start} : i32
          %before = arith.constant {before} : i32
          %length = arith.constant {LENGTH} : i32
          %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%count = %start, %last = %before) -> (i32, i32) : i32 {{
            %next = arith.addi %count, %step : i32
            %over = arith.cmpi sge, %next, %length : i32
            %new = arith.select %over, %zero, %next : i32
            scf.yield %new, %new : i32, i32
          }}
          tt.return
        }}
      }}""")
    return next(op for op in ops_in(module) if isinstance(op, scf.ForOp))


@pytest.mark.parametrize("start", [-1, 0, 1, 2])
def test_counters_and_what_they_counted_before(start: int) -> None:
    found = loop(start, start)
    block = found.body.block
    new = block.last_op.operands[0]  # pyright: ignore[reportOptionalMemberAccess]
    assert ring_position(block.args[1], LENGTH, found) == start % LENGTH
    assert ring_position(new, LENGTH, found) == (start + 1) % LENGTH
    assert ring_position(block.args[2], LENGTH, found) == start % LENGTH


def test_what_begins_elsewhere_has_no_place() -> None:
    found = loop(0, 1)
    assert ring_position(found.body.block.args[2], LENGTH, found) is None


@pytest.mark.parametrize(("zero", "step", "length"), [(1, 1, LENGTH), (0, 2, LENGTH), (0, 1, 4)])
def test_other_counters_have_no_place(zero: int, step: int, length: int) -> None:
    found = loop(0, 0, zero, step)
    assert ring_position(found.body.block.args[1], length, found) is None


def test_the_number_of_the_iteration_and_values_from_outside_have_no_place() -> None:
    found = loop(0, 0)
    assert ring_position(found.body.block.args[0], LENGTH, found) is None
    assert ring_position(found.lb, LENGTH, found) is None
