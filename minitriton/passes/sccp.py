"""`sccp`: values that are one constant on every path that can be taken become that constant.

    %r = scf.for ... iter_args(%x = %c4) {                     scf.for ... {
      %y = arith.muli %x, %c1                                    use %c4
      use %x                                           =>      }
      scf.yield %y }

Sparse conditional constant propagation (Wegman and Zadeck, 1991): a value is taken for constant until a path is found on which
it differs, and branches on constants are followed one way only. Every constant of a function moves to its start, the last one
met standing first, as MLIR leaves them. Calls are not looked into, nor the partitions of `ttg.warp_specialize`,
which MLIR takes for code that is not reached.
"""

from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import ub
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.analysis.dataflow import ForwardDataflow
from minitriton.dialects import arith
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.ttg import WarpSpecializePartitionsOp
from minitriton.host.frozen import frozen
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting import folds as folds  # registers the folders
from minitriton.rewriting.constants import HomeBlocks, constant_attr, constant_key, constant_op, number_of
from minitriton.rewriting.effects import would_be_trivially_dead
from minitriton.rewriting.patterns import MODIFIED, Folded, folder_of


@frozen
class Constancy:
    """What is known of a value: that nothing computes it, the constant that it is, or that it varies."""

    key: Hashable
    """Equal for equal constants of one type, bit for bit."""
    attr: Attribute | None = field(default=None, compare=False)
    """The constant's attribute; None for poison."""


UNREACHED = Constancy("unreached")
VARIES = Constancy("varies")


def _constant(attr: Attribute) -> Constancy:
    return Constancy((constant_key(attr),), attr)


class _ConstantPropagation(ForwardDataflow[Constancy]):
    """Which values of a function are one constant."""

    def visit(self, op: Operation, flow: RegionFlow) -> None:
        """A loop or branch on what nothing computes is not entered."""
        if not any(self.fact(operand) == UNREACHED for operand in op.operands):
            super().visit(op, flow)

    def _flow_all(self, targets: Sequence[SSAValue], sources: Sequence[SSAValue]) -> bool:
        """A yield of something that nothing computes is never reached."""
        if any(self.fact(source) == UNREACHED for source in sources):
            return False
        return super()._flow_all(targets, sources)

    def transfer(self, op: Operation) -> None:
        if op.__class__ is arith.ConstantOp:
            self.facts[op.results[0]] = _constant(op.properties["value"])
        elif op.__class__ is ub.PoisonOp:
            self.facts[op.results[0]] = Constancy((ub.PoisonOp, op.results[0].type))
        else:
            for result, fact in zip(op.results, self._folded(op), strict=True):
                self.facts[result] = fact
            for region in op.regions:
                if region.first_block is not None:
                    self.facts.update(dict.fromkeys(region.first_block.args, VARIES))

    def join(self, a: Constancy, b: Constancy) -> Constancy:
        if a == UNREACHED:
            return b
        return a if a == b or b == UNREACHED else VARIES

    def unknown(self, value: SSAValue) -> Constancy:
        return UNREACHED

    def loop_variable(self, lower: Constancy, step: Constancy) -> Constancy:
        return VARIES

    def constant_of(self, fact: Constancy) -> int | None:
        number = number_of(fact.attr)
        return number if isinstance(number, int) else None

    def _folded(self, op: Operation) -> Sequence[Constancy]:
        """What the folder of `op` makes of it, were its operands the constants that they are known to be."""
        varies = (VARIES,) * len(op.results)
        if op.regions or not op.results:
            return varies
        operands = operand_values(op)
        facts = [self.fact(operand) for operand in operands]
        if UNREACHED in facts:
            return (UNREACHED,) * len(op.results)
        fold = folder_of(op.__class__)
        if fold is None:
            return varies
        known = [fact.attr for fact in facts]
        properties = dict(op.properties)
        stand_ins = [
            operand
            if attr is None or constant_attr(operand) is not None
            else constant_op(attr, operand.type).results[0]
            for operand, attr in zip(operands, known, strict=True)
        ]
        is_changed = any(a is not b for a, b in zip(operands, stand_ins, strict=True))
        if is_changed:
            op.operands = stand_ins
        folded = fold(op)
        if is_changed or folded is MODIFIED:
            op.operands = operands
        if folded is MODIFIED:
            op.properties = properties
        return varies if folded is None or folded is MODIFIED else self._facts_of(folded)

    def _facts_of(self, folded: Folded) -> list[Constancy]:
        parts = folded if isinstance(folded, tuple) else (folded,)
        facts: list[Constancy] = []
        for part in parts:
            if isinstance(part, SSAValue):
                attr = constant_attr(part)
                facts.append(self.fact(part) if attr is None else _constant(attr))
            else:
                assert isinstance(part, Attribute)
                facts.append(_constant(part))
        return facts


class _Replacement:
    """Puts constants in place of the values that are known to be constant."""

    def __init__(self, facts: dict[SSAValue, Constancy]) -> None:
        self.facts = facts
        self.made: dict[tuple[Block, Hashable], SSAValue] = {}
        self.homes = HomeBlocks()

    def run(self, regions: Sequence[Region]) -> None:
        pending = _blocks_of(regions)
        while pending:
            block = pending.pop()
            for op in tuple(block.ops):
                is_replaced = bool(op.results)
                for result in op.results:
                    is_replaced = self._replace(result, block) and is_replaced
                if is_replaced and would_be_trivially_dead(op):
                    block.erase_op(op)
                elif op.__class__ is not WarpSpecializePartitionsOp:
                    pending.extend(_blocks_of(op.regions))
            for argument in block.args:
                self._replace(argument, block)

    def _replace(self, value: SSAValue, block: Block) -> bool:
        fact = self.facts.get(value, UNREACHED)
        if fact in (VARIES, UNREACHED):
            return False
        home = self.homes.of(block)
        constant = self.made.get((home, fact.key))
        if constant is None:
            op: Operation
            if fact.attr is None:
                op = ub.PoisonOp.create(result_types=[value.type])
            else:
                op = constant_op(fact.attr, value.type)
            first = home.first_op
            assert first is not None
            home.insert_op_before(op, first)
            constant = self.made[home, fact.key] = op.results[0]
        value.replace_all_uses_with(constant)
        return True


def _blocks_of(regions: Sequence[Region]) -> list[Block]:
    return [block for region in regions for block in reversed(tuple(region.blocks))]


@register_pass
class Sccp(Pass, origin="triton"):
    """Sparse conditional constant propagation."""

    name: ClassVar[str] = "sccp"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace constant values in all functions of the module."""
        propagation = _ConstantPropagation()
        propagation.run(op.regions[0])
        _Replacement(propagation.facts).run(op.regions)
