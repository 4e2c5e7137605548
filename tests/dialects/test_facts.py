"""Facts of ops: declared or given, asked by class, and true."""

import operator
from typing import Any

import pytest
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, f32, i8
from xdsl.ir import Operation
from xdsl.traits import MemoryEffectKind, get_effects

from minitriton.dialects import arith, tt
from minitriton.dialects.context import dialects
from minitriton.dialects.facts import Fact, Neutral, Widens, give, neutral_element
from minitriton.dialects.facts.layout import Elementwise, LayoutRule
from minitriton.dialects.facts.memory_access import MemoryAccess
from minitriton.dialects.facts.region_flow import RegionFlow, receivers
from minitriton.dialects.fast_paths.op_access import ops_in
from minitriton.dialects.text import parse_module

OPS = [op for dialect in dialects() for op in dialect.operations]


def test_an_op_of_which_nothing_is_said_has_no_fact() -> None:
    assert all(fact.of_class(tt.PrintOp) is None for fact in (Elementwise, LayoutRule, MemoryAccess, RegionFlow))


def test_arith_and_math_are_elementwise_but_for_constants() -> None:
    named = [op for op in OPS if op.name.startswith(("arith.", "math.")) and op is not arith.ConstantOp]
    assert named and all(Elementwise.of_class(op) is not None for op in named)
    assert Elementwise.of_class(arith.ConstantOp) is None


def test_a_given_fact_counts_though_somebody_asked_before() -> None:
    class Odd(Fact):
        """A fact of this test."""

    assert Odd.of_class(scf.ReduceOp) is None
    give(scf.ReduceOp, Odd())
    assert Odd.of_class(scf.ReduceOp) is not None


COMBINATIONS: dict[type[Operation], Any] = {
    arith.AddiOp: operator.add, arith.MuliOp: operator.mul, arith.AndIOp: operator.and_, arith.OrIOp: operator.or_,
    arith.XOrIOp: operator.xor, arith.MaxSIOp: max, arith.MinSIOp: min,
    arith.MaxUIOp: lambda a, b: max(a, b, key=lambda n: n % 256), arith.MinUIOp: lambda a, b: min(a, b, key=lambda n: n % 256),
}  # fmt: skip


@pytest.mark.parametrize("op_class", COMBINATIONS, ids=lambda c: c.name)
def test_a_neutral_element_leaves_every_integer_as_it_is(op_class: type[Operation]) -> None:
    fact = Neutral.of_class(op_class)
    assert fact is not None
    neutral = fact.element(i8)
    assert all(COMBINATIONS[op_class](number, neutral) == number for number in range(-128, 128))


def test_the_neutral_element_of_a_sum_of_floats_keeps_minus_zero() -> None:
    fact = Neutral.of_class(arith.AddfOp)
    assert fact is not None
    neutral = fact.element(f32)
    assert neutral is not None and str(-0.0 + neutral) == "-0.0"


def test_every_neutral_element_of_integers_is_tested() -> None:
    found = {op for op in OPS if (fact := Neutral.of_class(op)) is not None and fact.integers is not None}
    found -= {arith.AddfOp, arith.MulfOp}
    assert found == set(COMBINATIONS)


MODULE = """
tt.func @f(%p: !tt.ptr<f32>, %n: i32, %x: f32, %c: i1) {
  %zero = arith.constant 0 : i32
  %s:2 = scf.for %i = %zero to %n step %n iter_args(%a = %x, %b = %n) -> (f32, i32) : i32 {
    %l = tt.load %p, %c, %x : !tt.ptr<f32>
    %k = scf.if %c -> (f32) {
      scf.yield %a : f32
    } else {
      scf.yield %l : f32
    }
    scf.yield %k, %i : f32, i32
  }
  %w:2 = scf.while (%u = %s#0, %v = %n) : (f32, i32) -> (i32, f32) {
    scf.condition(%c) %v, %u : i32, f32
  } do {
  ^bb0(%y: i32, %z: f32):
    scf.yield %z, %y : f32, i32
  }
  tt.store %p, %w#1, %c : !tt.ptr<f32>
  tt.return
}
"""


def test_what_flows_through_regions_keeps_its_type() -> None:
    counted = 0
    for op in ops_in(parse_module(MODULE)):
        flow = RegionFlow.of(op)
        for branch in [] if flow is None else flow.branches(op):
            assert [v.type for v in branch.passed] == [v.type for v in branch.received]
            counted += len(branch.passed)
    assert counted == 2 * 4 + 2 + 2 * 4


def test_an_operand_becomes_what_the_regions_receive() -> None:
    ops = {op.name: op for op in ops_in(parse_module(MODULE))}
    loop, condition = ops["scf.for"], ops["scf.condition"]
    body = loop.regions[0].block
    assert receivers(loop, 0) == []
    assert set(receivers(loop, 3)) == {body.args[1], loop.results[0]}
    parent = ops["scf.while"]
    assert set(receivers(condition, 2)) == {parent.regions[1].block.args[1], parent.results[1]}


def test_roles_of_operands_are_found_by_field() -> None:
    ops = {op.name: op for op in ops_in(parse_module(MODULE))}
    load, store = ops["tt.load"], ops["tt.store"]
    roles = MemoryAccess.of(load)
    assert roles is not None and isinstance(load, tt.LoadOp)
    assert (roles.pointer_of(load), roles.mask_of(load)) == (load.ptr, load.mask)
    roles = MemoryAccess.of(store)
    assert roles is not None and isinstance(store, tt.StoreOp)
    assert (roles.mask_of(store), roles.data_of(store)) == (store.mask, store.value)


def test_the_mask_of_a_memory_access_is_where_the_op_declares_it() -> None:
    masked = [(op, fact) for op in OPS if (fact := MemoryAccess.of_class(op)) is not None and fact.mask is not None]
    assert masked
    for op, fact in masked:
        assert [name for name, _ in op.get_irdl_definition().operands].index(fact.mask) == fact.mask_group


def test_a_memory_access_has_an_effect() -> None:
    for op in ops_in(parse_module(MODULE)):
        if MemoryAccess.of(op) is not None:
            kinds = {effect.kind for effect in get_effects(op) or ()}
            assert kinds & {MemoryEffectKind.READ, MemoryEffectKind.WRITE}


def test_a_conversion_widens_by_its_types() -> None:
    text = "tt.func @f(%x: f8E5M2, %y: f32) {{ %0 = tt.fp_to_fp {} tt.return }}"
    for cast, wider in (("%x : f8E5M2 -> f16", True), ("%y, rounding = rtne : f32 -> f8E5M2", False)):
        op = next(op for op in ops_in(parse_module(text.format(cast))) if isinstance(op, tt.FpToFpOp))
        fact = Widens.of(op)
        assert fact is not None and fact.holds(op) is wider


def test_the_neutral_element_is_asked_of_the_combining_op() -> None:
    three = arith.ConstantOp(IntegerAttr(3, i8)).result
    assert neutral_element(arith.MaxSIOp(three, three), i8) == -128
