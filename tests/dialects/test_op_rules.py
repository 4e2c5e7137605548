"""`OpRules`: a rule is found by the op's class, then by a base class, then by a fact."""

from minitriton.dialects import arith, math
from minitriton.dialects.facts import DeviceFunction
from minitriton.dialects.op_rules import OpRules


def test_a_rule_of_the_class_stands_before_that_of_a_fact():
    rules: OpRules[str] = OpRules()
    rules.update({DeviceFunction: "of a library", math.TanOp: "of its own"})
    assert rules.of_class(math.TanOp) == "of its own"
    assert rules.of_class(math.SinhOp) == "of a library"
    assert rules.of_class(arith.AddiOp) is None
    assert math.SinhOp in rules and arith.AddiOp not in rules


def test_a_rule_of_a_base_class_is_that_of_its_subclasses():
    rules: OpRules[str] = OpRules()
    rules.update({math.TanOp.__mro__[1]: "of floats"})
    assert rules.of_class(math.TanOp) == "of floats"


def test_a_rule_that_comes_later_is_found_though_the_op_was_asked_about_before():
    rules: OpRules[object] = OpRules()
    assert rules.of_class(arith.AddiOp) is None

    @rules.add(arith.AddiOp)
    def add() -> None: ...

    assert rules.of_class(arith.AddiOp) is add
