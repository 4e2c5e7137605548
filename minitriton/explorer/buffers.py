"""Shared memory over time: which buffer lies where, and from which op to which it is alive.

In: the last state of TTGIR of a recording. Out: its buffers, with the places that the passes gave them.

    %14  8192 bytes at 0, alive from op 12 to 40
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr

from minitriton.analysis.locations import user_location
from minitriton.analysis.shared_memory.allocation import BufferKind, allocate
from minitriton.analysis.shared_memory.liveness import Liveness
from minitriton.codegen.scratch import scratch_bytes
from minitriton.explorer.inspection import Tables
from minitriton.explorer.recording import Recording
from minitriton.explorer.wire import BufferPlain, BuffersPlain


def buffers_of(recording: Recording, tables: Tables) -> BuffersPlain:
    """The buffers of the kernel: name, bytes, offset, when they are alive; `ops`: how many ops time is counted in."""
    states = [step.after for step in recording.steps if step.after.kept is not None and step.after.level == "ttgir"]
    if not states:
        return {"total": recording.shared, "ops": 0, "buffers": []}
    kept = next((state.kept for state in reversed(states) if state.kept is not None), None)
    assert kept is not None
    names = {value: name for name, value in kept.values.items()}
    allocation = allocate(kept.module, scratch_bytes)
    found: list[BufferPlain] = []
    ops = 0
    for function, placed in allocation.functions.items():
        ops = max(ops, len(Liveness(function).number))
        for buffer in placed.buffers():
            if buffer.kind is BufferKind.VIRTUAL or not buffer.size:
                continue
            owner = buffer.owner
            place = user_location(owner.location)
            is_explicit = buffer.kind is BufferKind.EXPLICIT
            placed_at = owner.attributes.get("allocation.offset")
            found.append(
                {
                    "name": f"%{names.get(owner.results[0], '?')}" if is_explicit else owner.name,
                    "kind": buffer.kind.value, "size": buffer.size,
                    "offset": placed_at.value.data if isinstance(placed_at, IntegerAttr) else buffer.offset,
                    "live": list(buffer.live), "line": tables.place((place.file, place.line) if place else None),
                    "type": str(owner.results[0].type) if is_explicit else f"scratch of {owner.name}",
                }
            )  # fmt: skip
    total = max([recording.shared or allocation.total_bytes, *(one["offset"] + one["size"] for one in found)])
    return {"total": total, "ops": ops, "buffers": found}
