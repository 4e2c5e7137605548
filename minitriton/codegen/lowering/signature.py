"""Functions: their signature and attributes, `tt.return` and `tt.call`.

In: a `tt.func`. Out: an `llvm.func`. A kernel gets two more arguments at its end, the global scratch memory and that of a
profiler; a device function a third before them, its part of shared memory.

    tt.func public @k(%x: !tt.ptr<f32>)              llvm.func @k(!llvm.ptr<1>, !llvm.ptr<1>, !llvm.ptr<1>)
    tt.func private @f(%t: tensor<8xf32>) -> f32     llvm.func @f(vector<...>, !llvm.ptr<3>, !llvm.ptr<1>, !llvm.ptr<1>) -> f32

Where the program is in its grid, and barriers.

With several CTAs a program is a cluster: `tt.get_program_id` reads the cluster's number, not the block's.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.analysis.global_scratch import SCRATCH_OFFSET, SCRATCH_SIZE, scratch_attr
from minitriton.codegen.lowering.control_flow import lower_blocks
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.module import ModuleLowering
from minitriton.codegen.lowering.registry import lowers
from minitriton.codegen.types import GLOBAL, I8, I64, SHARED, VOID, struct_type
from minitriton.dialects import gpu, tt, ttg
from minitriton.dialects import llvm as ours
from minitriton.dialects.attribute_values import is_true, word
from minitriton.dialects.fast_paths.op_access import make
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt import TensorDescType
from minitriton.errors import LoweringError

TMA_DESCRIPTOR_BYTES = 128
_UNIT = UnitAttr()

_CCC = L.CallingConventionAttr("ccc")
_EXTERNAL, _INTERNAL = L.LinkageAttr("external"), L.LinkageAttr("internal")
_DEFAULT_VISIBILITY = IntegerAttr(0, 64)
_NOTHING = DictionaryAttr({})
_DESCRIPTOR = {"llvm.byval": L.LLVMArrayType(TMA_DESCRIPTOR_BYTES, I8), "llvm.align": IntegerAttr(64, 64)}
"""A tensor descriptor is passed to a kernel by value: 128 bytes in constant memory. A function gets its address."""


@lru_cache(maxsize=1024)
def _function_type(inputs: tuple[Attribute, ...], output: Attribute) -> L.LLVMFunctionType:
    return L.LLVMFunctionType(inputs, output)


def is_kernel(function: Operation) -> bool:
    """Whether the host can launch the function: a symbol is public unless it says otherwise (MLIR, "Symbol Visibility")."""
    visibility = function.properties.get("sym_visibility")
    return visibility is None or (isinstance(visibility, StringAttr) and visibility.data == "public")


def lower_function(module: ModuleLowering, function: Operation) -> Operation:
    """The `llvm.func` of a `tt.func`. Raises `LoweringError` for one without a body: nothing is linked that would have it."""
    signature = function.properties["function_type"]
    assert isinstance(signature, FunctionType)
    kernel = is_kernel(function)
    name = function.properties["sym_name"]
    assert isinstance(name, StringAttr)
    source = function.regions[0]
    entry = source.first_block
    if entry is None:
        raise LoweringError(
            f"function {name.data!r} lacks a body", source_location(function.location),
            help="write one, with a tt.return at its end: no other module is linked",
        )  # fmt: skip
    prologue, body = Block(), Block()
    region = Region([prologue, body])
    f = FunctionLowering(module, prologue, body, num_warps=module.num_warps)
    inputs = [f.lowered_type(type_) for type_ in signature.inputs]
    hidden = (GLOBAL, GLOBAL) if kernel else (SHARED, GLOBAL, GLOBAL)
    for type_ in (*inputs, *hidden):
        prologue.insert_arg(type_, len(prologue.args))
    for value, argument in zip(entry.args, prologue.args, strict=False):
        f.values[value] = argument
        argument.name_hint = value.name_hint
    f.global_scratch = prologue.args[-2]
    f.is_kernel = kernel
    if not kernel:
        f.shared_base_value = prologue.args[-3]
    f.workers = module.info.workers_of(f, function) if kernel else None
    if f.workers is not None:
        f.own_barrier = (0, f.num_warps << module.lane_bits)
    lower_blocks(f, source)
    f.b.location = function.location
    f.b.move_to(prologue)
    if f.workers is None:
        f.b.branch(body)
    else:
        module.info.dispatch(f, f.workers, body)
    f.b.erase_unused_vectors()
    results = [f.lowered_type(type_) for type_ in signature.outputs]
    output = VOID if not results else results[0] if len(results) == 1 else struct_type(*results)
    result = make(
        L.FuncOp,
        (),
        (),
        {
            "sym_name": name,
            "function_type": _function_type((*inputs, *hidden), output),
            "CConv": _CCC,
            "linkage": _EXTERNAL if kernel else _INTERNAL,
            "visibility_": _DEFAULT_VISIBILITY,
            "arg_attrs": _argument_attributes(module, signature.inputs.data, len(inputs) + len(hidden))
            if kernel
            else ArrayAttr([_NOTHING] * (len(inputs) + len(hidden))),
        },
        function.location,
    )
    if kernel:
        result.attributes.update(_kernel_attributes(module, f))
    elif is_true(function.attributes.get("noinline")):
        result.properties["no_inline"] = _UNIT
    else:
        # What the inliner of tt.func leaves, for it returns early within structured control flow, is inlined among blocks.
        result.attributes["always_inline"] = _UNIT
    result.add_region(region)
    return result


def _kernel_attributes(module: ModuleLowering, f: FunctionLowering) -> Mapping[str, Attribute]:
    total = module.module.attributes.get("ttg.total-num-warps")
    warps = total.value.data if instance_of(total, IntegerAttr) else f.num_warps
    limit = module.module.attributes.get("ttg.maxnreg")
    registers = limit.value.data if instance_of(limit, IntegerAttr) else None
    return module.info.kernel_attributes(warps << module.lane_bits, module.num_ctas, registers)


def _argument_attributes(module: ModuleLowering, types: Sequence[Attribute], count: int) -> ArrayAttr[DictionaryAttr]:
    """Of a kernel whose parameters have `types`, the hidden ones up to `count` included; of another function nothing."""
    plain = DictionaryAttr(module.info.parameter_attributes()) if module.info.parameter_attributes() else _NOTHING
    descriptor = DictionaryAttr({**_DESCRIPTOR, **module.info.descriptor_attributes()}) if types else _NOTHING
    given = [descriptor if isinstance(type_, TensorDescType) else plain for type_ in types]
    return ArrayAttr([*given, *[plain] * (count - len(given))])


@lowers(tt.ReturnOp)
def return_(f: FunctionLowering, op: tt.ReturnOp) -> None:
    """Several results are returned in a struct."""
    if f.workers is not None:
        f.module.info.release_workers(f, f.workers)
    values = [f.vector(value) for value in op.operands]
    if len(values) > 1:
        values = [f.b.struct(values, struct_type(*(value.type for value in values)))]
    f.b.operation(L.ReturnOp, values, ())


@lowers(tt.CallOp)
def call(f: FunctionLowering, op: tt.CallOp) -> None:
    """The callee's shared memory begins where the allocation placed it in the caller's."""
    callee = op.callee.string_value()
    offset = f.module.allocation.offset(op)
    scratch = placed_global_scratch(f, op)
    arguments = [
        *(f.vector(value) for value in op.operands),
        f.shared_at(offset or 0) if offset is not None or f.shared_base_value is not None else f.b.poison(SHARED),
        scratch,
        scratch,
    ]
    types = [f.lowered_type(result.type) for result in op.results]
    result = f.b.call(callee, arguments, VOID if not types else types[0] if len(types) == 1 else struct_type(*types))
    if result is None:
        return
    fields = [result] if len(types) == 1 else [f.b.field(result, i) for i in range(len(types))]
    for value, field in zip(op.results, fields, strict=True):
        f.values[value] = field


def _axis(op: tt.GetProgramIdOp | tt.GetNumProgramsOp) -> int:
    return "xyz".index(word(op.axis))


def program_id(f: FunctionLowering, axis: int) -> SSAValue:
    """The program's number along an axis."""
    return f.module.info.program_id(f.b, axis, f.module.num_ctas)


