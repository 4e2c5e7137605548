"""Accesses to memory: scalar loads, vector memory by address and by buffer descriptor, LDS, atomics (ISA, sections 8 "Scalar Memory Operations", 9 "Vector
Memory Operations", 10 "Flat Memory Instructions", 11 "Data Share Operations").

global_load_dwordx2 v[0:1], v[2:3], off offset:16      →   8 bytes from the address in v2, v3, plus 16, there after `s_waitcnt vmcnt(0)`
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from minitriton.emulator.amdgcn import lanes as crossing
from minitriton.emulator.amdgcn.program import M0, SCALAR, Constant, Instruction, Isa, Operand, Register, registers_of
from minitriton.emulator.amdgcn.values import U32, U64, Fetch, Step, join, raw, register_of, source
from minitriton.emulator.amdgcn.waves import Waves
from minitriton.emulator.operations import atomic as atomics
from minitriton.emulator.operations import memory as checked
from minitriton.emulator.threads import Mask

_WIDTHS: dict[str, tuple[int, int, str]] = {
    "ubyte": (1, 1, ""), "sbyte": (1, 1, "signed"), "ushort": (2, 1, ""), "sshort": (2, 1, "signed"), "byte": (1, 1, ""),
    "short": (2, 1, ""), "dword": (4, 1, ""), "dwordx2": (4, 2, ""), "dwordx3": (4, 3, ""), "dwordx4": (4, 4, ""),
    "dwordx8": (4, 8, ""), "dwordx16": (4, 16, ""), "b256": (4, 8, ""), "b512": (4, 16, ""), "short_d16": (2, 1, "low"), "short_d16_hi": (2, 1, "high"),
    "ubyte_d16": (1, 1, "low"), "ubyte_d16_hi": (1, 1, "high"), "sbyte_d16": (1, 1, "signed low"),
    "sbyte_d16_hi": (1, 1, "signed high"), "byte_d16_hi": (1, 1, "high"), "u8": (1, 1, ""), "i8": (1, 1, "signed"), "u16": (2, 1, ""),
    "i16": (2, 1, "signed"), "b8": (1, 1, ""), "b16": (2, 1, ""), "b32": (4, 1, ""), "b64": (4, 2, ""), "b96": (4, 3, ""), "b128": (4, 4, ""),
    "u8_d16": (1, 1, "low"), "u8_d16_hi": (1, 1, "high"), "i8_d16": (1, 1, "signed low"), "i8_d16_hi": (1, 1, "signed high"),
    "u16_d16": (2, 1, "low"), "u16_d16_hi": (2, 1, "high"), "b8_d16_hi": (1, 1, "high"), "b16_d16_hi": (2, 1, "high"),
}  # fmt: skip
"""By the end of a name: bytes of an element, elements, and where a narrow one goes."""
_ALLOWED = frozenset(
    {"offset", "offset0", "offset1", "offen", "off", "sc0", "sc1", "nt", "glc", "slc", "dlc", "th", "scope"}
)
_VECTOR = re.compile(r"(global|flat|buffer)_(load|store)_(\w+)$")
_TO_LDS = re.compile(r"(global|buffer)_load_(?:lds_)?(ubyte|sbyte|ushort|sshort|dword|dwordx3|dwordx4)$")
_SHARED = re.compile(r"ds_(read|write)(2st64|2)?_(\w+)$")
_TRANSPOSED = re.compile(r"ds_read_b64_tr_b(4|8|16)$")
_ATOMIC = re.compile(r"(global|flat|buffer|ds)_(?:atomic_)?(\w+)$")
_SCALAR = re.compile(r"s_(buffer_)?load_(dword\w*|b\d+|[ui](?:8|16))$")
_SCRATCH = re.compile(r"scratch_(load|store)_(\w+)$")
_FENCES = (
    "buffer_inv", "buffer_wbl2", "buffer_wbinvl1", "buffer_wbinvl1_vol", "buffer_gl0_inv", "buffer_gl1_inv", "global_inv", "global_wb",
    "global_wbinv",
)  # fmt: skip
"""Of the caches: what CDNA, RDNA3 and RDNA4 call them."""


def width_of(name: str) -> int:
    """Bytes of an element that an instruction accesses; 0 if it is not an access."""
    for pattern in (_VECTOR, _SHARED, _SCALAR):
        if (match := pattern.match(name)) and (found := _WIDTHS.get(match.groups()[-1])):
            return found[0]
    return 4 if "atomic" in name or name.startswith("ds_add") else 0


@dataclass(frozen=True)
class Where:
    """Addresses of an access [wave, lane] and, of a buffer, which elements are within its descriptor's bounds [element, wave, lane]."""

    address: np.ndarray
    inside: np.ndarray | None = None


