"""A function of a lit test made into a kernel whose work can be seen.

tt.func @f(%x: tensor<4xf32, #b>) {           tt.func public @f(%x: !tt.ptr<f32>, %out0: !tt.ptr<f32>) {
  %0 = arith.addf %x, %x            =>          %1 = tt.load (%x + 0..3)
  tt.return                                     %0 = arith.addf %1, %1
}                                               tt.store (%out0 + 0..3), %0
                                                tt.return

Tensors among the arguments are loaded, memory descriptors are filled, and what nobody uses is stored (of a pointer, what it points
to), so that nothing is dropped as dead. Raises `CannotRun` for functions that need more than that (tokens, descriptors, several blocks).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FunctionType, IntegerAttr, IntegerType, ModuleOp, StringAttr, TensorType, i8, i32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.dialects import arith, tt, ttg
from minitriton.dialects.tt_types import PointerType
from minitriton.interpreter.formats import encode_bf16, encode_small
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.encodings import DistributedEncoding, Slice

ELEMENTS_BEHIND_A_POINTER = 1 << 14

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
        if len(function.body.blocks) != 1:
            raise CannotRun("several blocks")
        self.module, self.function, self.rng = module, function, rng
        self.block: Block = function.body.blocks[0]
        self.types: list[Attribute] = []
        self.values: list[Any] = []
        self.elements: list[str] = []
        self.before: Operation = self.block.first_op  # pyright: ignore[reportAttributeAccessIssue]

    def emit(self, op: Operation) -> SSAValue:
        self.block.insert_op_before(op, self.before)
        return op.results[0] if op.results else self.block.args[0]

    def array(self, element: Attribute, count: int, *, output: bool = False) -> SSAValue:
        """A new pointer argument to `count` elements."""
        stored = i8 if str(element) == "i1" else element
        self.values.append(
            np.zeros_like(contents(element, count, self.rng)) if output else contents(element, count, self.rng)
        )
        self.elements.append("bf16" if str(element) == "bf16" else "")
        self.types.append(PointerType(stored))
        return self.block.insert_arg(self.types[-1], len(self.block.args))

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
        if isinstance(type_, IntegerType) or str(type_) in ("f16", "bf16", "f32", "f64"):
            if str(type_) == "bf16":
                raise CannotRun("a scalar argument of type bf16")
            self.values.append((True if type_.width.data == 1 else 3) if isinstance(type_, IntegerType) else 1.5)
            self.elements.append("")
            self.types.append(type_)
            return self.block.insert_arg(type_, len(self.block.args))
        raise CannotRun(f"an argument of type {type_}")

    def _filled(self, type_: Any) -> SSAValue:
        """Shared memory of `type_` with an array in it."""
        shape = type_.get_shape()
        warps = ttg.num_warps(self.function)
        layout = blocked_for_cga(shape, [1] * len(shape), tuple(reversed(range(len(shape)))), warps, 32, ())
        tensor = TensorType(type_.element_type, shape, ttg.encoding_attr(layout))
        return self.emit(ttg.LocalAllocOp.create(operands=[self.input(tensor)], result_types=[type_]))

    def output(self, value: SSAValue) -> None:
        """Stores `value` behind a new pointer argument."""
        type_ = value.type
        element = type_.element_type if isinstance(type_, TensorType) else type_
        if isinstance(element, PointerType):
            self.output(self.emit(tt.LoadOp(value)))
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

    def make(self) -> RunnableFunction:
        old = list(self.block.args)
        replacements = [self.input(argument.type) for argument in old]
        for argument, value in zip(old, replacements, strict=True):
            argument.replace_all_uses_with(value)
        end = self.block.last_op
        assert end is not None
        self.before = end
        unused = [r for op in list(self.block.ops) for r in op.results if r.first_use is None]
        for value in [*unused, *end.operands]:
            self.output(value)
        self.block.insert_op_before(tt.ReturnOp(), end)
        self.block.erase_op(end)
        for argument in old:
            self.block.erase_arg(argument)
        function = self.function
        function.properties["function_type"] = FunctionType.from_lists(self.types, [])
        function.properties["sym_visibility"] = StringAttr("public")
        function.properties.pop("arg_attrs", None)
        function.properties.pop("res_attrs", None)
        if not any(isinstance(v, np.ndarray) for v in self.values):
            raise CannotRun("nothing to be seen")
        return RunnableFunction(self.module, function.sym_name.data, self.values, self.elements)


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
