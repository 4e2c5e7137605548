"""The ops inside an op, as lists, beside xDSL's generators."""

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.fast_paths.op_access import ops_in, ops_in_inner_first, ops_of
from minitriton.dialects.text import parse_module

NESTED = """
module {
  tt.func @f(%n: i32, %c: i1) -> i32 {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (i32) : i32 {
      %b = scf.if %c -> (i32) {
        %d = arith.addi %a, %i : i32
        scf.yield %d : i32
      } else {
        scf.yield %a : i32
      }
      scf.yield %b : i32
    }
    cf.cond_br %c, ^one, ^two
  ^one:
    tt.return %sum : i32
  ^two:
    tt.return %n : i32
  }
}
"""


def nested() -> ModuleOp:
    return parse_module(NESTED)


def test_ops_come_in_the_order_of_the_text() -> None:
    module = nested()
    assert ops_in(module) == list(module.walk())
    assert [op.name for op in ops_in(module)][:3] == ["builtin.module", "tt.func", "arith.constant"]


def test_inner_first_each_op_comes_after_what_is_in_it() -> None:
    module = nested()
    assert ops_in_inner_first(module) == list(module.walk(region_first=True))
    assert ops_in_inner_first(module)[-1] is module


def test_an_op_without_regions_is_alone() -> None:
    constant = ops_in(nested())[2]
    assert ops_in(constant) == ops_in_inner_first(constant) == [constant]


def test_ops_of_a_class_are_those_of_all_ops() -> None:
    module = nested()
    for classes in ((ConstantOp,), (scf.ForOp, scf.IfOp), (scf.YieldOp, ModuleOp), ()):
        assert ops_of(module, *classes) == [op for op in ops_in(module) if isinstance(op, classes)]
