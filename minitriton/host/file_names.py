"""Names of files made from names of kernels, which IR text spells as it likes.

stem_of("softmax")     →   softmax
stem_of("../../x")     →   _.._x-1f3a90c2, a file in the folder it is joined to
"""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[A-Za-z0-9_][\w.$-]*", re.ASCII)
MOST_CHARACTERS = 150
"""Of a name, so that a suffix fits into the 255 bytes that file systems take (Triton's limit)."""


def stem_of(name: str) -> str:
    """The name of a file for kernel `name`, without its suffix: the name itself if that is plain, else one told apart from others by a digest."""
    if _PLAIN.fullmatch(name):
        return name[:MOST_CHARACTERS]
    plain = re.sub(r"[^\w.$-]", "_", name, flags=re.ASCII)[: MOST_CHARACTERS - 9]
    return f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip(".")
