"""Links a relocatable object of LLVM's into a code object that AMD's loader takes: a shared ELF object of few parts.

    read-only    headers, .note, .dynsym, .hash, .dynstr, .rodata      the metadata, the symbols, kernel descriptors `NAME.kd` of 64 bytes
    executable   .text                                                the kernels, at addresses that are multiples of 256
    writable     .dynamic                                             where the loader finds the tables

In: the object's bytes. Out: the code object's. Relocations are those that LLVM emits for a single module: a descriptor's distance to its code
(R_AMDGPU_REL64), a data address relative to the code that takes it (REL32 and its halves). Formats: the ELF specification; LLVM's AMDGPUUsage,
"ELF Code Object", "Relocation Records".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from minitriton.errors import MinitritonError

_PAGE = 0x1000
_HEADER, _SECTION, _SEGMENT = (
    struct.Struct("<16sHHIQQQIHHHHHH"),
    struct.Struct("<IIQQQQIIQQ"),
    struct.Struct("<IIQQQQQQ"),
)
_SYMBOL, _RELOCATION, _DYNAMIC = struct.Struct("<IBBHQQ"), struct.Struct("<QQq"), struct.Struct("<QQ")

_EM_AMDGPU, _ET_DYN = 224, 3
_PROGBITS, _SYMTAB, _STRTAB, _RELA, _HASH, _DYNAMIC_SECTION, _NOTE, _DYNSYM = 1, 2, 3, 4, 5, 6, 7, 11
_WRITE, _ALLOC, _EXECUTE = 1, 2, 4
_PT_LOAD, _PT_DYNAMIC, _PT_NOTE, _PT_PHDR = 1, 2, 4, 6
_R, _RX, _RW = 4, 5, 6
_DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT = 4, 5, 6, 10, 11
_GLOBAL = 1
_HIDDEN = 2

_RELOCATIONS: dict[int, tuple[str, Callable[[int], int]]] = {
    4: ("<I", lambda offset: offset),
    5: ("<Q", lambda offset: offset),
    10: ("<I", lambda offset: offset),
    11: ("<I", lambda offset: offset >> 32),
}
"""By type, of those relative to where they are, how a distance is written: R_AMDGPU_REL32, REL64, REL32_LO, REL32_HI."""


@dataclass
class Section:
    """A section of an ELF file."""

    name: str
    type: int
    flags: int
    data: bytes
    link: int = 0
    info: int = 0
    alignment: int = 1
    entry_size: int = 0
    address: int = 0
    offset: int = 0


@dataclass
class Symbol:
    """An entry of a table of symbols: `section` is its number."""

    name: str
    info: int
    other: int
    section: int
    value: int
    size: int


@dataclass
class ElfFile:
    """What an ELF file of 64 bits says."""

    type: int
    machine: int
    flags: int
    identification: bytes
    sections: list[Section]
    segments: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])

    @classmethod
    def read(cls, data: bytes) -> ElfFile:
        """The file that `data` is. Raises `MinitritonError` for anything else."""
        if data[:6] != b"\x7fELF\x02\x01":
            raise MinitritonError(
                "this is not an ELF file of 64 bits", help="give an object or a code object of AMD's GPUs"
            )
        header = _HEADER.unpack_from(data)
        _, type_, machine, _, _, segments, sections, flags, _, _, segment_count, _, count, names = header
        entries: list[tuple[int, ...]] = [
            _SECTION.unpack_from(data, sections + n * _SECTION.size) for n in range(count)
        ]
        found: list[Section] = []
        texts = entries[int(names)][4] if entries else 0
        for name, kind, bits, address, offset, size, link, info, alignment, entry in entries:
            content = b"" if kind == 8 else data[offset : offset + size]
            found.append(
                Section(_string(data, texts + name), kind, bits, content, link, info, alignment, entry, address, offset)
            )
        parts = [_numbers(_SEGMENT, data, segments + n * _SEGMENT.size) for n in range(segment_count)]
        return cls(type_, machine, flags, header[0], found, parts)

    def named(self, name: str) -> list[Section]:
        """The sections called `name`."""
        return [section for section in self.sections if section.name == name]

    def symbols(self, kind: int = _SYMTAB) -> list[Symbol]:
        """The symbols of the table of `kind`."""
        for section in self.sections:
            if section.type == kind:
                texts = self.sections[section.link].data
                fields = _SYMBOL.iter_unpack(section.data)
                return [Symbol(_string(texts, name), *rest) for name, *rest in fields]
        return []

    def dynamic_symbols(self) -> list[Symbol]:
        """What the loader finds."""
        return self.symbols(_DYNSYM)


def kernels_of(code_object: bytes) -> dict[str, dict[str, Any]]:
    """By name the metadata of each kernel: registers, bytes of memory, arguments (AMDGPUUsage, "Code Object V5 Metadata")."""
    found: dict[str, dict[str, Any]] = {}
    for section in ElfFile.read(code_object).sections:
        if section.type != _NOTE:
            continue
        name_size, size, kind = struct.unpack_from("<3I", section.data)
        start = 12 + -(-name_size // 4) * 4
        if kind != _METADATA:
            continue
        metadata: Any = _Unpacked(section.data[start : start + size]).value()
        found.update((entry[".name"], entry) for entry in metadata["amdhsa.kernels"])
    return found


def argument_slots(code_object: bytes, kernel: str) -> tuple[tuple[int, int], ...]:
    """Offset and bytes of each argument of a kernel, without what the runtime passes. Raises `MinitritonError` if there is no such kernel."""
    found = kernels_of(code_object)
    if kernel not in found:
        raise MinitritonError(f"the code object lacks kernel {kernel!r}; it has {', '.join(found) or 'none'}")
    given = [a for a in found[kernel].get(".args", []) if not a[".value_kind"].startswith("hidden_")]
    return tuple((a[".offset"], a[".size"]) for a in given)


_METADATA = 32
"""NT_AMDGPU_METADATA, a note in the format of MessagePack."""


class _Unpacked:
    """A value of MessagePack, of the kinds that LLVM writes: maps, lists, texts, whole numbers, booleans (MessagePack specification, "Formats")."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def _number(self, size: int) -> int:
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], "big")

    def _text(self, size: int) -> str:
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def _list(self, size: int) -> list[object]:
        return [self.value() for _ in range(size)]

    def _map(self, size: int) -> dict[object, object]:
        return {self.value(): self.value() for _ in range(size)}

    def value(self) -> object:
        """The next value."""
        kind = self._number(1)
        if kind < 0x80:
            return kind
        if kind < 0x90:
            return self._map(kind & 15)
        if kind < 0xA0:
            return self._list(kind & 15)
        if kind < 0xC0:
            return self._text(kind & 31)
        if kind in (0xC2, 0xC3):
            return kind == 0xC3
        if 0xCC <= kind <= 0xCF:
            return self._number(1 << kind - 0xCC)
        if 0xD9 <= kind <= 0xDB:
            return self._text(self._number(1 << kind - 0xD9))
        if kind in (0xDC, 0xDD):
            return self._list(self._number(2 << kind - 0xDC))
        if kind in (0xDE, 0xDF):
            return self._map(self._number(2 << kind - 0xDE))
        raise MinitritonError(f"the code object's metadata have a value of kind {kind:#x}, which is not read here")


