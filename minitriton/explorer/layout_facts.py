"""Layouts as data that a picture can be drawn from, what shared memory does to an access, and what a conversion costs.

In: encodings of `minitriton.layouts` and a shape. Out: plain values. A picture needs no more than the bases: element `i` of the
tensor is where the xor of the bases of its bits says.

    layout_fact(Blocked((1, 4), (4, 8), (4, 1), (1, 0)), (32, 64)).bases["lane"]      ((0, 4), (0, 8), (0, 16), (1, 0), (2, 0))
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from functools import cache

import numpy as np

from minitriton.dialects import ttg
from minitriton.dialects.context import make_context
from minitriton.dialects.parsing.parser import TritonParser
from minitriton.emulator.memory.access_cost import wavefronts
from minitriton.errors import MinitritonError
from minitriton.explorer.notebook import layout_html
from minitriton.explorer.wire import Bases, CostJson, LayoutJson
from minitriton.language.gluon.layouts import read_layout
from minitriton.layouts.conversion import plan_conversion
from minitriton.layouts.encodings import DistributedEncoding, PaddedShared, SharedEncoding
from minitriton.layouts.memory import local_access, local_matrix_access
from minitriton.layouts.plans import (
    NoConversion,
    PlannedMemoryAccess,
    RegisterPermutation,
    SharedMemoryRoundTrip,
    WarpShuffle,
)
from minitriton.layouts.to_linear import to_linear_layout
from minitriton.target import target_named
from minitriton.target.architectures import Architecture

Encoding = DistributedEncoding | SharedEncoding


@dataclass(frozen=True)
class LayoutFact:
    """One encoding on one shape: the bases of `register`, `lane`, `warp`, `block`, or of `offset` and `block` of shared memory,
    each a tuple with the index along every axis. `padding`: pairs of interval and elements put in after it."""

    encoding: str
    kind: str
    shape: tuple[int, ...]
    bases: Bases
    padding: tuple[tuple[int, int], ...] = ()

    @property
    def sizes(self) -> dict[str, int]:
        """How many registers, lanes, warps, blocks or offsets there are."""
        return {name: 1 << len(bases) for name, bases in self.bases.items()}

    def homes(self) -> dict[str, np.ndarray]:
        """For every element, in the tensor's shape, who holds it: `register`, `lane`, `warp`, `block`, or its `offset`; of copies the first."""
        sizes = self.sizes
        dims = [dim for dim in ("block", "warp", "lane", "register", "offset") if dim in sizes]
        grids = np.meshgrid(*(np.arange(sizes[dim]) for dim in dims), indexing="ij")
        at = np.zeros(grids[0].shape, np.int64)
        for dim, grid in zip(dims, grids, strict=True):
            for bit, base in enumerate(self.bases[dim]):
                at ^= np.where(grid >> bit & 1, int(np.ravel_multi_index(base, self.shape)), 0)
        found = {dim: np.zeros(int(np.prod(self.shape)), np.int64) for dim in dims}
        indices = at.reshape(-1)[::-1]
        for dim, grid in zip(dims, grids, strict=True):
            found[dim][indices] = grid.reshape(-1)[::-1]
        return {dim: numbers.reshape(self.shape) for dim, numbers in found.items()}

    def _repr_html_(self) -> str:
        """In a notebook."""
        return layout_html(self)

    def plain(self) -> LayoutJson:
        """As JSON can hold it."""
        return {name: value for name, value in asdict(self).items() if value or name != "padding"}


def layout_fact(encoding: DistributedEncoding | SharedEncoding, shape: tuple[int, ...]) -> LayoutFact:
    """The fact of `encoding` on a tensor (or buffer) of `shape`."""
    is_shared = isinstance(encoding, SharedEncoding)
    layout = to_linear_layout(encoding, shape)
    padding = (
        tuple(zip(encoding.intervals, encoding.paddings, strict=True)) if isinstance(encoding, PaddedShared) else ()
    )
    kind = "shared" if is_shared else "distributed"
    bases = {name: tuple(tuple(one) for one in columns) for name, columns in layout.bases.items()}
    return LayoutFact(str(ttg.encoding_attr(encoding)), kind, tuple(shape), bases, padding)


def read_encoding(text: str) -> DistributedEncoding | SharedEncoding:
    """The encoding that `#ttg.blocked<{...}>`, or without `#ttg.`, or Gluon's `BlockedLayout(...)` says. Raises `MinitritonError`."""
    text = text.strip()
    if re.match(r"[a-z_]+<", text):
        text = f"#ttg.{text}"
    if text.endswith(")"):
        found = read_layout(text).encoding()
    else:
        try:
            found = getattr(TritonParser(make_context(), text, "<encoding>", True).parse_attribute(), "data", None)
        except Exception as error:
            raise MinitritonError(f"cannot read the encoding {text!r}: {error}", help=_EXAMPLE) from None
    if not isinstance(found, DistributedEncoding | SharedEncoding):
        raise MinitritonError(f"{text!r} is not an encoding", help=_EXAMPLE)
    return found


def read_distributed(text: str) -> DistributedEncoding:
    """The encoding of registers that `text` says. Raises `MinitritonError`."""
    found = read_encoding(text)
    if isinstance(found, SharedEncoding):
        raise MinitritonError(f"{text!r} is a layout of shared memory, not of registers", help=_EXAMPLE)
    return found


