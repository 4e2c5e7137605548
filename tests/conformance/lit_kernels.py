"""A function of a lit test made into a kernel whose work can be seen.

tt.func @f(%x: tensor<4xf32, #b>) {           tt.func public @f(%x: !tt.ptr<f32>, %out0: !tt.ptr<f32>) {
  %0 = arith.addf %x, %x            =>          %1 = tt.load (%x + 0..3)
  tt.return                                     %0 = arith.addf %1, %1
}                                               tt.store (%out0 + 0..3), %0
                                                tt.return

Tensors among the arguments are loaded, memory descriptors are filled, buffers that nobody fills too; what nobody uses is stored (of a
pointer or a buffer, what it points to), so that nothing is dropped as dead. A function of nothing must leave an array as it is.
Raises `CannotRun` for functions that need more than that; `lit_surroundings.py` puts some of these into a kernel of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    i8,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, math, tt, ttg, ttng
from minitriton.dialects.tt.types import PointerType, TensorDescType
from minitriton.interpreter.numbers.formats import encode_bf16, encode_small
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import DistributedEncoding, Slice
from minitriton.runtime.launching.arguments import Argument
from minitriton.tools.tensor_descriptor import TensorDescriptor

ELEMENTS_BEHIND_A_POINTER = 1 << 14

POSITIVE = {("clamp", 1)}
"""Arguments, by function and place, that must not be negative: what clamping gives to limits out of order is undefined."""

_DTYPES = {
    "i1": np.int8, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


class CannotRun(Exception):
    """A function that no launch can run by itself."""


@dataclass
class RunnableFunction:
    """The module of one kernel, and arguments for it."""

    module: ModuleOp
    name: str
    values: list[Any]
    elements: list[str]
    passed: list[Argument] = field(default_factory=list)
    is_wrong: bool = False
    """Whether the kernel does what every oracle must report, such as waiting for what never comes."""


def contents(element: Attribute, count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` numbers of an element type: floats of moderate size, and integers that are good as offsets too."""
    name = str(element)
    if isinstance(element, PointerType):
        raise CannotRun("a tensor of pointers to pointers")
    if name == "bf16":
        return encode_bf16(rng.standard_normal(count).astype(np.float32))
    if name.startswith("f8"):
        return encode_small(name, rng.standard_normal(count).astype(np.float32))
    dtype = _DTYPES.get(name)
    if dtype is None:
        raise CannotRun(f"elements of type {name}")
    if name.startswith("f"):
        return rng.standard_normal(count).astype(dtype)
    return rng.integers(0, 2 if name == "i1" else 8, count).astype(dtype)


