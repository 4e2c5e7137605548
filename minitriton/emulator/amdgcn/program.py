"""What AMDGCN text is made of: registers, constants, instructions with their lines, kernels with their descriptors.

v_add_f32_e64 v1, -v0, |s[4]|      →   Instruction("v_add_f32", "e64", (Operand(v1), Operand(v0, negated), Operand(s4, absolute)))

Registers have one numbering: `v` from 0, `a` (accumulation) from 256, `s` and the other scalar ones from 512.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from minitriton.emulator.ptx.program import EmulationError, KernelParameter, error_at
from minitriton.errors import SourceLocation

LANES = 64
"""Of a wave, at most: those of RDNA have 32 (`Isa`)."""
ACCUMULATION, SCALAR = 256, 512
"""Where `a` and scalar registers begin."""
MASK_BITS = 32
"""Lanes that a scalar register has a bit for."""
SCALARS = 136
VCC, TRAP, M0, EXEC, NULL = 106, 108, 124, 126, 128
"""Scalar registers by the ISA's encoding of operands (section 3.1). NULL, which reads as 0 and keeps nothing, is RDNA's and has numbers of its own."""
NAMED = {
    "vcc": (VCC, 2), "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1), "exec": (EXEC, 2), "exec_lo": (EXEC, 1),
    "exec_hi": (EXEC + 1, 1), "m0": (M0, 1), "flat_scratch": (102, 2), "flat_scratch_lo": (102, 1),
    "flat_scratch_hi": (103, 1), "xnack_mask": (104, 2), "xnack_mask_lo": (104, 1), "xnack_mask_hi": (105, 1), "null": (NULL, 1),
    **{f"ttmp{n}": (TRAP + n, 1) for n in range(16)},
}  # fmt: skip
"""Register names by scalar number and words."""


CODE = 0x7C0000000000
"""Address of instruction 0; each has 4 bytes here."""


def code_address(index: int) -> int:
    """Of an instruction."""
    return CODE + 4 * index


@dataclass(frozen=True, slots=True)
class Isa:
    """What an instruction set makes of a text: `target` such as `gfx942`, and how many lanes a wave has."""

    target: str
    lanes: int

    @property
    def is_rdna(self) -> bool:
        """Whether it is RDNA3 or RDNA4, not CDNA."""
        return is_rdna(self.target)

    @property
    def has_split_waits(self) -> bool:
        """Whether each counter has a wait of its own (RDNA4)."""
        return self.target.startswith("gfx12")

    @property
    def mask_words(self) -> int:
        """Scalar registers that have one bit for each lane."""
        return self.lanes // MASK_BITS


def is_rdna(target: str) -> bool:
    """Whether a GPU's instruction set is RDNA."""
    return target.startswith(("gfx11", "gfx12"))


@dataclass(frozen=True, slots=True)
class Register:
    """`count` consecutive registers from `index`."""

    index: int
    count: int
    name: str

    @property
    def is_scalar(self) -> bool:
        """Whether waves have one of it, not lanes."""
        return self.index >= SCALAR

    @property
    def scalar(self) -> int:
        """The number among scalar registers."""
        return self.index - SCALAR

    @property
    def all(self) -> range:
        """Numbers of all its registers."""
        return range(self.index, self.index + self.count)


@dataclass(frozen=True, slots=True)
class Constant:
    """An inline constant or literal as it is written: `-16`, `0x3f800000`, `0.5`."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Symbol:
    """A label: `part` is `lo` or `hi` of its distance from the instruction number `origin`, which the last `s_getpc_b64` gives."""

    name: str
    part: str = ""
    origin: int = 0


@dataclass(frozen=True, slots=True)
class Operand:
    """A register, a constant or a symbol with its modifiers."""

    base: Register | Constant | Symbol
    negated: bool = False
    absolute: bool = False
    extended: bool = False
    """`sext(v0)` of SDWA."""
    half: str = ""
    """`l` or `h`: the half of a register that RDNA's instructions on 16 bits name (`v0.l`)."""


