"""Machine code, with what assembling it under other limits of registers gave; the cache stores both.

asm["cubin"].table()        -> no limit   80 registers     0 bytes spilled   3 CTAs on an SM
                                    64    64 registers     8 bytes spilled   4 CTAs on an SM
"""

from __future__ import annotations

import json
from typing import NamedTuple


class Attempt(NamedTuple):
    """What assembling under a limit gave (None: no limit); `ctas`: how many of it that an SM holds."""

    limit: int | None
    registers: int
    spilled_bytes: int
    ctas: int
    is_serialized: bool
    """Whether ptxas waits for each `wgmma` before the next, for want of registers (C7511, C7512) or otherwise."""
    cubin: bytes
    assembler: str = "nvjitlink"

    @property
    def is_free(self) -> bool:
        """Whether it is by nvJitLink without a limit."""
        return self.limit is None and self.assembler == "nvjitlink"


class Cubin(bytes):
    """Machine code. `attempts`: all that were made, where a limit could be chosen; `taken` is one of them."""

    attempts: tuple[Attempt, ...] = ()
    taken: Attempt | None = None

    @property
    def unlimited(self) -> bytes | None:
        """Where this is not nvJitLink's without a limit: that one, for launches whose CTAs all run at once however many registers they take."""
        if self.taken is None or self.taken.is_free:
            return None
        return next((attempt.cubin for attempt in self.attempts if attempt.is_free), b"") or None

    def table(self) -> str:
        """The attempts in lines, the one taken marked."""
        rows = [
            f"{'->' if each is self.taken else '  '} {each.limit or ('no limit' if each.is_free else each.assembler):>8}  {each.registers:3} registers  {each.spilled_bytes:4} bytes spilled  "
            f"{each.ctas:2} CTAs on an SM{'  wgmma serialized' if each.is_serialized else ''}"
            for each in self.attempts
        ]
        return "\n".join(rows or [f"{len(self)} bytes of machine code"])

    def described(self) -> bytes:
        """What of the attempts a cache stores: all but their code."""
        rows = [[*attempt[:5], attempt.assembler, attempt is self.taken] for attempt in self.attempts]
        return json.dumps(rows).encode()

    @classmethod
    def of_stored(cls, code: bytes, described: bytes) -> Cubin:
        """The reverse; only the attempt that was taken has its code. Raises `ValueError` for anything else."""
        cubin, attempts = cls(code), list[Attempt]()
        for limit, registers, spilled, ctas, is_serialized, assembler, is_taken in json.loads(described):
            own = code if is_taken else b""
            attempts.append(Attempt(limit, registers, spilled, ctas, is_serialized, own, assembler))
            cubin.taken = attempts[-1] if is_taken else cubin.taken
        cubin.attempts = tuple(attempts)
        return cubin
