"""Enumerations of the `tt` dialect and the attributes that hold them.

`CacheModifierAttr.of("cg")` is the attribute, `.data` the enumeration's case. An op's own format spells the case
(`cacheModifier = cg`); in an attribute dictionary it is a number, as in MLIR (`{cache = 3 : i32}`).
"""

from collections.abc import Mapping
from enum import StrEnum
from types import new_class
from typing import Any, ClassVar, Self, TypeVar

from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

E = TypeVar("E", bound=StrEnum)


class CacheModifier(StrEnum):
    """Which cache levels an access uses."""

    NONE = "none"
    CA = "ca"
    CG = "cg"
    WB = "wb"
    CS = "cs"
    WT = "wt"
    CV = "cv"


class EvictionPolicy(StrEnum):
    """How long an accessed line should stay in the L2 cache."""

    NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"


class PaddingOption(StrEnum):
    """What a load gives outside the tensor."""

    PAD_ZERO = "zero"
    PAD_NAN = "nan"


class MemSemantic(StrEnum):
    """Memory order of an atomic."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQUIRE_RELEASE = "acq_rel"


class MemSyncScope(StrEnum):
    """The threads among which an atomic is ordered."""

    GPU = "gpu"
    CTA = "cta"
    SYSTEM = "sys"


class RMWOp(StrEnum):
    """The operation of `tt.atomic_rmw`."""

    AND = "and"
    OR = "or"
    XOR = "xor"
    ADD = "add"
    FADD = "fadd"
    MAX = "max"
    MIN = "min"
    UMAX = "umax"
    UMIN = "umin"
    XCHG = "exch"


class DescriptorReduceKind(StrEnum):
    """The operation of `tt.descriptor_reduce`."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    INC = "inc"
    DEC = "dec"
    AND = "and"
    OR = "or"
    XOR = "xor"


class ProgramIDDim(StrEnum):
    """An axis of the launch grid."""

    X = "x"
    Y = "y"
    Z = "z"


class RoundingMode(StrEnum):
    """How `tt.fp_to_fp` rounds when it narrows."""

    RTZ = "rtz"
    RTNE = "rtne"


class PropagateNan(StrEnum):
    """Whether `tt.clampf` gives NaN for NaN."""

    NONE = "none"
    ALL = "all"


class InputPrecision(StrEnum):
    """How tensor cores may round the f32 inputs of a dot."""

    TF32 = "tf32"
    TF32x3 = "tf32x3"
    IEEE = "ieee"
    BF16x3 = "bf16x3"
    BF16x6 = "bf16x6"


class ScaleDotElemType(StrEnum):
    """Element type of an operand of `tt.dot_scaled`."""

    E4M3 = "e4m3"
    E5M2 = "e5m2"
    E2M3 = "e2m3"
    E3M2 = "e3m2"
    E2M1 = "e2m1"
    BF16 = "bf16"
    FP16 = "fp16"


class IntegerEnumAttr(SpacedOpaqueSyntaxAttribute, Data[E]):
    """Base of attributes that hold one case of an enumeration and stand in MLIR as an `i32`.

    A subclass gives `enum`, and `codes` where the numbers of the cases do not just count up from `first_code`.
    """

    enum: ClassVar[type[StrEnum]]
    first_code: ClassVar[int] = 0
    codes: ClassVar[Mapping[str, int]] = {}
    _instances: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._instances = {}

    @classmethod
    def of(cls, case: StrEnum | str) -> Self:
        """The one attribute of `case`, which may be given by its text."""
        found = cls._instances.get(case)
        if found is None:
            value = cls.enum(case)
            found = cls._instances[value.value] = cls.new(value)
        return found

    @classmethod
    def from_code(cls, code: int) -> Self | None:
        """The attribute whose number is `code`, None if there is none."""
        for position, case in enumerate(cls.enum):
            if cls.codes.get(case.value, cls.first_code + position) == code:
                return cls.of(case)
        return None

    @property
    def code(self) -> int:
        """The number of the case in MLIR."""
        given = self.codes.get(self.data.value)
        return self.first_code + list(self.enum).index(self.data) if given is None else given

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> E:
        word = parser.parse_identifier(f"{cls.enum.__name__} case")
        try:
            return cls.enum(word)  # pyright: ignore[reportReturnType]
        except ValueError:
            parser.raise_error(f"expected one of {', '.join(cls.enum)}, got {word}")

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.value)


def _attribute_of(enum: type[E], name: str, first_code: int = 0, **codes: int) -> type[IntegerEnumAttr[E]]:
    """The attribute of an enumeration, a class of its own that is called `...Attr`."""
    body: dict[str, object] = {
        "name": name,
        "enum": enum,
        "first_code": first_code,
        "codes": codes,
        "__module__": __name__,
    }
    return irdl_attr_definition(
        new_class(f"{enum.__name__}Attr", (IntegerEnumAttr[E],), exec_body=lambda written: written.update(body))
    )


CacheModifierAttr = _attribute_of(CacheModifier, "tt.cache_modifier", 1)
EvictionPolicyAttr = _attribute_of(EvictionPolicy, "tt.eviction_policy", 1)
PaddingOptionAttr = _attribute_of(PaddingOption, "tt.padding_option", 1)
MemSemanticAttr = _attribute_of(MemSemantic, "tt.mem_semantic", 1)
MemSyncScopeAttr = _attribute_of(MemSyncScope, "tt.mem_sync_scope", 1)
RMWOpAttr = _attribute_of(RMWOp, "tt.rmw_op", 1)
DescriptorReduceKindAttr = _attribute_of(DescriptorReduceKind, "tt.descriptor_reduce_kind", 1)
ProgramIDDimAttr = _attribute_of(ProgramIDDim, "tt.program_dim")
RoundingModeAttr = _attribute_of(RoundingMode, "tt.rounding_mode")
PropagateNanAttr = _attribute_of(PropagateNan, "tt.propagate_nan", all=0xFFFF)
InputPrecisionAttr = _attribute_of(InputPrecision, "tt.input_precision")
ScaleDotElemTypeAttr = _attribute_of(ScaleDotElemType, "tt.scale_dot_elem_type")
