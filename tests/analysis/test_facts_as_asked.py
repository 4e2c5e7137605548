"""Facts that are found as they are asked for are those that going over the whole module finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from building import compiled
from parity_cases import ALL_CASES
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.text import parse_module
from minitriton_kernels.cases import Case

STRAIGHT = """
module {
  tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32, %c: i1) {
    %zero = arith.constant 0 : i32
    %eight = arith.constant 8 : i32
    %rest = arith.remsi %n, %eight : i32
    %whole = arith.cmpi eq, %rest, %zero : i32
    llvm.intr.assume %whole : i1
    %range = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %base = arith.muli %n, %eight : i32
    %bases = tt.splat %base : i32 -> tensor<128xi32>
    %offsets = arith.addi %bases, %range : tensor<128xi32>
    %chosen = scf.if %c -> (i32) {
      %twice = arith.muli %base, %eight : i32
      scf.yield %twice : i32
    } else {
      scf.yield %n : i32
    }
    %behind = arith.addi %chosen, %base : i32
    %pointers = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
    %places = tt.addptr %pointers, %offsets : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
    %loaded = tt.load %places : tensor<128x!tt.ptr<f32>>
    tt.store %places, %loaded : tensor<128x!tt.ptr<f32>>
    tt.return
  }
}
"""


def _values(module: ModuleOp) -> list[SSAValue]:
    ops = ops_in(module)
    arguments = [argument for op in ops for region in op.regions for block in region.blocks for argument in block.args]
    return [*arguments, *(result for op in ops for result in op.results)]


def _agree(module: ModuleOp) -> None:
    whole, together = AxisInfoAnalysis(module), AxisInfoAnalysis(module, as_asked=True)
    for value in _values(module):
        assert AxisInfoAnalysis(module, as_asked=True).get(value) == whole.get(value), str(value)
    for value in reversed(_values(module)):
        assert together.get(value) == whole.get(value), str(value)


def test_what_is_computed_behind_a_branch_needs_the_whole_and_what_is_not_does_not() -> None:
    module = parse_module(STRAIGHT)
    _agree(module)
    found = {value.name_hint: value for value in _values(module)}
    facts = AxisInfoAnalysis(module, as_asked=True)
    assert facts.get(found["offsets"]).divisibility == (64,)
    assert found["twice"] not in facts.facts
    facts.get(found["behind"])
    assert found["twice"] in facts.facts


CALLS = """
module {
  tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %eight = arith.constant 8 : i32
    %rows = arith.muli %n, %eight : i32
    %inner = tt.call @inner(%rows) : (i32) -> i32
    %outer = tt.call @outer(%rows) : (i32) -> i32
    tt.return
  }
  tt.func private @inner(%m: i32) -> i32 {
    %two = arith.constant 2 : i32
    %doubled = arith.muli %m, %two : i32
    tt.return %doubled : i32
  }
  tt.func private @outer(%k: i32) -> i32 {
    %four = arith.constant 4 : i32
    %more = arith.muli %k, %four : i32
    %found = tt.call @inner(%more) : (i32) -> i32
    tt.return %found : i32
  }
}
"""


def test_of_several_functions_the_callers_of_one_are_looked_at_and_no_other() -> None:
    module = parse_module(CALLS)
    _agree(module)
    found = {value.name_hint: value for value in _values(module)}
    facts = AxisInfoAnalysis(module, as_asked=True)
    assert facts.get(found["rows"]).divisibility == (8,)
    assert found["more"] not in facts.facts and found["doubled"] not in facts.facts
    assert facts.get(found["k"]).divisibility == (8,)
    assert found["more"] not in facts.facts
    assert facts.get(found["m"]).divisibility == (8,)
    assert found["more"] in facts.facts and found["doubled"] not in facts.facts


KINDS = ("memory", "atomics", "control", "sequences", "whole_numbers")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stage", ["ttir", "ttgir"])
@pytest.mark.parametrize("case", [c for c in ALL_CASES if Path(c.file).name in KINDS][::3], ids=lambda c: c.name)
def test_the_facts_of_kernels_are_the_same(case: Case, stage: str) -> None:
    _agree(parse_module(compiled(case, "minitriton").asm[stage]))
