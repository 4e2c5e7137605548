"""How loads and stores treat the caches, given instead of left to the hardware: what experiments with memory vary.

minitriton-cache-hints{of=stores hint=cs}                          ld.global.v4.b32     =>   ld.global.v4.b32
                                                                   st.global.v4.b32     =>   st.global.cs.v4.b32
minitriton-cache-hints{of=loads hint=no_allocate prefetch=256}     ld.global.v4.b32     =>   ld.global.L1::no_allocate.L2::256B.v4.b32

In: TTGIR. Out: the same, accesses with `ttg.cache-hint` and `ttg.prefetch-bytes`, which the lowering reads. What the kernel's author wrote
stays. A hint changes no number (PTX ISA, "Cache Operators", "Cache Eviction Priority Hints"); copies to shared memory have none.

`cg` passes the L1 cache by, `cs` and `evict_first` give lines away first, `evict_last` keeps them (both also in L2, by a policy, unless they begin with `l1_`),
`no_allocate` takes no line of L1, `wt` writes through. `prefetch`: bytes that L2 fetches at once from memory, aligned, where one of its sectors is missing.

`minitriton-cache-reused-loads`: a tile that a later loop reads again stays in the L1 cache until then.

    scf.for %i = 0 to %n { tt.load %x + %i }             scf.for %i = 0 to %n { tt.load %x + %i {ttg.cache-hint = "l1_evict_last"} }
    ... a sum                                       =>   ... a sum
    scf.for %i = 0 to %n { tt.load %x + %i }             scf.for %i = 0 to %n { tt.load %x + %i }

In: TTGIR. Out: the same, loads of two loops from equal addresses with `ttg.cache-hint`, which the lowering reads (`cache_hints`). What the
kernel's author wrote stays.

A norm, or a softmax of rows longer than a tile, reads each row once for a number and again to apply it. Without hints the second reading
goes to L2 for what other rows have displaced from L1 meanwhile. Torch's Inductor writes such hints into its kernels, people seldom do.
Addresses are compared as expressions, the counters of loops with equal bounds taken as equal; a wrong guess costs a hint.

46 launches of norms and softmax on an H200 (2026-11-23): 0.998 to 1.12 times as fast, 1.02 on average. With a policy for L2 as well
(`again=evict_last`), as Triton has it where the author asks for it, 0.96 to 1.15; with `last=l1_evict_first` for the last reading 0.91 to
1.18: what is given away too early is a row whose ends are within vectors, or one that L1 does not hold.
"""

from collections.abc import Hashable
from dataclasses import field
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import BlockArgument, Operation, OpResult, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.facts.pass_attributes import CACHE_HINT, PREFETCH_BYTES
from minitriton.dialects.fast_paths.op_access import operand_values, ops_of
from minitriton.errors import PipelineError
from minitriton.host.frozen import record
from minitriton.pipeline.pass_registry import EVERYTHING, Pass, Property, register_pass

HINTS = {
    "loads": ("cg", "cs", "evict_first", "evict_last", "l1_evict_first", "l1_evict_last", "no_allocate"),
    "stores": ("cg", "cs", "wt", "evict_first", "evict_last", "no_allocate"),
}
"""What there is for each kind of access."""

PREFETCHES = (64, 128, 256)


def check_hint(name: str, of: str, hint: str) -> None:
    """Raises `PipelineError` where accesses have no such hint; an empty one is none. `name`: of the pass that is to give it."""
    if hint and hint not in HINTS[of]:
        raise PipelineError(f"{name}: {of} lack hint {hint!r}", help="one of " + ", ".join(HINTS[of]))


@register_pass
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


@register_pass
class CacheReusedLoads(Pass, stage="llir"):
    """Gives loads that are repeated by a later loop a hint for the caches. Raises `PipelineError` for a hint that loads do not have."""

    name: ClassVar[str] = "minitriton-cache-reused-loads"
    acts_on = frozenset({scf.ForOp})
    requires: ClassVar[frozenset[Property]] = frozenset({Property.ENCODINGS})
    keeps: ClassVar[frozenset[Property]] = EVERYTHING
    again: str = "l1_evict_last"
    """Of loads whose tile is read again, a hint of `cache_hints`."""
    last: str = ""
    """Of the last to read such a tile; none if empty."""

    def __post_init__(self) -> None:
        for hint in (self.again, self.last):
            check_hint(self.name, "loads", hint)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Notes the hints on the loads."""
        expressions = _Expressions()
        readings: dict[int, list[tuple[scf.ForOp, tt.LoadOp]]] = {}
        for load in ops_of(op, tt.LoadOp):
            loop = load.parent_op()
            if isinstance(loop, scf.ForOp) and CACHE_HINT not in load.attributes:
                readings.setdefault(expressions.number(load.ptr), []).append((loop, load))
        for found in readings.values():
            last, _ = found[-1]
            if any(loop is not last for loop, _ in found):
                for loop, load in found:
                    if hint := self.last if loop is last else self.again:
                        load.attributes[CACHE_HINT] = StringAttr(hint)


_DEPTH = 60
"""Ops after an address that are looked at."""


@record
class _Expressions:
    """Numbers of values: equal for values that are computed alike, in loops of equal bounds too."""

    _of_values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _of_forms: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def number(self, value: SSAValue, depth: int = _DEPTH) -> int:
        """The number of `value`."""
        known = self._of_values.get(value)
        if known is None:
            form = self._form(value, depth) if depth else None
            known = self._of_forms.setdefault(value if form is None else form, len(self._of_forms))
            self._of_values[value] = known
        return known

    def _form(self, value: SSAValue, depth: int) -> Hashable:
        """How `value` is computed; None where only it is like itself."""
        if isinstance(value, OpResult):
            op = value.op
            if op.regions or isinstance(op, tt.LoadOp):
                return None
            return op.__class__, value.index, value.type, tuple(op.properties.items()), self._numbers(op, depth)
        assert isinstance(value, BlockArgument)
        loop = value.block.parent_op()
        if not isinstance(loop, scf.ForOp):
            return None
        if value.index == 0:
            return scf.ForOp, tuple(self.number(bound, depth - 1) for bound in operand_values(loop)[:3])
        return scf.YieldOp, self.number(operand_values(loop)[2 + value.index], depth - 1)

    def _numbers(self, op: Operation, depth: int) -> tuple[int, ...]:
        return tuple(self.number(operand, depth - 1) for operand in operand_values(op))
