"""Checks IR: what every op declares and demands, that blocks end in terminators, that values are defined before their use.

`verify(module)` raises `IRError` at the place of the first op that is wrong, with Triton's words:

    kernel.ttir:4:10: error: 'tt.make_range' op start must be less than end
"""

from __future__ import annotations

import re

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.traits import IsTerminator, NoTerminator
from xdsl.utils.exceptions import VerifyException

from minitriton.dialects.facts.pass_attributes import misplaced_attribute
from minitriton.dialects.narrowing import TUPLE, instance_of
from minitriton.dialects.printing.aliases import AliasTable
from minitriton.dialects.printing.names import ValueNames
from minitriton.dialects.printing.printer import TritonPrinter
from minitriton.dialects.verification.module import verify_attributes, verify_symbols
from minitriton.dialects.verification.upstream import complaint_about
from minitriton.dialects.verification.uses import verify_dominance
from minitriton.errors import IRError, MinitritonError, SourceLocation

_POSITION = re.compile(
    r"^(operand|result) '\w+' (?:at|expected at) positions? (\d+)[^\n]* does not verify:\n", re.DOTALL
)


def verify(root: Operation) -> None:
    """Raise `IRError` if `root` or an op under it is not valid."""
    if isinstance(root, ModuleOp):
        verify_symbols(root, _refuse)
    _verify_op(root)
    if isinstance(root, ModuleOp):
        verify_attributes(root, _refuse)
    verify_dominance(root, _refuse)


def source_location(location: Attribute) -> SourceLocation | None:
    """The place in a file that a location names, through names, calls and fusions; None if it names none."""
    if isinstance(location, FileLineColLoc):
        return SourceLocation(location.filename.data, location.line.data, location.column.data)
    for parameter in getattr(location, "parameters", ()):
        data = getattr(parameter, "data", None)
        for part in data if instance_of(data, TUPLE) else (parameter,):
            if isinstance(part, Attribute) and not isinstance(part, NoneAttr):
                found = source_location(part)
                if found is not None:
                    return found
    return None


def _refuse(op: Operation, message: str) -> IRError:
    around: Operation | None = op
    place = None
    while place is None and around is not None:
        place = source_location(around.location)
        around = around.parent_op()
    return IRError(message, place)


def _words(op: Operation, error: VerifyException) -> str:
    """xDSL's complaint in MLIR's words."""
    text = str(error)
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
        raise _refuse(op, f"'{op.name}' op {error.message}") from None
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
    needs_terminator = not op.has_trait(NoTerminator) and op.name != "builtin.module"
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
