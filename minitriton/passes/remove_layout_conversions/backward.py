"""Step 2: compute values again in the layout that a conversion wants, where that is cheaper than converting.

In: a function after forward propagation. Out: the same function with fewer conversions; call it until it reports no change.

    %1 = tt.splat %s : #a                            %1 = tt.splat %s : #b
    %2 = ttg.convert_layout %1 : #a -> #b    =>      use %1
    use %2
"""

from __future__ import annotations

from typing import cast

from xdsl.ir import Operation

from minitriton.dialects.fast_paths.op_access import operand_use
from minitriton.layouts.encodings import DistributedEncoding, DotOperand
from minitriton.passes.remove_layout_conversions.cost import is_worthwhile
from minitriton.passes.remove_layout_conversions.rematerialization import Rematerialization
from minitriton.passes.tensor_layouts import layout_of_value


def rematerialize_backward(func: Operation) -> bool:
    """Try every conversion of `func`; whether one was removed."""
    step = Rematerialization(func)
    for convert in step.conversions():
        _try(step, convert)
    return step.finish()


def _try(step: Rematerialization, convert: Operation) -> None:
    source = operand_use(convert, 0)
    target = cast(DistributedEncoding, layout_of_value(convert.results[0]))
    if isinstance(target, DotOperand):
        return
    known = step.existing(source, target)
    if known is not None:
        step.remove(convert, known)
        return
    found = step.slice_of(source, target)
    if found is not None and is_worthwhile(convert, found):
        step.rewrite(found, convert)
