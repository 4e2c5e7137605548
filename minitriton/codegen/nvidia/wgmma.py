"""`ttng.warp_group_dot`: dots of warp groups on Hopper's tensor cores.

In: b, and a unless it is in registers, as buffers in `#ttg.nvmma_shared` layouts. Out: `nvvm.wgmma.mma_async` with all steps along k inside:
one with all tiles of 64 rows of the result where the next wait leaves the dot running, else one for each tile.

A matrix descriptor (PTX ISA, "Matrix-descriptor") has the address, the strides and the swizzle of a matrix:

    bits 0-13  address / 16     16-29  stride between swizzled columns / 16     32-45  stride of 8 rows / 16     62-63  swizzle
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects import llvm as L
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, IntegerAttr, UnitAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.codegen import registers
from minitriton.codegen.builder import Builder
from minitriton.codegen.lowering import elementwise
from minitriton.codegen.lowering.function import FunctionLowering
from minitriton.codegen.lowering.shared import buffer_shape, memdesc, memory_bits, shared_encoding
from minitriton.codegen.lowering.warp_shuffle import shuffle
from minitriton.codegen.nvidia import lowers, lowers_where
from minitriton.codegen.nvidia.mma import KINDS
from minitriton.codegen.registers import SharedView
from minitriton.codegen.tensor_facts import LayoutFacts
from minitriton.codegen.types import F32, I1, I32, I64, element_type, lane_type, lanes, vector_type
from minitriton.dialects import arith, nvvm, ttng
from minitriton.dialects import llvm as ours
from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.attribute_values import i32_array, integer, is_true, string_attr
from minitriton.dialects.facts.pass_attributes import OPAQUE
from minitriton.dialects.ttg import MemDescType
from minitriton.errors import IRError
from minitriton.layouts.encodings import NvidiaMma, NVMMAShared, SharedEncoding, SharedLinear
from minitriton.layouts.properties import are_layouts_equivalent
from minitriton.layouts.to_linear import to_linear_layout

ROWS = 64
STEP_BYTES = 32
_SWIZZLE = {128: 1, 64: 2, 32: 3}
_UNIT = UnitAttr()


class BufferMatrix(NamedTuple):
    """A buffer as wgmma sees it: the descriptor of its first element, and where others are."""

    descriptor: SSAValue
    contiguous_along_k: bool
    type: MemDescType
    offsets: tuple[int, ...]

    def offset(self, row: int, column: int) -> int:
        """What to add to the descriptor for the matrix that begins at an element, relative to the view (16 bytes)."""
        layout = to_linear_layout(shared_encoding(self.type), buffer_shape(self.type))
        coordinates = (row + self.offsets[0], column + self.offsets[1])
        elements = layout.pseudoinvert().apply({"dim0": coordinates[0], "dim1": coordinates[1]})["offset"]
        return elements * memory_bits(self.type) // 8 >> 4


class _Core(NamedTuple):
    """How a buffer is made of core matrices, 8 rows of 16 bytes (PTX ISA 9.7.15.5.1): strides in units of 16 bytes, mode of the swizzle."""

    contiguous_dim: int
    leading: int
    stride: int
    mode: int


def _swizzled_core(encoding: NVMMAShared, shape: tuple[int, ...], bits: int, k_dim: int) -> _Core:
    swizzle = encoding.swizzling_byte_width
    contiguous_dim = 0 if encoding.transposed else 1
    others = shape[1 - contiguous_dim]
    # Columns of `swizzle` bytes follow each other; a matrix that is contiguous along k never spans two of them.
    is_one_column = contiguous_dim == k_dim or shape[contiguous_dim] <= swizzle * 8 // bits
    return _Core(contiguous_dim, 1 if is_one_column else others * swizzle >> 4, 8 * swizzle >> 4, _SWIZZLE[swizzle])


def _plain_core(encoding: SharedEncoding, shape: tuple[int, ...], bits: int, k_dim: int, extent: int) -> _Core | None:
    """The same without a swizzle, of `extent` rows or columns a dot; None if the buffer is not laid out so."""
    inverse = to_linear_layout(encoding, shape).pseudoinvert()

    def at(dim: int, index: int) -> int:
        """Byte offset of the element at `index` along `dim`; 0 past the end, where nothing is read."""
        return inverse.apply({f"dim{d}": index * (d == dim) for d in range(2)})["offset"] * bits // 8

    wide = 128 // bits
    for dim in (0, 1):
        other, first = 1 - dim, wide if dim != k_dim else 8
        rows = all(at(other, 1 << bit) == 16 << bit for bit in range(3) if 1 << bit < shape[other])
        if not rows or any(at(dim, 1 << bit) != (1 << bit) * bits // 8 for bit in range(wide.bit_length() - 1)):
            continue
        along = at(1 - k_dim, first) if first < shape[1 - k_dim] else 16
        across = at(k_dim, wide if dim == k_dim else 8)
        steps = range(1, (min(extent, shape[1 - k_dim]) // first).bit_length() - 1)
        if all(at(1 - k_dim, first << bit) == along << bit for bit in steps):
            return _Core(dim, across >> 4, along >> 4, 0)
    return None


def _are_alike(encoding: SharedEncoding, other: SharedEncoding, shape: tuple[int, ...]) -> bool:
    """Whether both put each element at one offset; not where `shape` is too small for one of them."""
    try:
        return are_layouts_equivalent(shape, encoding, other)
    except IRError:
        return False


def _core(encoding: SharedEncoding, shape: tuple[int, ...], bits: int, k_dim: int, extent: int) -> _Core | None:
    if isinstance(encoding, NVMMAShared) and encoding.swizzling_byte_width in _SWIZZLE:
        return _swizzled_core(encoding, shape, bits, k_dim)
    for swizzle in _SWIZZLE if isinstance(encoding, SharedLinear) else ():
        for transposed in (False, True):
            alike = NVMMAShared(swizzle, transposed, bits, False, encoding.cga)
            if _are_alike(encoding, alike, shape):
                return _swizzled_core(alike, shape, bits, k_dim)
    return _plain_core(encoding, shape, bits, k_dim, extent)


def _matrix(f: FunctionLowering, op: Operation, value: SSAValue, k_dim: int, extent: int) -> BufferMatrix:
    b = f.b
    type_ = memdesc(value)
    shape = buffer_shape(type_)
    core = _core(shared_encoding(type_), shape, memory_bits(type_), k_dim, extent) if len(shape) == 2 else None
    if core is None:
        raise f.unsupported(
            op,
            "an operand that is not made of core matrices of 8 rows of 16 bytes",
            help="use #ttg.nvmma_shared of 32 to 128 bytes",
        )
    high = core.leading << 16 | core.stride << 32 | core.mode << 62
    view = f.values[value]
    assert isinstance(view, SharedView)
    address = b.value(ours.PtrToIntOp, (view.base,), I32)
    low = b.lshr(b.and_(address, b.i32(0x3FFFF)), 4)
    descriptor = b.or_disjoint(b.value(L.ZExtOp, (low,), I64), b.constant(I64, high))
    return BufferMatrix(descriptor, core.contiguous_dim == k_dim, type_, view.offsets)


def _of_warp_group(f: FunctionLowering, matrix: BufferMatrix, facts: LayoutFacts, dim: int, other: int) -> SSAValue:
    """The descriptor moved to the part of the matrix that the thread's warp group works on."""
    b = f.b
    columns = [0] * 5
    for bit, basis in enumerate(facts.layout.bases["warp"]):
        start = basis[dim] if bit >= 2 else 0
        coordinates = (start, other) if dim == 0 else (other, start)
        columns.append(matrix.offset(*coordinates) - matrix.offset(0, 0) if start else 0)
    if not any(columns):
        return matrix.descriptor
    moved = shuffle(f, f.shared_index(columns), b.i32(0), "idx")
    return b.add(matrix.descriptor, b.value(L.ZExtOp, (moved,), I64))


