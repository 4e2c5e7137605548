"""Remarks on asynchronous copies: loads that cannot become one, stores that may write too much.

Loads that are to be prefetched but cannot: `cp.async` moves 4, 8 or 16 bytes, aligned (PTX ISA, "cp.async").

    MLIR_ENABLE_REMARK=1    ->    kernel.py:23:12: remark: this load cannot be prefetched: no more than 1 neighbouring element of a
                                  thread is known to be contiguous, aligned, and cp.async takes 4 elements of 8 bits at least; ...

Such a load is synchronous, at every number of stages, while other operands of the same loop are prefetched.

Stores by tensor copies (TMA) that may write past the rows of their tensor: chunks of 16 bytes are written whole.

    MLIR_ENABLE_REMARK=1    ->    kernel.py:9:10: remark: this store may write up to 14 bytes past the end of each row: ...

A row is known to end with a chunk where its length is known to be a multiple of 16 bytes. Of descriptors that the host makes nothing is known.
"""

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from minitriton import knobs
from minitriton.analysis.access_width import aligned_run, neighbours
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.tensor_descriptors import element_bytes
from minitriton.dialects import tt, ttng
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.pipeline.choice import remark
from minitriton.target.tensor_map import GRAIN

_NEEDED_BITS = 32


def _along_the_memory(pointer: SSAValue, mask: SSAValue, bits: int, facts: AxisInfoAnalysis) -> tuple[int, int]:
    """How many neighbours have one mask, and how many are contiguous and aligned, along the dimension in which most do."""
    pointers, masks = facts.get(pointer), facts.get(mask)
    together = [aligned_run(pointers, dim, bits // 8) for dim in range(pointers.rank)]
    dim = max(range(len(together)), key=together.__getitem__)
    return masks.constancy[dim] if len(masks.constancy) > dim else 1, together[dim]


def remark_narrow_load(
    op: Operation, pointer: SSAValue, mask: SSAValue | None, bits: int, facts: AxisInfoAnalysis
) -> None:
    """Says why `op`, which reads elements of `bits` bits, cannot be prefetched, and what would let it."""
    if not knobs.compilation.remarks_are_wanted:
        return
    needed = -(-_NEEDED_BITS // bits)
    contiguous = neighbours(facts, pointer, None).width
    alike, together = (needed if mask is None else facts.mask_alignment(mask)), contiguous
    if mask is not None and contiguous < needed:
        # Threads may have been given other neighbours for the mask's sake: what counts is what the pointers would allow.
        alike, together = _along_the_memory(pointer, mask, bits, facts)
    if alike < needed <= together:
        why = f"its mask may change after {alike} element{'s' * (alike != 1)}"
        help_ = (
            f"let it depend on `offsets // {needed}` only: a bound that is a multiple of {needed} (tl.multiple_of, or an argument "
            "divisible by 16), or tl.where after the load"
        )
    elif contiguous < needed:
        are = "element of a thread is" if contiguous == 1 else "elements of a thread are"
        why = f"no more than {contiguous} neighbouring {are} known to be contiguous and aligned"
        help_ = (
            "load along the dimension whose stride is 1, and let strides and offsets be multiples of 16 "
            "(arguments divisible by 16, tl.multiple_of, tl.max_contiguous)"
        )
    else:
        why = "its buffer in shared memory has them in another order"
        help_ = "load the tile in the order that it has in memory, and transpose it after the load"
    remark(
        op,
        f"this load cannot be prefetched: {why}, and cp.async takes {needed} elements of {bits} bits at least; {help_}",
    )


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
