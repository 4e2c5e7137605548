"""PTX text to `Module`.

In: PTX as LLVM's NVPTX back end writes it, with inline assembly. Out: kernels with resolved registers and labels, every
instruction with its line. Text that is not PTX raises `EmulationError` with the location.

    $L__BB0_1:                      →   labels["$L__BB0_1"] = 0
        add.s32 %r1, %r2, 7;        →   Instruction("add.s32", (Register, Register, Immediate(7)), ...)
"""

import re
import struct

from minitriton.emulator.ptx.expansion import expand
from minitriton.emulator.ptx.program import (
    Address,
    EmulationError,
    Immediate,
    Instruction,
    KernelParameter,
    Module,
    Negated,
    Operand,
    Pair,
    PTXKernel,
    Register,
    Symbol,
    Variable,
    Vector,
    error_at,
)
from minitriton.errors import SourceLocation

_LABEL = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*:(?!:)")
_GUARD = re.compile(r"@(!?)\s*([%\w$]+)\s+")
_OPCODE = re.compile(r"[a-z][\w.:]*")
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
_CALL_SITE = re.compile(r"(?<![\w./<>-])([\w./<>-]+):(\d+):(\d+) \]*$")
_HEADER = re.compile(
    r"\.(?P<what>entry|func)\s+(?:\((?P<results>[^)]*)\)\s*)?(?P<name>[\w$]+)\s*(?:\((?P<parameters>.*)\))?(?P<rest>.*)$",
    re.S,
)
_REGISTER_RANGE = re.compile(r"([%\w$]+)<(\d+)>")
_REGISTER_TYPE = re.compile(r"\.(?:pred|[bus](?:8|16|32|64)|f(?:16|32|64))")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+(.*?)([\w$]+)(?:\[(\d*)\])?$", re.S)
_VARIABLE = re.compile(
    r"(?:\.align\s+(\d+)\s+)?\.(?:v\d\s+)?([busf]\d+)\s+([\w$%]+)((?:\[\d*\])*)\s*(?:=\s*(.*))?$", re.S
)
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?$")
_SPLIT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\]|\\.)*\"|[;{}\n]", re.S)


MOST_SCOPES = 256
"""Blocks of PTX within each other: a name is looked up in each. LLVM writes one around a call."""


MOST_OF_PARAMETER = 4096
"""Characters of a parameter's declaration; its pattern takes the square of that."""