def _kind(type_: Attribute) -> str:
    element = type_.element_type if isinstance(type_, MemDescType) else element_type(type_)
    return KINDS.get(element.name, "s8")


class _Tile(NamedTuple):
    """64 rows of a dot: its accumulators, its part of a, and for each step along k what is added to the descriptors."""

    accumulators: SSAValue
    left: SSAValue
    a_offsets: list[int]
    b_offsets: list[int]


def _is_left_running(op: Operation) -> bool:
    """Whether the next wait of the block, in the block's next run if none follows, leaves later dots running.

    ptxas ends a group of dots before each `wgmma.fence`, with which an inline-asm statement begins: such a wait would wait for all
    tiles but the last, were each a statement of its own (119 dots of several tiles: 0.95 to 1.12 times as fast in one inline-asm statement, 1.02 in the
    geometric mean; H200, 2026-11-24). Where all dots are waited for there is nothing to gain, and one inline-asm statement binds the registers of all tiles at once:
    attention backward d128, causal, at 0.85 of its speed, d64 at 0.97 (H100, 2026-11-25).
    """
    block = op.parent_block()
    assert block is not None
    wait = _first_wait(op.next_op) or _first_wait(block.first_op)
    return wait is not None and integer(wait.pendings) > 0


def _first_wait(op: Operation | None) -> ttng.WarpGroupDotWaitOp | None:
    """The first wait for dots in a block from `op` on."""
    while op is not None and not isinstance(op, ttng.WarpGroupDotWaitOp):
        op = op.next_op
    return op


