"""Checks IR: what every op and the module as a whole demand, that blocks end in terminators, that values are defined before their use (`dominance`).

`verify(module)` raises `IRError` at the location of the first op that is wrong, with Triton's words:

    kernel.ttir:4:10: error: 'tt.make_range' op start must be less than end
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts.launch import MAXNREG, NUM_CTAS, NUM_WARPS, SHARED_BYTES, TARGET, THREADS_PER_WARP
from minitriton.dialects.facts.pass_attributes import misplaced_attribute
from minitriton.dialects.locations import source_location
from minitriton.dialects.printing.aliases import AliasTable
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.dialects.verification.dominance import Refuse, verify_dominance
from minitriton.dialects.verification.upstream import complaint_about
from minitriton.errors import IRError, MinitritonError
from minitriton.target.architectures import LIMITS

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
