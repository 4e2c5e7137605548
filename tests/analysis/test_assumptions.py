"""What `tl.assume` says counts where it is certainly said."""

from __future__ import annotations

import pytest

from minitriton.analysis.assumptions import assumed_in
from minitriton.dialects import llvm
from minitriton.dialects.text import parse_module
from minitriton.passes.pipelining.predication import predicate

KERNEL = """
    tt.func private @other(%n: i32)
    tt.func @f(%n: i32, %c: i1) {{
      %c16 = arith.constant 16 : i32
      %less = arith.cmpi slt, %n, %c16 : i32
      {before}
      llvm.intr.assume %less : i1
      tt.return
    }}"""


@pytest.mark.parametrize(
    ("before", "counts"),
    [
        ("", True),
        ("scf.if %c { %x = arith.addi %n, %c16 : i32 }", True),
        ('tt.assert %c, "no" : i1', False),
        ('scf.if %c { tt.assert %less, "no" : i1 }', False),
        ("tt.call @other(%n) : (i32) -> ()", False),
        ("scf.while : () -> () { scf.condition(%c) } do { scf.yield }", False),
    ],
    ids=["nothing", "a branch", "an assertion", "an assertion in a branch", "a call", "a loop that may not end"],
)
def test_an_assumption_counts_if_control_always_comes_to_it(before: str, counts: bool) -> None:
    module = parse_module(KERNEL.format(before=before))
    block = next(op for op in module.walk() if isinstance(op, llvm.AssumeOp)).parent
    assert block is not None
    assert [each.number for each in assumed_in(block)] == [16] * counts


def test_an_iteration_that_is_not_there_assumes_nothing() -> None:
    module = parse_module(KERNEL.format(before=""))
    assumption = next(op for op in module.walk() if isinstance(op, llvm.AssumeOp))
    assert assumption.parent is not None
    predicate(assumption, assumption.parent.args[1])
    module.verify()
    assert not list(assumed_in(assumption.parent))