def _require_contiguous_along_k(f: FunctionLowering, op: ttng.WarpGroupDotOp, which: str, is_contiguous: bool) -> None:
    """The transpositions, imm-trans-a and -b, are of f16 and bf16 (PTX ISA, wgmma.mma_async). Raises `LoweringError` at `op` where another operand is."""
    if not is_contiguous:
        view = ", and take a view of it by .permute((1, 0))" if which == "b" else ""
        raise f.unsupported(
            op,
            f"operand {which} is not contiguous along k, which only elements of 16 bits may be",
            help=f"store {which} with k as the last dimension{view}",
        )


@lowers_where("has_wgmma", ttng.WarpGroupDotOp)
def warp_group_dot(f: FunctionLowering, op: ttng.WarpGroupDotOp) -> None:
    """All tiles, and the end of the group; unless asynchronous, the wait for it.

    Dots that start from zero say so and get no accumulators: no register has to be cleared for them.
    Tensor cores add terms of fp8 with fewer bits than f32 has: after `maxNumImpreciseAcc` of them the partial accumulator is added to c.
    """
    b = f.b
    first, second, third = op.operands[:3]
    condition = f.scalar(op.operands[3]) if len(op.operands) > 3 else None
    from_zero = condition is None and _is_zero(third)
    if from_zero:
        condition = b.constant(I1, 0)
    result = op.results[0]
    facts = f.facts(result.type).layout
    encoding = f.facts(result.type).encoding
    assert isinstance(encoding, NvidiaMma)
    columns = encoding.instr_shape[1]
    total = f.vector(third)
    if from_zero:
        total = b.poison(total.type)
    right = _matrix(f, op, second, 0, columns)
    bits = memory_bits(right.type)
    step = STEP_BYTES * 8 // bits
    depth = right.type.get_shape()[0]
    if depth < step:
        raise f.unsupported(
            op, f"k = {depth}, and wgmma takes {step} at a time", help="pad the operands along k with zeros"
        )
    right_base = _of_warp_group(f, right, facts, 1, 0)
    kind_c = lane_type(total.type).name if lane_type(total.type) is not I32 else "s32"
    properties: dict[str, Attribute] = {
        "shape": string_attr(f"m{ROWS}n{columns}k{step}"),
        "types": string_attr(f"{kind_c}.{_kind(first.type)}.{_kind(second.type)}"),
    }
    if not right.contiguous_along_k:
        properties["trans_b"] = _UNIT
    left = _Left(f, op, first, facts, step)
    if bits != 16:
        _require_contiguous_along_k(f, op, "a", not left.transposed)
        _require_contiguous_along_k(f, op, "b", right.contiguous_along_k)
    if left.transposed:
        properties["trans_a"] = _UNIT
    one_text = _is_left_running(op)

    def group(steps: range, start: SSAValue, use_start: SSAValue | None) -> SSAValue:
        """The dots of some steps along k, started."""
        tiles: list[_Tile] = []
        indices: dict[int, int] = {}
        for m, n in facts.register_of:
            if m % ROWS or n % columns:
                continue
            held = [facts.register_of[(m + 8 * (i >> 1 & 1), n + 8 * (i >> 2) + (i & 1))] for i in range(columns // 2)]
            indices.update({register: len(tiles) * len(held) + i for i, register in enumerate(held)})
            b_offsets = [right.offset(k, n) for k in steps]
            tiles.append(_Tile(b.permute(start, held), left.operand(m, steps), left.offsets(m, steps), b_offsets))
        conditions = () if use_start is None else (use_start,)
        results: list[SSAValue] = []
        for together in [tiles] if one_text else [[tile] for tile in tiles]:
            lefts = [tile.left for tile in together]
            if left.matrix is not None:
                lefts = lefts[:1]
            offsets = {
                "a_offsets": DenseArrayBase.from_list(i32, [each for tile in together for each in tile.a_offsets]),
                "b_offsets": DenseArrayBase.from_list(i32, [each for tile in together for each in tile.b_offsets]),
                "operandSegmentSizes": i32_array((len(lefts), 1, len(together), len(conditions))),
            }
            accumulators = [tile.accumulators for tile in together]
            operands, types = (*lefts, right_base, *accumulators, *conditions), [each.type for each in accumulators]
            results += b.operation(nvvm.WgmmaOp, operands, types, {**properties, **offsets}).results
        b.operation(nvvm.WgmmaCommitGroupOp, (), ())
        return b.permute(b.concat(results), [indices[facts.register_of[offset]] for offset in facts.offsets])

    most = integer(op.max_num_imprecise_acc)
    if bits != 8 or lane_type(total.type) is not F32 or most > depth:
        value = group(range(0, depth, step), total, condition)
        if not is_true(op.is_async):
            value = _wait(f, [value], 0)[0]
    else:
        length = max(-(-most // step) * step, step)
        spans = [range(start, min(start + length, depth), step) for start in range(0, depth, length)]
        accumulators = [_wait(f, [group(span, b.poison(total.type), b.constant(I1, 0))], 0)[0] for span in spans]
        if condition is not None and not from_zero:
            total = b.select(condition, total, b.constant(total.type, 0.0))
        value = accumulators[0] if from_zero else b.fadd_fused(total, accumulators[0])
        for each in accumulators[1:]:
            value = b.fadd_fused(value, each)
    f.values[result] = value


class _Left:
    """Operand a: a descriptor of shared memory, or words in registers."""

    def __init__(self, f: FunctionLowering, op: Operation, value: SSAValue, facts: LayoutFacts, step: int):
        self.f = f
        self.matrix: BufferMatrix | None = None
        self.step = step
        if isinstance(value.type, MemDescType):
            self.matrix = _matrix(f, op, value, 1, ROWS)
            self.base = _of_warp_group(f, self.matrix, facts, 0, 0)
            return
        vector = f.vector(value)
        self.per_word = step // 8
        self.base = f.b.bitcast(vector, vector_type(I32, lanes(vector.type) // self.per_word))
        self.register_of = f.facts(value.type).layout.register_of

    @property
    def transposed(self) -> bool:
        """Whether a is column-major in memory."""
        return self.matrix is not None and not self.matrix.contiguous_along_k

    def offsets(self, m: int, steps: range) -> list[int]:
        """For each step what is added to the descriptor; nothing if a is in registers."""
        return [] if self.matrix is None else [self.matrix.offset(m, k) for k in steps]

    def operand(self, m: int, steps: range) -> SSAValue:
        """The descriptor, or the words of all steps."""
        if self.matrix is not None:
            return self.base
        half = self.step // 2
        words = [
            self.register_of[(m + dm, k + dk)] // self.per_word for k in steps for dk in (0, half) for dm in (0, 8)
        ]
        return self.f.b.permute(self.base, words)


def _is_zero(value: SSAValue) -> bool:
    """Whether a tensor is a constant of zeros, and of no negative ones."""
    attr = value.owner.properties.get("value") if isinstance(value.owner, ConstantOp) else None
    return isinstance(attr, DenseIntOrFPElementsAttr) and not any(attr.data.data)


def _wait(f: FunctionLowering, values: list[SSAValue], pending: int) -> list[SSAValue]:
    types = [value.type for value in values]
    made = f.b.operation(nvvm.WgmmaWaitGroupOp, values, types, {"n": IntegerAttr(pending, 32)})
    return list(made.results)


@lowers_where("has_wgmma", ttng.WarpGroupDotWaitOp)
def warp_group_dot_wait(f: FunctionLowering, op: ttng.WarpGroupDotWaitOp) -> None:
    """Tensors go through the wait, buffers are what they were."""
    pending = op.pendings
    assert isinstance(pending, IntegerAttr)
    tensors = [operand for operand in op.operands if not isinstance(operand.type, MemDescType)]
    vectors = [registers.vector(f.b, f.values[t], f.count(t)) for t in tensors]
    waited = iter(_wait(f, vectors, pending.value.data))
    for operand, result in zip(op.operands, op.results, strict=True):
        f.values[result] = f.values[operand] if isinstance(operand.type, MemDescType) else next(waited)


@lowers_where("has_tma", ttng.FenceAsyncSharedOp)
def fence_async_shared(f: FunctionLowering, op: ttng.FenceAsyncSharedOp) -> None:
    properties = {"cluster": _UNIT} if is_true(op.b_cluster) else {}
    f.b.operation(nvvm.FenceProxyAsyncOp, (), (), properties)


@lowers(arith.AddiOp)
def add(f: FunctionLowering, op: arith.AddiOp) -> None:
    """Of a step that a loop of dots shares among pointers, what the assembler must not put off."""
    if OPAQUE in op.attributes:
        f.values[op.result] = f.b.add(f.scalar(op.lhs), _unknown_step(f, f.scalar(op.rhs)))
    else:
        elementwise.add(f, op)


def _unknown_step(f: FunctionLowering, step: SSAValue) -> SSAValue:
    """`step`, an integer of 64 bits, as one that LLVM knows nothing of, and ptxas not that it is the same in all lanes.

    What it is added to stays in registers of each thread: additions with uniform registers ptxas puts off until a copy needs the
    address, after the wgmma instructions and the barrier.
    """
    if f.unknown_zero is None:
        with f.b.in_prologue():
            f.unknown_zero = _unknown_zero(f.b)
    moved = f.b.inline_asm("mov.b64 $0, $1;", "=l,l", [f.b.add(step, f.unknown_zero)], I64)
    assert moved is not None
    return moved


def _unknown_zero(b: Builder) -> SSAValue:
    """0: no lane is both before and after another (PTX ISA, "Special Registers: %lanemask_lt")."""
    both = "{ .reg .b32 after; mov.u32 $0, %lanemask_lt; mov.u32 after, %lanemask_gt; and.b32 $0, $0, after; }"
    zero = b.inline_asm(both, "=r", [], I32, pure=True)
    assert zero is not None
    return b.value(L.ZExtOp, (zero,), I64)
