"""Layouts that a Gluon kernel leaves open: what a few values are given spreads along the rules of the ops and the flow of control.

    AutoLayout        %0 = tt.make_range : tensor<64xi32, #gluon.auto_encoding>              tensor<64xi32, #slice>
                      %1 = tt.expand_dims %0 : ... -> tensor<64x1xi32, #auto>          =>    tensor<64x1xi32, #blocked>
                      %2 = gluon.set_auto_layout %1 : ... -> tensor<64x1xi32, #blocked>      use %1

    CoalescedLayout   %v = tt.load %p : tensor<1024x!tt.ptr<f32>, #gluon.coalesced_encoding>    =>    tt.load %p : tensor<1024x!tt.ptr<f32>, #blocked>

`AutoLayout` follows from the uses that say a layout, `CoalescedLayout` from the accesses to memory: each gets the one with the fewest transactions. All that is
connected with such a value has the layout that follows, and nothing is converted. A join, a split, a reshape and a transpose do not insist on theirs: other layouts
would do. Counterpart of lib/Dialect/Gluon/Transforms/{InferLayoutUtils,ResolveAutoEncodings,InferCoalescedEncodings}.cpp.

Clean-up of Gluon kernels: constants, branches and loops as `canonicalize` does, and nothing that would change a layout of the author's.

%x = ttg.convert_layout %a; %y = ttg.convert_layout %x      stays: two conversions were written
%0 = arith.addi %x, %c0                                =>   %x

Before layouts are resolved equal constants stay apart: each may get a layout of its own.

Without the option `control-flow`, branches and loops stay as they are: only values that a loop carries for nobody are yielded unchanged.
That is what the passes of Triton 3.6.0's wheel do: its list of the patterns of `scf` and `cf` is empty there,
although its source asks for them.
Counterpart of lib/Dialect/Gluon/Transforms/{Canonicalize,SimplifyControlFlow,Inline}.cpp.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.dialects import tt, ttg
from minitriton.dialects.arith import ConstantOp
from minitriton.dialects.encodings import encoding_attr, layout_of
from minitriton.dialects.facts.layout import Joins, LayoutRule, Reshapes, Splits, Transposes
from minitriton.dialects.facts.region_flow import RegionFlow
from minitriton.dialects.fast_paths.op_access import ops_in, ops_of
from minitriton.dialects.gluon import AutoEncodingAttr, CoalescedEncodingAttr, SetAutoLayoutOp
from minitriton.dialects.locations import source_location
from minitriton.dialects.narrowing import instance_of
from minitriton.errors import IRError
from minitriton.layouts.encodings import DistributedEncoding
from minitriton.passes.canonicalize import arith_cast, arith_int, cf
from minitriton.passes.canonicalize import tt as tensors
from minitriton.passes.coalesce import LayoutChooser, memory_accesses
from minitriton.passes.inline import inline_calls
from minitriton.passes.remove_layout_conversions.convert_patterns import LOOP_PATTERNS
from minitriton.passes.tensor_layouts import operand_layout, result_layout, retyped_elements, set_layout
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.scf_patterns import SCF_PATTERNS

_SEVERAL_FOLLOW = (Joins, Splits, Reshapes, Transposes)
"""Rules of ops for which other layouts would do too."""
_HELP = "give the layout where the tensor is made, or convert one of them with ttgl.convert_layout"

IsUnresolved = Callable[[Attribute], bool]
"""Whether an encoding is to be replaced."""


class _Known(NamedTuple):
    """The layout of a value, and whether another one would do too."""

    layout: DistributedEncoding
    may_vary: bool


def is_unresolved(type_: Attribute, test: IsUnresolved) -> bool:
    """Whether `type_` is a tensor whose encoding is to be replaced."""
    return instance_of(type_, TensorType) and test(type_.encoding)


def infer_layouts(func: tt.FuncOp, test: IsUnresolved, seeds: list[tuple[SSAValue, DistributedEncoding]]) -> None:
    """Gives the values of `func` that are connected with `seeds` their layout. Raises `IRError`, at the op, where two do not agree."""
    for types, does in ((func.function_type.inputs, "taking"), (func.function_type.outputs, "returning")):
        if any(is_unresolved(type_, test) for type_ in types.data):
            raise IRError(
                f"Functions {does} auto encoding must be fully inlined",
                source_location(func.location),
                help="give the tensor a layout where it is made, or leave out `noinline` and early returns",
            )
    spread = _Spread(func, test)
    for value, layout in seeds:
        spread.meet(value, _Known(layout, False))
    spread.run()
    for value, known in spread.known.items():
        _retype(value, known.layout)


class _Spread:
    """The layouts known so far, and the values whose neighbours do not know yet."""

    def __init__(self, func: tt.FuncOp, test: IsUnresolved) -> None:
        self.test = test
        self.known: dict[SSAValue, _Known] = {}
        self._pending: list[SSAValue] = []
        self._tied = _tied_values(func)

    def meet(self, value: SSAValue, found: _Known) -> None:
        """Notes that `value` has a layout. Raises `IRError` if it has another already."""
        if not is_unresolved(value.type, self.test):
            return
        known = self.known.get(value)
        combined = found if known is None else _combined(value, known, found)
        if combined != known:
            self.known[value] = combined
            self._pending.append(value)

    def run(self) -> None:
        """Spreads until nothing new follows."""
        while self._pending:
            value = self._pending.pop()
            known = self.known[value]
            for other in self._tied.get(value, ()):
                self.meet(other, known)
            for use in value.uses:
                op = use.operation
                self._to(op, list(op.results), known, result_layout(op, known.layout))
            op = value.owner
            if isinstance(op, Operation):
                self._to(op, list(op.operands), known, operand_layout(op, known.layout))

    def _to(self, op: Operation, values: list[SSAValue], known: _Known, layout: DistributedEncoding | None) -> None:
        if layout is None or RegionFlow.of(op) is not None:
            return
        for value in values:
            self.meet(value, _Known(layout, known.may_vary or isinstance(LayoutRule.of(op), _SEVERAL_FOLLOW)))


def _combined(value: SSAValue, first: _Known, second: _Known) -> _Known:
    """What stands if a value has two layouts. Independent of their order."""
    if first.layout == second.layout:
        return first if second.may_vary else second
    if first.may_vary and second.may_vary:
        return max(first, second, key=lambda known: str(encoding_attr(known.layout)))
    if first.may_vary or second.may_vary:
        return second if first.may_vary else first
    owner = value.owner
    op = owner.parent_op() if isinstance(owner, Block) else owner
    both = "\nand\n  ".join(sorted(str(encoding_attr(known.layout)) for known in (first, second)))
    location = None if op is None else source_location(op.location)
    raise IRError(f"found conflicting encodings for value:\n  {both}", location=location, help=_HELP)


def _tied_values(func: tt.FuncOp) -> dict[SSAValue, list[SSAValue]]:
    """Values that control passes to each other: what a loop begins a variable with, its argument, what it yields, its result."""
    tied: dict[SSAValue, list[SSAValue]] = {}
    for op in ops_in(func):
        flow = RegionFlow.of(op)
        for branch in () if flow is None else flow.branches(op):
            for passed, received in zip(branch.passed, branch.received, strict=False):
                tied.setdefault(passed, []).append(received)
                tied.setdefault(received, []).append(passed)
    return tied


def _retype(value: SSAValue, layout: DistributedEncoding) -> None:
    set_layout(value, layout)
    owner = value.owner
    if isinstance(owner, ConstantOp):
        owner.properties["value"] = retyped_elements(owner.properties["value"], value.type)


def unresolved_value(root: Operation, test: IsUnresolved) -> Iterator[tuple[Operation, str]]:
    """Ops with a value whose encoding is still to be replaced, and what the value is."""
    for op in ops_in(root):
        if any(is_unresolved(type_, test) for type_ in op.result_types):
            yield op, "return type"
        for region in op.regions:
            if any(is_unresolved(type_, test) for block in region.blocks for type_ in block.arg_types):
                yield op, "block argument type"


def require_resolved(root: Operation, test: IsUnresolved) -> None:
    """Raises `IRError`, at the op, if any value has an encoding that is to be replaced."""
    for op, what in unresolved_value(root, test):
        raise IRError(
            f"'{op.name}' op Failed to infer {what}",
            location=source_location(op.location),
            help="no use of the tensor says its layout: pass layout=..., or ttgl.set_auto_layout",
        )


def _is_coalesced(encoding: Attribute) -> bool:
    return isinstance(encoding, CoalescedEncodingAttr)


@register_pass
class InferCoalescedEncodings(Pass, stage="ttgir", origin="triton"):
    """Gives each access to memory whose layout is `CoalescedLayout` the layout that coalesces it."""

    name = "gluon-infer-coalesced-encodings"
    requires = frozenset({Property.ENCODINGS})
    keeps = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found, _ = memory_accesses(op)
        accesses = [each for each in found if is_unresolved(each.type, _is_coalesced)]
        seeds: dict[Operation, list[tuple[SSAValue, DistributedEncoding]]] = {}
        if accesses:
            chooser = LayoutChooser(op, accesses, AxisInfoAnalysis(op, as_asked=True))
            for access in accesses:
                layout = chooser.layout(access)
                seeds.setdefault(_function(access.op), []).extend((value, layout) for value in access.op.operands)
        for func in (each for each in op.body.ops if isinstance(each, tt.FuncOp)):
            infer_layouts(func, _is_coalesced, seeds.get(func, []))
        require_resolved(op, _is_coalesced)


def _function(op: Operation) -> Operation:
    while not isinstance(op, tt.FuncOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _is_auto(encoding: Attribute) -> bool:
    return isinstance(encoding, AutoEncodingAttr)


@register_pass
class ResolveAutoEncodings(Pass, stage="ttgir", origin="triton"):
    """Gives each tensor whose layout is `AutoLayout` the layout that its uses ask for."""

    name = "gluon-resolve-auto-encodings"
    requires = frozenset({Property.ENCODINGS})
    keeps = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in (each for each in op.body.ops if isinstance(each, tt.FuncOp)):
            seeds: list[tuple[SSAValue, DistributedEncoding]] = []
            for chosen in ops_of(func, SetAutoLayoutOp):
                layout = layout_of(chosen.result.type)
                if isinstance(layout, DistributedEncoding):
                    seeds.append((chosen.src, layout))
            infer_layouts(func, _is_auto, seeds)
        for chosen in ops_of(op, SetAutoLayoutOp):
            chosen.result.replace_all_uses_with(chosen.src)
            block = chosen.parent
            assert block is not None
            block.erase_op(chosen)
        require_resolved(op, _is_auto)


@cache
def control_flow_patterns(control_flow: bool) -> PatternSet:
    """Patterns of branches and loops."""
    return PatternSet(*((cf.patterns, SCF_PATTERNS) if control_flow else ()), LOOP_PATTERNS)


@cache
def patterns(control_flow: bool) -> PatternSet:
    """Patterns that change no layout."""
    return PatternSet(
        arith_int.patterns,
        arith_cast.patterns,
        control_flow_patterns(control_flow),
        cf.patterns.subset(ttg.WarpSpecializeOp),
        tensors.memory_patterns,
        tensors.shape_patterns.subset(tt.BroadcastOp, tt.ExpandDimsOp),
    )


@register_pass
class GluonCanonicalize(Pass, stage="ttgir", origin="triton"):
    """Folds, merges and simplifies ops without a change of any layout."""

    name = "gluon-canonicalize"
    requires = frozenset({Property.TENSOR_IR})
    keeps = KEPT_IN_PLACE
    visits_every_op = True
    control_flow: bool = True
    """Whether branches and loops are simplified, too."""

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, patterns(self.control_flow))


@register_pass
class GluonSimplifyControlFlow(Pass, stage="ttgir", origin="triton"):
    """Simplifies branches and loops. (The name is spelled as Triton's.)"""

    name = "gluon-slimplify-control-flow"
    requires = frozenset({Property.TENSOR_IR})
    keeps = KEPT_IN_PLACE
    visits_every_op = True

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return apply_patterns_greedily(op, control_flow_patterns(control_flow=True), share_constants=False)


@register_pass
class GluonInline(Pass, stage="ttgir", origin="triton"):
    """Replaces calls by the bodies of the functions that they call, whose branches and loops are simplified first."""

    name = "gluon-inline"
    requires = frozenset({Property.TENSOR_IR})
    establishes = frozenset({Property.INLINED})
    keeps = KEPT_IN_PLACE
    control_flow: bool = True
    """Whether branches and loops are simplified."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_calls(op, control_flow_patterns(self.control_flow), is_canonical=False)
