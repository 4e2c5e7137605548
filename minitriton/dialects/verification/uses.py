"""Checks that every value is defined before it is used, as MLIR's verifier does.

%1 = arith.addi %0, %0 : i32
%0 = arith.constant 1 : i32       →   k.ttir:3:5: error: operand #0 does not dominate this use
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.verification.dominance import immediate_dominators
from minitriton.errors import IRError

Refuse = Callable[[Operation, str], IRError]


def verify_dominance(root: Operation, refuse: Refuse) -> None:
    """Raises what `refuse(op, message)` makes for the first op under `root` that uses a value not defined yet."""
    for region in root.regions:
        _check_region(region, set(), refuse)


def _check_region(region: Region, visible: set[SSAValue], refuse: Refuse) -> None:
    first = region.first_block
    if first is None:
        return
    if first is region.last_block:
        visible.difference_update(_check_block(first, visible, refuse))
        return
    dominators = immediate_dominators(region)
    below: dict[Block, list[Block]] = {}
    for block, above in dominators.items():
        if block is not above:
            below.setdefault(above, []).append(block)
    # What a block defines is seen by the blocks it dominates: down the tree and back up, without recursion.
    pending: list[tuple[Block, list[SSAValue] | None]] = [(first, None)]
    while pending:
        block, defined = pending.pop()
        if defined is not None:
            visible.difference_update(defined)
            continue
        pending.append((block, _check_block(block, visible, refuse)))
        pending += [(inner, None) for inner in below.get(block, ())]


def _check_block(block: Block, visible: set[SSAValue], refuse: Refuse) -> list[SSAValue]:
    """Checks the ops of a block and adds what it defines to `visible`; returns that."""
    defined: list[SSAValue] = list(block.args)
    visible.update(defined)
    for op in block.ops:
        for number, operand in enumerate(operand_values(op)):
            if operand not in visible:
                raise refuse(op, f"operand #{number} does not dominate this use")
        for region in op.regions:
            isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
            _check_region(region, set() if isolated else visible, refuse)
        results = op.results
        visible.update(results)
        defined += results
    return defined
