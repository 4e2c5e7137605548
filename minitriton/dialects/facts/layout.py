"""How layouts travel through an op, and which ops decide about theirs: facts that the layout passes ask for.

    LayoutRule.of(tt.reduce).of_results(op, #blocked)      slice<dim 1, #blocked>, of a reduction along axis 1
    LayoutRule.of(tt.expand_dims).of_operands(op, #blocked)      slice<dim 0, #blocked>
    LayoutAnchor.of(tt.dot).holds(op)      True: propagation starts from its layout
    AnyLayout.of(tt.splat).allows(op, layout)      True: `convert(splat x)` is a splat

Counterpart of `inferDstEncoding` and `inferSrcEncoding` of lib/Dialect/TritonGPU/Transforms/Utility.cpp.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from minitriton.dialects.attribute_values import integer, integers
from minitriton.dialects.facts import Fact
from minitriton.layouts import inference, properties
from minitriton.layouts.encodings import Blocked, DistributedEncoding, NvidiaMma, Slice

_Layout = DistributedEncoding | None


class LayoutRule(Fact):
    """The layouts of tensor operands and results follow from each other."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        """The layout of the results if the operands have `layout`; None if nothing follows."""
        return layout

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        """The layout that the operands need for the results to have `layout`; None if nothing follows."""
        return layout

    def of_each_operand(self, op: Operation, layout: DistributedEncoding) -> list[_Layout]:
        """What `of_operands` says, where operands may need different ones."""
        return [self.of_operands(op, layout)] * len(op.operands)


class SameLayout(LayoutRule):
    """All tensor operands and results have one layout, and it is not memory that decides on it."""


class Elementwise(SameLayout):
    """Each element of the results depends only on the elements of the operands at the same index."""


class OneLayout(SameLayout):
    """As `SameLayout`, for blocked layouts only."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return layout if isinstance(layout, Blocked) else None

    of_operands = of_results


class NoLayoutRule(LayoutRule):
    """Layouts of operands and results do not follow from each other: values are forwarded (a loop, a yield) or come from memory (a load)."""


class Derived(LayoutRule):
    """The layout of the result is computed from that of the operands, and back."""


class Squeezes(Derived):
    """The result lacks the dimension `axis`."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return _slice(axis_of(op), layout)

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return layout.parent if isinstance(layout, Slice) and layout.dim == axis_of(op) else None


class Unsqueezes(Derived):
    """The result has one more dimension, `axis`."""

    of_results = Squeezes.of_operands
    of_operands = Squeezes.of_results


class Joins(Derived):
    """The result has a last dimension of two, one for each operand."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return _join_dst(layout, _shape(op.operands[0]))

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return _split_dst(layout, _shape(op.results[0]))


class Splits(Derived):
    """The last dimension, of two, becomes two results."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return _split_dst(layout, _shape(op.operands[0]))

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return _join_dst(layout, _shape(op.results[0]))


class Transposes(Derived):
    """The dimensions in another order."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return cast(_Layout, _trans_dst(layout, _shape(op.operands[0]), order_of(op)))

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return cast(_Layout, _trans_dst(layout, _shape(op.results[0]), inference.inverse_permutation(order_of(op))))


