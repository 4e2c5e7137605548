"""`triton-nvidia-optimize-descriptor-encoding`: the layout in shared memory of each descriptor's blocks.

In: TTGIR whose descriptors have no layout. Out: every descriptor type with one. A block that goes into a buffer (for a dot, say) has
that buffer's layout, so that the copy writes where the dot reads; any other the widest swizzle that its rows fill.

    %d : !tt.tensordesc<tensor<128x64xf16>>      =>      %d : !tt.tensordesc<tensor<128x64xf16, #shared>>
    %x = tt.descriptor_load %d[...]                      #shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, ...}>
    %b = ttg.local_alloc %x : ... #shared

What is wanted of a descriptor flows through loops and branches until all that are tied agree; where two users want different
layouts, and where a descriptor crosses a function's border, it gets the default one. Counterpart of
lib/Dialect/TritonNvidiaGPU/Transforms/OptimizeDescriptorEncoding.cpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.tensor_descriptors import (
    box_shape,
    cga_of_rank,
    descriptor_encoding,
    element_bytes,
    encoding_of_rank,
)
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.facts.memory_access import DescriptorAccess
from minitriton.dialects.facts.region_flow import flows
from minitriton.dialects.fast_paths.op_access import ops_in, set_type, value_type
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import TensorDescType
from minitriton.layouts.builders import nvmma_shared
from minitriton.layouts.encodings import Bases, NVMMAShared
from minitriton.passes.tensor_layouts import with_layout
from minitriton.pipeline.pass_registry import Pass, Property, register_pass
from minitriton.target.tensor_map import GRAIN


class Wish(NamedTuple):
    """What is wanted of a descriptor: a layout, how CTAs share its blocks, the smallest shape used; or the default."""

    encoding: NVMMAShared | None = None
    cga: Bases | None = None
    shape: tuple[int, ...] = ()
    default: bool = False

    def join(self, other: Wish) -> Wish:
        """What satisfies both; the default layout where they clash."""
        if self.default or other.default:
            return _DEFAULT
        shape = self.shape or other.shape
        if self.shape and other.shape:
            shape = tuple(map(min, self.shape, other.shape))
        cgas = {cga for cga in (self.cga, other.cga) if cga is not None}
        cga = next(iter(cgas), None) if len(cgas) < 2 else ()
        encodings = {e for e in (self.encoding, other.encoding) if e is not None}
        if len(encodings) == 2:
            return Wish(None, cga, shape, default=True)
        return Wish(next(iter(encodings), None), cga, shape)


_NOTHING = Wish()
_DEFAULT = Wish(default=True)


def _is_descriptor(value: SSAValue) -> bool:
    return value_type(value).__class__ is TensorDescType


def _block_type(value: SSAValue) -> TensorType:
    assert isinstance(value.type, TensorDescType)
    return value.type.block_type


def _buffer_wanted(loaded: SSAValue) -> NVMMAShared | None:
    """The layout of a buffer that `loaded` goes into, if a copy can write it."""
    for use in loaded.uses:
        user = use.operation
        if isinstance(user, ttg.LocalAllocOp):
            layout = ttg.layout_of(user.result.type)
        elif isinstance(user, ttg.LocalStoreOp):
            layout = ttg.layout_of(user.dst.type)
        else:
            continue
        if isinstance(layout, NVMMAShared) and not layout.transposed:
            return layout
    return None


def _is_border(op: Operation) -> bool:
    """Whether descriptors of `op` have the default layout, for what is on the other side cannot be seen."""
    return isinstance(op, tt.CallOp | tt.ReturnOp | ttng.ReinterpretTensorDescOp)


def _wish_of_use(op: Operation) -> tuple[SSAValue, Wish] | None:
    """The descriptor that `op` reads or writes through, and what it wants of it."""
    access = DescriptorAccess.of(op)
    if access is None:
        return None
    data = access.data_of(op)
    wanted, tensor = _buffer_wanted(op.results[0]) if access.is_load else None, data.type
    assert instance_of(tensor, TensorType)
    layout = wanted or ttg.layout_of(tensor)
    shape = tensor.get_shape()
    padded = (1,) * (len(_block_type(access.pointer_of(op)).get_shape()) - len(shape)) + shape
    return access.pointer_of(op), Wish(wanted, None if layout is None else layout.cga, padded)


class _Wishes:
    """The fixed point over one function."""

    def __init__(self, function: tt.FuncOp) -> None:
        self.of: dict[SSAValue, Wish] = {}
        self._ties: dict[SSAValue, list[SSAValue]] = {}
        """The values that are the same descriptor, one step of control flow away."""
        for op in ops_in(function):
            for passed, received in flows(op):
                if _is_descriptor(passed):
                    self._ties.setdefault(passed, []).append(received)
                    self._ties.setdefault(received, []).append(passed)
        self._due: dict[SSAValue, None] = {}

    def add(self, values: Sequence[SSAValue], wish: Wish) -> None:
        """`wish` and what was wanted of each of `values` so far is wanted of all of them."""
        for value in values:
            known = self.of.get(value)
            if known is not None:
                wish = known.join(wish)
        for value in values:
            if self.of.get(value) != wish:
                self.of[value] = wish
                self._due[value] = None

    def spread(self) -> None:
        """Until all that are tied agree."""
        while self._due:
            value, _ = self._due.popitem()
            for tied in self._ties.get(value, ()):
                self.add([value, tied], _NOTHING)


def _default_type(type_: TensorDescType, cga: Bases = (), shape: tuple[int, ...] = ()) -> TensorDescType:
    """The widest swizzle that rows of `shape` (else of the blocks) fill."""
    block = type_.block_type.get_shape()
    rank = len(block)
    used = shape or block
    encoding = nvmma_shared(used, range(rank - 1, -1, -1), cga_of_rank(cga, rank), 8 * element_bytes(type_))
    return TensorDescType(with_layout(type_.block_type, encoding))


def _chosen_type(type_: TensorDescType, wish: Wish) -> TensorDescType:
    if wish.default:
        return _default_type(type_)
    if wish.encoding is None:
        chosen = _default_type(type_, wish.cga or (), wish.shape)
    else:
        block = type_.block_type
        chosen = TensorDescType(with_layout(block, encoding_of_rank(wish.encoding, block.get_num_dims())))
    return chosen if _rows_can_be_copied(chosen) else _of_whole_rows(chosen, wish.shape)


def _rows_can_be_copied(type_: TensorDescType) -> bool:
    """Whether what one CTA takes of a row is as long as a copy's rows must be."""
    return box_shape(type_)[-1] * element_bytes(type_) % GRAIN == 0


