"""What to do where a kernel takes too much shared memory: which buffers take it, at which lines, and how many stages fit.

In: a TTGIR module and the bytes that a block has. Out: text for the help of an error.

    the largest: 98304 bytes, 3 buffers of 128x128xf16 (matmul.py:23); 98304 bytes, 3 buffers of 128x128xf16 (matmul.py:24)
    num_stages=2 fits

A pipelined loop has a ring of buffers for each load, one buffer less with each stage less. What else is in shared memory counts
as it is.
"""

from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation

from minitriton.analysis.shared_memory.allocation import BufferKind, function_buffers
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.region_flow import Loop
from minitriton.dialects.locations import source_location
from minitriton.dialects.ttg.types import MemDescType

_SHOWN = 4
_NUM_STAGES = "tt.num_stages"


class _Buffer(NamedTuple):
    op: Operation
    size: int
    length: int
    """Buffers of a ring; 1 for one that stands for itself."""
    loop: Operation | None
    """The pipelined loop whose ring this is."""

    def size_with(self, fewer: int) -> int:
        """Bytes with so many stages fewer; at least one buffer stays."""
        return self.size // self.length * max(self.length - fewer, 1)

    def text(self) -> str:
        type_ = self.op.results[0].type
        assert isinstance(type_, MemDescType)
        shape = type_.get_shape()[1:] if self.loop is not None else type_.get_shape()
        tile = "x".join(map(str, shape)) + f"x{type_.element_type}"
        what = f"{self.length} buffers of {tile}" if self.loop is not None else tile
        location = source_location(self.op.location)
        return f"{self.size} bytes, {what}" + (f" ({location})" if location is not None else "")


def shared_memory_advice(module: ModuleOp, required: int, limit: int, num_stages: int) -> str:
    """Text on a kernel that takes `required` bytes where a block has `limit`; `num_stages` is that of loops that name none."""
    found = [buffer for op in module.ops if isinstance(op, tt.FuncOp) for buffer in _buffers(op)]
    largest = sorted(found, key=lambda buffer: -buffer.size)[:_SHOWN]
    lines = ["the largest: " + "; ".join(buffer.text() for buffer in largest)] if largest else []
    return "\n".join((*lines, _stages_that_fit(found, required, limit, num_stages)))


def _buffers(function: Operation) -> list[_Buffer]:
    allocs = [buffer for buffer in function_buffers(function, lambda _: 0) if buffer.kind is BufferKind.EXPLICIT]
    return [_Buffer(buffer.owner, buffer.size, *_ring_of(buffer.owner)) for buffer in allocs]


def _ring_of(alloc: Operation) -> tuple[int, Operation | None]:
    """How many buffers `alloc` is, and the loop that takes them in turn."""
    type_ = alloc.results[0].type
    assert isinstance(type_, MemDescType)
    loop: Operation | None = None
    for use in alloc.results[0].uses:
        user = use.operation
        if isinstance(user, ttg.LocalDeallocOp):
            continue
        if not isinstance(user, ttg.MemDescIndexOp):
            return 1, None
        around = user.parent_op()
        if around is not None and Loop.of(around) and around is not alloc.parent_op():
            loop = around
    return (type_.get_shape()[0], loop) if loop is not None else (1, None)


def _stages_that_fit(buffers: list[_Buffer], required: int, limit: int, num_stages: int) -> str:
    """The most stages with which all fits; of several loops, each for itself, the one with the largest rings decides."""
    rings: dict[Operation, list[_Buffer]] = {}
    for buffer in buffers:
        if buffer.loop is not None:
            rings.setdefault(buffer.loop, []).append(buffer)
    if rings:
        rest = required - max(sum(ring.size for ring in group) for group in rings.values())
        loop = max(rings, key=lambda loop: sum(ring.size for ring in rings[loop]))
        given = loop.attributes.get(_NUM_STAGES)
        stages = given.value.data if isinstance(given, IntegerAttr) else num_stages
        for fewer in range(1, stages):
            needed = rest + max(sum(ring.size_with(fewer) for ring in group) for group in rings.values())
            if needed <= limit:
                return f"num_stages={stages - fewer} fits ({needed} bytes)"
        return "no num_stages fits: take smaller blocks"
    return "take smaller blocks"
