"""Calls of the functions that the driver provides.

st.param.b64 [param0], %rd1; call.uni (retval0), vprintf, (param0, param1)   →   print_formatted(x, a_param0, ...)
"""

import re
import struct

import numpy as np

from minitriton.emulator.batch import LOCAL_WINDOW
from minitriton.emulator.lanes import Lanes, same
from minitriton.emulator.machine import Machine
from minitriton.emulator.memory import device as global_memory
from minitriton.emulator.ptx.program import Instruction, Symbol, Vector
from minitriton.emulator.threads import Mask
from minitriton.emulator.translate import NAMES, BlockWriter, rule

# What kernels call on the host's behalf: `vprintf` and `__assertfail`.
#
# vprintf("pid (%u, %u, %u) x: %f", buffer)   →   one line of `report.output` per thread

_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(hh|h|ll|l)?([diuoxXcsfFeEgGp%])")
MOST_LINES = 100_000


def parts_together(before: Lanes | None, offset: int, dtype: np.dtype, parts: list[Lanes]) -> Lanes:
    """A parameter of up to 8 bytes whose parts of `dtype` begin at byte `offset`; `before` holds the bytes below, if any do."""
    whole = same(np.uint64(0)) if before is None else before.astype(np.uint64) & np.uint64((1 << 8 * offset) - 1)
    for index, part in enumerate(parts):
        shift = 8 * (offset + index * dtype.itemsize)
        if shift < 64:
            whole = whole | part.astype(dtype).astype(np.uint64) << np.uint64(shift)
    return whole


def _text(x: Machine, address: int) -> str:
    """The zero-terminated string at a global address."""
    start = address - global_memory.BASE
    if not 0 <= start < x.memory.size:
        return "?"
    data = x.memory.bytes[start : start + 4096].tobytes()
    return data.partition(b"\0")[0].decode(errors="replace")


def print_formatted(x: Machine, format: Lanes, buffer: Lanes, mask: Mask) -> None:
    """`vprintf`: the arguments are in the thread's local memory, each aligned to its size."""
    mask = x.mask(mask)
    formats, buffers = x.spread(format), x.spread(buffer)
    size = max(x.program.local_size, 16)
    for thread in (x.index[x.alive] if mask is None else np.nonzero(mask)[0]).tolist():
        if len(x.report.output) >= MOST_LINES:
            return
        start = int(buffers[thread]) - LOCAL_WINDOW
        data = x.local[thread * size + start : (thread + 1) * size].tobytes() if start >= 0 else b""
        x.report.output.append(_format(x, _text(x, int(formats[thread])), data))


def _format(x: Machine, text: str, data: bytes) -> str:
    position = 0

    def convert(match: re.Match[str]) -> str:
        nonlocal position
        length, kind = match[1], match[2]
        if kind == "%":
            return "%"
        wide = kind in "fFeEgGsp" or length in ("l", "ll")
        width = 8 if wide else 4
        position = -(-position // width) * width
        part = data[position : position + width].ljust(width, b"\0")
        position += width
        if kind in "fFeEgG":
            return match[0] % struct.unpack("<d", part)[0]
        value = int.from_bytes(part, "little", signed=kind in "di")
        if kind == "s":
            return _text(x, value)
        if kind == "p":
            return hex(value)
        return match[0].replace("ll", "").replace("l", "") % value

    return _CONVERSION.sub(convert, text).rstrip("\n")


def assert_failed(x: Machine, site: int, message: Lanes, file: Lanes, line: Lanes, mask: Mask) -> None:
    """`__assertfail`."""
    mask = x.mask(mask)
    lanes = x.index[x.alive] if mask is None else np.nonzero(mask)[0]
    if lanes.size:
        first = int(lanes[0])
        words, name, number = (x.spread(v)[first] for v in (message, file, line))
        text = f"assertion failed: {_text(x, int(words))}, at {_text(x, int(name))}:{int(number)}"
        x.find("assert", site, lanes, text)


NAMES.update(
    {
        "print_formatted": print_formatted,
        "assert_failed": assert_failed,
        "parts_together": parts_together,
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