class _Scope:
    """Register names of one `{ }`: single names and numbered ranges."""

    def __init__(self) -> None:
        self.ranges: dict[str, tuple[str, int]] = {}
        self.parameters: dict[str, str] = {}
        """Parameters of calls: their names within the kernel."""
        self.names: dict[str, Register] = {}
        self.labels: dict[str, str] = {}


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.module = Module(text)
        self.kernel: PTXKernel | None = None
        self.scopes: list[_Scope] = []
        self.line = 1
        self.source: SourceLocation | None = None
        self.kernel_file = 0
        self.is_function = False
        self.last_label = ""
        self.fixups: list[tuple[Instruction, list[_Scope]]] = []

    def fail(self, message: str, statement: str) -> EmulationError:
        return error_at(message, "ptx", self.line, " ".join(statement.split()), self.source)

    def parse(self) -> Module:
        for match in re.finditer(r'^[^\S\n]*\.file\s+(\d+)\s+"([^"]*)"', self.text, re.M):
            self.module.files[int(match[1])] = match[2]
        pending, position, skip_depth = "", 0, 0
        earlier: list[str] = []  # lines of the statement before this one: each is looked at once
        for match in _SPLIT.finditer(self.text):
            token = match[0]
            chunk = self.text[position : match.start()]
            position = match.end()
            if skip_depth:
                skip_depth += (token == "{") - (token == "}")
                self.line += token.count("\n")
                continue
            pending += chunk
            if token in ";{}":
                pending = "".join([*earlier, pending])
                earlier.clear()
            if token[0] == '"':
                pending += token
            elif token[0] == "/":
                stripped = pending.strip()
                if not earlier and stripped.startswith(".loc"):
                    self.location(stripped, token)
                    pending = ""
                self.line += token.count("\n")
            elif token == "\n":
                line = pending + " " if earlier else self.end_of_line(pending)
                earlier += [line] if line.strip() else []
                pending = ""
                self.line += 1
            elif token == ";":
                self.statement(self.take_labels(pending).strip())
                pending = ""
            elif token == "{":
                pending = self.take_labels(pending)
                if pending.lstrip().startswith(".section"):
                    skip_depth, pending = 1, ""
                elif not pending.strip() or (self.kernel is None and re.search(r"\.(entry|func)\b", pending)):
                    self.open(pending)
                    pending = ""
                else:
                    pending += token
            elif pending := self.take_labels(pending).strip():
                pending += token
            else:
                self.close()
        pending = "".join([*earlier, pending])
        if pending.strip() or self.kernel is not None:
            raise self.fail("the PTX text ends within a statement or a function", pending[-80:])
        for kernel in self.module.kernels.values():
            expand(kernel, self.module.functions)
        return self.module

    def end_of_line(self, pending: str) -> str:
        """Directives that end with their line are done here; others go on."""
        stripped = pending.strip()
        if not stripped.startswith("."):
            return self.take_labels(pending) + " " if stripped else ""
        word = stripped.split(None, 1)[0]
        if word == ".loc":
            self.location(stripped, "")
        elif word == ".target":
            self.module.target = stripped.split()[1].rstrip(",")
        elif word not in (".version", ".address_size", ".file"):
            return pending + " "
        return ""

    def take_labels(self, pending: str) -> str:
        while (match := _LABEL.match(pending)) and self.kernel is not None:
            label = match[1]
            unique = label if len(self.scopes) == 1 else f"{label}@{self.line}"
            self.scopes[-1].labels[label] = self.last_label = unique
            self.kernel.labels[unique] = len(self.kernel.instructions)
            pending = pending[match.end() :]
        return pending

    def location(self, text: str, comment: str) -> None:
        """Keeps the line of the kernel's own file: that of the outermost call where the instruction was inlined."""
        match = _LOC.match(text)
        if match is None:
            raise self.fail("malformed .loc", text)
        file, line, column = int(match[1]), int(match[2]), int(match[3])
        if not self.kernel_file:
            self.kernel_file = file
        if "@[" in comment and (outer := _CALL_SITE.search(comment.rstrip(" ]") + " ")):
            file, line, column = self.kernel_file, int(outer[2]), int(outer[3])
        elif file != self.kernel_file and match[4]:
            file, line, column = int(match[4]), int(match[5]), int(match[6])
        if line and file == self.kernel_file:
            self.source = SourceLocation(self.module.files.get(file, f"file{file}"), line, column)

    def open(self, header: str) -> None:
        if self.kernel is None:
            match = _HEADER.search(header)
            if match is None:
                raise self.fail("expected a kernel (.entry) or a function (.func) before `{`", header)
            self.is_function = match["what"] == "func"
            self.check_alignments(header)
            try:
                self.kernel = PTXKernel(match["name"], _parameters(match["parameters"] or ""))
                self.kernel.results = [p.name for p in _parameters(match["results"] or "")]
            except EmulationError as error:
                raise self.fail(error.message, header) from None
            self.kernel.line = self.line_above(match["name"])
            self.sizes(self.kernel, match["rest"])
            self.kernel_file, self.source, self.fixups = 0, None, []
        if len(self.scopes) >= MOST_SCOPES:
            raise self.fail(f"blocks are nested more than {MOST_SCOPES} deep", header)
        self.scopes.append(_Scope())

    def sizes(self, kernel: PTXKernel, directives: str) -> None:
        """The numbers of threads and CTAs after an entry's parameters."""
        for directive in (".maxntid", ".reqntid", ".reqnctapercluster"):
            found = re.search(rf"\{directive}\b([^.{{]*)", directives)
            if found is None:
                continue
            line = self.line_above(directive)
            numbers = [n.strip() for n in found[1].split(",")]
            if len(numbers) > 3 or not all(re.fullmatch(r"\d{1,9}", n) for n in numbers):
                self.line = line
                raise self.fail(f"{directive} takes one to three numbers, up to 9 digits each", found[0])
            sizes = [int(n) for n in numbers] + [1, 1]
            if "cta" in directive:
                kernel.cluster = (sizes[0], sizes[1], sizes[2])
            else:
                kernel.threads, kernel.threads_line = (sizes[0], sizes[1], sizes[2]), line

    def line_above(self, word: str) -> int:
        """The last line up to this one that has `word`."""
        lines = self.text.split("\n")[: self.line]
        return next((n for n in range(len(lines), 0, -1) if word in lines[n - 1]), self.line)

    def close(self) -> None:
        if not self.scopes or self.kernel is None:
            raise self.fail("`}` without `{`", "}")
        if len(self.scopes) == 1:
            self.resolve_labels(self.kernel)
            found = self.module.functions if self.is_function else self.module.kernels
            found[self.kernel.name] = self.kernel
            self.scopes.pop()
            self.kernel = None
        else:
            self.scopes.pop()

    def resolve_labels(self, kernel: PTXKernel) -> None:
        for instruction, scopes in self.fixups:
            target = instruction.operands[0]
            name = target.name if isinstance(target, Symbol) else ""
            unique = next((s.labels[name] for s in reversed(scopes) if name in s.labels), None)
            if unique is None:
                self.line = instruction.line
                raise self.fail(f"branch to `{name}`, which no label defines", instruction.text)
            instruction.operands = (Symbol(unique), *instruction.operands[1:])

    def statement(self, text: str) -> None:
        if not text:
            return
        if text.startswith("."):
            self.declaration(text)
            return
        if self.kernel is None:
            raise self.fail("an instruction outside a kernel", text)
        guard, negated, rest = None, False, text
        if match := _GUARD.match(text):
            found = self.register(match[2])
            if found is None:
                raise self.fail(f"the guard `{match[2]}` is not a declared register", text)
            guard, negated, rest = found, bool(match[1]), text[match.end() :]
        opcode = _OPCODE.match(rest)
        if opcode is None:
            raise self.fail("expected an instruction", text)
        try:
            operands = tuple(self.operand(o) for o in _split(rest[opcode.end() :]))
        except ValueError as error:
            raise self.fail(str(error), text) from None
        instruction = Instruction(
            opcode[0], operands, guard, negated, self.line, " ".join(text.split()), self.source,
            len(self.kernel.instructions),
        )  # fmt: skip
        self.kernel.instructions.append(instruction)
        if opcode[0].startswith("bra"):
            self.fixups.append((instruction, list(self.scopes)))

    def declaration(self, text: str) -> None:
        words = text.split(None, 1)
        head, rest = words[0], words[1] if len(words) > 1 else ""
        if head == ".reg":
            self.declare_registers(rest)
            return
        extern = False
        while head in (".extern", ".visible", ".weak", ".common"):
            extern |= head == ".extern"
            words = rest.split(None, 1)
            head, rest = words[0], words[1] if len(words) > 1 else ""
        self.check_alignments(text)
        if head in (".pragma", ".func", ".noreturn", ".file", ".maxnreg", ".minnctapersm", ".callprototype"):
            return
        if head == ".param" and self.kernel is not None:
            (declared,) = _parameters(text)
            unique = f"{declared.name}@{self.line}"
            self.scopes[-1].parameters[declared.name] = unique
            stated = re.search(r"\.align\s+(\d+)", text)
            align = max(declared.size // declared.count, int(stated[1]) if stated else 0, 8)
            self.kernel.passed[unique] = Variable(unique, "local", declared.size, align)
            return
        if head == ".branchtargets" and self.kernel is not None:
            self.kernel.tables[self.last_label] = [t.strip() for t in rest.split(",")]
            return
        if head not in (".shared", ".global", ".const", ".local"):
            raise self.fail(f"unknown directive `{head}`", text)
        match = _VARIABLE.match(rest)
        if match is None:
            raise self.fail("malformed variable declaration", text)
        width = int(match[2][1:]) // 8
        count = 1
        for size in re.findall(r"\[(\d*)\]", match[4]):
            count *= int(size or 0)
        data = _initial(match[5], width, width * count) if match[5] else None
        align = int(match[1] or width)
        variable = Variable(match[3], head[1:], width * count, align, data, extern)
        if self.kernel is None:
            self.module.variables[variable.name] = variable
        else:
            self.kernel.variables.append(variable)

    def check_alignments(self, text: str) -> None:
        """Raises `EmulationError` for an alignment that is no power of 2."""
        for number in re.findall(r"\.align\s+(\d+)", text):
            if len(number) > 9 or int(number).bit_count() != 1:
                raise self.fail(f".align takes a power of 2, got {number[:20]}", text)

    def declare_registers(self, text: str) -> None:
        if not self.scopes:
            raise self.fail("registers declared outside a kernel", text)
        kind, names = text.split(None, 1)
        if not _REGISTER_TYPE.fullmatch(kind):
            raise self.fail(f"no register is {kind}: .pred, or .b, .u, .s or .f and its bits", text)
        for name in names.split(","):
            if match := _REGISTER_RANGE.match(name.strip()):
                self.scopes[-1].ranges[match[1]] = (kind[1:], int(match[2]))
            else:
                self.scopes[-1].names[name.strip()] = self.new_register(name.strip(), kind[1:])

    def new_register(self, name: str, kind: str) -> Register:
        assert self.kernel is not None
        register = Register(len(self.kernel.registers), name, kind)
        self.kernel.registers.append(register)
        return register

    def register(self, name: str) -> Register | None:
        """The declared register of that name, innermost scope first; one of a range comes to be at its first use."""
        for scope in reversed(self.scopes):
            if (found := scope.names.get(name)) is not None:
                return found
            prefix = name.rstrip("0123456789")
            if (
                len(prefix) < len(name)
                and (declared := scope.ranges.get(prefix))
                and int(name[len(prefix) :]) < declared[1]
            ):
                found = scope.names[name] = self.new_register(name, declared[0])
                return found
        return None

    def operand(self, text: str) -> Operand:
        first = text[0]
        if first == "[":
            return self.address(text[1:-1].strip())
        if first in "{(":
            return Vector(tuple(self.operand(o) for o in _split(text[1:-1])))
        if "|" in text:
            left, right = text.split("|")
            return Pair(self.operand(left.strip()), self.operand(right.strip()))
        if first == "!":
            found = self.register(text[1:].strip())
            if found is None:
                raise ValueError(f"`{text[1:]}` is not a declared register")
            return Negated(found)
        if (found := self.register(text)) is not None:
            return found
        if first in "+-.0123456789":
            return _immediate(text)
        if "+" in text:
            base, offset = text.split("+")
            return Address(Symbol(base.strip()), int(offset, 0))
        if first == "%" and text.rstrip("0123456789") in ("%r", "%rd", "%rs", "%p", "%f", "%fd", "%rh", "%b"):
            raise ValueError(f"`{text}` is not a declared register")
        return Symbol(next((s.parameters[text] for s in reversed(self.scopes) if text in s.parameters), text))

    def address(self, text: str) -> Address:
        parts = _split(text)
        coordinates: tuple[Operand, ...] = ()
        if len(parts) > 1:
            vector = self.operand(parts[1])
            coordinates = vector.elements if isinstance(vector, Vector) else (vector,)
        base, _, offset = parts[0].partition("+")
        return Address(self.operand(base.strip()), int(offset.strip() or "0", 0), coordinates)


def _split(text: str) -> list[str]:
    """Splits operands at the commas outside brackets."""
    found: list[str] = []
    depth, start = 0, 0
    for position, char in enumerate(text):
        if char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
        elif char == "," and depth == 0:
            found.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    if last:
        found.append(last)
    return found


def _immediate(text: str) -> Immediate:
    kind = text[:2].lower()
    if kind == "0f" and len(text) == 10:
        return Immediate(struct.unpack("<f", struct.pack("<I", int(text[2:], 16)))[0], 32)
    if kind == "0d" and len(text) == 18:
        return Immediate(struct.unpack("<d", struct.pack("<Q", int(text[2:], 16)))[0], 64)
    if _INTEGER.match(text):
        return Immediate(int(text.rstrip("U"), 0) if text.lstrip("+-0") != "" else 0)
    try:
        return Immediate(float(text), 64)
    except ValueError:
        raise ValueError(f"`{text}` is not a literal that PTX knows") from None


def _parameters(text: str) -> list[KernelParameter]:
    found: list[KernelParameter] = []
    offset = 0
    for part in _split(text):
        match = _PARAMETER.match(part.strip()) if len(part) <= MOST_OF_PARAMETER else None
        if match is None:
            raise EmulationError(f"malformed kernel parameter `{part:.200}`")
        size = int(match[1][1:]) // 8
        count = int(match[4] or 1)
        align = re.search(r"\.align\s+(\d+)", part)
        unit = int(align[1]) if align and ".ptr" not in part else size
        offset = -(-offset // unit) * unit
        found.append(
            KernelParameter(match[3], match[1], count, offset, ".ptr" in match[2] or match[1] in ("u64", "b64"))
        )
        offset += size * count
    return found


def _initial(text: str, width: int, size: int) -> bytes:
    text = text.strip()
    if text.startswith('"'):
        return text[1:-1].encode().ljust(size, b"\0")
    data = b"".join((int(v, 0) & (1 << 8 * width) - 1).to_bytes(width, "little") for v in _split(text.strip("{}")) if v)
    return data.ljust(size, b"\0")


def parse(ptx: str) -> Module:
    """Parses a PTX text. Raises `EmulationError` with line and text for what it does not understand."""
    parser = _Parser(ptx)
    try:
        return parser.parse()
    except EmulationError as error:
        raise error if error.location is not None else _at_line(parser, error.message) from None
    except RecursionError:
        raise _at_line(parser, "the text is nested too deeply") from None
    except Exception as error:
        # Operands and directives left out: whatever part of the grammar they are missing for, the line is wrong.
        raise _at_line(parser, f"this is not PTX that the emulator can read ({error})") from error


def _at_line(parser: _Parser, message: str) -> EmulationError:
    """An error at the line that a parser has come to."""
    lines = parser.text.split("\n")
    line = min(parser.line, len(lines))
    return error_at(message, "ptx", line, " ".join(lines[line - 1].split()), parser.source)
