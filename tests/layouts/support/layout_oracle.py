"""Triton's own answers, from its wheel. It aborts the process on wrong input: ask only what is right."""

import triton.experimental.gluon.language  # noqa: F401  (the layouts it returns are defined there)
from triton._C.libtriton import gluon_ir, ir, passes

from minitriton.layouts.encodings import (
    Blocked,
    DistributedEncoding,
    DotOperand,
    Encoding,
    Linear,
    NvidiaMma,
    NVMMAShared,
    SharedLinear,
    Slice,
    SwizzledShared,
)

context = ir.context()
ir.load_dialects(context)
builder = gluon_ir.GluonOpBuilder(context)
builder.set_loc("oracle", 0, 0)
_module = builder.create_module()
_function = builder.get_or_insert_function(_module, "f", builder.get_function_ty([], []), "public", False)
_module.push_back(_function)
builder.set_insertion_point_to_start(_function.add_entry_block())
_FLOATS = {8: builder.get_int8_ty(), 16: builder.get_half_ty(), 32: builder.get_float_ty()}


def _lists(bases: tuple) -> list:
    return [list(basis) for basis in bases]


def attribute(encoding: Encoding):
    """The encoding as an attribute of Triton's."""
    match encoding:
        case Blocked(spt, tpw, wpc, order, cga):
            return builder.get_blocked_layout(list(spt), list(tpw), list(wpc), list(order), _lists(cga))
        case Slice(dim, parent):
            return builder.get_slice_layout(dim, attribute(parent))
        case DotOperand(index, parent, k_width):
            return builder.get_dot_operand_layout(index, attribute(parent), k_width)
        case NvidiaMma(major, minor, warps, instr, cga):
            return builder.get_mma_layout([major, minor], list(warps), _lists(cga), list(instr))
        case Linear(reg, lane, warp, block, shape):
            parts = map(_lists, (reg, lane, warp, block))
            return builder.get_distributed_linear_layout(*parts, list(shape))
        case SwizzledShared(vec, per_phase, max_phase, order, cga):
            return builder.get_swizzled_shared_layout(vec, per_phase, max_phase, list(order), _lists(cga))
        case NVMMAShared(width, transposed, bits, fp4, cga, rank):
            return builder.get_nvmma_shared_layout(width, bits, transposed, fp4, _lists(cga), rank)
    raise TypeError(encoding)


def encoding(layout) -> Encoding:
    """One of Gluon's layout objects as an encoding."""
    match type(layout).__name__:
        case "BlockedLayout":
            parts = layout.size_per_thread, layout.threads_per_warp, layout.warps_per_cta, layout.order
            return Blocked(*map(tuple, parts), _tuples(layout.cga_layout))
        case "SliceLayout":
            return Slice(layout.dim, encoding(layout.parent))
        case "DistributedLinearLayout":
            bases = layout.reg_bases, layout.lane_bases, layout.warp_bases, layout.block_bases
            return Linear(*map(_tuples, bases), tuple(layout.shape))
        case "DotOperandLayout":
            return DotOperand(layout.operand_index, encoding(layout.parent), layout.k_width)
        case "NVMMADistributedLayout":
            return NvidiaMma(*layout.version, tuple(layout.warps_per_cta), tuple(layout.instr_shape))
        case "NVMMASharedLayout":
            width, bits = layout.swizzle_byte_width, layout.element_bitwidth
            return NVMMAShared(width, layout.transposed, bits, layout.fp4_padded, (), layout.rank)
        case "SwizzledSharedLayout":
            return SwizzledShared(layout.vec, layout.per_phase, layout.max_phase, tuple(layout.order))
        case "SharedLinearLayout":
            return SharedLinear(_tuples(layout.offset_bases), _tuples(layout.block_bases), layout.alignment)
    raise TypeError(layout)


def _tuples(bases: list) -> tuple:
    return tuple(map(tuple, bases))


def to_linear(value: DistributedEncoding, shape: tuple[int, ...]) -> Encoding:
    return encoding(builder.to_linear_layout(attribute(value), list(shape)))


def tensor(value: DistributedEncoding, shape: tuple[int, ...]):
    """An SSA value with this encoding."""
    return builder.create_splat(
        builder.get_distributed_ty(_FLOATS[32], list(shape), attribute(value)), builder.get_fp32(0.0)
    )


def encoding_of(value) -> Encoding:
    return encoding(builder.get_gluon_layout_from_tensor(value))


def split(value):
    """`tt.split` with the encoding that Triton infers (Gluon's own builder forces a slice)."""
    return ir.builder.create_split(builder, value)[0]


def buffer(value: Encoding, shape: tuple[int, ...], bitwidth: int):
    """An SSA memdesc with this encoding."""
    type_ = builder.get_shared_mem_desc_ty(_FLOATS[bitwidth], list(shape), attribute(value), list(shape))
    return builder.create_local_alloc(type_)


def encoding_of_buffer(value) -> Encoding:
    return encoding(builder.get_gluon_layout_from_memdesc(value))


def conversion_is_trivial(src: DistributedEncoding, dst: DistributedEncoding, shape: tuple[int, ...]) -> bool:
    result = builder.get_distributed_ty(_FLOATS[32], list(shape), attribute(dst))
    return builder.is_convert_layout_trivial(result, tensor(src, shape))


def bank_conflicts(reg: DistributedEncoding, shared: Encoding, shape: tuple[int, ...], bitwidth: int) -> int:
    return builder.get_shared_bank_conflicts(attribute(reg), attribute(shared), list(shape), bitwidth)


def scratch_bytes(path: str, text: str, capability: int) -> int:
    """Shared memory that Triton allocates for a module; `path` is where the text may be written."""
    from triton._C.libtriton import nvidia

    nvidia.load_dialects(context)
    with open(path, "w") as file:
        file.write(text)
    module = ir.parse_mlir_module(path, context)
    module.context = context
    manager = ir.pass_manager(context)
    if capability:
        nvidia.passes.ttgpuir.add_allocate_shared_memory_nv(manager, capability, 80)
    else:
        passes.ttgpuir.add_allocate_shared_memory(manager)
    manager.run(module, "allocate")
    return module.get_int_attr("ttg.shared")
