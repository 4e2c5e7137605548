"""A tensor that lies in a buffer already: its users take the buffer.

    %x = ... in %buffer                                        users of %a take %buffer
    %a = ttg.local_alloc %x : -> memdesc<..., layout of %buffer>
    %y = arith.addf %x, %x                                     %l = ttg.local_load %buffer, %y = arith.addf %l, %l

Views of %a are made again of the buffer, for a view is as mutable as what it views.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from minitriton.dialects import ttg, ttng
from minitriton.dialects.facts.gpu_traits import MemDescView
from minitriton.rewriting.rewriter import Rewriter


def replace_by_buffer(rewriter: Rewriter, tensor: SSAValue, buffer: SSAValue) -> None:
    """Makes all users of `tensor` use `buffer`: those that put it into such a buffer directly, the others by a load where
    `rewriter` inserts."""
    assert isinstance(buffer.type, ttg.MemDescType)
    copies = [
        use.operation
        for use in tensor.uses
        if isinstance(use.operation, ttg.LocalAllocOp) and use.operation.result.type.encoding == buffer.type.encoding
    ]
    for copy in copies:
        replace_buffer(rewriter, copy.results[0], buffer)
        rewriter.erase_op(copy)
    if tensor.first_use is not None:
        loaded = rewriter.insert(ttg.LocalLoadOp(buffer, None, tensor.type)).results[0]
        rewriter.replace_all_uses(tensor, loaded)


def replace_buffer(rewriter: Rewriter, old: SSAValue, new: SSAValue) -> None:
    """Makes all users of the buffer `old` use `new`, whose type may differ in being mutable."""
    for use in list(old.uses):
        user = use.operation
        if MemDescView.of(user):
            view = _view_of(user, new)
            view.location = user.location
            rewriter.insert(view, user)
            replace_buffer(rewriter, user.results[0], view.results[0])
            rewriter.erase_op(user)
        elif isinstance(user, ttng.WarpGroupDotWaitOp):
            operands = [new if index == use.index else value for index, value in enumerate(user.operands)]
            wait = type(user).create(
                operands=operands,
                result_types=[value.type for value in operands],
                properties=user.properties,
                attributes=user.attributes,
                location=user.location,
            )
            rewriter.replace_with(user, wait)
        else:
            rewriter.set_operand(user, use.index, new)


def _view_of(view: Operation, buffer: SSAValue) -> Operation:
    old = view.results[0].type
    assert isinstance(old, ttg.MemDescType) and isinstance(buffer.type, ttg.MemDescType)
    return type(view).create(
        operands=[buffer, *view.operands[1:]],
        result_types=[old.with_(mutable=buffer.type.mutable)],
        properties=view.properties,
        attributes=view.attributes,
    )