def _of_whole_rows(type_: TensorDescType, shape: tuple[int, ...]) -> TensorDescType:
    """The default layout in which every CTA takes whole rows. (Triton's kernel asks for rows that the hardware refuses.)"""
    cga = tuple((*basis[:-1], 0) for basis in descriptor_encoding(type_).cga)
    return _default_type(type_, cga, shape)


def _has_descriptors(function: tt.FuncOp) -> bool:
    """Whether there are any: each is an argument, or what some op makes, or comes from one that is."""
    return any(map(_is_descriptor, function.args)) or any(
        _is_descriptor(result) for op in ops_in(function) for result in op.results
    )


def _assign(function: tt.FuncOp) -> None:
    wishes = _Wishes(function)
    arguments = [value for value in function.args if _is_descriptor(value)]
    for value in arguments:
        wishes.add([value], _NOTHING if function.is_public else _DEFAULT)
    for op in ops_in(function):
        used = _wish_of_use(op)
        if used is not None:
            wishes.add([used[0]], used[1])
            continue
        for value in (*op.results, *op.operands):
            if _is_descriptor(value):
                wishes.add([value], _DEFAULT if _is_border(op) else _NOTHING)
    wishes.spread()
    for value, wish in wishes.of.items():
        assert isinstance(value.type, TensorDescType)
        set_type(value, _chosen_type(value.type, wish))
    old = function.function_type
    outputs: list[Attribute] = [_default_type(t) if isinstance(t, TensorDescType) else t for t in old.outputs]
    if arguments or outputs != list(old.outputs):
        inputs = [argument.type for argument in function.args]
        function.properties["function_type"] = FunctionType.from_lists(inputs, outputs)


@register_pass
class OptimizeDescriptorEncoding(Pass, stage="ttgir", origin="triton"):
    """Gives descriptors the layout in shared memory that their users want."""

    name = "triton-nvidia-optimize-descriptor-encoding"
    requires = frozenset({Property.ENCODINGS})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.DESCRIPTOR_LAYOUTS})

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        changed = False
        for function in op.body.block.ops:
            if isinstance(function, tt.FuncOp) and not function.is_declaration and _has_descriptors(function):
                _assign(function)
                changed = True
        return changed
