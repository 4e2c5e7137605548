"""What MLIR demands of upstream's structured and plain branches, and xDSL's verifiers do not ask.

'scf.if' op 1 results, but its else branch yields 2 values
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import cf, scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.dialects.op_rules import OpRules


def complaint_about(op: Operation) -> str | None:
    """What is wrong with an op of `scf` or `cf`; None for nothing, and for any other op."""
    asked = _VERIFIERS.of(op)
    return None if asked is None else asked(op)


def _yield_of(region: Region) -> Operation | None:
    block = region.first_block
    last = block.last_op if block is not None and block is region.last_block else None
    return last if isinstance(last, scf.YieldOp | scf.ConditionOp) else None


def _differ(what: str, found: Sequence[Attribute], wanted: Sequence[Attribute], of: str) -> str | None:
    if len(found) != len(wanted):
        return f"{what} {len(found)} values, but there are {len(wanted)} {of}"
    for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
        if a != b:
            return f"{what} '{a}' as value #{number}, but it is '{b}' in the {of}"
    return None


def _if_complaint(op: Operation) -> str | None:
    for region, name in zip(op.regions, ("then", "else"), strict=True):
        if region.first_block is None:
            if name == "then" or op.results:
                return (
                    f"'scf.if' op has results but lacks the {name} branch"
                    if op.results
                    else "'scf.if' op lacks the then branch"
                )
            continue
        last = _yield_of(region)
        if last is None:
            return f"'scf.if' op's {name} branch must be one block that ends in scf.yield"
        if region.first_block.args:
            return f"'scf.if' op's {name} branch takes no arguments"
        wrong = _differ("yields", last.operand_types, op.result_types, "results")
        if wrong:
            return f"'scf.if' op's {name} branch {wrong}"
    return None


def _for_complaint(op: scf.ForOp) -> str | None:
    last = _yield_of(op.body)
    if last is None:
        return "'scf.for' op's body must be one block that ends in scf.yield"
    carried = [value.type for value in op.iter_args]
    wrong = _differ("yields", last.operand_types, carried, "values carried") or _differ(
        "has results of", op.result_types, carried, "values carried"
    )
    return wrong and f"'scf.for' op {wrong}"


def _while_complaint(op: scf.WhileOp) -> str | None:
    before, after = op.before_region, op.after_region
    condition, back = _yield_of(before), _yield_of(after)
    if not isinstance(condition, scf.ConditionOp):
        return "'scf.while' op's first region must be one block that ends in scf.condition"
    if not isinstance(back, scf.YieldOp):
        return "'scf.while' op's second region must be one block that ends in scf.yield"
    passed = condition.operand_types[1:]
    wrong = (
        _differ("starts with", [v.type for v in op.operands], before.block.arg_types, "arguments of its first region")
        or _differ("passes on", passed, after.block.arg_types, "arguments of its second region")
        or _differ("passes on", passed, op.result_types, "results")
        or _differ("yields", back.operand_types, before.block.arg_types, "arguments of its first region")
    )
    return wrong and f"'scf.while' op {wrong}"


def _branch_complaint(op: cf.BranchOp | cf.ConditionalBranchOp) -> str | None:
    targets: list[tuple[Block, Sequence[SSAValue]]]
    if isinstance(op, cf.BranchOp):
        targets = [(op.successors[0], op.operands)]
    else:
        targets = [(op.successors[0], op.then_arguments), (op.successors[1], op.else_arguments)]
    for block, values in targets:
        wrong = _differ("passes", [v.type for v in values], list(block.arg_types), "arguments of the block")
        if wrong:
            return f"'{op.name}' op {wrong}"
        if block.parent is not None and block is block.parent.first_block:
            return f"'{op.name}' op branches to the entry block"
    return None


_VERIFIERS: OpRules[Callable[[Any], str | None]] = OpRules()
_VERIFIERS.update(
    {
        scf.IfOp: _if_complaint,
        scf.ForOp: _for_complaint,
        scf.WhileOp: _while_complaint,
        cf.BranchOp: _branch_complaint,
        cf.ConditionalBranchOp: _branch_complaint,
    }
)
