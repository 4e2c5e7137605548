"""What a memory descriptor is while lowering: where its buffer begins and which part of it the view shows.

%v = ttg.memdesc_subslice %b [0, 32]     SharedView(base of %b, offsets = (0, 32))
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import SSAValue


class SharedView(NamedTuple):
    """A view of shared memory: `base` is the address of the buffer, `offsets` the view's first coordinates in it."""

    base: SSAValue
    offsets: tuple[int, ...]
