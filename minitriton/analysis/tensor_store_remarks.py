"""Remarks on stores by tensor copies (TMA) that may write past the rows of their tensor: chunks of 16 bytes are written whole.

    MLIR_ENABLE_REMARK=1    ->    kernel.py:9:10: remark: this store may write up to 14 bytes past the end of each row: ...

A row is known to end with a chunk where its length is known to be a multiple of 16 bytes. Of descriptors that the host makes nothing is known.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from minitriton import knobs
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.tensor_descriptors import element_bytes
from minitriton.dialects import tt, ttng
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.remarks import remark
from minitriton.target.tensor_map import GRAIN


def _is_store(op: Operation) -> bool:
    """Whether `op` writes through a descriptor, before or after it became an asynchronous copy."""
    if isinstance(op, tt.DescriptorStoreOp | tt.DescriptorReduceOp):
        return True
    return isinstance(op, ttng.AsyncTMACopyLocalToGlobalOp | ttng.AsyncTMAReduceOp)


def remark_stores_past_rows(module: ModuleOp) -> None:
    """Names each store through a descriptor made in the kernel whose rows may end within a chunk."""
    if not knobs.compilation.remarks_are_wanted:
        return
    facts = AxisInfoAnalysis(module)
    for made in ops_of(module, tt.MakeTensorDescOp):
        type_ = made.result.type
        assert isinstance(type_, TensorDescType)
        size = element_bytes(type_)
        known = min(facts.get(made.shape[-1]).divisibility[0] * size, GRAIN)
        if known == GRAIN:
            continue
        for use in made.result.uses:
            if _is_store(use.operation):
                remark(
                    use.operation,
                    f"this store may write up to {GRAIN - max(known, size)} bytes past the end of each row: tensor copies write {GRAIN} bytes at a time, and"
                    f" rows of {size}-byte elements are not known to be a multiple of that; let what follows a row be padding, or store through"
                    " pointers and a mask",
                )
