"""Calls of the functions that the driver provides.

st.param.b64 [param0], %rd1; call.uni (retval0), vprintf, (param0, param1)   →   print_formatted(x, a_param0, ...)
"""

from __future__ import annotations

from minitriton.emulator import host_calls
from minitriton.emulator.ptx.program import Instruction, Symbol, Vector
from minitriton.emulator.translate import NAMES, BlockWriter, rule

NAMES.update(
    {
        "print_formatted": host_calls.print_formatted,
        "assert_failed": host_calls.assert_failed,
        "pieces_together": host_calls.pieces_together,
    }
)


@rule("call")
def _call(w: BlockWriter, i: Instruction, parts: list[str]) -> None:
    names = [o.name for o in i.operands if isinstance(o, Symbol)]
    arguments = [a.name for o in i.operands if isinstance(o, Vector) for a in o.elements if isinstance(a, Symbol)]
    values = [w.arguments.get(name, "None") for name in arguments if not name.startswith("retval0")]
    if "vprintf" in names:
        w.emit(f"print_formatted(x, {values[0]}, {values[1]}, {w.active()})")
        w.arguments.update((name, w.constant(0, "u32")) for name in arguments if name.startswith("retval0"))
    elif "__assertfail" in names:
        w.emit(f"assert_failed(x, {w.site()}, {values[0]}, {values[1]}, {values[2]}, {w.active()})")
    else:
        raise w.fail("the emulator calls functions of this PTX, vprintf and __assertfail")
