"""Attributes that say how an access treats the caches, and whether launches overlap, where Triton's ops have no place for it."""

CACHE_HINT = "ttg.cache-hint"
"""On a `tt.load` or `tt.store`: a cache operator or an eviction priority of PTX, unless the op has one of its own."""

IN_L1 = "l1_"
"""How eviction priorities begin that are of L1 alone: without it they are of L2 too, by a policy."""

PREFETCH_BYTES = "ttg.prefetch-bytes"
"""On a `tt.load`: how many bytes L2 fetches at once from memory (PTX `.L2::128B`)."""

OVERLAPS_LAUNCHES = "ttg.overlaps-launches"
"""On a module: the kernel waits for the launch before it, so that its own may begin earlier (programmatic dependent launch)."""