Locate = Callable[[Waves], Where]


def _both(x: Waves, inside: np.ndarray | None) -> Mask:
    lanes = x.flat_lanes()
    return lanes if inside is None else inside.ravel() if lanes is None else lanes & inside.ravel()


def _is_unaligned(address: np.ndarray, mask: Mask, width: int) -> bool:
    """Whether elements are to be accessed byte by byte: the HSA driver puts memory and LDS into unaligned mode (LLVM, "User Guide for AMDGPU
    Backend", `unaligned-access-mode`), and LLVM makes one access of neighbours. Atomics need aligned addresses."""
    return width > 1 and bool(((address if mask is None else address[mask]) & (width - 1)).any())


def load(x: Waves, site: int, space: str, address: np.ndarray, mask: Mask, width: int, count: int) -> list[np.ndarray]:
    """`count` elements of `width` bytes a thread, as uint32; 0 for threads that do not act."""
    flat = np.broadcast_to(address, x.shape).ravel()
    if mask is not None and not mask.any():
        return [np.zeros(x.shape, U32) for _ in range(count)]
    mask = x.mask(mask)
    if _is_unaligned(flat, mask, width):
        octets = load(x, site, space, address, mask, 1, width * count)
        parts = [octet << U32(8 * (n % width)) for n, octet in enumerate(octets)]
        return [functools.reduce(np.bitwise_or, parts[n : n + width]) for n in range(0, len(parts), width)]
    size = width * count
    offset, mask = checked.locate(x, site, space, flat, mask, size, width)
    lanes = None if mask is None else np.nonzero(mask)[0]
    if x.check and (lanes is None or lanes.size):
        checked.check_read(x, site, space, offset, lanes, size)
        if space == "shared" and x.shared.shadowed:
            who = x.index if lanes is None else lanes
            check_contested(x, site, offset[who], size, who)
            x.copies.check_read(x, site, offset[who], size, who)
        if space == "global":
            checked.pass_order(x, site, offset, x.index if lanes is None else lanes, acquire=True, release=False)
        checked.measure(x, site, space, offset, lanes, size)
    buffer = (x.memory if space == "global" else x.shared).views[width]
    index = offset // width
    found = [buffer.take(index + n).astype(U32) for n in range(count)]
    if mask is not None:
        found = [np.where(mask, f, U32(0)) for f in found]
    return [f.reshape(x.shape) for f in found]


def store(
    x: Waves, site: int, space: str, address: np.ndarray, mask: Mask, values: list[np.ndarray], width: int
) -> None:
    """Stores elements of `width` bytes; of lanes that write one address, the last wins."""
    flat = np.broadcast_to(address, x.shape).ravel()
    if mask is not None and not mask.any():
        return
    mask = x.mask(mask)
    if _is_unaligned(flat, mask, width):
        octets = [value >> U32(8 * n) & U32(0xFF) for value in values for n in range(width)]
        store(x, site, space, address, mask, octets, 1)
        return
    size = width * len(values)
    offset, mask = checked.locate_to_write(x, site, space, flat, mask, size, width)
    lanes = x.index if mask is None else np.nonzero(mask)[0]
    if not lanes.size:
        return
    if space == "global":
        x.polls = 0
    buffer = (x.memory if space == "global" else x.shared).views[width]
    offsets = offset[lanes]
    index = offsets // width
    chosen = [np.broadcast_to(v, x.shape).ravel()[lanes].astype(buffer.dtype) for v in values]
    if not x.check:
        for n, value in enumerate(chosen):
            buffer[index + n] = value
        return
    checked.measure(x, site, space, offset, None if mask is None else lanes, size)
    if space == "global":
        checked.pass_order(x, site, offset, lanes, acquire=False, release=True)
    same, lost = (np.empty((len(index), len(chosen)), np.bool_) for _ in range(2))
    for n, value in enumerate(chosen):
        same[:, n] = buffer.take(index + n) == value
        buffer[index + n] = value
    for n, value in enumerate(chosen):
        lost[:, n] = buffer.take(index + n) != value
    if space == "shared":
        note_shared_write(x, site, offsets, size, lanes, same, lost)
    else:
        checked.check_write(x, site, space, offsets, lanes, size, np.asarray(same.all(1)), np.asarray(lost.any(1)))


