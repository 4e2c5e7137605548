"""What JSON can hold, as a type, and as the values that frozen dataclasses keep.

frozen(json.loads('[1, [2, 3]]'))      (1, (2, 3))
"""

from __future__ import annotations

from typing import Any

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def frozen(value: Any) -> Any:
    """`value` with tuples in place of its lists: JSON has no tuples."""
    found: Json = value
    return tuple(map(frozen, found)) if isinstance(found, list) else value
