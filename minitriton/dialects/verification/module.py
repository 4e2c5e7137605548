"""What a module as a whole demands: names defined once, and attributes that say a launch which exists.

'builtin.module' op ttg.num-warps must be a power of 2 between 1 and 64, not -4
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from minitriton.dialects.facts.launch import MAXNREG, NUM_CTAS, NUM_WARPS, SHARED_BYTES, TARGET, THREADS_PER_WARP
from minitriton.errors import IRError

_POWERS = {NUM_WARPS: 64, NUM_CTAS: 16, THREADS_PER_WARP: 64}
"""The most of each."""
_RANGES = {MAXNREG: (1, 65536), SHARED_BYTES: (0, 1 << 31), "ttg.total-num-warps": (1, 64)}


def verify_symbols(module: ModuleOp, refuse: Callable[[Operation, str], IRError]) -> None:
    """Raises what `refuse(op, message)` makes, at the second op of a name: xDSL refuses the module as a whole."""
    seen: set[str] = set()
    for op in module.ops:
        name = op.properties.get("sym_name")
        if isinstance(name, StringAttr) and not isinstance(op, ModuleOp):
            if name.data in seen:
                raise refuse(op, f"redefinition of symbol named '{name.data}'")
            seen.add(name.data)


def verify_attributes(module: ModuleOp, refuse: Callable[[Operation, str], IRError]) -> None:
    """Raises what `refuse(op, message)` makes."""
    complaint = attributes_complaint(module)
    if complaint is not None:
        raise refuse(module, f"'builtin.module' op {complaint}")


def attributes_complaint(module: ModuleOp) -> str | None:
    """What is wrong with the attributes of a module, or None."""
    for name, value in module.attributes.items():
        if name in _POWERS or name in _RANGES:
            if not isinstance(value, IntegerAttr):
                return f"{name} must be an integer"
            number, largest = value.value.data, _POWERS.get(name)
            if largest is not None and (not 1 <= number <= largest or number & (number - 1)):
                return f"{name} must be a power of 2 between 1 and {largest}, not {number}"
            least, most = _RANGES.get(name, (number, number))
            if not least <= number <= most:
                return f"{name} must be between {least} and {most}, not {number}"
        if name == TARGET and not isinstance(value, StringAttr):
            return f"{name} must be a string"
    return None
