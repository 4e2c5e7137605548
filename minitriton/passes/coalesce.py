"""Layouts in which neighbouring threads access neighbouring addresses, chosen for each memory access.

In: TTGIR whose tensors have any layout. Out: every load, store and atomic through a tensor of pointers (and every access
through a descriptor) works in a layout of its own; conversions around it keep the layouts of everything else.

    %v = tt.load %p : tensor<1024x!tt.ptr<f32>, #blocked>                      #blocked:  sizePerThread = [1]

    %0 = ttg.convert_layout %p : ... #blocked -> ... #blocked1                 #blocked1: sizePerThread = [4]
    %1 = tt.load %0 : tensor<1024x!tt.ptr<f32>, #blocked1>
    %v = ttg.convert_layout %1 : ... #blocked1 -> ... #blocked

The fastest dimension is the one along which the pointers are most contiguous. A thread takes as many neighbours along it as
are aligned, at most 16 bytes of them; accesses of one shape and order that hang together take the same number, so that their
data needs no conversion. Counterpart of lib/Dialect/TritonGPU/Transforms/{Coalesce,CoalesceUtils}.cpp.

What every call of a function knows of its arguments, written on the function.

tt.call @f(%p)     %p divisible by 16
tt.func private @f(%arg0: !tt.ptr<f32>)
=>
tt.func private @f(%arg0: !tt.ptr<f32> {tt.constancy = 1 : i64, tt.contiguity = 1 : i64, tt.divisibility = 16 : i64})

Counterpart of `ModuleAxisInfoAnalysis::update` of lib/Analysis/AxisInfo.cpp, whose first user is coalescing.
"""

import functools
from math import prod
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, SymbolRefAttr, TensorType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from minitriton.analysis.access_width import aligned_run, most_elements
from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import pointee_bits
from minitriton.analysis.slices.def_use import ConnectedSlices
from minitriton.dialects import tt, ttg
from minitriton.dialects.facts.memory_access import DescriptorAccess, MemoryAccess
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.tt.types import PointerType
from minitriton.layouts.builders import blocked_for_cga
from minitriton.layouts.cta_split import shape_of_cta
from minitriton.layouts.encodings import Bases, Blocked
from minitriton.passes.tensor_layouts import element_bits, with_layout
from minitriton.pipeline.choice import Candidate, Choice, note
from minitriton.pipeline.pass_registry import POWERS_OF_TWO, Pass, Property, register_pass


@register_pass
class Coalesce(Pass, stage="ttgir", origin="triton"):
    """Gives each memory access the layout that coalesces it.

    `width`: elements of a thread along the fastest dimension, for all accesses; 0: as many as are aligned, at most 16 bytes.
    """

    name = "tritongpu-coalesce"
    requires = frozenset({Property.ENCODINGS})
    width: int = 0

    values = {"width": POWERS_OF_TWO}

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        facts = AxisInfoAnalysis(op, as_asked=True)
        write_argument_hints(op, facts)
        accesses, descriptor_accesses = memory_accesses(op)
        layouts: list[tuple[Operation, Blocked]] = []
        if accesses:
            chooser = LayoutChooser(op, accesses, facts, self.width)
            layouts = [(access.op, chooser.layout(access)) for access in accesses]
        layouts += [(found, _descriptor_layout(found)) for found in descriptor_accesses]
        for found, layout in layouts:
            convert_to_layout(found, layout)


