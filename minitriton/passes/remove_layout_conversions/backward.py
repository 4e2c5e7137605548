"""Step 2: compute values again in the layout that a conversion wants, where that is cheaper than converting.

In: a function after forward propagation. Out: the same function with fewer conversions; call it until it reports no change.

    %1 = tt.splat %s : #a                            %1 = tt.splat %s : #b
    %2 = ttg.convert_layout %1 : #a -> #b    =>      use %1
    use %2

Is it worth computing values again to get rid of a conversion? The cost model of backward rematerialisation.

In: a conversion and its slice. Out: whether recomputing costs at most as much as converting, in thousandths of an SM's cycle.

A conversion is a round trip through shared memory: 32 a byte, with at least 32 elements of 32 bits. Recomputing costs 1 a byte
for arithmetic, 8 for a load (from L1) or for expensive maths, and the shuffles of a reduction; ops that are used by nothing but the
slice move instead of being repeated, and cost nothing. The numbers are Triton's (RemoveLayoutConversions.cpp); no measurement
of them on a family of kernels is on record.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, TensorType
from xdsl.ir import Operation, OpResult, SSAValue

from minitriton.dialects.facts import Expensive, OrderSensitive
from minitriton.dialects.facts.layout import axis_of
from minitriton.dialects.fast_paths.op_access import operand_use
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.encodings import DistributedEncoding, DotOperand
from minitriton.layouts.properties import threads_per_warp, warps_per_cta
from minitriton.passes.remove_layout_conversions.rematerialization import Rematerialization
from minitriton.passes.remove_layout_conversions.slices import BackwardSlice
from minitriton.passes.tensor_layouts import element_bits, layout_of_value, shape_of
from minitriton.pipeline.choice import Candidate, Choice, note

RECOMPUTE = ("", "always", "never")
"""What an option may say of recomputing: where it is cheaper, wherever it is possible, nowhere."""


def is_worthwhile(convert: Operation, found: BackwardSlice, recompute: str = "") -> bool:
    """Whether to recompute the slice: where it is no more expensive than `convert`, or as `recompute` says where it is possible."""
    limit = 32 * byte_count(convert.operands[0], min_elements=32, min_bits=32)
    cost = _recomputation_cost(convert, found)
    if cost is None:
        return False
    taken = recompute or ("always" if cost <= limit else "never")
    candidates = (
        Candidate("always", cost, "the values are computed in both layouts"),
        Candidate("never", limit, "the conversion stays: through shared memory"),
    )
    option = "tritongpu-remove-layout-conversions{recompute=@}"
    unit = "thousandths of an SM's cycle"
    note(convert, lambda: Choice.of("recomputing before ttg.convert_layout", unit, option, candidates, taken))
    return taken == "always"


def byte_count(value: SSAValue, *, min_elements: int = 0, min_bits: int = 0) -> int:
    """Bytes of a tensor of numbers; elements (bits an element) count as at least `min_elements` (`min_bits`)."""
    elements = bits = 0
    type_ = value.type
    if instance_of(type_, TensorType):
        elements = 1
        for extent in type_.get_shape():
            elements *= extent
        bits = element_bits(type_)
    return max(elements, min_elements) * max(bits, min_bits) >> 3


def _recomputation_cost(convert: Operation, found: BackwardSlice) -> int | None:
    """None: the slice must not be repeated at any price."""
    ops = {cast(OpResult, value).op: None for value in found.values if value.__class__ is OpResult}
    alone: dict[Operation, bool] = {}
    cost = 0
    for op in ops:
        name = op.name
        if name == "arith.constant" or _is_used_only_by(op, ops, convert, alone):
            continue
        if name == "tt.load" or name == "ttg.local_load":
            cost += 8 * sum(byte_count(result) for result in op.results)
        elif name.startswith(("arith.", "math.")):
            cost += (1 if Expensive.of(op) is None else 8) * sum(byte_count(result) for result in op.results)
        elif name == "tt.reduce":
            if not _is_associative(op):
                return None
            cost += _reduction_cost(op)
    return cost


def _is_used_only_by(
    op: Operation, ops: dict[Operation, None], convert: Operation, known: dict[Operation, bool]
) -> bool:
    """Whether all that `op` feeds is `convert`, directly or through ops of the slice."""
    answer = known.get(op)
    if answer is not None:
        return answer
    known[op] = True
    answer = True
    for result in op.results:
        for use in result.uses:
            user = use.operation
            if user is convert:
                continue
            if user not in ops or not _is_used_only_by(user, ops, convert, known):
                answer = False
                break
        if not answer:
            break
    known[op] = answer
    return answer


def _is_associative(reduce: Operation) -> bool:
    """Whether the order of a reduction is free: no additions or multiplications of floats, unless of two."""
    source = cast(TensorType, reduce.operands[0].type)
    if not isinstance(source.element_type, AnyFloat) or source.get_shape()[axis_of(reduce)] <= 2:
        return True
    return not any(OrderSensitive.of(inner) for inner in reduce.regions[0].walk())


def _reduction_cost(reduce: Operation) -> int:
    """Shuffles within a warp, and exchanges between warps at 8 each."""
    source = reduce.operands[0]
    layout = cast(DistributedEncoding, layout_of_value(source))
    shape, axis = shape_of(source), axis_of(reduce)
    return threads_per_warp(layout, shape)[axis] + 8 * warps_per_cta(layout, shape)[axis]


def rematerialize_backward(func: Operation, recompute: str = "") -> bool:
    """Try every conversion of `func`; whether one was removed. `recompute`: one of `RECOMPUTE`."""
    step = Rematerialization(func)
    for convert in step.conversions():
        _try(step, convert, recompute)
    return step.finish()


def _try(step: Rematerialization, convert: Operation, recompute: str) -> None:
    source = operand_use(convert, 0)
    target = cast(DistributedEncoding, layout_of_value(convert.results[0]))
    if isinstance(target, DotOperand):
        return
    known = step.existing(source, target)
    if known is not None:
        step.remove(convert, known)
        return
    found = step.slice_of(source, target)
    if found is not None and is_worthwhile(convert, found, recompute):
        step.rewrite(found, convert)