_EXAMPLE = (
    "write it as the IR does: "
    "'#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>', "
    "or as a kernel in Gluon: 'BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])'"
)


@dataclass(frozen=True)
class SharedCost:
    """An access of a whole tile to shared memory: instructions of a warp, passes over the banks, and those that conflicts cost."""

    instruction: str
    instructions: int
    wavefronts: int
    conflicts: int
    bytes: int
    """That a lane moves at a time."""

    def text(self) -> str:
        """In one line."""
        ways = (
            f"{self.wavefronts / max(1, self.wavefronts - self.conflicts):.3g} times the passes that it needs"
            if self.conflicts
            else "no conflicts"
        )
        return f"{self.instructions} {self.instruction} a warp, {self.bytes} bytes a lane, {self.wavefronts} passes over the banks: {ways}"


def shared_cost(access: PlannedMemoryAccess, instruction: str, target: Architecture) -> SharedCost:
    """What `access` costs a warp."""
    lanes = np.arange(target.warp_size, dtype=np.int64)
    warps = np.zeros(target.warp_size, np.int64)
    size = 16 if access.matrices else min(16, access.vector_bytes)
    total = conflicts = 0
    active = 8 * access.matrices if access.matrices else target.warp_size
    for one in access.accesses:
        offsets = np.array([access.address(one, lane, 0) for lane in range(active)], np.int64)
        passes, extra = wavefronts(offsets, size, warps[:active], lanes[:active])
        total += passes
        conflicts += extra
    return SharedCost(instruction, len(access.accesses), total, conflicts, access.vector_bytes)


def local_cost(
    registers: DistributedEncoding,
    shared: SharedEncoding,
    shape: tuple[int, ...],
    bits: int,
    alloc_shape: tuple[int, ...],
    arch: int | str,
    *,
    is_load: bool,
) -> SharedCost:
    """What a load from, or a store to, a buffer costs a warp; by `ldmatrix` and `stmatrix` where the target's lowering takes them."""
    target = target_named(arch).features
    plan = None
    if target.has_ldmatrix if is_load else target.has_stmatrix:
        plan = local_matrix_access(registers, shared, shape, bits, alloc_shape)
    if plan is not None:
        return shared_cost(plan, "ldmatrix" if is_load else "stmatrix", target)
    name = target.shared_load if is_load else target.shared_store
    return shared_cost(local_access(registers, shared, shape, bits, alloc_shape), name, target)


@dataclass(frozen=True)
class ConversionFact:
    """What it takes to go from one layout to another: `kind` is "nothing", "registers", "shuffles" or "shared memory"."""

    kind: str
    registers: int
    shuffles: int = 0
    scratch_bytes: int = 0
    barriers: int = 0
    stores: tuple[SharedCost, ...] = ()
    loads: tuple[SharedCost, ...] = ()
    steps: tuple[str, ...] = field(default=())

    def plain(self) -> CostJson:
        """As JSON can hold it."""
        return {**asdict(self), "text": self.text()}

    def text(self) -> str:
        """In a few lines."""
        if self.kind == "nothing":
            return "nothing moves: both layouts keep every element in the same register of the same thread"
        if self.kind == "registers":
            return f"registers only: each thread puts its {self.registers} registers into another order, which costs nothing in PTX"
        if self.kind == "shuffles":
            return f"{self.shuffles} shuffle{'s' * (self.shuffles != 1)} within each warp: " + "; ".join(self.steps)
        lines = [
            f"through {self.scratch_bytes} bytes of shared memory, in {len(self.stores)} round{'s' * (len(self.stores) != 1)}, "
            f"with {self.barriers} barrier{'s' * (self.barriers != 1)}" + (" of a warp" if self.steps else "")
        ]
        lines += [f"store: {self.stores[0].text()}", f"load: {self.loads[0].text()}"]
        return "\n".join(lines)


@cache
def conversion_fact(
    source: DistributedEncoding, target: DistributedEncoding, shape: tuple[int, ...], bits: int, arch: int | str
) -> ConversionFact:
    """The cost of `ttg.convert_layout` from `source` to `target`. Raises `MinitritonError` where it would leave the CTA."""
    on = target_named(arch).features
    plan = plan_conversion(source, target, shape, bits, on)
    match plan:
        case NoConversion():
            return ConversionFact("nothing", 0)
        case RegisterPermutation():
            return ConversionFact("registers", len(plan.source))
        case WarpShuffle():
            steps = tuple(type(step).__name__ for step in plan.steps)
            words = max(1, bits // 32)
            return ConversionFact("shuffles", len(plan.result), plan.num_shuffles * words, steps=steps)
        case SharedMemoryRoundTrip():
            stores = tuple(shared_cost(one, "stmatrix" if one.matrices else on.shared_store, on) for one in plan.stores)
            loads = tuple(shared_cost(one, "ldmatrix" if one.matrices else on.shared_load, on) for one in plan.loads)
            steps = ("warp",) if plan.warp_sync else ()
            return ConversionFact(
                "shared memory", len(plan.result), 0, plan.scratch_bytes, 2 * plan.rounds - 1, stores, loads, steps
            )
