"""How a layout travels through an op, as the class of the op says it (`dialects.facts.layout`).

In: an op and the layout of an operand (or of a result). Out: the layout that its results (its operands) then have,
or None where the op says nothing.

    result_layout(tt.reduce axis=1, #blocked)                     ->  slice<dim 1, #blocked>
    operand_layout(tt.expand_dims axis=0, #blocked)               ->  slice<dim 0, #blocked>
    operand_layout(tt.reduce axis=0, slice<dim 1, #blocked>)      ->  None
"""

from __future__ import annotations

from xdsl.ir import Operation

from minitriton.dialects.facts.layout import LayoutRule
from minitriton.layouts.encodings import DistributedEncoding


def result_layout(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    """The layout of the results of `op` if its operands have `layout`."""
    rule = LayoutRule.of(op)
    return None if rule is None else rule.of_results(op, layout)


def operand_layout(op: Operation, layout: DistributedEncoding) -> DistributedEncoding | None:
    """The layout that the operands of `op` need for its results to have `layout`."""
    rule = LayoutRule.of(op)
    return None if rule is None else rule.of_operands(op, layout)
