"""What is measured of a program, by name.

from the PTX             ptx_instructions, ptx_bytes, shared_bytes
from a run               instructions, sectors, global_bytes, bank_conflicts, wavefronts, barriers (issued by warps, all programs)
from the machine code    registers, spill_bytes, sass_instructions, occupancy (asked for, since assembling takes a while)
"""

from __future__ import annotations

import hashlib
import re

from minitriton.emulator import Report

_PLACES = re.compile(r"^\s*(?:\.loc|\.file|//).*$|//.*$|^\s*$", re.MULTILINE)
_INSTRUCTION = re.compile(r"^\s+(?:@!?%\w+\s+)?[a-z][\w.:]*(?:\s|;)", re.MULTILINE)


def program_digest(ptx: str, shared: int) -> str:
    """Equal for PTX that differs in places and comments only, with as much shared memory."""
    return hashlib.blake2b(f"{shared}\n{_PLACES.sub('', ptx)}".encode(), digest_size=12).hexdigest()


def static_metrics(ptx: str, shared: int) -> dict[str, float]:
    """What the text says."""
    text = _PLACES.sub("", ptx)
    return {"ptx_instructions": len(_INSTRUCTION.findall(text)), "ptx_bytes": len(text), "shared_bytes": shared}


def run_metrics(report: Report) -> dict[str, float]:
    """What the emulator counted."""
    mix = report.mix()
    memory, shared = report.total("global"), report.total("shared")
    return {
        "instructions": sum(mix.values()),
        "barriers": sum(count for opcode, count in mix.items() if opcode.startswith(("bar.", "barrier."))),
        "sectors": memory.sectors,
        "global_bytes": memory.bytes,
        "wavefronts": shared.wavefronts,
        "bank_conflicts": shared.conflicts,
    }