class _Maker:
    """Rewrites one function; ops go where `emit` was told."""

    def __init__(self, module: ModuleOp, function: tt.FuncOp, rng: np.random.Generator) -> None:
        self.module, self.function, self.rng = module, function, rng
        self.block: Block = function.body.blocks[0]
        self.types: list[Attribute] = []
        self.values: list[Any] = []
        self.elements: list[str] = []
        self.passed: list[Argument] = []
        self.before: Operation = self.block.first_op  # pyright: ignore[reportAttributeAccessIssue]

    def emit(self, op: Operation) -> SSAValue:
        block = self.before.parent
        assert block is not None
        block.insert_op_before(op, self.before)
        return op.results[0] if op.results else self.block.args[0]

    def argument(self, type_: Attribute, value: Any, element: str = "", type_name: str = "") -> SSAValue:
        """A new argument of the kernel."""
        self.passed.append(Argument(f"arg{len(self.types)}", type_name, value))
        self.values.append(value)
        self.elements.append(element)
        self.types.append(type_)
        return self.block.insert_arg(type_, len(self.block.args))

    def array(self, element: Attribute, count: int, *, output: bool = False) -> SSAValue:
        """A new pointer argument to `count` elements."""
        stored = i8 if str(element) == "i1" else element
        first = contents(element, count, self.rng)
        return self.argument(
            PointerType(stored), np.zeros_like(first) if output else first, "bf16" if str(element) == "bf16" else ""
        )

    def _in_domain(self, number: int, value: SSAValue) -> SSAValue:
        return self.emit(math.AbsFOp(value)) if (self.function.sym_name.data, number) in POSITIVE else value

    def addresses(self, base: SSAValue, type_: TensorType) -> SSAValue:
        """Where the elements of a tensor of `type_` lie behind `base`, row by row."""
        layout, shape = ttg.layout_of(type_), type_.get_shape()
        if not isinstance(layout, DistributedEncoding):
            raise CannotRun("a tensor without a layout")
        total: SSAValue | None = None
        stride = 1
        for dim in reversed(range(len(shape))):
            if shape[dim] == 1:
                continue
            along = self.emit(arith.ConstantOp(IntegerAttr(stride, i32))) if stride != 1 else None
            index = self._index(layout, shape, dim)
            whole = TensorType(i32, shape, type_.encoding)
            if index.type != whole:
                index = self.emit(tt.BroadcastOp(index, whole))
            if along is not None:
                index = self.emit(arith.MuliOp(index, self.emit(tt.SplatOp(along, whole))))
            total = index if total is None else self.emit(arith.AddiOp(total, index))
            stride *= shape[dim]
        pointers = self.emit(tt.SplatOp(base, TensorType(base.type, shape, type_.encoding)))
        return pointers if total is None else self.emit(tt.AddPtrOp(pointers, total))

    def _index(self, layout: DistributedEncoding, shape: tuple[int, ...], dim: int) -> SSAValue:
        """The index along `dim`, of size 1 in all other dimensions."""
        others = [d for d in range(len(shape)) if d != dim]
        nested = layout
        layouts = [nested]
        for other in reversed(others):
            nested = Slice(other, nested)
            layouts.append(nested)
        value = self.emit(
            tt.MakeRangeOp(TensorType(i32, [shape[dim]], ttg.encoding_attr(nested)), start=0, end=shape[dim])
        )
        sizes = [shape[dim]]
        for other, outer in zip(others, reversed(layouts[:-1]), strict=True):
            sizes.insert(other, 1)
            value = self.emit(
                tt.ExpandDimsOp(value, axis=other, result_type=TensorType(i32, sizes, ttg.encoding_attr(outer)))
            )
        return value

    def input(self, type_: Attribute) -> SSAValue:
        """A value of `type_` that stands for an argument."""
        if isinstance(type_, TensorType):
            element = type_.element_type
            if isinstance(element, PointerType):
                return self.addresses(self.array(element.pointee_type, ELEMENTS_BEHIND_A_POINTER), type_)
            count = int(np.prod(type_.get_shape()))
            loaded = self.emit(tt.LoadOp(self.addresses(self.array(element, count), type_)))
            return self.emit(arith.TruncIOp(loaded, type_)) if str(element) == "i1" else loaded
        if isinstance(type_, PointerType):
            return self.array(type_.pointee_type, ELEMENTS_BEHIND_A_POINTER)
        if isinstance(type_, ttg.MemDescType):
            return self._filled(type_)
        if isinstance(type_, IntegerType | IndexType) or str(type_) in ("f16", "f32", "f64"):
            return self.argument(type_, self._number(type_))
        if isinstance(type_, TensorDescType):
            return self._descriptor(type_)
        raise CannotRun(f"an argument of type {type_}")

    def _number(self, type_: Attribute) -> Any:
        """A number for an argument; a negative one where it is printed, so that its sign is seen.

        Where a tensor is copied it may be a coordinate: 4 floats, for a copy begins at a multiple of 16 bytes (at others the GPU stops).
        """
        if isinstance(type_, IndexType):
            return 3
        if isinstance(type_, IntegerType):
            printed = any(op.name == "tt.print" for op in self.function.walk())
            copied = any(isinstance(argument.type, TensorDescType) for argument in self.block.args)
            return True if type_.width.data == 1 else -5 if printed else 4 if copied else 3
        return 1.5

    def _descriptor(self, type_: TensorDescType) -> SSAValue:
        """A descriptor of a tensor that is 8 elements larger each way than a block of `type_`."""
        block = list(type_.block_type.get_shape())
        if str(type_.block_type.element_type) != "f32":
            raise CannotRun(f"a descriptor of {type_.block_type.element_type}")
        array = self.rng.standard_normal([size + 8 for size in block]).astype(np.float32)
        value = TensorDescriptor(array, list(array.shape), [s // 4 for s in array.strides], block)
        return self.argument(type_, value, "", f"tensordesc<fp32{block}>")

    def _filled(self, type_: ttg.MemDescType) -> SSAValue:
        """Shared memory of `type_` with an array in it. A part of a buffer lies at its end, of one of several buffers at its start."""
        whole, shape = type_.get_alloc_shape(), type_.get_shape()
        if whole == shape and len(shape) == _rank(type_):
            return self.emit(ttg.LocalAllocOp(self.input(self._read_as(type_)), type_))
        buffer = self.emit(ttg.LocalAllocOp(None, _part(type_, whole, mutable=True)))
        self.fill(buffer)
        if len(whole) > len(shape):
            last = self.emit(arith.ConstantOp(IntegerAttr(whole[0] - 1, i32)))
            buffer = self.emit(ttg.MemDescIndexOp(buffer, last, _part(type_, whole[1:], mutable=True)))
        elif whole != shape:
            offsets = [size - part for size, part in zip(whole, shape, strict=True)]
            subslice = ttg.MemDescType(shape, type_.element_type, type_.encoding, type_.memory_space, True, whole)
            buffer = self.emit(ttg.MemDescSubsliceOp(buffer, subslice, offsets=offsets))
        return buffer if buffer.type == type_ else self.emit(ttg.MemDescReinterpretOp(buffer, type_))

    def _read_as(self, type_: ttg.MemDescType) -> TensorType:
        """The type of a tensor with all of a buffer's contents."""
        shape = type_.get_shape()
        order = tuple(reversed(range(len(shape))))
        layout = blocked_for_cga(shape, [1] * len(shape), order, ttg.num_warps(self.function), 32, ())
        return TensorType(type_.element_type, shape, ttg.encoding_attr(layout))

    def _buffers(self, value: SSAValue) -> list[SSAValue]:
        """The buffers that `value` holds: several where it has a dimension more than its layout."""
        type_ = value.type
        assert isinstance(type_, ttg.MemDescType)
        shape = type_.get_shape()
        if len(shape) == _rank(type_):
            return [value]
        numbers = [self.emit(arith.ConstantOp(IntegerAttr(i, i32))) for i in range(shape[0])]
        one = _part(type_, shape[1:], mutable=type_.mutable)
        return [self.emit(ttg.MemDescIndexOp(value, number, one)) for number in numbers]

    def fill(self, value: SSAValue) -> None:
        """Stores an array in each buffer of `value`."""
        for buffer in self._buffers(value):
            assert isinstance(buffer.type, ttg.MemDescType)
            self.emit(ttg.LocalStoreOp(self.input(self._read_as(buffer.type)), buffer))

    def fill_what_nobody_fills(self) -> None:
        """Stores an array in every buffer that is only read."""
        for op in list(self.function.walk()):
            if isinstance(op, ttg.LocalAllocOp) and op.src is None and not _is_written(op.result):
                after = op.next_op
                assert after is not None
                self.before, saved = after, self.before
                self.fill(op.result)
                self.before = saved

    def output(self, value: SSAValue) -> None:
        """Stores `value` behind a new pointer argument."""
        type_ = value.type
        element = type_.element_type if isinstance(type_, TensorType) else type_
        if isinstance(element, PointerType):
            self.output(self.emit(tt.LoadOp(value)))
            return
        if isinstance(value.owner, ttng.WarpGroupDotOp) and value.owner.is_async:
            value = self.emit(ttng.WarpGroupDotWaitOp([value], pendings=0))
        if isinstance(type_, ttg.MemDescType):
            for buffer in self._buffers(value):
                assert isinstance(buffer.type, ttg.MemDescType)
                self.output(self.emit(ttg.LocalLoadOp(buffer, None, self._read_as(buffer.type))))
            return
        if str(element) == "i1":
            wide: Attribute = TensorType(i8, type_.get_shape(), type_.encoding) if isinstance(type_, TensorType) else i8
            self.output(self.emit(arith.ExtUIOp(value, wide)))
            return
        if isinstance(type_, TensorType):
            base = self.array(element, int(np.prod(type_.get_shape())), output=True)
            self.emit(tt.StoreOp(self.addresses(base, type_), value))
        elif str(element) in _DTYPES:
            self.emit(tt.StoreOp(self.array(element, 1, output=True), value))

    def show_what_nobody_uses(self) -> None:
        """Stores, at the end of each block, its results that have no use, and what it returns."""
        for block in self.function.body.blocks:
            end = block.last_op
            assert end is not None
            self.before = end
            for value in [*_unseen(block), *(end.operands if isinstance(end, tt.ReturnOp) else ())]:
                self.output(value)
            if isinstance(end, tt.ReturnOp):
                block.insert_op_before(tt.ReturnOp(), end)
                block.erase_op(end)

    def make(self) -> RunnableFunction:
        old = list(self.block.args)
        idle = [op.name for op in self.block.ops] == ["tt.return"] and not old
        replacements = [self._in_domain(number, self.input(argument.type)) for number, argument in enumerate(old)]
        for argument, value in zip(old, replacements, strict=True):
            argument.replace_all_uses_with(value)
        self.fill_what_nobody_fills()
        self.show_what_nobody_uses()
        if idle:
            self.array(i32, 16)
        for argument in old:
            self.block.erase_arg(argument)
        function = self.function
        function.properties["function_type"] = FunctionType.from_lists(self.types, [])
        function.properties["sym_visibility"] = StringAttr("public")
        function.properties.pop("arg_attrs", None)
        function.properties.pop("res_attrs", None)
        printed = any(op.name == "tt.print" for op in function.walk())
        if not printed and not any(isinstance(v, np.ndarray | TensorDescriptor) for v in self.values):
            raise CannotRun("nothing to be seen")
        descriptors = any(isinstance(v, TensorDescriptor) for v in self.values)
        return RunnableFunction(
            self.module, function.sym_name.data, self.values, self.elements, self.passed if descriptors else []
        )


def _unseen(block: Block) -> Iterator[SSAValue]:
    """Results that nobody uses, and buffers that are written and never read; a barrier is no such buffer."""
    for op in list(block.ops):
        for result in op.results:
            users = {use.operation.name for use in result.uses}
            if isinstance(result.type, ttg.MemDescType) and op.name == "ttg.local_alloc":
                if users <= {"ttg.local_store"}:
                    yield result
            elif not users:
                yield result


def _is_written(buffer: SSAValue) -> bool:
    """Whether an op other than a load may write to `buffer` or a view of it."""
    for use in buffer.uses:
        op = use.operation
        if op.name.startswith("ttg.memdesc_"):
            if _is_written(op.results[0]):
                return True
        elif op.name not in ("ttg.local_load", "ttg.local_dealloc"):
            return True
    return False


def _rank(type_: ttg.MemDescType) -> int:
    """Of the buffer's layout."""
    layout = ttg.layout_of(type_)
    if layout is None:
        raise CannotRun("a buffer without a layout")
    return layout.rank


def _part(type_: ttg.MemDescType, shape: tuple[int, ...], *, mutable: bool) -> ttg.MemDescType:
    """The type of a whole buffer of another shape."""
    return ttg.MemDescType(shape, type_.element_type, type_.encoding, type_.memory_space, mutable)


def runnable(module: ModuleOp, name: str, seed: int = 0) -> RunnableFunction:
    """The function `name` of a copy of `module`, without the others unless it calls them. Raises `CannotRun`."""
    module = module.clone()
    functions = [op for op in module.body.block.ops if isinstance(op, tt.FuncOp)]
    wanted = next(f for f in functions if f.sym_name.data == name)
    if not any(op.name == "tt.call" for op in wanted.walk()):
        for function in functions:
            if function is not wanted:
                module.body.block.erase_op(function)
    return _Maker(module, wanted, np.random.default_rng(seed)).make()
