"""How long loops are, and what must be computed before an outer loop for that to be known there.

scf.for %i = ... {                                     %u = arith.addi %n, %n
  %u = arith.addi %n, %n                        =>     scf.for %i = ... {
  scf.for %j = %c0 to %u step %c1 { ... } }              scf.for %j = %c0 to %u step %c1 { ... } }

How many iterations a fused loop has (64 bits, as lengths are multiplied), and how many of them each inner loop takes.

    inner = max(1, len_j) + max(1, len_k) - 1           one iteration ends a loop and begins the next
    total = len_i * inner

What depends on the outer counter is left out of `inner` here; a loop before the fused one adds it to `total`, and the
fused loop adds it to `inner` whenever the counter moves.
"""

from collections import deque
from collections.abc import Callable, Iterable

from xdsl.dialects import scf, ub
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.fast_paths.op_access import operand_at, operand_values, ops_in
from minitriton.dialects.narrowing import instance_of
from minitriton.dialects.verification.dominance import Dominance
from minitriton.host.frozen import record
from minitriton.passes.loop_rewriting import put_under_condition
from minitriton.passes.pipelining.stored_arrays import writes_what_is_read
from minitriton.rewriting.constants import float_attr, int_attr, int_constant, width_of
from minitriton.rewriting.effects import is_memory_effect_free, is_safe_to_speculate, only_reads
from minitriton.rewriting.regions import clone_op, is_defined_outside
from minitriton.rewriting.rewriter import Inserter


