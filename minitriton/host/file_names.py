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


MOST_PATH = 4096
"""Bytes of a path on Linux (`PATH_MAX`)."""


def shortened(path: str) -> str:
    """The path of a source file as debug information has it: one that is longer than any file's is cut, and told apart from others by a digest."""
    if len(path) <= MOST_PATH:
        return path
    return f"{path[: MOST_PATH - 9]}-{hashlib.sha256(path.encode(errors='replace')).hexdigest()[:8]}"


def stem_of(name: str) -> str:
    """The name of a file for kernel `name`, without its suffix: the name itself if that is plain, else one told apart from others by a digest."""
    if _PLAIN.fullmatch(name):
        return name[:MOST_CHARACTERS]
    plain = re.sub(r"[^\w.$-]", "_", name, flags=re.ASCII)[: MOST_CHARACTERS - 9]
    return f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip(".")
