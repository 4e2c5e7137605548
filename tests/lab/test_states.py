"""Shared states: what steps make of copies is what they make of a module that goes through all of them."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from minitriton import lab
from minitriton.dialects import arith
from minitriton.dialects.fast_paths.copying import copy_of, frozen, parts_of
from minitriton.dialects.text import parse_module, print_module
from minitriton.dialects.tt import MakeRangeOp
from minitriton.lab import corpus
from minitriton.lab.sweeping.correctness import Class, CorrectnessChecker
from minitriton.lab.sweeping.metrics import program_digest, static_metrics
from minitriton.pipeline.pass_manager import PassManager

BRANCHES = """
func.func @f(%c: i1, %a: i32, %b: i32) -> i32 {
  cf.cond_br %c, ^one(%a : i32), ^other
^one(%x: i32):
  %y = arith.addi %x, %b : i32
  func.return %y : i32
^other:
  %z = arith.subi %a, %a : i32
  cf.br ^one(%z : i32)
}
"""


def kernel_ir(name: str) -> ModuleOp:
    return corpus.task(name).make_ir()


@pytest.mark.parametrize("name", ["tiled_dot", "running_sums", "branches"])
def test_a_copy_reads_the_same_and_shares_nothing_that_changes(name: str) -> None:
    module = parse_module(BRANCHES) if name == "branches" else kernel_ir(name)
    text = print_module(module, locations=True)
    copied = copy_of(module)
    copied.verify()
    assert print_module(copied, locations=True) == text
    for op in list(copied.walk()):
        op.attributes["touched"] = IntegerAttr(1, 32)
        op.properties.pop("value", None)
        for result in op.results:
            result.name_hint = "other"
    assert print_module(module, locations=True) == text
    assert not {id(op) for op in module.walk()} & {id(op) for op in copied.walk()}


def test_copies_list_uses_in_one_order_whatever_the_original_did() -> None:
    module = parse_module(BRANCHES)
    [difference] = [op for op in module.walk() if isinstance(op, arith.SubiOp)]
    difference.operands[0] = difference.lhs  # now the first of its value's uses
    assert places_of_uses(copy_of(module)) == places_of_uses(copy_of(copy_of(module))) == [1, 0, 1]
    assert places_of_uses(module) == [0, 1, 1]


def places_of_uses(module: ModuleOp) -> list[int]:
    """As which operands `%a` is used, in the order of its uses."""
    [function] = module.ops
    return [use.index for use in function.regions[0].blocks[0].args[1].uses]


def test_parts_tell_what_a_pass_changed() -> None:
    module = copy_of(kernel_ir("running_sums"))
    before = frozen(parts_of(module))
    assert parts_of(module) == before
    numbers = next(op for op in module.walk() if isinstance(op, MakeRangeOp))
    end = numbers.properties["end"]
    numbers.properties["end"] = IntegerAttr(77, 32)
    assert parts_of(module) != before
    numbers.properties["end"] = end
    assert parts_of(module) == before
    copy = numbers.clone()
    assert parts_of(module) == before
    numbers.result.replace_all_uses_with(copy.result)
    assert parts_of(module) != before


def test_an_operand_set_anew_is_told_from_one_left_alone() -> None:
    module = copy_of(parse_module(BRANCHES))
    before = frozen(parts_of(module))
    [difference] = [op for op in module.walk() if isinstance(op, arith.SubiOp)]
    difference.operands[0] = difference.lhs
    assert parts_of(module) != before


@pytest.mark.parametrize("name", ["running_sums", "tiled_dot", "cross_entropy"])
def test_points_are_what_a_compile_from_the_start_gives(name: str) -> None:
    task = corpus.task(name)
    candidates = lab.Candidates(lab.Space(insert=("canonicalize", "cse")), task)
    rng = random.Random(3)
    checker = CorrectnessChecker(task, run=False)
    for configuration in [candidates.first, *(candidates.sample(rng) for _ in range(12))]:
        record = checker.record(configuration)
        assert record.result is Class.COMPILED
        ptx = PassManager(configuration.pipeline).run(task.context, task.make_ir())
        assert program_digest(str(ptx), checker.programs[record.program].shared) == record.program
    assert checker.states.steps_run < checker.states.steps_asked / 2


def test_programs_that_differ_in_lines_of_the_source_are_one() -> None:
    text = """\t.loc\t1 {0} 0
$L__tmp{0}:
\tadd.s32 %r1, %r2, %r3; // add_{0}.py:{0}
{1}\t.section\t.debug_info
\t{{
.b32 {0}
\t}}
"""
    one, other, third = text.format(3, ""), text.format(41, "\n"), text.format(3, "\tret;\n")
    assert program_digest(one, 0) == program_digest(other, 0) != program_digest(third, 0)
    assert static_metrics(one, 0) == static_metrics(other, 0)
    assert static_metrics(third, 0)["ptx_instructions"] == 2
