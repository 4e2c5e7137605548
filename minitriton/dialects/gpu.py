"""The barrier of `gpu`, and the dialect with xDSL's other ops, which are loaded when a text has one.

xDSL's `gpu` brings its `memref` with it: 40 ms (2026-11-24), for ops that no pass makes.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation
from xdsl.irdl import traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from minitriton.dialects.facts.synchronization import Barrier
from minitriton.dialects.fast_paths.op_definition import Op


class BarrierOp(Op):
    """All threads of a CTA meet."""

    name = "gpu.barrier"
    traits = traits_def(Barrier())

    def __init__(self) -> None:
        Operation.__init__(self)

    @classmethod
    def parse(cls, parser: Parser) -> BarrierOp:
        return cls.create(attributes=parser.parse_optional_attr_dict())

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)


def gpu_dialect() -> Dialect:
    """xDSL's dialect with the barrier of here."""
    from xdsl.dialects.gpu import GPU

    others = (op for op in GPU.operations if op.name != BarrierOp.name)
    return Dialect("gpu", [*others, BarrierOp], list(GPU.attributes))
