"""Attributes that one pass leaves on ops for another or for the lowering, and that neither Triton nor MLIR has.

    tt.reduce ... {ttg.increasing = array<i32: 1>}      written by minitriton-ordered-indices, read by the lowering of reductions

A verifier refuses one on another op, or of another type. Without any of them code is right too.
"""

from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation

from minitriton.dialects import arith, tt, ttg, ttng

OPAQUE = "ttg.opaque"
SPLIT_MASK = "split_mask"
INCREASING = "ttg.increasing"
CACHE_HINT = "ttg.cache-hint"
PREFETCH_BYTES = "ttg.prefetch-bytes"
OVERLAPS_LAUNCHES = "ttg.overlaps-launches"
SCRATCH_LIMIT = "allocation.scratch_limit"
SEPARATE = "allocation.separate"
ENDS_AFTER_LOOP = "minitriton.ends_after_loop"
ISSUED_BY_WARPS = "ttg.issued-by-warps"
DESCRIBED_TILES = "minitriton.described_tiles"
APART_UNTIL_WAIT = "ttg.apart-until-wait"

IN_L1 = "l1_"
"""Prefix of cache hints for L1 alone: without it they hold for L2 too, by a policy."""


class PassAttribute(NamedTuple):
    """An attribute: the ops that may have it, its type, the passes that write it, who reads it, and what it says."""

    ops: tuple[type[Operation], ...]
    type: type[Attribute]
    writers: tuple[str, ...]
    reader: str
    meaning: str


_ACCESSES = (tt.LoadOp, tt.StoreOp)

PASS_ATTRIBUTES = {
    OPAQUE: PassAttribute(
        (arith.AddiOp,), UnitAttr, ("minitriton-share-pointer-steps",), "codegen.nvidia.wgmma",
        "the second operand reaches LLVM through inline PTX, so that loops count as they are written",
    ),
    SPLIT_MASK: PassAttribute(
        (*_ACCESSES, tt.AtomicRMWOp), UnitAttr, ("minitriton-coalesce-by-width",), "analysis.access_width",
        "the mask is true up to some element of each vector, and only that vector is accessed element by element",
    ),
    INCREASING: PassAttribute(
        (tt.ReduceOp,), DenseArrayBase, ("minitriton-ordered-indices",), "codegen.lowering.reduce",
        "operands whose elements increase along the axis, and which the region passes on unchanged",
    ),
    CACHE_HINT: PassAttribute(
        _ACCESSES, StringAttr, ("minitriton-cache-hints", "minitriton-cache-reused-loads"), "codegen.nvidia.memory",
        "a cache operator or an eviction priority of PTX, unless the op has one of its own",
    ),
    PREFETCH_BYTES: PassAttribute(
        (tt.LoadOp,), IntegerAttr, ("minitriton-cache-hints",), "codegen.nvidia.memory",
        "bytes that L2 fetches at once from memory (PTX `.L2::128B`)",
    ),
    OVERLAPS_LAUNCHES: PassAttribute(
        (ModuleOp,), UnitAttr, ("minitriton-overlap-launches",), "pipeline.compile_source",
        "the kernel waits for the launch before it, so that its own may begin earlier (programmatic dependent launch)",
    ),
    SCRATCH_LIMIT: PassAttribute(
        (ttg.ConvertLayoutOp,), IntegerAttr, ("minitriton-use-free-shared-memory",), "codegen.lowering.convert_layout",
        "bytes of shared memory that the conversion may use, for fewer rounds and barriers",
    ),
    SEPARATE: PassAttribute(
        (tt.FuncOp,), UnitAttr, ("minitriton-use-free-shared-memory",), "analysis.shared_memory.allocation",
        "buffers of the function share no memory, even those that are not alive at the same time",
    ),
    ISSUED_BY_WARPS: PassAttribute(
        (ttng.AsyncTMACopyGlobalToLocalOp,), UnitAttr, ("minitriton-share-tensor-copies",), "codegen.nvidia.tma",
        "warp number i starts box number i of the copy, not the first warp all of them",
    ),
    APART_UNTIL_WAIT: PassAttribute(
        (ttg.LocalLoadOp, ttg.AsyncCopyGlobalToLocalOp), UnitAttr, ("minitriton-split-chains",), "analysis.shared_memory.membar",
        "of a copy: nothing in its block reads what it writes before the next wait; of a load: no such copy writes what it reads before then",
    ),
    ENDS_AFTER_LOOP: PassAttribute(
        (scf.ForOp,), UnitAttr, ("minitriton-overlap-dots",), "passes.pipelining.expander",
        "the last stage of the loop's schedule stands after the loop",
    ),
    DESCRIBED_TILES: PassAttribute(
        (ModuleOp,), StringAttr, ("minitriton-describe-tiles",), "pipeline.compile_source",
        "how a launch makes the descriptors that are the kernel's last parameters, as JSON",
    ),
}  # fmt: skip


def misplaced_attribute(op: Operation) -> str | None:
    """What is wrong with an attribute of a pass on `op`; None if nothing is."""
    for name, attribute in op.attributes.items():
        declared = PASS_ATTRIBUTES.get(name)
        if declared is not None and (not isinstance(op, declared.ops) or not isinstance(attribute, declared.type)):
            return f"'{op.name}' op attribute {name!r} belongs on {' or '.join(kind.name for kind in declared.ops)} as {declared.type.name}"
    return None