def note_shared_write(
    x: Waves, site: int, offsets: np.ndarray, size: int, lanes: np.ndarray, same: np.ndarray, lost: np.ndarray
) -> None:
    """A store to LDS; `same` and `lost` [lane, element] as for `SharedMemory.written_by`. It is a race at once if another wave may still read there. If
    others wrote other values, it is one as soon as somebody reads: lanes with copies of an element often write what they have next to it, too."""
    shared = x.shared
    if not shared.shadowed:
        return
    g, warp, lane = shared.granules(offsets, size), x.warp[lanes], x.lane[lanes]
    same, lost = (np.repeat(flags, g.shape[1] // flags.shape[1], axis=1) for flags in (same, lost))
    race = (shared.overwrites_read(g, warp, lane) & ~same).any(1)
    over = shared.overwrites(g, warp, lane)
    x.copies.check_write(x, site, g, offsets, lanes)
    shared.mark_written(g, warp, lane)
    x.contested[g[~over]] = 0
    x.contested[g[(over & ~same) | lost]] = site + 1
    if race.any():
        bad = np.nonzero(race)[0]
        where = int(offsets[bad[0]]) % shared.stride
        x.find(
            "shared-race",
            site,
            lanes[bad],
            f"writes byte {where} of LDS, which another wave reads without a barrier between",
        )


def check_contested(x: Waves, site: int, offsets: np.ndarray, size: int, lanes: np.ndarray) -> None:
    """Reads of what several lanes or waves wrote with other values, reported where that was."""
    writers = x.contested[x.shared.granules(offsets, size)]
    if not writers.any():
        return
    reader = x.kernel.instructions[site]
    for writer in np.unique(writers[writers > 0]).tolist():
        bad = np.nonzero((writers == writer).any(1))[0]
        where = int(offsets[bad[0]]) % x.shared.stride
        text = f"threads write different values to byte {where} of LDS without a barrier between, which line {reader.line} ({reader.name}) reads"
        x.find("shared-race", writer - 1, lanes[bad], text)


def _offset(i: Instruction, name: str = "offset") -> int:
    text = i.modifiers.get(name, "0")
    try:
        return int(text, 0)
    except ValueError:
        raise i.error(f"{text} is not an offset") from None


def _address(i: Instruction, at: int) -> tuple[Locate, frozenset[int]]:
    """Of `global_*` and `flat_*`: a pair of vector registers, or with a pair of scalar ones a vector register of 32 bits without sign."""
    address = i.operands[at]
    offset = np.int64(_offset(i))
    base = i.operands[at + 1].base if at + 1 < len(i.operands) else None
    if "off" not in i.modifiers and isinstance(base, Register) and base.is_scalar:
        register_of(i, at, 1)
        part, whole = raw(i, address), source(i, i.operands[at + 1], "u64")
        used = registers_of(i.operands[at : at + 2])
        return lambda x: Where((part(x).astype(U64) + whole(x)).view(np.int64) + offset), used
    register_of(i, at, 2)
    wide = source(i, address, "i64")
    return lambda x: Where(wide(x) + offset), registers_of(i.operands[at : at + 1])


def _buffer(i: Instruction, at: int, width: int, count: int) -> tuple[Locate, frozenset[int]]:
    """Of `buffer_*`: base, stride and number of records in four scalar registers (ISA, section 9.1.5): each element outside reads as 0 and is
    not written. Without a stride records are bytes; with one and no index, all is record 0. The register's offset and the instruction's are added modulo
    2^32: LLVM splits a sum into the two whatever it overflows (`splitBufferOffsets`, which says that gfx1250 is the first to differ)."""
    operands = list(i.operands[at:])
    offsets: Fetch | None = None
    if "offen" in i.modifiers:
        offsets = raw(i, operands.pop(0))
    if "idxen" in i.modifiers or "addr64" in i.modifiers:
        raise i.error("the emulator does not do indexed buffers")
    if len(operands) != 2:
        raise i.error(f"{i.name} takes a descriptor of four registers and a scalar offset")
    descriptor = operands[0].base
    if not isinstance(descriptor, Register) or descriptor.count != 4 or not descriptor.is_scalar:
        raise i.error(f"{i.name} takes a descriptor of four scalar registers")
    first = descriptor.index - SCALAR
    scalar = source(i, operands[1], "u32")
    fixed = np.int64(_offset(i))

    def locate(x: Waves) -> Where:
        low, high, records = (x.s[first + n][:, np.newaxis] for n in range(3))
        other = (high >> U32(30 if x.isa.is_rdna else 31)).ravel() != 0
        if x.isa.is_rdna:
            other |= (x.s[first + 3] >> U32(28)) & U32(3) != RAW_BOUNDS
        if (other if x.active is None else other & x.active).any():
            raise i.error("the emulator does not do swizzled buffers, and on RDNA raw ones only")
        base = join(low, high & U32(0xFFFF)).astype(np.int64)
        stride = (high >> U32(16)) & U32(0x3FFF)
        own = np.zeros((x.waves, 1), np.int64) if offsets is None else offsets(x).astype(np.int64)
        moved = scalar(x).astype(np.int64)
        within: np.ndarray = np.broadcast_to((own + fixed) & 0xFFFFFFFF, x.shape)
        last: np.ndarray = within[np.newaxis] + (np.arange(count) * width)[:, np.newaxis, np.newaxis] + (width - 1)
        inside: np.ndarray = np.where(stride == 0, np.less(last, records.astype(np.int64) - moved), records > 0)
        return Where(base + within + moved, None if inside.all() else inside)

    return locate, registers_of(i.operands[at:])


RAW_BOUNDS = 3
"""OOB_SELECT of raw buffers, in bits 61:60 of the upper half (RDNA3 ISA, section 9.1.5 "Buffer Resource Descriptor")."""


def _in_elements(x: Waves, where: Where, count: int) -> list[tuple[int, int, np.ndarray | None]]:
    """An access as parts that are wholly inside: the first element of each, how many, which lanes."""
    if where.inside is None:
        return [(0, count, None)]
    inside = where.inside
    if (inside == inside[:1]).all():
        return [(0, count, inside[0])]
    return [(n, 1, inside[n]) for n in range(count)]


def rule_of(i: Instruction, isa: Isa) -> Step | None:
    """What an access to memory does; None for other instructions."""
    if not isa.is_rdna and (
        i.name.startswith("global_load_lds_") or (i.name.startswith("buffer_") and "lds" in i.modifiers)
    ):
        return _to_lds(i)
    if i.name.startswith(("global_", "flat_", "buffer_", "ds_", "scratch_")) and (
        unknown := i.modifiers.keys() - _ALLOWED
    ):
        raise i.error(f"the emulator does not know {min(unknown)} of {i.name}")
    if i.name in _FENCES:
        return Step(i, lambda x: checked.fence(x, x.flat_lanes()) if x.check else None)
    if i.name in _PERMUTATIONS:
        return _PERMUTATIONS[i.name](i, isa)
    if (match := _SCRATCH.match(i.name)) and match[2] in _WIDTHS:
        return _private(i, *_WIDTHS[match[2]], is_load=match[1] == "load")
    if (match := _SCALAR.match(i.name)) and match[2] in _WIDTHS:
        width, count, how = _WIDTHS[match[2]]
        return _scalar_load(i, width, count, how, is_buffer=bool(match[1]))
    if (match := _VECTOR.match(i.name)) and match[3] in _WIDTHS:
        width, count, how = _WIDTHS[match[3]]
        return _vector(i, match[1], width, count, how, is_load=match[2] == "load")
    if match := _TRANSPOSED.match(i.name):
        return _transposed(i, int(match[1]))
    if (match := _SHARED.match(i.name)) and match[3] in _WIDTHS:
        width, count, how = _WIDTHS[match[3]]
        if match[2]:
            return _two(i, count, is_load=match[1] == "read", unit=64 if match[2] == "2st64" else 1)
        return _shared(i, width, count, how, is_load=match[1] == "read")
    if match := _ATOMIC.match(i.name):
        return _atomic(i, match[1], match[2])
    return None


def _narrow(how: str, width: int, value: np.ndarray, old: np.ndarray) -> np.ndarray:
    """A narrow element in its register: sign-extended, or put into one half."""
    if "signed" in how:
        value = value.astype(f"u{width}").view(f"i{width}").astype(np.int32).view(U32)
    if "low" in how:
        return (old & U32(0xFFFF0000)) | (value & U32(0xFFFF))
    return (old & U32(0xFFFF)) | (value << U32(16)) if "high" in how else value


def _vector(i: Instruction, kind: str, width: int, count: int, how: str, *, is_load: bool) -> Step:
    counter = "loads" if is_load else "stores"
    # A load names its registers and then the address; a buffer store names its data first, too, the others last.
    data = 0 if is_load or kind == "buffer" else 1
    at = 1 if is_load or kind == "buffer" else 0
    target = register_of(i, data, count)
    if kind == "buffer":
        locate, used = _buffer(i, at, width, count)
    elif is_load:
        locate, used = _address(i, at)
    else:
        locate, used = _address_of_store(i)
    site, first = i.index, target.index

    def act_load(x: Waves) -> None:
        where = locate(x)
        for start, some, inside in _in_elements(x, where, count):
            found = load(x, site, "global", where.address + start * width, _both(x, inside), width, some)
            for n, value in enumerate(found):
                register = first + start + n
                x.set_vector(register, _narrow(how, width, value, x.v[register]) if how else value)
        x.issue(getattr(x, counter), site, target.all)

    def act_store(x: Waves) -> None:
        where = locate(x)
        values = [x.v[first + n] >> U32(16) if how == "high" else x.v[first + n] for n in range(count)]
        for start, some, inside in _in_elements(x, where, count):
            store(
                x, site, "global", where.address + start * width, _both(x, inside), values[start : start + some], width
            )
        x.issue(getattr(x, counter), site, range(0))

    if is_load:
        return Step(i, act_load, used, frozenset(target.all), counter)
    return Step(i, act_store, used | frozenset(target.all), frozenset(), counter)


def _to_lds(i: Instruction) -> Step:
    """A load whose words go to LDS: lane n's to the address in m0, plus the instruction's offset, plus n times their size. Narrow elements fill a
    word. What a buffer's bounds exclude is written as 0."""
    match, unknown = _TO_LDS.match(i.name), i.modifiers.keys() - _ALLOWED - {"lds"}
    if match is None or unknown:
        raise i.error(f"the emulator does not know {min(unknown, default='this load to LDS')} of {i.name}")
    width, count, how = _WIDTHS[match[2]]
    locate, used = _buffer(i, 0, width, count) if match[1] == "buffer" else _address(i, 0)
    site, size, offset = i.index, 4 * count, np.int64(_offset(i))

    def act(x: Waves) -> None:
        where = locate(x)
        data = np.zeros((count, x.count), U32)
        for start, some, inside in _in_elements(x, where, count):
            found = load(x, site, "global", where.address + start * width, _both(x, inside), width, some)
            for n, value in enumerate(found):
                data[start + n] = _narrow(how, width, value, value).ravel()
        target = x.s[M0].astype(np.int64)[:, np.newaxis] + offset + np.arange(x.warp_size) * size
        mask = x.mask(x.flat_lanes())
        offsets, mask = checked.locate_to_write(x, site, "shared", target.ravel(), mask, size, 4)
        x.issue(x.loads, site, range(0))
        lanes = x.index if mask is None else np.nonzero(mask)[0]
        if lanes.size:
            x.copies.begin(x, site, offsets[lanes], lanes, data[:, lanes])
            if x.shared.shadowed:
                x.contested[x.shared.granules(offsets[lanes], size)] = 0

    return Step(i, act, used | {SCALAR + M0}, frozenset(), "loads")


def _address_of_store(i: Instruction) -> tuple[Locate, frozenset[int]]:
    """Address, data, base: the data stand between."""
    moved = Instruction(
        i.name, i.encoding, (i.operands[0], *i.operands[2:]), i.modifiers, i.line, i.text, i.source, i.index
    )
    return _address(moved, 0)


def _scalar_load(i: Instruction, width: int, count: int, how: str, *, is_buffer: bool) -> Step:
    """Words, or on RDNA 4 a byte or a half (its ISA, "Scalar Memory Loads")."""
    if is_buffer and width != 4:
        raise i.error("the emulator does not do narrow scalar loads of buffers")
    target = register_of(i, 0, count)
    base = register_of(i, 1, 4 if is_buffer else 2)
    moved = (
        source(i, i.operands[2], "i32" if isinstance(i.operands[2].base, Constant) else "u32")
        if len(i.operands) > 2
        else None
    )
    fixed = np.int64(_offset(i))
    first, site = base.scalar, i.index
    numbers = [n - SCALAR for n in target.all]

    def act(x: Waves) -> None:
        offset = fixed + (moved(x).astype(np.int64) if moved is not None else 0)
        high = x.s[first + 1] & U32(0xFFFF) if is_buffer else x.s[first + 1]
        address = join(x.s[first], high).view(np.int64)[:, np.newaxis] + offset
        address = np.broadcast_to(address & ~np.int64(width - 1), x.shape)
        acting = np.ones(x.waves, np.bool_) if x.active is None else x.active
        mask = (acting[:, np.newaxis] & (np.arange(x.warp_size) == 0)).ravel()
        if is_buffer:
            end = np.broadcast_to(offset, (x.waves, 1))
            records = x.s[first + 2][:, np.newaxis].astype(np.int64)
            for n, number in enumerate(numbers):
                inside = np.broadcast_to(end + 4 * n + 4 <= records, x.shape).ravel()
                x.set_scalar(number, load(x, site, "global", address + 4 * n, mask & inside, 4, 1)[0][:, 0])
        else:
            for number, value in zip(numbers, load(x, site, "global", address, mask, width, count), strict=True):
                x.set_scalar(number, _narrow(how, width, value[:, 0], value[:, 0]))
        x.issue(x.scalar_memory, site, target.all)

    return Step(i, act, registers_of(i.operands[1:]), frozenset(target.all), "scalar_memory")


def _private(i: Instruction, width: int, count: int, how: str, *, is_load: bool) -> Step:
    """Scratch memory, each thread's own, by offset, vector register and scalar register; `off` stands for one that is not there (CDNA3 ISA, section 10
    "Flat Memory Instructions"). Each thread begins at byte 0 of its memory."""
    operands = list(i.operands)
    data = register_of(
        i, 0 if is_load else len(operands) - (2 if len(operands) > 1 and _is_scalar(operands[-1].base) else 1), count
    )
    rest = [o for o in operands if o.base is not data]
    moved = [raw(i, o) if isinstance(o.base, Register) else source(i, o, "u32") for o in rest]
    site, fixed = i.index, np.int64(_offset(i))

    def act(x: Waves) -> None:
        address: np.ndarray = np.broadcast_to(fixed + sum(f(x).astype(np.int64) for f in moved), x.shape).ravel()
        lanes = x.flat_lanes()
        who = x.index if lanes is None else np.nonzero(lanes)[0]
        at = address[who]
        beyond = (at < 0) | (at + width * count > x.private.shape[1])
        if beyond.any():
            text = f"accesses byte {int(at[beyond][0])} of {x.private.shape[1]} bytes of scratch memory"
            x.find("out-of-bounds", site, who[beyond], text)
            who, at = who[~beyond], at[~beyond]
        for n, register in enumerate(data.all):
            where = (at + n * width)[:, np.newaxis] + np.arange(width)
            if is_load:
                value = np.zeros((x.count, 4), np.uint8)
                value[who[:, np.newaxis], np.arange(width)] = x.private[who[:, np.newaxis], where]
                found = value.view(U32).reshape(x.shape)
                x.set_vector(register, _narrow(how, width, found, x.v[register]) if how else found)
            else:
                value = x.v[register].ravel()[who] >> U32(16 if how == "high" else 0)
                x.private[who[:, np.newaxis], where] = value[:, np.newaxis].view(np.uint8)[:, :width]
        x.issue(x.loads if is_load else x.stores, site, data.all if is_load else range(0))

    used = registers_of(rest)
    if is_load:
        return Step(i, act, used, frozenset(data.all), "loads")
    return Step(i, act, used | frozenset(data.all), frozenset(), "stores")


def _is_scalar(base: object) -> bool:
    return isinstance(base, Register) and base.is_scalar


def _in_lds(i: Instruction, address: Operand, name: str = "offset", unit: int = 1) -> Fetch:
    """Bytes in LDS, as int64. Register and offset are added modulo 2^32: LLVM folds constants into offsets of registers that are negative (`hasUsableDSOffset`)."""
    own, offset = raw(i, address), U32(_offset(i, name) * unit)
    return lambda x: (own(x) + offset).astype(np.int64)


def _shared(i: Instruction, width: int, count: int, how: str, *, is_load: bool) -> Step:
    data = register_of(i, 0 if is_load else 1, count)
    address = _in_lds(i, i.operands[1 if is_load else 0])
    site, first = i.index, data.index

    def act(x: Waves) -> None:
        where = address(x)
        if not is_load:
            values = [x.v[first + n] >> U32(16) if how == "high" else x.v[first + n] for n in range(count)]
            store(x, site, "shared", where, x.flat_lanes(), values, width)
            x.issue(x.lds, site, range(0))
            return
        found = load(x, site, "shared", where, x.flat_lanes(), width, count)
        x.issue(x.lds, site, data.all)
        for n, value in enumerate(found):
            x.set_vector(first + n, _narrow(how, width, value, x.v[first + n]) if how else value)

    if is_load:
        return Step(i, act, registers_of(i.operands[1:]), frozenset(data.all), "lds")
    return Step(i, act, registers_of(i.operands), frozenset(), "lds")


def _transposed(i: Instruction, bits: int) -> Step:
    """`ds_read_b64_tr_b16` of gfx950: each 16 lanes read rows of 16 elements, of 8 bytes a lane, and get columns. Of 4 bits the lower half of a byte
    comes first."""
    target = register_of(i, 0, 2)
    address, site, group = _in_lds(i, i.operands[1]), i.index, 16

    def act(x: Waves) -> None:
        found = load(x, site, "shared", address(x), x.flat_lanes(), 4, 2)
        elements = np.stack(found, axis=-1).view(f"u{max(bits // 8, 1)}")
        if bits == 4:
            elements = np.stack([elements & 15, elements >> 4], axis=-1)
        columns = elements.reshape(x.waves, x.warp_size // group, -1, group).swapaxes(2, 3)
        if bits == 4:
            columns = columns[..., ::2] | columns[..., 1::2] << 4
        columns = np.ascontiguousarray(columns).view(U32).reshape(*x.shape, 2)
        x.issue(x.lds, site, target.all)
        for n, register in enumerate(target.all):
            x.set_vector(register, columns[:, :, n])

    return Step(i, act, registers_of(i.operands[1:]), frozenset(target.all), "lds")


def _two(i: Instruction, count: int, *, is_load: bool, unit: int) -> Step:
    """`ds_read2` and `ds_write2`: two elements, at two offsets in elements (in 64 of them: `st64`)."""
    size, site = 4 * count, i.index
    addresses = [_in_lds(i, i.operands[1 if is_load else 0], f"offset{n}", size * unit) for n in range(2)]
    if is_load:
        target = register_of(i, 0, 2 * count)

        def act_load(x: Waves) -> None:
            found_at = [address(x) for address in addresses]
            found = [v for where in found_at for v in load(x, site, "shared", where, x.flat_lanes(), 4, count)]
            x.issue(x.lds, site, target.all)
            for register, value in zip(target.all, found, strict=True):
                x.set_vector(register, value)

        return Step(i, act_load, registers_of(i.operands[1:]), frozenset(target.all), "lds")
    data = [register_of(i, 1 + n, count) for n in range(2)]

    def act_store(x: Waves) -> None:
        for address, held in zip(addresses, data, strict=True):
            store(x, site, "shared", address(x), x.flat_lanes(), [x.v[n] for n in held.all], 4)
        x.issue(x.lds, site, range(0))

    return Step(i, act_store, registers_of(i.operands), frozenset(), "lds")


_ATOMICS: dict[str, tuple[str, str, str]] = {
    "add": ("add", "", "u4"), "sub": ("sub", "", "u4"), "smin": ("min", "", "i4"), "smax": ("max", "", "i4"), "umin": ("min", "", "u4"),
    "umax": ("max", "", "u4"), "and": ("and", "", "u4"), "or": ("or", "", "u4"), "xor": ("xor", "", "u4"), "swap": ("exch", "", "u4"),
    "inc": ("inc", "", "u4"), "dec": ("dec", "", "u4"), "cmpswap": ("cas", "", "u4"), "add_f32": ("add.ieee", "", "f4"),
    "add_f64": ("add.ieee", "", "f8"), "min_f32": ("min", "", "f4"), "max_f32": ("max", "", "f4"), "min_f64": ("min", "", "f8"), "max_f64": ("max", "", "f8"),
    "pk_add_f16": ("add", "pairs:f16", "u4"), "pk_add_bf16": ("add", "pairs:bf16", "u4"),
}  # fmt: skip
"""By name: the operation, its packed format, the type of an element."""
_DS_NAMES = {
    "add": "add", "sub": "sub", "min": "smin", "max": "smax", "and": "and", "or": "or", "xor": "xor", "wrxchg": "swap", "inc": "inc", "dec": "dec",
    "cmpst": "cmpswap", "cmpstore": "cmpswap",
}  # fmt: skip
_DS = re.compile(r"(add|sub|min|max|and|or|xor|wrxchg|inc|dec|cmpst|cmpstore|pk_add)(_rtn)?_([uibf]\w*\d)$")


def _atomic(i: Instruction, kind: str, name: str) -> Step | None:
    """ISA, section 9.1.10: `sc0` asks for what was there before. A compare and swap has the new value first, then the one to compare with."""
    is_lds = kind == "ds"
    returns = "sc0" in i.modifiers or "glc" in i.modifiers or "RETURN" in i.modifiers.get("th", "")
    if is_lds:
        match = _DS.match(name)
        if match is None:
            return None
        returns, what = bool(match[2]), _DS_NAMES.get(match[1], match[1])
        wide = match[3][1:] == "64"
        what = (
            "umin"
            if match[3][0] == "u" and what == "smin"
            else "umax"
            if match[3][0] == "u" and what == "smax"
            else what
        )
        what += f"_{match[3]}" if match[3][0] == "f" or match[1] == "pk_add" else ""
    else:
        wide = name.endswith("_x2")
        what = name.removesuffix("_x2")
    if what not in _ATOMICS:
        return None
    operation, packed, type = _ATOMICS[what]
    type = type[0] + "8" if wide and not packed else type
    size = int(type[1]) // 4
    is_swap = operation == "cas"
    dtype = np.dtype(type)
    operands = i.operands
    result = None
    if is_lds:
        if returns:
            result, operands = register_of(i, 0, size), operands[1:]
    elif kind != "buffer" and returns:
        result, operands = register_of(i, 0, size), operands[1:]
    shown = Instruction(i.name, i.encoding, operands, i.modifiers, i.line, i.text, i.source, i.index)
    data: list[Register]
    locate: Locate
    if is_lds:
        address = _in_lds(i, operands[0])
        used = registers_of(operands[:1])

        def locate_shared(x: Waves) -> Where:
            return Where(address(x))

        locate = locate_shared
        held = [register_of(shown, 1 + n, size) for n in range(2 if is_swap else 1)]
        # Compare and swap of LDS: the one to compare with comes first on CDNA, and second on RDNA (RDNA3 ISA, section 16.15, "DS_CMPSTORE_B32").
        data = held[::-1] if name.startswith("cmpstore") else held
    else:
        if kind == "buffer":
            locate, used = _buffer(shown, 1, 4 * size, 1)
            whole = register_of(shown, 0, size * (2 if is_swap else 1))
            result = Register(whole.index, size, whole.name) if returns else None
        else:
            locate, used = _address_of_store(shown)
            whole = register_of(shown, 1, size * (2 if is_swap else 1))
        data = [Register(whole.index + n, size, whole.name) for n in range(0, whole.count, size)][::-1]
    used |= frozenset(r for one in data for r in one.all)
    counter = "lds" if is_lds else "loads" if returns else "stores"
    site, space = i.index, "shared" if is_lds else "global"

    def value(x: Waves, held: Register) -> np.ndarray:
        bits = x.v[held.index] if size == 1 else join(x.v[held.index], x.v[held.index + 1])
        return np.ascontiguousarray(np.broadcast_to(bits, x.shape)).view(dtype).ravel()

    def act(x: Waves) -> None:
        where = locate(x)
        mask = _both(x, None if where.inside is None else where.inside[0])
        values = [value(x, held) for held in data]
        address = np.broadcast_to(where.address, x.shape).ravel()
        old = atomics.atomic(x, site, space, operation, packed, address, mask, values, dtype)[0]
        if result is not None:
            bits = old.view(f"u{4 * size}").reshape(x.shape)
            x.set_vector(result.index, bits.astype(U32))
            if size == 2:
                x.set_vector(result.index + 1, (bits >> U64(32)).astype(U32))
        x.issue(getattr(x, counter), site, range(0) if result is None else result.all)

    return Step(i, act, used, frozenset() if result is None else frozenset(result.all), counter)


def _swizzle(i: Instruction, isa: Isa) -> Step:
    reads = crossing.swizzle(i, isa)
    fetch = raw(i, i.operands[1])
    return _permutation(i, lambda x: crossing.pulled(x, fetch(x), reads), 1)


def _pull(i: Instruction, isa: Isa) -> Step:
    address, fetch = raw(i, i.operands[1]), raw(i, i.operands[2])
    offset = U32(_offset(i))
    return _permutation(
        i, lambda x: crossing.pulled(x, fetch(x), (((address(x) + offset) >> U32(2)) % x.warp_size).astype(np.int64)), 1
    )


def _push(i: Instruction, isa: Isa) -> Step:
    address, fetch = raw(i, i.operands[1]), raw(i, i.operands[2])
    offset = U32(_offset(i))
    return _permutation(
        i, lambda x: crossing.pushed(x, fetch(x), (((address(x) + offset) >> U32(2)) % x.warp_size).astype(np.int64)), 1
    )


def _permutation(i: Instruction, function: Callable[[Waves], Any], at: int) -> Step:
    target = register_of(i, 0, 1)

    def act(x: Waves) -> None:
        value = function(x)
        x.issue(x.lds, i.index, target.all)
        x.set_vector(target.index, value)

    return Step(i, act, registers_of(i.operands[at:]), frozenset(target.all), "lds")


_PERMUTATIONS: dict[str, Callable[[Instruction, Isa], Step]] = {
    "ds_swizzle_b32": _swizzle, "ds_bpermute_b32": _pull, "ds_permute_b32": _push,
}  # fmt: skip
