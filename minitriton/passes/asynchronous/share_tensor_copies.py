"""`minitriton-share-tensor-copies`: the boxes of a tensor copy are started by as many warps.

    ttng.async_tma_copy_global_to_local %d[%x, %y] %buffer, %bar, %true
=>  ttng.async_tma_copy_global_to_local %d[%x, %y] %buffer, %bar, %true {ttg.issued-by-warps}

A copy into rows of more than the swizzle's 128 bytes is several instructions, one for each box. One warp starts them one after the other, each
with a descriptor, coordinates and an address of its own in uniform registers; warp number i starts box number i at once, of one code.

In: TTGIR with barriers. Out: the same. A kernel in which the first warp alone waits for buffers (`minitriton-first-warp-barriers`) is left alone,
as other warps may not fill them there. Triton always shares them; here only Gluon's pipeline does, in which loops fill and wait in turn.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr

from minitriton.dialects import tt, ttng
from minitriton.dialects.facts.launch import num_ctas
from minitriton.dialects.facts.pass_attributes import ISSUED_BY_WARPS
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass


@register_pass
class ShareTensorCopies(Pass, stage="llir"):
    """Lets several warps start the boxes of a tensor copy."""

    name: ClassVar[str] = "minitriton-share-tensor-copies"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS, Property.BARRIERS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if num_ctas(op) > 1:
            return
        for function in ops_of(op, tt.FuncOp):
            if not ops_of(function, ttng.FirstWarpWaitsOp):
                for copy in ops_of(function, ttng.AsyncTMACopyGlobalToLocalOp):
                    copy.attributes[ISSUED_BY_WARPS] = UnitAttr()
