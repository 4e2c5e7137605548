"""What all functions of a module share while they are lowered: facts, globals, the offsets of shared memory."""

from collections.abc import Sequence

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.shared_memory.allocation import Allocation
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering.registry import lowerings_of
from minitriton.codegen.target_interface import TargetInfo, target_info
from minitriton.codegen.types import I8, SHARED, VOID
from minitriton.dialects.attribute_values import integer_or
from minitriton.dialects.facts.launch import backend_name, features_of, threads_per_warp
from minitriton.errors import LoweringError

SHARED_MEMORY = "global_smem"


class ModuleLowering:
    """What all functions of a module share."""

    def __init__(self, module: ModuleOp, allocation: Allocation):
        self.module = module
        self.allocation = allocation
        self.axis = AxisInfoAnalysis(module, as_asked=True)
        self.num_warps = integer_or(module.attributes.get("ttg.num-warps"), 4)
        self.num_ctas = integer_or(module.attributes.get("ttg.num-ctas"), 1)
        self.lane_bits = threads_per_warp(module).bit_length() - 1
        self.backend = backend_name(module)
        self.info: TargetInfo = target_info(self.backend)
        self.lowerings = lowerings_of(self.backend)
        self.target = features_of(module)
        self.globals: dict[str, Operation] = {}
        self.external_functions: set[str] = set()
        self._strings: dict[bytes, str] = {}

    def divisibility(self, value: SSAValue) -> int:
        """A power of two that divides a scalar, or every element of a tensor."""
        fact = self.axis.get(value)
        divisor = 2**30
        for of_dim in fact.divisibility:
            divisor = min(divisor, of_dim)
        return divisor & -divisor

    def shared_offset(self, op: Operation) -> int:
        """Where the shared memory of `op` begins."""
        offset = self.allocation.offset(op)
        if offset is None:
            raise LoweringError(f"{op.name} lacks its shared memory", help="run `place-shared-memory` first")
        return offset

    def address_of_shared(self, b: Builder) -> SSAValue:
        """The address of the kernel's shared memory."""
        if SHARED_MEMORY not in self.globals:
            self.globals[SHARED_MEMORY] = L.GlobalOp(
                L.LLVMArrayType(0, I8), SHARED_MEMORY, "external", addr_space=3, alignment=16
            )
        return b.once(SHARED_MEMORY, L.AddressOfOp, SHARED, {"global_name": SymbolRefAttr(SHARED_MEMORY)})

    def declare(self, name: str, inputs: Sequence[Attribute], output: Attribute) -> None:
        """Makes sure that the module declares a function of the driver's."""
        if name not in self.globals:
            type_ = L.LLVMFunctionType(list(inputs), None if output is VOID else output)
            self.globals[name] = L.FuncOp(name, type_, linkage=L.LinkageAttr("external"))

    def string(self, text: str, prefix: str) -> str:
        """The symbol of a constant, 0-terminated string."""
        data = text.encode() + b"\0"
        name = self._strings.get(data)
        if name is None:
            name = self._strings[data] = f"{prefix}{len(self._strings)}"
            self.globals[name] = L.GlobalOp(
                L.LLVMArrayType(len(data), I8),
                name,
                "internal",
                constant=True,
                value=StringAttr(data.decode("latin-1")),
            )
        return name