def bounds_of(loop: scf.ForOp) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Lower bound, upper bound and step."""
    low, high, step = operand_values(loop)[:3]
    return low, high, step


def ops_before(
    values: Iterable[SSAValue], anchor: scf.ForOp, may_use: Callable[[BlockArgument], bool], dominance: Dominance
) -> list[Operation] | None:
    """The ops in `anchor` that must be computed before it for `values` to be known there; None if one may not be.

    `may_use` says of a block argument that is not defined there whether it may be used nevertheless. What is read there must be what
    the loop would read: nothing in it writes.
    """
    found: dict[Operation, None] = {}
    pending = deque(values)
    while pending:
        value = pending.popleft()
        if dominance.properly_dominates(value, anchor):
            continue
        if not isinstance(value, OpResult):
            assert isinstance(value, BlockArgument)
            if not may_use(value):
                return None
            continue
        op = value.op
        if op in found:
            continue
        if not _is_cheap(op) or op.parent is not anchor.body.block:
            return None
        found[op] = None
        pending.extend(v for used in ops_in(op) for v in operand_values(used) if is_defined_outside(v, op))
    if writes_what_is_read(anchor, [used for op in found for used in ops_in(op) if isinstance(used, tt.LoadOp)]):
        return None
    return list(found)


def invariant_ops(loop: scf.ForOp, outer: scf.ForOp, dominance: Dominance) -> list[Operation] | None:
    """What must move before `outer` for the bounds of `loop` to be known there; None if they depend on `outer`."""
    return ops_before(bounds_of(loop), outer, lambda _: False, dominance)


def varying_ops(loop: scf.ForOp, outer: scf.ForOp, dominance: Dominance) -> list[Operation] | None:
    """The ops that compute the bounds of `loop` from the counter of `outer`; None if they need more than that."""
    first = outer.regions[0].block.args[0]
    return ops_before(bounds_of(loop), outer, lambda argument: argument is first, dominance)


def _is_cheap(op: Operation) -> bool:
    """True for ops on scalars that do no more than read global memory."""
    if not all(_is_scalar(value.type) for value in (*operand_values(op), *op.results)):
        return False
    return is_memory_effect_free(op) or (only_reads(op) and all(_is_free_or_loads(inner) for inner in ops_in(op)))


def _is_free_or_loads(op: Operation) -> bool:
    return bool(op.regions) or isinstance(op, tt.LoadOp) or is_memory_effect_free(op)


def _is_scalar(type_: Attribute) -> bool:
    return isinstance(type_, IntegerType | IndexType | AnyFloat | tt.PointerType)


def in_program_order(ops: Iterable[Operation], root: Operation) -> list[Operation]:
    """`ops`, all inside `root`, as they stand in it."""
    wanted = set(ops)
    return [op for op in ops_in(root) if op in wanted] if wanted else []


def hoist(ops: Iterable[Operation], loop: scf.ForOp) -> None:
    """Moves `ops`, all inside `loop`, before it: where one of them may fail or reads, only if the loop has an iteration."""
    ops = in_program_order(ops, loop)
    if not all(is_memory_effect_free(op) and is_safe_to_speculate(op) for op in ops):
        put_under_condition(loop)
    move_to(Inserter.before(loop), ops, loop)


def move_to(target: Inserter, ops: Iterable[Operation], root: Operation) -> None:
    """Moves `ops`, all inside `root`, to `target` in the order in which they stand; its anchor must not be one of them."""
    for op in in_program_order(ops, root):
        assert op.parent is not None
        op.parent.detach_op(op)
        target.place(op)


def iterations(at: Inserter, bounds: Iterable[SSAValue], type_: IntegerType, *, may_wrap: bool = False) -> SSAValue:
    """ceil((high - low) / step): how often a loop runs, if that is not negative. With `may_wrap` the difference may be one that `type_` does
    not hold as a signed number; then it is taken as an unsigned one, and a loop that does not run has 0 iterations."""
    low, high, step = (cast_integer(at, value, type_) for value in bounds)
    if not may_wrap or int_constant(low) == 0:
        return at.value(arith.CeilDivSIOp(at.value(arith.SubiOp(high, low)), step))
    return at.value(arith.CeilDivUIOp(at.value(arith.SubiOp(at.value(arith.MaxSIOp(high, low)), low)), step))


def is_surely_not_negative(value: SSAValue) -> bool:
    """Whether an integer is a constant from 0 up, or the number of a program or of programs."""
    number = int_constant(value)
    return isinstance(value.owner, tt.GetProgramIdOp | tt.GetNumProgramsOp) if number is None else number >= 0


def cast_integer(at: Inserter, value: SSAValue, type_: IntegerType) -> SSAValue:
    """`value` as an integer of `type_`."""
    if value.type == type_:
        return value
    if isinstance(value.type, IndexType):
        return at.value(arith.IndexCastOp(value, type_))
    assert instance_of(value.type, IntegerType)
    if value.type.width.data > type_.width.data:
        return at.value(arith.TruncIOp(value, type_))
    return at.value(arith.ExtSIOp(value, type_))


def unread(at: Inserter, type_: Attribute) -> SSAValue:
    """A value that is never read: zero where there is one, else poison."""
    element = type_.element_type if instance_of(type_, TensorType) else type_
    if instance_of(element, (IntegerType, IndexType)):
        return at.constant(int_attr(type_, 0))
    if isinstance(element, AnyFloat):
        return at.constant(float_attr(type_, 0.0))
    return at.value(ub.PoisonOp.create(result_types=[type_]))


def copies_of(at: Inserter, ops: Iterable[Operation], values: dict[SSAValue, SSAValue]) -> None:
    """Copies of `ops`, whose operands are looked up in `values` and whose results are added to it."""
    for op in ops:
        if op.results[0] not in values:
            at.place(clone_op(op, values))


@record
class InnerLoop:
    """An inner loop that is fused."""

    loop: scf.ForOp
    sliced: list[Operation]
    """What computes its bounds from the outer counter; empty if they do not depend on it."""


class Lengths:
    """The lengths of the loops in `outer` that are fused with it."""

    def __init__(self, outer: scf.ForOp, inner: list[InnerLoop], *, exact: bool) -> None:
        """With `exact` lengths are right however far the bounds are apart."""
        self.outer = outer
        self.inner = inner
        self.exact = exact
        lows = [operand_at(loop, 0) for loop in (outer, *(i.loop for i in inner))]
        far_apart = exact and not all(map(is_surely_not_negative, lows))
        self.type = IntegerType(max(64 if far_apart else 32, *(width_of(low.type) for low in lows)))
        """Of the length of one loop: narrower bounds may be further apart than they can say."""
        self.total = IntegerType(64)
        """Of the length of the fused loop: a product of lengths."""
        self.all_invariant = not any(i.sliced for i in inner)

    def clamped(self, at: Inserter, length: SSAValue) -> SSAValue:
        """max(1, length)"""
        return at.value(arith.MaxSIOp(at.integer(self.type, 1), length))

    def before_loop(self, at: Inserter) -> tuple[list[SSAValue], SSAValue, SSAValue]:
        """Before the loop: the length of each inner loop (zero where it varies), of all of them, and of the fused one."""
        outer_length = self._of(at, bounds_of(self.outer))
        if (
            len(self.inner) > 1 and not self.all_invariant
        ):  # the multiplication below would be positive of two negative numbers
            outer_length = at.value(arith.MaxSIOp(at.integer(self.type, 0), outer_length))
        lengths: list[SSAValue] = []
        for each in self.inner:
            if each.sliced:
                lengths.append(unread(at, self.type))
            else:
                lengths.append(self._of(at, bounds_of(each.loop)))
        total = at.integer(self.type, 0)
        for each, length in zip(self.inner, lengths, strict=True):
            if not each.sliced:
                total = at.value(arith.AddiOp(total, self.clamped(at, length)))
        inner_length = at.value(arith.SubiOp(total, at.integer(self.type, len(self.inner) - 1)))
        total = at.value(
            arith.MuliOp(cast_integer(at, outer_length, self.total), cast_integer(at, inner_length, self.total))
        )
        return lengths, inner_length, self._with_varying_lengths(at, total)

    def _with_varying_lengths(self, at: Inserter, total: SSAValue) -> SSAValue:
        """`total` and the lengths of the inner loops that vary, added up by a loop (which canonicalisation drops if none does)."""
        low, high, step = bounds_of(self.outer)
        block = Block(arg_types=[low.type, total.type])
        loop = at.insert(
            scf.ForOp.create(operands=[low, high, step, total], result_types=[total.type], regions=[Region(block)])
        )
        inside = at.at_end(block)
        values: dict[SSAValue, SSAValue] = {self.outer.regions[0].block.args[0]: block.args[0]}
        total = block.args[1]
        for each in self.inner:
            if each.sliced:
                length = self.copied_length(inside, each, values)
                clamped = cast_integer(inside, self.clamped(inside, length), self.total)
                total = inside.value(arith.AddiOp(total, clamped))
        inside.insert(scf.YieldOp.create(operands=[total]))
        return loop.results[0]

    def copied_length(self, at: Inserter, each: InnerLoop, values: dict[SSAValue, SSAValue]) -> SSAValue:
        """The length of a loop whose bounds vary, from copies of what computes them."""
        copies_of(at, each.sliced, values)
        return self._of(at, (values.get(value, value) for value in bounds_of(each.loop)))

    def _of(self, at: Inserter, bounds: Iterable[SSAValue]) -> SSAValue:
        """The length of a loop with these bounds."""
        bounds = tuple(bounds)
        may_wrap = self.exact and width_of(bounds[0].type) >= width_of(self.type)
        return iterations(at, bounds, self.type, may_wrap=may_wrap)