def num_programs(f: FunctionLowering, axis: int) -> SSAValue:
    """Programs along an axis."""
    return f.module.info.num_programs(f.b, axis, f.module.num_ctas)


@lowers(tt.GetProgramIdOp)
def get_program_id(f: FunctionLowering, op: tt.GetProgramIdOp) -> None:
    f.values[op.results[0]] = program_id(f, _axis(op))


@lowers(tt.GetNumProgramsOp)
def get_num_programs(f: FunctionLowering, op: tt.GetNumProgramsOp) -> None:
    f.values[op.results[0]] = num_programs(f, _axis(op))


def own_global_scratch(f: FunctionLowering) -> SSAValue:
    """The global memory of this program: a part of the kernel's hidden argument, by the program's number in the grid."""
    b = f.b
    base = f.global_scratch
    assert base is not None
    size = scratch_attr(f.module.module, SCRATCH_SIZE, 0)
    if not f.is_kernel or not size:
        return base
    number = program_id(f, 2)
    for axis in (1, 0):
        number = b.add(program_id(f, axis), b.mul(number, num_programs(f, axis)))
    if f.module.num_ctas > 1:
        number = b.add(b.mul(number, b.i32(f.module.num_ctas)), f.cluster_rank())
    wide = b.mul(b.cast(L.ZExtOp, number, I64), b.constant(I64, size))
    return b.gep(base, wide, I8)


def placed_global_scratch(f: FunctionLowering, op: Operation) -> SSAValue:
    """The part of this program's global memory that was given to `op`, an allocation or a call."""
    return f.b.gep(own_global_scratch(f), scratch_attr(op, SCRATCH_OFFSET, 0), I8)


@lowers(ttg.GlobalScratchAllocOp)
def global_scratch_alloc(f: FunctionLowering, op: ttg.GlobalScratchAllocOp) -> None:
    f.values[op.results[0]] = placed_global_scratch(f, op)


@lowers(gpu.BarrierOp, ttg.LocalBarrierOp)
def barrier(f: FunctionLowering, op: gpu.BarrierOp | ttg.LocalBarrierOp) -> None:
    f.barrier()


@lowers(ours.AssumeOp)
def assume(f: FunctionLowering, op: ours.AssumeOp) -> None:
    f.b.intrinsic("llvm.assume", (f.scalar(op.operands[0]),))
