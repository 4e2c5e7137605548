"""How loads and stores treat the caches, given instead of left to the hardware: what experiments with memory vary.

minitriton-cache-hints{of=stores hint=cs}                          ld.global.v4.b32     =>   ld.global.v4.b32
                                                                   st.global.v4.b32     =>   st.global.cs.v4.b32
minitriton-cache-hints{of=loads hint=no_allocate prefetch=256}     ld.global.v4.b32     =>   ld.global.L1::no_allocate.L2::256B.v4.b32

In: TTGIR. Out: the same, accesses with `ttg.cache-hint` and `ttg.prefetch-bytes`, which the lowering reads. What the kernel's author wrote
stays. A hint changes no number (PTX ISA, "Cache Operators", "Cache Eviction Priority Hints"); copies to shared memory have none.

`cg` passes the L1 cache by, `cs` and `evict_first` give lines away first, `evict_last` keeps them (both also in L2, by a policy, unless they begin with `l1_`),
`no_allocate` takes no line of L1, `wt` writes through. `prefetch`: bytes that L2 fetches at once from memory, aligned, where one of its sectors is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32

from minitriton.dialects import tt
from minitriton.dialects.facts.pass_attributes import CACHE_HINT, PREFETCH_BYTES
from minitriton.dialects.fast_paths.operations import ops_of
from minitriton.errors import PipelineError
from minitriton.pass_registry import EVERYTHING, Pass, Property, register_pass

HINTS = {
    "loads": ("cg", "cs", "evict_first", "evict_last", "l1_evict_first", "l1_evict_last", "no_allocate"),
    "stores": ("cg", "cs", "wt", "evict_first", "evict_last", "no_allocate"),
}
"""What there is for each kind of access."""

PREFETCHES = (64, 128, 256)


def check_hint(name: str, of: str, hint: str) -> None:
    """Raises `PipelineError` where accesses have no such hint; an empty one is none. `name`: of the pass that is to give it."""
    if hint and hint not in HINTS[of]:
        raise PipelineError(f"{name}: {of} have no hint {hint!r}", help="one of " + ", ".join(HINTS[of]))


@register_pass
@dataclass(frozen=True)
class CacheHints(Pass, stage="ttgir"):
    """Gives all loads, or all stores, a hint for the caches; `access` chooses one of them by its number.

    Raises `PipelineError` for a hint that such accesses do not have.
    """

    name: ClassVar[str] = "minitriton-cache-hints"
    acts_on = frozenset({tt.LoadOp, tt.StoreOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING
    of: str = "loads"
    """`loads` or `stores`."""
    hint: str = ""
    prefetch: int = 0
    """Bytes, of loads: 64, 128 or 256; 0 leaves it."""
    access: int = -1
    """Number of the load or store, from 0, in order; -1: all."""

    def __post_init__(self) -> None:
        if self.of not in HINTS:
            raise PipelineError(
                f"minitriton-cache-hints knows no accesses {self.of!r}", help="write of=loads or of=stores"
            )
        check_hint(self.name, self.of, self.hint)
        if self.prefetch and (self.prefetch not in PREFETCHES or self.of != "loads"):
            raise PipelineError(
                f"minitriton-cache-hints: {self.of} cannot prefetch {self.prefetch} bytes",
                help="of=loads with prefetch=64, 128 or 256",
            )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Note the hints on the accesses."""
        accesses = ops_of(op, tt.LoadOp) if self.of == "loads" else ops_of(op, tt.StoreOp)
        for number, access in enumerate(accesses):
            if self.access not in (-1, number):
                continue
            if self.hint:
                access.attributes[CACHE_HINT] = StringAttr(self.hint)
            if self.prefetch:
                access.attributes[PREFETCH_BYTES] = IntegerAttr(self.prefetch, i32)
