"""Checks IR: what every op and the module as a whole demand, that blocks end in terminators, that values are defined before their use (`dominance`).

`verify(module)` raises `IRError` at the location of the first op that is wrong, with Triton's words:

    kernel.ttir:4:10: error: 'tt.make_range' op start must be less than end

Of `scf` and `cf` it asks what MLIR demands and xDSL's verifiers do not (`'scf.if' op 1 results, but its else branch yields 2 values`).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts.launch import MAXNREG, NUM_CTAS, NUM_WARPS, SHARED_BYTES, TARGET, THREADS_PER_WARP
from minitriton.dialects.facts.pass_attributes import misplaced_attribute
from minitriton.dialects.locations import source_location
from minitriton.dialects.op_rules import OpRules
from minitriton.dialects.printing.aliases import AliasTable
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.dialects.verification.dominance import Refuse, verify_dominance
from minitriton.errors import IRError, MinitritonError
from minitriton.target.architectures import LIMITS


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


_POSITION = re.compile(
    r"^(operand|result) '\w+' (?:at|expected at) positions? (\d+)[^\n]* does not verify:\n", re.DOTALL
)


_DIFFERS = re.compile(
    r"(?:(?:operand|result) [^\n]* does not verify:\n)?attribute (.*) expected from variable '\w+', but got (.*)",
    re.DOTALL,
)


def verify(root: Operation) -> None:
    """Raise `IRError` if `root` or an op under it is not valid."""
    if isinstance(root, ModuleOp):
        verify_symbols(root, _refuse)
    _verify_op(root)
    if isinstance(root, ModuleOp):
        verify_attributes(root, _refuse)
    verify_dominance(root, _refuse)


def _refuse(op: Operation, message: str) -> IRError:
    around: Operation | None = op
    location = None
    while location is None and around is not None:
        location = source_location(around.location)
        around = around.parent_op()
    return IRError(message, location)


def _words(op: Operation, error: VerifyException) -> str:
    """xDSL's complaint in MLIR's words."""
    text = str(error)
    differs = _DIFFERS.fullmatch(text)
    if differs is not None:
        return f"'{op.name}' op requires one type: expected '{differs[1]}' as of another operand or result, found '{differs[2]}'"
    position = _POSITION.match(text)
    if position is None:
        return text
    rest = text[position.end() :]
    if rest.startswith("must be"):
        return f"'{op.name}' op {position[1]} #{position[2]} {rest}"
    return f"'{op.name}' op {rest}" if rest.startswith("failed to verify") else rest


def _verify_op(op: Operation) -> None:
    try:
        op.verify_()
    except VerifyException as error:
        raise _refuse(op, _words(op, error)) from None
    except MinitritonError as error:
        refused = _refuse(op, f"'{op.name}' op {error.message}")
        refused.help = error.help
        raise refused from None
    except RecursionError:
        raise
    except Exception as error:
        # Verifiers ask for blocks, names and encodings that IR may lack; xDSL's `scf.while` raises no `VerifyException`.
        what = str(error) if type(error) is Exception else f"is malformed: {type(error).__name__}: {error}"
        raise _refuse(op, f"'{op.name}' op {what}") from error
    complaint = complaint_about(op) or misplaced_attribute(op)
    if complaint is not None:
        raise _refuse(op, complaint)
    for region in op.regions:
        _verify_region(op, region)


def _verify_region(op: Operation, region: Region) -> None:
    needs_terminator = not op.has_trait(NoTerminator)
    for block in region.blocks:
        for inner in block.ops:
            _verify_successors(inner, block)
            _verify_op(inner)
        if needs_terminator:
            _verify_terminator(op, block)


def _verify_successors(op: Operation, block: Block) -> None:
    for successor in op.successors:
        if successor.parent is not block.parent:
            raise _refuse(op, "reference to block defined in another region")
    if op is not block.last_op and op.has_trait(IsTerminator, value_if_unregistered=False):
        raise _refuse(op, f"'{op.name}' op must be the last operation in the parent block")


def _verify_terminator(op: Operation, block: Block) -> None:
    last = block.last_op
    if last is None:
        raise _refuse(op, "empty block: expect at least a terminator")
    if not last.has_trait(IsTerminator, value_if_unregistered=True):
        raise _refuse(last, f"block with no terminator, has {_describe(last)}")


def _describe(op: Operation) -> str:
    printer = TritonPrinter(ValueNames(op), AliasTable(enabled=False), False)
    printer.print_op(op)
    return printer.text


# What a module as a whole demands: names defined once, and attributes that say a launch which exists.
#
# 'builtin.module' op ttg.num-warps must be a power of 2 between 1 and 64, not -4

_POWERS = {NUM_WARPS: 64, NUM_CTAS: 16, THREADS_PER_WARP: 64}
"""The most of each."""
_RANGES = {MAXNREG: (1, LIMITS.registers_per_sm), SHARED_BYTES: (0, 1 << 31), "ttg.total-num-warps": (1, 64)}


def verify_symbols(module: ModuleOp, refuse: Refuse) -> None:
    """Raises what `refuse(op, message)` makes, at the second op of a name: xDSL refuses the module as a whole."""
    seen: set[str] = set()
    for op in module.ops:
        name = op.properties.get("sym_name")
        if isinstance(name, StringAttr) and not isinstance(op, ModuleOp):
            if name.data in seen:
                raise refuse(op, f"redefinition of symbol named '{name.data}'")
            seen.add(name.data)


def verify_attributes(module: ModuleOp, refuse: Refuse) -> None:
    """Raises what `refuse(op, message)` makes."""
    complaint = attributes_complaint(module)
    if complaint is not None:
        raise refuse(module, f"'builtin.module' op {complaint}")


def attributes_complaint(module: ModuleOp) -> str | None:
    """What is wrong with the attributes of a module, or None."""
    for name, value in module.attributes.items():
        if name in _POWERS or name in _RANGES:
            if not isinstance(value, IntegerAttr):
                return f"{name} must be an integer"
            number, largest = value.value.data, _POWERS.get(name)
            if largest is not None and (not 1 <= number <= largest or number & (number - 1)):
                return f"{name} must be a power of 2 between 1 and {largest}, not {number}"
            least, most = _RANGES.get(name, (number, number))
            if not least <= number <= most:
                return f"{name} must be between {least} and {most}, not {number}"
        if name == TARGET and not isinstance(value, StringAttr):
            return f"{name} must be a string"
    return None
