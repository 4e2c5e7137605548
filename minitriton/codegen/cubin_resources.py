"""What a kernel takes of the hardware, read from its cubin, where no device is there to be asked.

In: a cubin (an ELF file of 64 bits) and a kernel's name. Out: its registers a thread and its bytes of local memory.

The section `.nv.info` holds records of 4 bytes, (format, attribute, size), with `size` bytes after those of format 4; the
attributes read here hold a symbol's index and a number (names as `cuobjdump -elf` prints them).
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from minitriton.errors import MinitritonError

_ELF = b"\x7fELF\x02\x01"
_REGISTER_COUNT = 0x2F
_FRAME_SIZE = 0x11
_SIZED = 4
_SYMBOL = struct.Struct("<IBBHQQ")


class KernelResources(NamedTuple):
    """`registers` of each thread, and `local_bytes` of memory that it spills to or indexes."""

    registers: int
    local_bytes: int


class _Section(NamedTuple):
    name: str
    content: bytes


def kernel_resources(cubin: bytes, name: str) -> KernelResources:
    """What kernel `name` takes. Raises `MinitritonError` if `cubin` does not say."""
    try:
        sections = {section.name: section.content for section in _sections(cubin)}
        symbol = _symbol_index(sections[".symtab"], sections[".strtab"], name)
        found = {attribute: value for attribute, index, value in _numbers(sections[".nv.info"]) if index == symbol}
        return KernelResources(found[_REGISTER_COUNT], found.get(_FRAME_SIZE, 0))
    except (LookupError, struct.error, ValueError):
        raise MinitritonError(
            f"the cubin does not say what kernel {name!r} takes", help="give the whole cubin and a kernel in it"
        ) from None


def _sections(cubin: bytes) -> Iterator[_Section]:
    if not cubin.startswith(_ELF):
        raise ValueError
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, of_names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    names = cubin[headers[of_names][4] :]
    for name, _, _, _, offset, length in headers:
        yield _Section(_text(names, name), cubin[offset : offset + length])


def _text(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()


def _symbol_index(symbols: bytes, names: bytes, wanted: str) -> int:
    for index, symbol in enumerate(_SYMBOL.iter_unpack(symbols)):
        if _text(names, symbol[0]) == wanted:
            return index
    raise LookupError(wanted)


def _numbers(info: bytes) -> Iterator[tuple[int, int, int]]:
    """`(attribute, symbol, number)` of each record that holds a symbol and a number."""
    at = 0
    while at < len(info):
        kind, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if kind != _SIZED:
            continue
        if size == 8:
            symbol, number = struct.unpack_from("<II", info, at)
            yield attribute, symbol, number
        at += size


def text_bytes(cubin: bytes, name: str) -> int:
    """Bytes of the machine code of kernel `name`. Raises `MinitritonError` if `cubin` has none."""
    try:
        return next(len(section.content) for section in _sections(cubin) if section.name == f".text.{name}")
    except (StopIteration, LookupError, struct.error, ValueError):
        raise MinitritonError(
            f"the cubin lacks code of kernel {name!r}", help="give the whole cubin and a kernel in it"
        ) from None