_IN_PTX = (
    (r"(?:global|buffer|flat)_load", "ld.global"), (r"(?:global|buffer|flat)_store", "st.global"), (r"(?:global|buffer|flat)_atomic", "atom.global"),
    (r"ds_(?:read|load)", "ld.shared"), (r"ds_(?:write|store(?!xchg))", "st.shared"), (r"ds_b?permute|ds_swizzle|v_read(?:first)?lane|v_permlane", "shfl"),
    (r"ds_", "atom.shared"), (r"s_(?:buffer_)?load", "ld.param"), (r"s_barrier", "bar.sync"), (r"s_waitcnt", "membar"),
    (r"s_c?branch|s_setpc|s_swappc", "bra"), (r"s_endpgm", "ret"), (r"v_w?m[fm]ma_\w+?_(\d+)x(\d+)x(\d+)", r"mma.m\1n\2k\3"), (r"v_cvt", "cvt"),
    (r"[vs]_cmp|s_bitcmp", "setp"), (r"v_cndmask|s_cselect", "selp"), (r"[vs]_mov|v_accvgpr|s_\w+saveexec", "mov"), (r"v_exp", "ex2"),
    (r"v_log", "lg2"), (r"v_(rsq|rcp|sqrt|sin|cos|div)", r"\1"), (r"[vs]_(?:pk_)?([a-z0-9]+)_(?:\w+_)?([a-z]+\d+)$", r"\1.\2"),
)  # fmt: skip


@functools.cache
def ptx_opcode(name: str) -> str:
    """What PTX calls such an instruction: `global_load_dword` is an `ld.global`."""
    for pattern, ptx in _IN_PTX:
        if (found := re.match(pattern, name)) is not None:
            return found.expand(ptx).replace("rsq", "rsqrt")
    return name


_ORDERED = ("sc0", "sc1", "glc")
_ORDERED_SCOPES = ("SCOPE_SE", "SCOPE_DEV", "SCOPE_SYS")
_LDS_ATOMICS = ("ds_add", "ds_min", "ds_max", "ds_cmpst", "ds_wrxchg", "ds_storexchg")


@dataclass(slots=True)
class Instruction:
    """One instruction: `name` without the suffix of its encoding, `modifiers` by name (`offset` → `16`, `sc0` → ``)."""

    name: str
    encoding: str
    operands: tuple[Operand, ...]
    modifiers: dict[str, str]
    line: int
    text: str
    source: SourceLocation | None
    index: int = 0
    second: Instruction | None = None
    """Of `v_dual_*`: the instruction that is issued with it."""

    @property
    def opcode(self) -> str:
        """As reports count it."""
        return self.name

    @property
    def ptx_opcode(self) -> str:
        return ptx_opcode(self.name)

    @property
    def parts(self) -> list[str]:
        """In the words of PTX: atomics, and accesses past the wave's own cache, do not race with each other."""
        if "_atomic_" in self.name or self.name.startswith(_LDS_ATOMICS):
            return ["atom"]
        is_volatile = (
            self.name.startswith(("global_", "flat_", "buffer_")) and any(m in self.modifiers for m in _ORDERED)
        ) or self.modifiers.get("scope") in _ORDERED_SCOPES
        return [self.name, "volatile"] if is_volatile else [self.name]

    def error(self, message: str, help: str | None = None) -> EmulationError:
        """An error at this instruction."""
        return error_at(message, "amdgcn", self.line, self.text, self.source, help)


@dataclass(slots=True)
class Kernel:
    """A kernel: where it starts among the text's instructions, its arguments, and the directives of its descriptor."""

    name: str
    instructions: list[Instruction]
    labels: dict[str, int]
    parameters: list[KernelParameter] = field(default_factory=list[KernelParameter])
    hidden: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Offset and size of what the runtime passes (`block_count_x`)."""
    directives: dict[str, int] = field(default_factory=dict[str, int])
    """`.amdhsa_` directives without that."""
    max_threads: int = 0
    """`.max_flat_workgroup_size`."""
    line: int = 0

    def reads(self, parameter: KernelParameter) -> bool:
        """Whether it may use a parameter that no argument was given for: pointers that compilers add are read with others, unused."""
        return False

    lanes: int = LANES
    """Of its waves."""

    @property
    def warp_size(self) -> int:
        """As reports call a wave's lanes."""
        return self.lanes

    @property
    def threads(self) -> tuple[int, int, int]:
        """Work items of a workgroup, at most."""
        return self.max_threads, 1, 1

    def directive(self, name: str, otherwise: int = 0) -> int:
        """A directive's number."""
        return self.directives.get(name, otherwise)


@dataclass(slots=True)
class Module:
    """An AMDGCN text: `target` such as `gfx942`, and its kernels by name."""

    text: str
    target: str = ""
    kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
    data: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Constant data by symbol."""


def registers_of(operands: Sequence[Operand]) -> frozenset[int]:
    """Numbers of all registers that operands name."""
    return frozenset(r for o in operands if isinstance(o.base, Register) for r in o.base.all)
