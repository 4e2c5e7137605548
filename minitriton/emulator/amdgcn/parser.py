"""AMDGCN text to `Module`.

In: assembly as LLVM's AMDGPU back end writes it, or by hand. Out: the instructions of its `.text` sections with their lines, and its kernels with
descriptors (`.amdhsa_kernel`) and arguments (`.amdgpu_metadata`). Text that is not such assembly raises `EmulationError` with the location.

    .LBB0_1:                                   →   labels[".LBB0_1"] = 0
        global_load_dword v4, v[2:3], off      →   Instruction("global_load_dword", ...)
"""

from __future__ import annotations

import re
import struct

from minitriton.emulator.amdgcn.program import (
    ACCUMULATION,
    NAMED,
    SCALAR,
    TRAP,
    Constant,
    Instruction,
    Kernel,
    Module,
    Operand,
    Register,
    Symbol,
    is_rdna,
)
from minitriton.emulator.ptx.program import EmulationError, KernelParameter, error_at
from minitriton.errors import SourceLocation

_LABEL = re.compile(r"\s*(?:([\w.$@]+)|\"([^\"]*)\"):\s*")
_OPCODE = re.compile(r"[a-z][a-z0-9_]*$")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)")
_CALL_SITE = re.compile(r"([^\s\[\]]+):(\d+):(\d+)[\s\]]*$")
_FILE = re.compile(r'\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_REGISTER = re.compile(r"(v|s|a|ttmp)(?:(\d+)|\[(\d+)(?::(\d+))?\])$")
_DIFFERENCE = re.compile(r"\(([\w.$]+)-([\w.$]+)\)(&4294967295|>>32)$")
_HALF = re.compile(r"(v\d+)\.([lh])$")
_SYMBOL = re.compile(r"(?:([A-Za-z_.$][\w.$]*)|\"([^\"]*)\")(?:@rel32@(lo|hi)[+-]\d+)?$")
_ENCODING = re.compile(r"_(e32|e64|e64_dpp|sdwa|dpp)$")
_FLAG = re.compile(
    r"(?:off|offen|idxen|sc0|sc1|nt|glc|slc|dlc|lds|clamp|gds|tfe|row_mirror|row_half_mirror)$|[a-z_0-9]+:"
)
_ARGUMENT = re.compile(r"\.(offset|size|value_kind|name|address_space):\s*(\S+)")
_DATA = {".byte": "B", ".short": "H", ".long": "I", ".quad": "Q"}
MOST_REGISTERS = {"v": 256, "a": 256, "s": 106, "ttmp": 16}
_START = {"v": 0, "a": ACCUMULATION, "s": SCALAR, "ttmp": SCALAR + TRAP}
_HINTS = ("s_delay_alu", "s_sendmsg", "s_waitcnt_depctr", "s_wait_alu")
"""Instructions whose operands say what does not change results, in words of their own."""
_SEE_DOCS = "docs/amdgcn-emulator.md lists what is emulated"
_TOGETHER = " :: "
"""Between the two instructions of `v_dual_*`."""


def _split(text: str, at: str) -> list[str]:
    """At a character outside of brackets and quotes; without empty parts."""
    parts, depth, start, quoted = list[str](), 0, 0, False
    for position, character in enumerate(text):
        quoted ^= character == '"'
        depth += (character in "([") - (character in ")]")
        if character == at and not depth and not quoted:
            parts.append(text[start:position].strip())
            start = position + 1
    return [part for part in [*parts, text[start:].strip()] if part]


class _Parser:
    def __init__(self, text: str) -> None:
        self.module = Module(text)
        self.instructions: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.label_lines: dict[str, int] = {}
        self.files: dict[int, str] = {}
        self.line, self.statement = 0, ""
        self.source: SourceLocation | None = None
        self.in_text, self.in_data, self.symbol = True, False, ""
        self.descriptor: Kernel | None = None
        self.metadata: list[str] | None = None
        self.origin = 0
        """The instruction after the last `s_getpc_b64`."""

    def fail(self, message: str, help: str | None = None) -> EmulationError:
        return error_at(message, "amdgcn", self.line, self.statement, self.source, help)

    def parse(self) -> Module:
        for number, line in enumerate(self.module.text.split("\n"), 1):
            self.line = number
            if self.metadata is not None:
                if line.strip() == ".end_amdgpu_metadata":
                    self.arguments(self.metadata)
                    self.metadata = None
                else:
                    self.metadata.append(line)
                continue
            code, _, comment = line.partition("//")[0].partition(";")
            while match := _LABEL.match(code):
                self.label(match[1] or match[2])
                code = code[match.end() :]
            self.statement = code.strip()
            if self.statement.startswith("."):
                self.directive(self.statement, comment)
            elif self.statement and self.in_text:
                self.instruction(self.statement)
        self.check_labels()
        return self.module

    def label(self, name: str) -> None:
        if self.in_text:
            if name in self.labels:
                raise self.fail(f"the label {name} stands twice, first at line {self.label_lines[name]}")
            self.labels[name], self.label_lines[name] = len(self.instructions), self.line
            self.source = None if name[0] != "." else self.source
        self.symbol = name

    def directive(self, text: str, comment: str) -> None:
        word, _, rest = text.partition("\t") if "\t" in text.split(" ")[0] else text.partition(" ")
        rest = rest.strip()
        if self.descriptor is not None:
            if word == ".end_amdhsa_kernel":
                self.descriptor = None
            elif word.startswith(".amdhsa_") and re.fullmatch(r"-?\w+", rest):
                self.descriptor.directives[word[8:]] = self.number(rest)
        elif word == ".loc":
            self.location(text, comment)
        elif word == ".file" and (match := _FILE.match(text)):
            self.files[int(match[1])] = (
                match[2].rstrip("/") + "/" + match[3] if match[3] and match[3][0] != "/" else match[3] or match[2]
            )
        elif word in (".text", ".section"):
            self.in_text = word == ".text" or rest.startswith(".text")
            self.in_data = word == ".section" and rest.startswith((".rodata", ".data"))
        elif word == ".amdgcn_target":
            self.module.target = rest.strip('"').rpartition("--")[2]
            if not self.module.target.startswith("gfx9") and (
                not is_rdna(self.module.target) or self.module.target == "gfx1250"
            ):
                raise self.fail(
                    f"{self.module.target} is not emulated: CDNA is (gfx90a, gfx942, gfx950), and RDNA (gfx11, gfx120)"
                )
        elif word == ".amdhsa_kernel":
            if rest in self.module.kernels:
                raise self.fail(f"kernel {rest} has two descriptors")
            self.descriptor = Kernel(rest, self.instructions, self.labels, line=self.line)
            self.module.kernels[rest] = self.descriptor
        elif word == ".amdgpu_metadata":
            self.metadata = []
        elif word in _DATA and self.in_data:
            self.constant_data(word, rest)

    def constant_data(self, word: str, rest: str) -> None:
        """Numbers in a data section, of the symbol that stands before them."""
        parts = _split(rest, ",")
        if all(re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", part) for part in parts):
            size = struct.calcsize(_DATA[word])
            mask = (1 << 8 * size) - 1
            found = b"".join((self.number(part) & mask).to_bytes(size, "little") for part in parts)
            self.module.data[self.symbol] = self.module.data.get(self.symbol, b"") + found

    def number(self, text: str) -> int:
        try:
            return int(text, 0)
        except ValueError:
            raise self.fail(f"{text} is not a number") from None

    def location(self, text: str, comment: str) -> None:
        """The line in the kernel's file; where code was inlined, that of the outermost call."""
        match = _LOC.match(text)
        if match is None:
            raise self.fail("malformed .loc")
        file, line, column = int(match[1]), int(match[2]), int(match[3])
        name = self.files.get(file, f"file{file}")
        if "@[" in comment and (outer := _CALL_SITE.search(comment.rpartition("@[")[2])):
            same = [f for f in self.files.values() if f.endswith(outer[1].rpartition("/")[2])]
            name, line, column = same[0] if same else outer[1], int(outer[2]), int(outer[3])
        if line:
            self.source = SourceLocation(name, line, column)

    def instruction(self, text: str) -> None:
        first, _, second = text.partition(_TOGETHER)
        index = len(self.instructions)
        made = self.one(first.strip(), index)
        if second:
            made.second, made.text = self.one(second.strip(), index), text
        self.instructions.append(made)

    def one(self, text: str, index: int) -> Instruction:
        """An instruction, or half of one with two."""
        word, _, rest = text.replace("\t", " ").partition(" ")
        if not _OPCODE.match(word):
            raise self.fail(f"{word} is not an instruction that the emulator knows", _SEE_DOCS)
        operands: list[Operand] = []
        modifiers: dict[str, str] = {}
        match = _ENCODING.search(word)
        name, encoding = (word[: match.start()], match[1]) if match else (word, "")
        if name in _HINTS:
            rest = ""
        if name == "s_waitcnt" and not re.fullmatch(r"\s*(0x[0-9a-fA-F]+|\d+)\s*", rest):
            counts = re.findall(r"(\w+)\((\d+)\)", rest)
            if re.sub(r"\w+\(\d+\)|[&,\s]", "", rest) or not counts:
                raise self.fail("s_waitcnt takes counters such as vmcnt(0)")
            modifiers = dict(counts)
        else:
            for part in _split(rest, ","):
                for first, token in enumerate(_split(part, " ")):
                    if first or _FLAG.match(token):
                        key, colon, value = token.partition(":")
                        if first and not _FLAG.match(token):
                            raise self.fail(f"{token} is neither an operand nor a modifier")
                        modifiers[key] = value if colon else ""
                    else:
                        operands.append(self.operand(token))
        self.origin = index + 1 if name == "s_getpc_b64" else self.origin
        return Instruction(name, encoding, tuple(operands), modifiers, self.line, text, self.source, index)

    def operand(self, text: str) -> Operand:
        negated = absolute = extended = False
        if text.startswith("-") and not re.match(r"-[\d.]", text):
            negated, text = True, text[1:]
        for opening, closing in (("|", "|"), ("abs(", ")"), ("neg(", ")"), ("sext(", ")")):
            if text.startswith(opening) and text.endswith(closing) and len(text) > len(opening):
                text = text[len(opening) : -1]
                absolute |= opening in ("|", "abs(")
                negated |= opening == "neg("
                extended |= opening == "sext("
        half = ""
        if match := _HALF.match(text):
            text, half = match[1], match[2]
        return Operand(self.base(text), negated, absolute, extended, half)

    def base(self, text: str) -> Register | Constant | Symbol:
        if match := _REGISTER.match(text):
            first = int(match[2] or match[3])
            last = int(match[4] or first)
            if not first <= last < MOST_REGISTERS[match[1]]:
                raise self.fail(f"the registers end before {text}")
            return Register(_START[match[1]] + first, last - first + 1, text)
        if text in NAMED:
            number, count = NAMED[text]
            return Register(SCALAR + number, count, text)
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
            return Constant(int(text, 0))
        try:
            return Constant(float(text))
        except ValueError:
            pass
        if (match := _DIFFERENCE.match(text)) and match[2] in self.labels:
            return Symbol(match[1], "hi" if match[3] == ">>32" else "lo", self.labels[match[2]])
        if match := _SYMBOL.match(text):
            return Symbol(match[1] or match[2], match[3] or "", self.origin)
        if re.fullmatch(r"hwreg\(.*\)", text):
            return Symbol(text)
        raise self.fail(f"{text} is not an operand")

    def check_labels(self) -> None:
        for name, kernel in self.module.kernels.items():
            if name not in self.labels:
                raise EmulationError(
                    f"kernel {name} has a descriptor and no code", SourceLocation("<amdgcn>", kernel.line),
                    help=f"write its instructions after a label `{name}:`",
                )  # fmt: skip
            is_narrow = kernel.directive("wavefront_size32", int(is_rdna(self.module.target)))
            kernel.lanes = 32 if is_narrow else 64
        for i in self.instructions:
            target = i.operands[0].base if i.operands else None
            if (
                i.name.startswith(("s_branch", "s_cbranch"))
                and isinstance(target, Symbol)
                and target.name not in self.labels
            ):
                raise i.error(f"the label {target.name} is missing")

    def arguments(self, lines: list[str]) -> None:
        """The arguments of each kernel, from the metadata's YAML: `.args` lists of maps, one key a line."""
        entries: list[dict[str, str]] = []
        found: dict[str, str] = {}
        in_args = False
        for line in [*lines, "  - end:"]:
            stripped = line.strip()
            if re.match(r"  - ", line) or stripped == "...":
                if found.get(".name", "") in self.module.kernels:
                    self.bind(self.module.kernels[found[".name"]], entries, found)
                entries, found = [], {}
            if stripped in (".args:", "- .args:"):
                in_args = True
            elif in_args and line.startswith("      "):
                entries += [{}] if stripped.startswith("- ") else []
                if match := _ARGUMENT.search(stripped):
                    entries[-1][match[1]] = match[2]
            else:
                in_args = False
                key, _, value = stripped.removeprefix("- ").partition(":")
                found[key] = value.strip()

    def bind(self, kernel: Kernel, entries: list[dict[str, str]], found: dict[str, str]) -> None:
        kernel.max_threads = self.number(found.get(".max_flat_workgroup_size", "0"))
        for entry in entries:
            offset, size, kind = int(entry["offset"]), int(entry["size"]), entry.get("value_kind", "by_value")
            if kind.startswith("hidden_"):
                kernel.hidden[kind.removeprefix("hidden_")] = offset, size
                continue
            is_pointer = kind == "global_buffer"
            name = entry.get("name", f"argument {len(kernel.parameters)}")
            type, count = ("u64", 1) if is_pointer else (f"b{8 * size}", 1) if size in (1, 2, 4, 8) else ("b8", size)
            kernel.parameters.append(KernelParameter(name, type, count, offset, is_pointer))


def parse(text: str) -> Module:
    """Parses a text. Raises `EmulationError` at the line of what is not understood."""
    return _Parser(text).parse()
