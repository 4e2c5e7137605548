"""Textual forms of upstream ops that xDSL's own parsers do not accept.

`PARSERS` maps an op's class to a function that parses the op after its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Operation

PARSERS: dict[type[Operation], Callable[[Any], Operation]] = {}