class Reshapes(Derived):
    """The same elements in another shape; nothing follows where they may be permuted."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return None if allows_reorder(op) else _reshape_dst(_shape(op.operands[0]), layout, _shape(op.results[0]))

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return None if allows_reorder(op) else _reshape_dst(_shape(op.results[0]), layout, _shape(op.operands[0]))


class UnpacksFp4(LayoutRule):
    """Pairs of 4-bit numbers in bytes become numbers along `axis`."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return inference.fp4_to_fp_dst(layout, _shape(op.operands[0]), axis_of(op))

    def of_operands(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return inference.fp4_to_fp_src(layout, _shape(op.results[0]), axis_of(op))


class UnpacksScaledFp4(UnpacksFp4):
    """As `UnpacksFp4` of the first operand; the second, the scales, has the layout of the result. It is followed back from results only, as in Triton."""

    def of_results(self, op: Operation, layout: DistributedEncoding) -> _Layout:
        return None

    of_operands = of_results

    def of_each_operand(self, op: Operation, layout: DistributedEncoding) -> list[_Layout]:
        return [super().of_operands(op, layout), layout]


# Who decides ------------------------------------------------------------------------------------------------------------


class LayoutAnchor(Fact):
    """The layout of the results was chosen for the op: it is kept, and propagation starts from it."""

    def holds(self, op: Operation) -> bool:
        """Whether this op is an anchor."""
        return True


class AnchorIfReordering(LayoutAnchor):
    """A reshape that may permute elements: somebody chose how."""

    def holds(self, op: Operation) -> bool:
        return allows_reorder(op)


class AnchorIfEfficient(LayoutAnchor):
    """An op whose layout `tritongpu-optimize-thread-locality` may have chosen."""

    def holds(self, op: Operation) -> bool:
        return has_efficient_layout(op)


class NeverRematerialized(Fact):
    """The op must not be rematerialized: that is too expensive, or has an effect."""

    def holds(self, op: Operation) -> bool:
        """Whether this op is computed only once."""
        return True


class NeverRematerializedIfEfficient(NeverRematerialized):
    """As `AnchorIfEfficient`."""

    def holds(self, op: Operation) -> bool:
        return has_efficient_layout(op)


class AnyLayout(Fact):
    """The op can give its result in another layout, so that a conversion of the result disappears into it."""

    def allows(self, op: Operation, layout: DistributedEncoding) -> bool:
        """Whether it can give `layout`."""
        return True


class AnyButMma(AnyLayout):
    """A conversion gives any layout but that of tensor cores, unless it converts from that."""

    def allows(self, op: Operation, layout: DistributedEncoding) -> bool:
        return not isinstance(layout, NvidiaMma) or layout == _layout(op.operands[0])


class AnyForThreads(AnyLayout):
    """A concatenation, unless a thread would have fewer elements than now."""

    def allows(self, op: Operation, layout: DistributedEncoding) -> bool:
        result = op.results[0]
        return not properties.is_expensive_cat(_layout(result), layout, _shape(result))


class AnyIfReordering(AnyLayout):
    """A reshape that may permute elements, where seeing the registers in another shape moves no data."""

    def allows(self, op: Operation, layout: DistributedEncoding) -> bool:
        if not allows_reorder(op) or has_efficient_layout(op):
            return False
        source, result = op.operands[0], op.results[0]
        return not properties.is_expensive_view(_layout(source), _shape(source), layout, _shape(result))


# What the rules ask of ops ----------------------------------------------------------------------------------------------


def axis_of(op: Operation) -> int:
    """The property `axis`."""
    return integer(op.properties["axis"])


def order_of(op: Operation) -> tuple[int, ...]:
    """The property `order` of a transpose."""
    return integers(op.properties["order"])


def allows_reorder(op: Operation) -> bool:
    """Whether a `tt.reshape` may permute elements."""
    return "allow_reorder" in op.properties


def has_efficient_layout(op: Operation) -> bool:
    """Whether `tritongpu-optimize-thread-locality` chose the layout of this reshape or gather."""
    return "efficient_layout" in op.properties


def _shape(value: SSAValue) -> tuple[int, ...]:
    return cast(TensorType, value.type).get_shape()


def _layout(value: SSAValue) -> Any:
    return getattr(cast(Any, value.type).encoding, "data", None)


_slice: Callable[[int, DistributedEncoding], Slice] = lru_cache(maxsize=4096)(Slice)
_join_dst = lru_cache(maxsize=4096)(inference.join_dst)
_split_dst = lru_cache(maxsize=4096)(inference.split_dst)
_trans_dst = lru_cache(maxsize=4096)(inference.trans_dst)
_reshape_dst = lru_cache(maxsize=4096)(inference.reshape_dst)
