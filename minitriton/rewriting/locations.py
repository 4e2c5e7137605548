"""Where an op that stands for several comes from."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, FusedLoc, LocationAttr, NoneAttr


@lru_cache(maxsize=1024)
def fused(*locations: LocationAttr) -> LocationAttr:
    """`fused[a, b]`: each place once, unknown ones left out, fused ones taken apart; a single place is itself."""
    parts: dict[LocationAttr, None] = {}
    for location in locations:
        if isinstance(location, FusedLoc) and isinstance(location.metadata, NoneAttr):
            inner = cast(ArrayAttr[LocationAttr], location.locations)
            parts.update(dict.fromkeys(inner.data))
        elif location != UNKNOWN_LOC:
            parts[location] = None
    if not parts:
        return UNKNOWN_LOC
    if len(parts) == 1:
        return next(iter(parts))
    return FusedLoc(ArrayAttr(parts), NoneAttr())
