"""Attributes that say how an access treats the caches, and whether launches overlap, where Triton's ops have no place for it."""

CACHE_HINT = "ttg.cache-hint"
"""On a `tt.load` or `tt.store`: a cache operator or an eviction priority of PTX, unless the op has one of its own."""

IN_L1 = "l1_"
"""How eviction priorities begin that are of L1 alone: without it they are of L2 too, by a policy."""

PREFETCH_BYTES = "ttg.prefetch-bytes"
"""On a `tt.load`: how many bytes L2 fetches at once from memory (PTX `.L2::128B`)."""

OVERLAPS_LAUNCHES = "ttg.overlaps-launches"
"""On a module: the kernel waits for the launch before it, so that its own may begin earlier (programmatic dependent launch)."""

# An attribute that keeps LLVM from reasoning about a value.

OPAQUE = "ttg.opaque"
"""On an `arith.addi` of scalars: its second operand reaches LLVM through inline PTX, so that loops count as they are written."""

# Attributes that passes leave on reductions for the lowering.

INCREASING = "ttg.increasing"
"""On a `tt.reduce`: operands whose elements increase along the axis, of which the region passes one on (`array<i32: 1>`)."""
