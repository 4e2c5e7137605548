"""Inlining: each call of a function of the module becomes the function's body.

    tt.func @k(%x) {                                      tt.func @k(%x) {
      %0 = tt.call @twice(%x)                       =>      %0 = arith.addi %x, %x
    tt.func private @twice(%y) { return %y + %y }

Functions are visited callees first. Each is canonicalised, its calls are inlined (a body with several blocks splits the
caller's block), and so again while calls are found, four times at most. Functions marked `noinline` stay, as do recursive
calls; private ones that nobody calls any more are erased. An inlined op's location is the call's place seen from its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import cf
from xdsl.dialects.builtin import UNKNOWN_LOC, CallSiteLoc, IntegerAttr, LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import SingleBlockImplicitTerminator

from minitriton.analysis.operations import ops_in_block
from minitriton.dialects import places, tt
from minitriton.dialects.op_access import last_op_of, operand_values
from minitriton.pass_registry import Pass, Property, register_pass
from minitriton.passes.canonicalize import canonicalization_patterns
from minitriton.passes.symbol_dce import is_private
from minitriton.rewriting.effects import nested_ops
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.regions import clone_region

MAX_ROUNDS = 4


def _calls_in(func: Operation) -> list[tt.CallOp]:
    """All calls in `func`, in the order of the text."""
    found: list[tt.CallOp] = []
    _collect_calls(func, found)
    return found


def _collect_calls(op: Operation, found: list[tt.CallOp]) -> None:
    for inner in nested_ops(op):
        if inner.__class__ is tt.CallOp and isinstance(inner, tt.CallOp):
            found.append(inner)
        elif inner.regions:
            _collect_calls(inner, found)


def _callee_name(call: tt.CallOp) -> str:
    return call.callee.root_reference.data


def _may_inline(func: tt.FuncOp) -> bool:
    marker = func.attributes.get("noinline")
    return func.body.first_block is not None and not (isinstance(marker, IntegerAttr) and marker.value.data)


class _Inliner:
    """The call graph of one module and the functions already finished."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, tt.FuncOp)}
        self.calls: dict[str, list[str]] = {}
        self.uses: dict[str, int] = {}
        for name, func in self.functions.items():
            callees = self.calls[name] = [_callee_name(call) for call in _calls_in(func)]
            for callee in callees:
                self.uses[callee] = self.uses.get(callee, 0) + 1

    def run(self) -> None:
        """Inlines everywhere, callees first."""
        active: set[str] = set()
        finished: set[str] = set()
        for name in list(self.functions):
            self._visit(name, active, finished)

    def _visit(self, name: str, active: set[str], finished: set[str]) -> None:
        if name in finished or name in active or name not in self.functions:
            return
        active.add(name)
        for callee in dict.fromkeys(self.calls[name]):
            self._visit(callee, active, finished)
        func = self.functions[name]
        for _ in range(MAX_ROUNDS):
            apply_patterns_greedily(func, canonicalization_patterns(), top_down=True, merge_equal_blocks=False)
            if not self.calls[name] or not self._inline_calls(func, active):
                break
        active.discard(name)
        finished.add(name)

    def _inline_calls(self, func: tt.FuncOp, active: set[str]) -> bool:
        inlined = False
        for call in _calls_in(func):
            name = _callee_name(call)
            callee = self.functions.get(name)
            if callee is None or name in active or not _may_inline(callee):
                continue
            if not _fits(call, callee):
                continue
            self.uses[name] -= 1
            is_last = self.uses[name] == 0 and is_private(callee)
            if not is_last:
                self._count_calls_of_copy(callee)
            _inline(call, callee, move=is_last)
            if is_last:
                self.module.body.block.erase_op(callee)
                del self.functions[name]
            inlined = True
        return inlined

    def _count_calls_of_copy(self, callee: tt.FuncOp) -> None:
        for call in _calls_in(callee):
            self.uses[_callee_name(call)] += 1


def _fits(call: tt.CallOp, callee: tt.FuncOp) -> bool:
    """A body of several blocks does not fit where only one block may stand."""
    first = callee.body.first_block
    assert first is not None
    if first.next_block is None:
        return True
    parent = call.parent_op()
    return parent is None or not (parent.name.startswith("scf.") or parent.has_trait(SingleBlockImplicitTerminator))


def _inline(call: tt.CallOp, callee: tt.FuncOp, move: bool) -> None:
    """Puts the body of `callee` (or a copy of it) in place of `call`."""
    region = callee.body if move else clone_region(callee.body, {})
    if call.location != UNKNOWN_LOC:
        _relocate(region, call.location)
    entry = region.first_block
    block = call.parent
    assert entry is not None and block is not None
    for argument, value in zip(entry.args, operand_values(call), strict=True):
        argument.replace_all_uses_with(value)
    if entry.next_block is None:
        _splice(entry, block, call)
    else:
        _splice_blocks(region, block, call)


def _relocate(region: Region, call_location: LocationAttr) -> None:
    """What is inside `region` now stands at a call. A place that is itself inside a call keeps its callee, and its caller moves: all
    places inside one call share that of the call, so that there are as many as ops, however deep calls lie in calls (MLIR's
    `stackLocations`)."""
    seen: dict[int, CallSiteLoc] = {}
    """By identity, all being there before the first moves: hashing a place takes longer than making one."""

    def at_call(location: Attribute) -> CallSiteLoc:
        found = seen.get(id(location))
        if found is None:
            if location.__class__ is CallSiteLoc and isinstance(location, CallSiteLoc):
                found = places.at_call(location.callee, at_call(location.caller))
            else:
                found = places.at_call(location, call_location)
            seen[id(location)] = found
        return found

    for block in region.blocks:
        for argument in block.args:
            argument.location = at_call(argument.location)
        for op in ops_in_block(block):
            op.location = at_call(op.location)
            for inner_region in op.regions:
                for inner_block in inner_region.blocks:
                    for argument in inner_block.args:
                        argument.location = at_call(argument.location)


def _splice(entry: Block, block: Block, call: tt.CallOp) -> None:
    last = last_op_of(entry)
    returned: tuple[SSAValue, ...] = tuple(operand_values(last))
    for op in list(entry.ops):
        entry.detach_op(op)
        if op is not last:
            block.insert_op_before(op, call)
    for result, value in zip(call.results, returned, strict=True):
        result.replace_all_uses_with(value)
    last.drop_all_references()
    block.erase_op(call)


def _splice_blocks(region: Region, block: Block, call: tt.CallOp) -> None:
    """Splits the caller's block after the call; each return of the body branches to the second half."""
    rest = block.split_before(call, arg_types=[result.type for result in call.results])
    for result, argument in zip(call.results, rest.args, strict=True):
        argument.location = call.location
        result.replace_all_uses_with(argument)
    entry, *others = list(region.blocks)
    for inner in (entry, *others):
        last = last_op_of(inner)
        if isinstance(last, tt.ReturnOp):
            branch = cf.BranchOp(rest, *operand_values(last))
            branch.location = last.location
            inner.insert_op_before(branch, last)
            inner.erase_op(last)
    for op in list(entry.ops):
        entry.detach_op(op)
        block.add_op(op)
    target = block.parent
    assert target is not None
    for inner in others:
        region.detach_block(inner)
    target.insert_block_before(others, rest)
    rest.erase_op(call)


@register_pass
@dataclass(frozen=True)
class Inline(Pass):
    """Replaces calls by the bodies of the functions they call."""

    name: ClassVar[str] = "inline"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        _Inliner(op).run()
