"""What the `nvvm` ops share: how they say which instruction they are, the registers of their values, checks of their properties.

An op says it once, in its declaration: `TEXT`, or `PtxOp.ptx` where it needs more than the op's properties, is the text of inline PTX;
`TEXT` or `IntrinsicOp.calls` is the call of an LLVM intrinsic. `$name` in such a text stands for the registers of the operand or result
`name`; who writes LLVM IR (`codegen.nvidia.text.nvvm`) numbers them and finds their constraints.

    "@$pred mbarrier.init.shared::cta.b64 [$barrier], 1;"    ->    asm sideeffect "@$1 mbarrier.init.shared::cta.b64 [$0], 1;", "r,b"(ptr ..., i1 ...)
    "llvm.nvvm.redux.sync.add($value, -1)"                   ->    call i32 @llvm.nvvm.redux.sync.add(i32 %v3, i32 -1)
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import FixedBitwidthType, Float32Type, Float64Type, IntegerAttr, StringAttr
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from minitriton.dialects.fast_paths.op_definition import Op
from minitriton.dialects.llvm import SHARED, lane_type, lanes


class InstructionOp(Op):
    """An op that says in its class which instruction it is."""

    TEXT: ClassVar[str] = ""
    """The instruction; `{kind}` is the property of that name."""

    WORDS: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Properties that are one of a few words."""

    def complaint(self) -> str | None:
        for name, allowed in self.WORDS.items():
            attr = self.properties[name]
            if not isinstance(attr, StringAttr) or attr.data not in allowed:
                return f"{self.name}: {name} must be one of {', '.join(allowed)}, got {attr}"
        return None

    def text(self) -> str:
        """`TEXT` with the op's properties."""
        given = self.properties.items()
        return self.TEXT.format(
            **{k: v.value.data if isinstance(v, IntegerAttr) else getattr(v, "data", v) for k, v in given}
        )


class PtxOp(InstructionOp):
    """An op that is inline PTX. Its registers are numbered: results first, then operands in the order of their declaration."""

    ORDER: ClassVar[tuple[str, ...]] = ()
    """The operands in another order."""

    TIED: ClassVar[bool] = False
    """Each result is in the registers of the first operand: what the text does to the one it does to the other."""

    CLOBBERS: ClassVar[tuple[str, ...]] = ("~{memory}",)
    """What the text changes in addition to its registers, as constraints. An instruction that may write memory, or that orders accesses, says
    "memory": LLVM's `machine-sink` moves plain loads past inline assembly that does not (LLVM language reference, "Clobber constraints")."""

    def ptx(self) -> str:
        """The text. `$name` is a register, or several with commas between them; `$name.1` the second of them."""
        return self.text()

    @property
    def writes_early(self) -> bool:
        """Whether the text writes results before it has read all operands, so that they may not share registers."""
        return False

    @property
    def immediate(self) -> frozenset[str]:
        """Operands that are constants and stand in the text as numbers."""
        return frozenset()


class IntrinsicOp(InstructionOp):
    """An op that is a call of an LLVM intrinsic."""

    RETURNS_FIRST: ClassVar[tuple[str, ...]] = ()
    """LLVM types of what the intrinsic returns before the result of the op, and nobody wants."""

    def calls(self) -> str:
        """`name(argument, ...)`, several with newlines between them; an argument is `$name` or a 32-bit number. A vector is passed, and returned, lane by lane."""
        return self.text()


# Registers --------------------------------------------------------------------------------------------------------------


_FLOATS: dict[type[Attribute], str] = {Float32Type: "float", Float64Type: "double"}


class Words:
    """How one access of `width` elements is split into the words of a PTX vector instruction.

    4 x f16  ->  2 words of 32 bits, constraint r        2 x i8  ->  one of 16 bits, constraint h        4 x f32  ->  4, constraint f
    """

    __slots__ = ("bits", "constraint", "count", "type")
    type: str

    def __init__(self, element: Attribute, width: int):
        size = _bits(element)
        total = size * width
        self.bits, self.count = size, width
        if isinstance(element, LLVMPointerType):
            self.type, self.constraint = _pointer(element), "r" if element == SHARED else "l"
        elif size == 1:
            self.type, self.constraint = "i1", "b"
        elif size >= 32:
            self.type = _FLOATS.get(type(element), f"i{size}")
            self.constraint = {"float": "f", "double": "d", "i64": "l"}.get(self.type, "r")
        elif total >= 32:
            self.bits, self.count, self.type, self.constraint = 32, total // 32, "i32", "r"
        else:
            self.bits, self.count, self.type, self.constraint = total, 1, "i16", "h"

    @property
    def vector(self) -> str:
        """The modifier of the instruction."""
        return f".v{self.count}" if self.count > 1 else ""

    def listed(self, name: str) -> str:
        """The registers `name` as the operand of a vector instruction."""
        return f"{{ ${name} }}" if self.count > 1 else f"${name}"


def vector(registers: Sequence[str]) -> str:
    """Registers as the operand of a vector instruction."""
    return f"{{ {', '.join(registers)} }}" if len(registers) > 1 else registers[0]


_words: dict[tuple[int, int], tuple[Attribute, Words]] = {}


def words_of(type_: Attribute, width: int = 0) -> Words:
    """The words of an access to `width` elements of `type_`, or to all of them."""
    element = lane_type(type_)
    key = (id(element), width or lanes(type_))
    found = _words.get(key)
    if found is None:
        found = _words[key] = (element, Words(element, key[1]))
    return found[1]


def _bits(element: Attribute) -> int:
    if isinstance(element, LLVMPointerType):
        return 32 if element == SHARED else 64
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth


def _pointer(type_: LLVMPointerType) -> str:
    space = getattr(type_.addr_space, "data", 0)
    return f"ptr addrspace({space})" if space else "ptr"
