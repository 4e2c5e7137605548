"""Dots on tensor cores (`wgmma`) in loops become asynchronous; waits are inserted where results are needed.

    scf.for ... iter_args(%acc)                        scf.for ... iter_args(%acc)
      %d = warp_group_dot %a, %b, %acc        =>         %d = warp_group_dot %a, %b, %acc {isAsync}
      yield %d                                           %w = warp_group_dot_wait %d, %a, %b {pendings = 1}   the one before is done
                                                         yield %w
                                                       warp_group_dot_wait {pendings = 0}

A dot may stay in flight into the next iteration ("properly asynchronous") if
1. its buffers are multi-buffered, so that no load writes what it reads (A may be in registers: then the wait for the dot of the
   iteration before stands right after the dot);
2. no op of the loop uses its result except in a conditional, after a wait at that block's beginning;
3. the iteration after uses it only as the accumulator of a dot, or after a wait for all.
Every other dot is waited for at once. Values and buffers that are waited for are operands of the wait, which forwards them: they live until then.

Counterpart of lib/Dialect/TritonGPU/Transforms/Pipeliner/WGMMAPipeline.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, IntegerAttr, TensorType, i1, i32
from xdsl.ir import Block, Operation, OpResult, SSAValue, Use

from minitriton.analysis.in_flight.rings import is_multi_buffered
from minitriton.dialects import tt, ttg, ttng
from minitriton.dialects.fast_paths.op_access import operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.layouts.conversion import minimal_cvt_layout
from minitriton.layouts.encodings import NvidiaMma
from minitriton.passes.pipelining.schedule import ancestor_in_body
from minitriton.passes.pipelining.split_dots import split_along_k
from minitriton.passes.tensor_layouts import layout_of_value, shape_of
from minitriton.rewriting.regions import is_defined_outside
from minitriton.rewriting.rewriter import Inserter

_TRUE = IntegerAttr(1, i1)
_ACCUMULATOR = 2


def run_dots_asynchronously(loop: scf.ForOp, slice_from: int = 0, async_integer_dots: bool = False) -> bool:
    """Makes the dots directly in `loop` asynchronous, and waits for each as late as is safe. Whether there are any. Operands in
    registers of dots with `slice_from` elements or more, if that is not 0, are sliced. Accumulators of integers are waited for at
    once unless `async_integer_dots`."""
    carried: dict[ttng.WarpGroupDotOp, int] = {}
    dots = [op for op in loop.regions[0].block.ops if isinstance(op, ttng.WarpGroupDotOp)]
    for dot in dots:
        dot.properties["isAsync"] = _TRUE
        index = _carried_by(dot, loop) if _has_whole_registers(dot, async_integer_dots) else None
        if index is None:
            _wait(Inserter.after(dot), [dot.results[0]], 0)
        else:
            carried[dot] = index
    if carried:
        if _first_full_wait(loop) is None:
            carried = {part: index for dot, index in carried.items() for part in split_along_k(dot, slice_from)}
            _wait_in_loop(loop, list(carried))
        _wait(Inserter.after(loop), [loop.results[index] for index in carried.values()], 0)
    return bool(dots)


# Which dots may stay in flight


def _carried_by(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> int | None:
    """The index among the results of `loop` of a dot that may run into the next iteration; None for one that may not."""
    if not all(is_multi_buffered(operand, loop) for operand in (dot.a, dot.b)):
        return None
    index = _only_yield(dot, loop)
    if index is None:
        return None
    before = loop.regions[0].block.args[1 + index]
    if all(_is_accumulator(use) for use in before.uses):
        return index
    wait = _first_full_wait(loop)
    if wait is None or not all(_is_after(use.operation, wait) for use in before.uses):
        return None
    _pass_through(wait, [before])
    return index


def _has_whole_registers(dot: ttng.WarpGroupDotOp, integers: bool) -> bool:
    """Whether each element of the accumulator has a 32-bit register: halves would be unpacked and packed while the dot is in flight."""
    accumulator = dot.c.type
    assert instance_of(accumulator, TensorType)
    return isinstance(accumulator.element_type, Float32Type) or (integers and accumulator.element_type == i32)


def _only_yield(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> int | None:
    """Where the loop yields the dot, if nothing else in its body uses it but conditionals."""
    found: int | None = None
    pending = list(dot.results[0].uses)
    while pending:
        use = pending.pop()
        user, around = use.operation, use.operation.parent_op()
        if around is loop:
            if _moves_nothing(user):
                pending.extend(user.results[0].uses)
            elif isinstance(user, scf.YieldOp) and found is None:
                found = use.index
            else:
                return None
        elif not isinstance(around, scf.IfOp):
            return None
        elif isinstance(user, scf.YieldOp):
            pending.extend(around.results[use.index].uses)
    return found


def _moves_nothing(op: Operation) -> bool:
    """Whether registers keep what they hold."""
    if isinstance(op, tt.ReshapeOp | tt.TransOp):
        return True
    if not isinstance(op, ttg.ConvertLayoutOp):
        return False
    source, result = layout_of_value(op.src), layout_of_value(op.result)
    assert source is not None and result is not None
    return not minimal_cvt_layout(source, result, shape_of(op.src)).out_dims


def _is_accumulator(use: Use) -> bool:
    if isinstance(use.operation, ttng.WarpGroupDotOp):
        return use.index == _ACCUMULATOR
    return _moves_nothing(use.operation) and all(map(_is_accumulator, use.operation.results[0].uses))


def _first_full_wait(loop: scf.ForOp) -> ttng.WarpGroupDotWaitOp | None:
    """The first wait directly in `loop` after which no dot runs."""
    waits = (op for op in loop.regions[0].block.ops if isinstance(op, ttng.WarpGroupDotWaitOp))
    return next((wait for wait in waits if wait.pendings.value.data == 0), None)


def _is_after(op: Operation, wait: Operation) -> bool:
    loop = wait.parent_op()
    assert isinstance(loop, scf.ForOp)
    ancestor = ancestor_in_body(loop, op)
    return ancestor is not None and wait.is_before_in_block(ancestor)


# Waits


def _wait(at: Inserter, values: list[SSAValue], pendings: int) -> None:
    """A wait here for `values` while `pendings` dots may still run."""
    wait = at.insert(ttng.WarpGroupDotWaitOp((), pendings=pendings))
    _pass_through(wait, values)


def _wait_in_loop(loop: scf.ForOp, dots: list[ttng.WarpGroupDotOp]) -> None:
    """Waits for the dots of the iteration before, and in conditionals that use a dot.

    The last wait stands right after the last dot: what follows may write to the buffers of the iteration before.
    """
    for dot in dots:
        _wait_in_conditionals(dot, loop)
        if _reads_registers_of_the_loop(dot, loop):
            _wait(Inserter.after(dot), [dot.results[0]], len(dots) - 1)
    if not _reads_registers_of_the_loop(dots[-1], loop):
        _wait(Inserter.after(dots[-1]), [dot.results[0] for dot in dots], len(dots))


def _wait_in_conditionals(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> None:
    """Waits for all dots at the beginning of each conditional that uses `dot`. (Triton does not where A is in registers: the epilogue of a
    persistent loop made one with that of its tiles stores sums that are not done.)"""
    users: dict[Block, list[SSAValue]] = {}
    for use in dot.results[0].uses:
        block = use.operation.parent
        assert block is not None
        if block is not loop.regions[0].block and not isinstance(use.operation, scf.YieldOp):
            users.setdefault(block, []).append(dot.results[0])
    for block, values in users.items():
        _wait(Inserter(block, block.first_op, dot.location), values, 0)


def _reads_registers_of_the_loop(dot: ttng.WarpGroupDotOp, loop: scf.ForOp) -> bool:
    """Whether A is in registers that the next iteration fills again; what another dot left there is not."""
    if not instance_of(dot.a.type, TensorType) or is_defined_outside(dot.a, loop):
        return False
    if isinstance(dot.a, OpResult) and isinstance(dot.a.op, ttg.ConvertLayoutOp):
        return not isinstance(layout_of_value(dot.a.op.src), NvidiaMma)
    return True


def _pass_through(wait: ttng.WarpGroupDotWaitOp, values: Iterable[SSAValue]) -> None:
    """Makes a new wait of `wait` that has also `values` and the buffers of the dots they come from; users after it take its results."""
    values = list(values)
    operands = dict.fromkeys((*operand_values(wait), *values))
    for value in values:
        for dot in _dots_before(value, wait):
            operands.update(dict.fromkeys(v for v in operand_values(dot) if isinstance(v.type, ttg.MemDescType)))
    new = Inserter.before(wait).insert(ttng.WarpGroupDotWaitOp(list(operands), pendings=wait.pendings.value.data))
    for old, result in zip(wait.results, new.results, strict=False):
        if not isinstance(old.type, ttg.MemDescType):
            old.replace_all_uses_with(result)
    count = len(wait.results)
    for operand, result in list(zip(operands, new.results, strict=True))[count:]:
        if not isinstance(operand.type, ttg.MemDescType):
            operand.replace_uses_with_if(result, lambda use: _follows(use.operation, new))
    assert wait.parent is not None
    wait.parent.erase_op(wait)


def _follows(op: Operation, wait: Operation) -> bool:
    current: Operation | None = op
    while current is not None and current.parent is not wait.parent:
        current = current.parent_op()
    return current is not None and wait.is_before_in_block(current)


def _dots_before(value: SSAValue, wait: Operation) -> list[ttng.WarpGroupDotOp]:
    """The dots that `value` comes from through ops other than `wait`, the nearest on each way."""
    found: list[ttng.WarpGroupDotOp] = []
    seen: set[Operation] = set()
    pending = [value]
    while pending:
        current = pending.pop()
        if not isinstance(current, OpResult) or current.op in seen:
            continue
        seen.add(current.op)
        if isinstance(current.op, ttng.WarpGroupDotOp):
            found.append(current.op)
        elif current.op.parent is wait.parent:
            pending.extend(reversed(operand_values(current.op)))
    return found
