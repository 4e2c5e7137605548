"""`tritongpu-combine-tensor-select-and-if`: a tensor chosen by the condition of an `scf.if` is chosen by that `scf.if`.

    %s = arith.select %c, %x, %y : tensor<...>          %s = scf.if %c -> (tensor<...>) {
    scf.if %c {                                           tt.store %p, %v
      tt.store %p, %v                            =>       scf.yield %x
    }                                                   } else {
                                                          scf.yield %y
                                                        }

A branch that runs anyway costs nothing more; a select of a whole tensor costs an instruction for each element. Scalars
stay: they are cheap.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation

from minitriton.dialects import arith
from minitriton.dialects.fast_paths.op_access import last_op_of, operand_at, operand_values, ops_in
from minitriton.dialects.verification.dominance import Dominance
from minitriton.passes.loop_rewriting import append_result
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.regions import is_inside


def _use_chosen_values_inside(select: Operation) -> None:
    """In a branch of an `scf.if` on the select's condition it is known what the select gives."""
    condition, if_true, if_false = operand_values(select)
    branches = [use.operation for use in condition.uses if isinstance(use.operation, scf.IfOp)]
    for branch in branches:
        for use in tuple(select.results[0].uses):
            if is_inside(use.operation, branch.regions[0]):
                use.operation.operands[use.index] = if_true
            elif is_inside(use.operation, branch.regions[1]):
                use.operation.operands[use.index] = if_false


def _merging_if(select: Operation, dominance: Dominance) -> scf.IfOp | None:
    """The first `scf.if` after `select` in its block, on its condition, before all that uses the select."""
    found: list[scf.IfOp] = []
    for use in operand_at(select, 0).uses:
        branch = use.operation
        if isinstance(branch, scf.IfOp) and branch.parent is select.parent and select.is_before_in_block(branch):
            found.append(branch)
    users = [use.operation for use in select.results[0].uses]
    best: scf.IfOp | None = None
    for branch in found:
        if best is not None and best.is_before_in_block(branch):
            continue
        if all(dominance.op_properly_dominates(branch, user) for user in users):
            best = branch
    return best


def _merge(branch: scf.IfOp, selects: list[Operation]) -> None:
    """`branch` yields what `selects` choose; they are erased."""
    if branch.regions[1].first_block is None:
        branch.regions[1].add_block(Block([scf.YieldOp.create(location=branch.location)]))
    for side, region in enumerate(branch.regions):
        last = last_op_of(region.block)
        last.operands = [*operand_values(last), *(operand_values(select)[1 + side] for select in selects)]
    for select in selects:
        result = append_result(branch, select.results[0].type)
        select.results[0].replace_all_uses_with(result)
        assert select.parent is not None
        select.parent.erase_op(select)


@register_pass
class CombineTensorSelectAndIf(Pass, stage="ttgir", origin="triton"):
    """Selects of tensors become results of an `scf.if` on the same condition."""

    name: ClassVar[str] = "tritongpu-combine-tensor-select-and-if"
    acts_on = frozenset({arith.SelectOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> bool | None:
        selects = [inner for inner in ops_in(op) if inner.__class__ is arith.SelectOp]
        if not selects:
            return False
        for select in selects:
            _use_chosen_values_inside(select)
        dominance = Dominance()
        merged: dict[scf.IfOp, list[Operation]] = {}
        for select in selects:
            if isinstance(select.results[0].type, TensorType):
                branch = _merging_if(select, dominance)
                if branch is not None:
                    merged.setdefault(branch, []).append(select)
        for branch, chosen in merged.items():
            _merge(branch, chosen)
        return None
