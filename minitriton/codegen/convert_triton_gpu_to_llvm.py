"""`convert-triton-gpu-to-llvm`: the LLVM level of a TTGIR module.

    tt.func public @add(%x: !tt.ptr<f32>, %n: i32)
        ->  llvm.func @add(%x: !llvm.ptr<1>, %n: i32, %scratch: !llvm.ptr<1>, %profile: !llvm.ptr<1>) attributes {nvvm.kernel, ...}

Memory is placed, fences and barriers are where they are needed: earlier passes have written that into the module.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from minitriton.analysis.register_demand import DEMAND, register_demand
from minitriton.analysis.shared_memory.allocation import Allocation, read_offsets
from minitriton.codegen.lowering import casts as casts  # these fill the table of rules that serve every target
from minitriton.codegen.lowering import control_flow as control_flow
from minitriton.codegen.lowering import convert_layout as convert_layout
from minitriton.codegen.lowering import dot as dot
from minitriton.codegen.lowering import elementwise as elementwise
from minitriton.codegen.lowering import indexing as indexing
from minitriton.codegen.lowering import math as math
from minitriton.codegen.lowering import reduce as reduce
from minitriton.codegen.lowering import scan as scan
from minitriton.codegen.lowering import shared as shared
from minitriton.codegen.lowering import views as views
from minitriton.codegen.lowering.module import ModuleLowering
from minitriton.codegen.lowering.signature import is_kernel, lower_function
from minitriton.dialects import tt
from minitriton.pipeline.pass_registry import Pass, Property, register_pass


@register_pass
class ConvertTritonGPUToLLVM(Pass, stage="llir", origin="triton"):
    """Lowers a TTGIR module to the `llvm` and `nvvm` dialects."""

    name = "convert-triton-gpu-to-llvm"
    requires: ClassVar[frozenset[Property]] = frozenset([
        Property.TENSOR_IR, Property.ENCODINGS, Property.INLINED, Property.BLOCK_POINTERS_REWRITTEN,
        Property.DESCRIPTORS_LOWERED, Property.PARTITION_WARPS, Property.DOT_OPERANDS_FENCED,
        Property.DOT_REGISTERS_HELD, Property.EXCHANGES_LOWERED, Property.GLOBAL_SCRATCH, Property.SHARED_ALLOCATED,
        Property.COPIES_FENCED, Property.BARRIERS,
    ])  # fmt: skip
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_DIALECT})
    keeps: ClassVar[frozenset[Property]] = frozenset({Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_body(op, lower_module(op, read_offsets(op)))


def lower_module(module: ModuleOp, allocation: Allocation) -> ModuleOp:
    """The LLVM-level module of a TTGIR module."""
    state = ModuleLowering(module, allocation)
    functions = {op: lower_function(state, op) for op in module.ops if isinstance(op, tt.FuncOp)}
    others = [op.clone() for op in module.ops if op.name.startswith("llvm.") and _symbol(op) not in state.globals]
    demand = StringAttr(str(register_demand(module)))
    for source, function in functions.items():
        if is_kernel(source):
            function.attributes[DEMAND] = demand
    result = ModuleOp([*others, *state.globals.values(), *functions.values()], attributes=dict(module.attributes))
    result.location = module.location
    return result


def _symbol(op: Operation) -> str:
    name = op.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def replace_body(module: ModuleOp, other: ModuleOp) -> None:
    """Makes `module` hold what `other` holds."""
    for region in list(module.regions):
        module.detach_region(region)
        region.drop_all_references()
    module.add_region(other.detach_region(0))