def order_from_contiguity(contiguity: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions, the most contiguous first; of equally contiguous ones the first (as in the 3.6.0 release)."""
    return tuple(sorted(range(len(contiguity)), key=lambda dim: -contiguity[dim]))


class _Access(NamedTuple):
    """A memory access through a tensor of pointers."""

    op: Operation
    pointer: SSAValue
    type: TensorType
    shape: tuple[int, ...]
    cga: Bases


def memory_accesses(module: ModuleOp) -> tuple[list[_Access], list[Operation]]:
    accesses: list[_Access] = []
    through_descriptors: list[Operation] = []
    for op in ops_in(module):
        access = MemoryAccess.of(op)
        if isinstance(access, DescriptorAccess):
            through_descriptors.append(op)
        elif access is not None:
            pointer = access.pointer_of(op)
            type_ = pointer.type
            if instance_of(type_, TensorType) and isinstance(type_.element_type, PointerType):
                layout = ttg.layout_of(type_)
                accesses.append(_Access(op, pointer, type_, type_.get_shape(), layout.cga if layout else ()))
    return accesses, through_descriptors


class LayoutChooser:
    """Chooses layouts from the facts about all pointers of a module."""

    def __init__(self, module: ModuleOp, accesses: list[_Access], axis_info: AxisInfoAnalysis, width: int = 0) -> None:
        self.width = width
        self.axis_info = axis_info
        self.threads_per_warp = ttg.threads_per_warp(module)
        self.orders = {
            access.op: order_from_contiguity(self.axis_info.get(access.pointer).contiguity) for access in accesses
        }
        self.accesses = accesses
        self._slices: ConnectedSlices | None = None
        self.module = module
        self._widths: dict[tuple[Operation, tuple[int, ...]], int] = {}
        self._alike: dict[tuple[tuple[int, ...], ...], list[tuple[int, _Access]]] = {}

    def layout(self, access: _Access) -> Blocked:
        """The layout for one access."""
        order = self.orders[access.op]
        per_cta = shape_of_cta(access.cga, access.shape)
        num_warps = ttg.num_warps(access.op)
        own = self._elements_per_thread(access, order, per_cta)
        connected = self._connected_width(access, order, per_cta, own)
        share = max(prod(per_cta) // (num_warps * self.threads_per_warp), 1)
        width = min(connected, share)
        if not isinstance(access.op, tt.LoadOp):
            # A thread that stores more than one vector leaves gaps between the vectors of neighbouring threads.
            width = min(width, own)
        width = min(self.width, per_cta[order[0]]) or width
        note(access.op, lambda: _width_choice(access, width, own, connected, share, per_cta))
        size_per_thread = [1] * len(access.shape)
        size_per_thread[order[0]] = width
        return blocked_for_cga(access.shape, size_per_thread, order, num_warps, self.threads_per_warp, access.cga)

    def _elements_per_thread(self, access: _Access, order: tuple[int, ...], per_cta: tuple[int, ...]) -> int:
        """Aligned neighbours of one thread along the fastest dimension that fit the widest access."""
        key = (access.op, per_cta)
        found = self._widths.get(key)
        if found is None:
            fact, fastest = self.axis_info.get(access.pointer), order[0]
            bits = pointee_bits(access.type)
            run = aligned_run(fact, fastest, bits // 8)
            found = self._widths[key] = min(run, per_cta[fastest], most_elements(bits))
        return found

    def _connected_width(self, access: _Access, order: tuple[int, ...], per_cta: tuple[int, ...], own: int) -> int:
        """The most elements a thread takes among connected accesses of the same shape and order, `own` being its number."""
        if not isinstance(access.pointer.owner, Operation):
            return own
        key = (access.shape, order, per_cta)
        alike = self._alike.get(key)
        if alike is None:
            others = [other for other in self.accesses if (other.shape, self.orders[other.op]) == (access.shape, order)]
            alike = [(self._elements_per_thread(other, order, per_cta), other) for other in others]
            alike = self._alike[key] = sorted(alike, key=lambda pair: pair[0], reverse=True)
        if alike[0][0] <= own:
            return own
        if self._slices is None:
            self._slices = ConnectedSlices(self.module)
        slices = self._slices
        reached = slices.reachable(access.op)
        return max([own, *(width for width, other in alike if slices.component(other.op) in reached)])


def _width_choice(
    access: _Access, taken: int, own: int, connected: int, share: int, per_cta: tuple[int, ...]
) -> Choice:
    """What else the width could be: `own` elements are aligned neighbours, `connected` those of accesses that it shares a layout with, `share` a
    thread's part of the tile."""
    candidates: list[Candidate] = []
    width, most = 1, min(most_elements(pointee_bits(access.type)), max(per_cta))
    while width <= most:
        if width > share:
            reason = "more than a thread's part of the tile: threads would hold copies"
        elif width > own:
            reason = f"aligned neighbours are {own}: several accesses a thread"
            reason += ", as of an access that shares its layout" if width <= connected else ""
        else:
            reason = "one access a thread" if width == own else "narrower than what is aligned"
        candidates.append(Candidate(str(width), max(share / min(width, own), 1) * max(width / share, 1), reason))
        width *= 2
    subject = f"elements a thread of {access.op.name}"
    return Choice.of(subject, "accesses a thread", "tritongpu-coalesce{width=@}", candidates, str(taken))


def _descriptor_layout(op: Operation) -> Blocked:
    """Rows for the accesses of shared memory that a descriptor access becomes: up to 16 bytes a thread."""
    access = MemoryAccess.of(op)
    assert access is not None
    type_ = access.data_of(op).type
    assert instance_of(type_, TensorType)
    layout = ttg.layout_of(type_)
    cga = layout.cga if layout else ()
    shape = type_.get_shape()
    num_warps, threads_per_warp = ttg.num_warps(op), ttg.threads_per_warp(op)
    per_thread = max(prod(shape_of_cta(cga, shape)) // (num_warps * threads_per_warp), 1)
    rank = len(shape)
    size_per_thread = [1] * rank
    size_per_thread[-1] = min(per_thread, most_elements(element_bits(type_)))
    order = tuple(range(rank - 1, -1, -1))
    return blocked_for_cga(shape, size_per_thread, order, num_warps, threads_per_warp, cga)


def convert_to_layout(op: Operation, layout: Blocked) -> Operation:
    """Rebuild `op` with tensor operands and results in `layout`, between conversions; returns the new op."""
    block = op.parent
    assert block is not None
    access = MemoryAccess.of(op)
    rows = access.rows_of(op) if isinstance(access, DescriptorAccess) else None
    operands: list[SSAValue] = []
    for operand in op.operands:
        if instance_of(operand.type, TensorType) and operand is not rows:
            conversion = _conversion(operand, with_layout(operand.type, layout), op)
            block.insert_op_before(conversion, op)
            operand = conversion.results[0]
        operands.append(operand)
    old_types = [result.type for result in op.results]
    new_types = (
        old_types if access is not None and access.asynchronous else [with_layout(type_, layout) for type_ in old_types]
    )
    new_op = type(op).create(
        operands=operands,
        result_types=new_types,
        properties=op.properties,
        attributes=op.attributes,
        location=op.location,
    )
    block.insert_op_before(new_op, op)
    for old, new, old_type, new_type in zip(op.results, new_op.results, old_types, new_types, strict=True):
        replacement: SSAValue = new
        if new_type != old_type:
            conversion = _conversion(new, old_type, op)
            block.insert_op_before(conversion, op)
            replacement = conversion.results[0]
        replacement.name_hint = old.name_hint
        old.replace_all_uses_with(replacement)
    block.erase_op(op)
    return new_op


def _conversion(value: SSAValue, type_: Attribute, origin: Operation) -> Operation:
    conversion = ttg.ConvertLayoutOp(value, type_)
    conversion.location = origin.location
    return conversion


def write_argument_hints(module: ModuleOp, facts: AxisInfoAnalysis) -> None:
    """Writes the facts of the arguments of every function of `module` that is called in it."""
    functions = [op for op in module.body.block.ops if isinstance(op, tt.FuncOp)]
    if len(functions) < 2:
        return
    called = {_callee(call) for call in ops_of(module, tt.CallOp)}
    for function in functions:
        if function.sym_name.data in called and function.args:
            old = function.arg_attrs.data if function.arg_attrs is not None else (_NOTHING,) * len(function.args)
            known = (facts.get(argument) for argument in function.args)
            function.arg_attrs = ArrayAttr(
                _hinted(attributes, fact.contiguity, fact.divisibility, fact.constancy)
                for attributes, fact in zip(old, known, strict=True)
            )


_NOTHING = DictionaryAttr({})


def _callee(call: tt.CallOp) -> str:
    callee = call.callee
    assert isinstance(callee, SymbolRefAttr)
    return callee.string_value()


@functools.lru_cache(maxsize=1024)
def _number(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)


@functools.lru_cache(maxsize=1024)
def _hinted(
    attributes: DictionaryAttr,
    contiguity: tuple[int, ...],
    divisibility: tuple[int, ...],
    constancy: tuple[int, ...],
) -> DictionaryAttr:
    """`attributes` with what is known of a scalar; a tensor's facts do not belong there."""
    hints = {"tt.constancy": constancy, "tt.contiguity": contiguity, "tt.divisibility": divisibility}
    written = {name: _number(value[0]) for name, value in hints.items() if len(value) == 1}
    return DictionaryAttr(dict(sorted({**attributes.data, **written}.items())))
