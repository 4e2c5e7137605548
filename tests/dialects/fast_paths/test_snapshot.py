"""What is remembered of the IR matches it until anything of it changes, and a pass that has nothing to do is not run again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, FloatAttr, IntAttr, ModuleOp, StringAttr, f32, i64
from xdsl.ir import Operation

from minitriton.dialects.fast_paths.copying import IRSnapshot
from minitriton.dialects.fast_paths.op_access import ops_in, set_type
from minitriton.dialects.text import parse_module
from minitriton.pipeline.pass_manager import PassManager, Pipeline
from minitriton.pipeline.pass_registry import Pass, register_pass

TEXT = """
tt.func @f(%a: i32, %b: i32, %c: i1) {
  %0 = arith.addi %a, %b : i32
  %1 = arith.constant 0.0 : f32
  %2 = scf.if %c -> (i32) {
    %3 = arith.subi %0, %a : i32
    scf.yield %3 : i32
  } else {
    scf.yield %a : i32
  }
  cf.cond_br %c, ^bb1(%2 : i32), ^bb2
^bb1(%x: i32):
  tt.return
^bb2:
  tt.return
}
"""


def named(module: ModuleOp, name: str) -> Operation:
    return next(op for op in ops_in(module) if op.name == name)


def swap_operands(module: ModuleOp) -> None:
    add = named(module, "arith.addi")
    add.operands = list(reversed(add.operands))


def erase(module: ModuleOp) -> None:
    named(module, "tt.return").detach()


def move_a_yield(module: ModuleOp) -> None:
    yields = [op for op in ops_in(module) if op.name == "scf.yield"]
    block = yields[1].parent
    assert block is not None
    yields[0].detach()
    block.insert_op_before(yields[0], yields[1])


def negate_zero(module: ModuleOp) -> None:
    named(module, "arith.constant").properties["value"] = FloatAttr(-0.0, f32)


def change_blocks(module: ModuleOp) -> None:
    branch = named(module, "cf.cond_br")
    branch.successors = list(reversed(branch.successors))


def move_place(module: ModuleOp) -> None:
    named(module, "scf.if").location = FileLineColLoc(StringAttr("a.py"), IntAttr(1), IntAttr(1))


CHANGES: dict[str, Callable[[ModuleOp], object]] = {
    "operands": swap_operands,
    "an op erased": erase,
    "an op moved": move_a_yield,
    "a property equal but not the same": negate_zero,
    "an attribute": lambda m: named(m, "arith.subi").attributes.update(mark=StringAttr("x")),
    "the module's attributes": lambda m: m.attributes.update(mark=StringAttr("x")),
    "the type of a result": lambda m: set_type(named(m, "arith.subi").results[0], i64),
    "the type of an argument": lambda m: set_type(named(m, "cf.cond_br").successors[0].args[0], i64),
    "an argument more": lambda m: named(m, "cf.cond_br").successors[1].insert_arg(i64, 0),
    "a place": move_place,
    "successors": change_blocks,
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_of_the_ir_shows(what: str) -> None:
    module = parse_module(TEXT)
    then = IRSnapshot(module)
    assert then.matches(module)
    CHANGES[what](module)
    assert not then.matches(module)
    assert IRSnapshot(module).matches(module)


@register_pass
@dataclass(frozen=True)
class CountsDown(Pass):
    """Takes one from the module's `left`, until there is none; says whether there was one."""

    name = "test-counts-down"
    visits_every_op = True
    runs: ClassVar[list[int]] = []

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        left = len(str(op.attributes["left"]))
        self.runs.append(left)
        if left == len(str(StringAttr(""))):
            return False
        op.attributes["left"] = StringAttr(str(op.attributes["left"])[2:-1])
        return True


@register_pass
@dataclass(frozen=True)
class Refills(Pass):
    """Gives the module something to take from again."""

    name = "test-refills"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["left"] = StringAttr("x")


def test_a_pass_that_found_nothing_is_run_again_only_when_the_ir_has_changed() -> None:
    module = ModuleOp([])
    module.attributes["left"] = StringAttr("x")
    CountsDown.runs.clear()
    steps = (*[CountsDown()] * 5, Refills(), *[CountsDown()] * 4)
    PassManager(Pipeline(steps)).run(Context(), module)
    full, empty = len(str(StringAttr("x"))), len(str(StringAttr("")))
    assert CountsDown.runs == [full, empty, full, empty]