def _numbers(form: struct.Struct, data: bytes, start: int) -> tuple[int, ...]:
    return form.unpack_from(data, start)


def _string(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def link(relocatable: bytes) -> bytes:
    """The code object of one relocatable object. Raises `MinitritonError` for what no kernel's object has."""
    source = ElfFile.read(relocatable)
    kept = [number for number, section in enumerate(source.sections) if section.flags & _ALLOC and section.data]
    notes = [source.sections[n] for n in kept if source.sections[n].type == _NOTE]
    constant = [
        n for n in kept if not source.sections[n].flags & (_WRITE | _EXECUTE) and source.sections[n].type != _NOTE
    ]
    code = [n for n in kept if source.sections[n].flags & _EXECUTE]
    if written := [source.sections[n].name for n in kept if source.sections[n].flags & _WRITE]:
        raise MinitritonError(
            f"a kernel's object has the section {written[0]}, which is written to", help="report this"
        )
    rodata, starts_of_constants = _joined([source.sections[n] for n in constant])
    text, starts_of_code = _joined([source.sections[n] for n in code])
    exported = [s for s in source.symbols() if s.section in kept and s.info >> 4 == _GLOBAL and s.other & 3 != _HIDDEN]
    names = b"\0" + b"".join(symbol.name.encode() + b"\0" for symbol in exported)
    sections = [
        Section("", 0, 0, b"", alignment=0),
        Section(".note", _NOTE, _ALLOC, b"".join(note.data for note in notes), alignment=4),
        Section(".dynsym", _DYNSYM, _ALLOC, bytes(_SYMBOL.size * (len(exported) + 1)), 4, 1, 8, _SYMBOL.size),
        Section(".hash", _HASH, _ALLOC, _hash_table([symbol.name for symbol in exported]), 2, 0, 4, 4),
        Section(".dynstr", _STRTAB, _ALLOC, names),
        Section(".rodata", _PROGBITS, _ALLOC, rodata, alignment=_alignment(source, constant)),
        Section(".text", _PROGBITS, _ALLOC | _EXECUTE, text, alignment=_alignment(source, code)),
        Section(".dynamic", _DYNAMIC_SECTION, _ALLOC | _WRITE, bytes(6 * _DYNAMIC.size), 4, 0, 8, _DYNAMIC.size),
    ]
    _, note, dynsym, hash_, dynstr, constants, instructions, dynamic = sections
    segments = 7
    _lay_out(sections, _HEADER.size + segments * _SEGMENT.size)
    base = {n: (constants, constants.address + at) for n, at in zip(constant, starts_of_constants, strict=True)}
    base |= {n: (instructions, instructions.address + at) for n, at in zip(code, starts_of_code, strict=True)}
    _relocate(source, base)
    moved = [
        Symbol(s.name, s.info, s.other, sections.index(base[s.section][0]), base[s.section][1] + s.value, s.size)
        for s in exported
    ]
    dynsym.data = _symbol_table(moved, names)
    tables = (
        (_DT_SYMTAB, dynsym.address), (_DT_SYMENT, _SYMBOL.size), (_DT_STRTAB, dynstr.address), (_DT_STRSZ, len(names)),
        (_DT_HASH, hash_.address), (0, 0),
    )  # fmt: skip
    dynamic.data = b"".join(_DYNAMIC.pack(*entry) for entry in tables)
    return _written(source, sections, [
        (_PT_PHDR, _R, _HEADER.size, _HEADER.size, segments * _SEGMENT.size, 8),
        (_PT_LOAD, _R, 0, 0, constants.offset + len(constants.data), _PAGE),
        (_PT_LOAD, _RX, instructions.offset, instructions.address, len(instructions.data), _PAGE),
        (_PT_LOAD, _RW, dynamic.offset, dynamic.address, len(dynamic.data), _PAGE),
        (_PT_DYNAMIC, _RW, dynamic.offset, dynamic.address, len(dynamic.data), 8),
        (_GNU_STACK, _RW, 0, 0, 0, 0),
        (_PT_NOTE, _R, note.offset, note.address, len(note.data), 4),
    ])  # fmt: skip


_GNU_STACK = 0x6474E551


def _joined(sections: Sequence[Section]) -> tuple[bytes, list[int]]:
    """The contents one after the other, and where each begins."""
    data, starts = b"", list[int]()
    for section in sections:
        data += bytes(-len(data) % max(section.alignment, 1))
        starts.append(len(data))
        data += section.data
    return data, starts


def _alignment(source: ElfFile, numbers: Sequence[int]) -> int:
    return max((source.sections[number].alignment for number in numbers), default=4)


def _lay_out(sections: Sequence[Section], start: int) -> None:
    """Gives sections offsets and addresses, in order: an address is its offset plus a page for each change of what may be done with it."""
    offset, pages, access = start, 0, 0
    for section in sections[1:]:
        changed = section.flags & (_WRITE | _EXECUTE)
        if changed != access:
            pages, access = pages + _PAGE, changed
        offset += -offset % max(section.alignment, 1)
        section.offset, section.address = offset, offset + pages
        offset += len(section.data)


def _relocate(source: ElfFile, base: dict[int, tuple[Section, int]]) -> None:
    """Writes the distances that relocations ask for; `base` has the new section and the address of each section that is kept."""
    symbols = source.symbols()
    for section in source.sections:
        if section.type != _RELA or section.info not in base:
            continue
        target, start = base[section.info]
        data = bytearray(target.data)
        for entry in _RELOCATION.iter_unpack(section.data):
            offset, info, addend = map(int, entry)
            symbol = symbols[info >> 32]
            kind = info & 0xFFFFFFFF
            if kind not in _RELOCATIONS or symbol.section not in base:
                raise MinitritonError(
                    f"the object refers to {symbol.name or 'a section'!r} by relocation {kind}, which nothing here resolves",
                    help="a kernel calls no function outside of its module",
                )
            form, part = _RELOCATIONS[kind]
            distance = base[symbol.section][1] + symbol.value + addend - (start + offset)
            mask = (1 << 8 * struct.calcsize(form)) - 1
            struct.pack_into(form, data, start - target.address + offset, part(distance) & mask)
        target.data = bytes(data)


def _symbol_table(symbols: Sequence[Symbol], names: bytes) -> bytes:
    """The entries, after that of no symbol."""
    table = bytes(_SYMBOL.size)
    for s in symbols:
        at = names.index(b"\0" + s.name.encode() + b"\0") + 1
        table += _SYMBOL.pack(at, s.info, s.other, s.section, s.value, s.size)
    return table


def _hash_table(names: Sequence[str]) -> bytes:
    """System V's table: a bucket has the number of its first symbol, a chain that of the next one (ELF specification, "Hash Table")."""
    count = max(len(names), 1)
    buckets, chains = [0] * count, [0] * (len(names) + 1)
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % count
        chains[number], buckets[bucket] = buckets[bucket], number
    return struct.pack(f"<{2 + len(buckets) + len(chains)}I", count, len(chains), *buckets, *chains)


def _hash(name: str) -> int:
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
    return value


def _written(source: ElfFile, sections: list[Section], segments: Sequence[tuple[int, ...]]) -> bytes:
    """The file: headers, sections where they were placed, their names, and the table of sections."""
    names = b"\0" + b"".join(section.name.encode() + b"\0" for section in sections[1:]) + b".shstrtab\0"
    end = max(section.offset + len(section.data) for section in sections)
    sections = [*sections, Section(".shstrtab", _STRTAB, 0, names, offset=end)]
    table = end + len(names)
    table += -table % 8
    data = bytearray(table)
    _HEADER.pack_into(
        data, 0, source.identification, _ET_DYN, _EM_AMDGPU, 1, 0, _HEADER.size, table, source.flags, _HEADER.size,
        _SEGMENT.size, len(segments), _SECTION.size, len(sections), len(sections) - 1,
    )  # fmt: skip
    for number, (kind, flags, offset, address, size, alignment) in enumerate(segments):
        fields = (kind, flags, offset, address, address, size, size, alignment)
        _SEGMENT.pack_into(data, _HEADER.size + number * _SEGMENT.size, *fields)
    for s in sections:
        data[s.offset : s.offset + len(s.data)] = s.data
        at = names.index(b"\0" + s.name.encode() + b"\0") + 1 if s.name else 0
        fields = (at, s.type, s.flags, s.address, s.offset, len(s.data), s.link, s.info, s.alignment, s.entry_size)
        data += _SECTION.pack(*fields)
    return bytes(data)
