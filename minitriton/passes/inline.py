"""Inlining: each call of a function of the module becomes the function's body; functions that nobody can reach any more are erased.

    tt.func @k(%x) {                                      tt.func @k(%x) {
      %0 = tt.call @twice(%x)                       =>      %0 = arith.addi %x, %x
    tt.func private @twice(%y) { return %y + %y }

Functions are visited callees first. Each is canonicalised, its calls are inlined (a body with several blocks splits the
caller's block), and so again while calls are found, four times at most. Functions marked `noinline` stay, as do recursive
calls. An inlined op's location is the call's location seen from its own. `symbol-dce` does the erasing alone.
"""

from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects import cf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.traits import SingleBlockImplicitTerminator, SymbolOpInterface

from minitriton.dialects import tt
from minitriton.dialects.fast_paths.op_access import forward_name, last_op_of, operand_values, ops_in, set_arguments
from minitriton.dialects.narrowing import instance_of
from minitriton.passes.call_locations import CallLocations
from minitriton.passes.canonicalize import canonicalization_patterns
from minitriton.pipeline.pass_registry import KEPT_IN_PLACE, Pass, Property, register_pass
from minitriton.rewriting.effects import nested_ops
from minitriton.rewriting.greedy import apply_patterns_greedily
from minitriton.rewriting.patterns import PatternSet
from minitriton.rewriting.regions import clone_region
from minitriton.rewriting.settled import Settled, is_used_less

MAX_ROUNDS = 4


def _callee_name(call: tt.CallOp) -> str:
    return call.callee.root_reference.data


def _may_inline(func: tt.FuncOp) -> bool:
    marker = func.attributes.get("noinline")
    return func.body.first_block is not None and not (isinstance(marker, IntegerAttr) and marker.value.data)


class _Inliner:
    """The call graph of one module and the functions already finished."""

    def __init__(self, module: ModuleOp, patterns: PatternSet, is_canonical: bool) -> None:
        self.module = module
        self.is_canonical = is_canonical
        self.patterns = patterns
        self.functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, tt.FuncOp)}
        self.settled = Settled()
        """In finished functions, what has no calls left; so that `n` calls in each other are not gone through `n` times."""
        self.locations = CallLocations(self.settled)
        self.calls: dict[str, list[str]] = {}
        self.uses: dict[str, int] = {}
        for name, func in self.functions.items():
            callees = self.calls[name] = [_callee_name(call) for call in self._calls_in(func)]
            for callee in callees:
                self.uses[callee] = self.uses.get(callee, 0) + 1

    def run(self) -> None:
        """Inlines everywhere, callees first."""
        active: set[str] = set()
        finished: set[str] = set()
        for name in list(self.functions):
            self._visit(name, active, finished)
        if self.locations.is_used:
            self.locations.write(self.module)

    def _visit(self, name: str, active: set[str], finished: set[str]) -> None:
        if name in finished or name in active or name not in self.functions:
            return
        active.add(name)
        for callee in dict.fromkeys(self.calls[name]):
            self._visit(callee, active, finished)
        func = self.functions[name]
        for _ in range(MAX_ROUNDS):
            apply_patterns_greedily(
                func,
                self.patterns,
                top_down=self.is_canonical,
                merge_equal_blocks=False,
                settled=self.settled,
                share_constants=self.is_canonical,
            )
            if not self.calls[name] or not self._inline_calls(func, active):
                break
        self._settle(func)
        active.discard(name)
        finished.add(name)

    def _calls_in(self, func: Operation) -> list[tt.CallOp]:
        """All calls in `func`, in the order of the text."""
        found: list[tt.CallOp] = []
        self._collect_calls(func, found)
        return found

    def _collect_calls(self, op: Operation, found: list[tt.CallOp]) -> None:
        for inner in nested_ops(op):
            if inner.__class__ is tt.CallOp and isinstance(inner, tt.CallOp):
                found.append(inner)
            elif inner.regions and inner not in self.settled:
                self._collect_calls(inner, found)

    def _settle(self, op: Operation) -> bool:
        """Says of all that has no calls inside that it is settled; whether `op` is."""
        has_calls = False
        for inner in nested_ops(op):
            if inner.__class__ is tt.CallOp:
                has_calls = True
            elif inner.regions and inner not in self.settled:
                if self._settle(inner):
                    self.settled.add(inner)
                    self.locations.forget(inner)
                else:
                    has_calls = True
        return not has_calls

    def _inline_calls(self, func: tt.FuncOp, active: set[str]) -> bool:
        inlined = False
        for call in self._calls_in(func):
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
            self._inline(call, func, callee, move=is_last)
            if is_last:
                self.module.body.block.erase_op(callee)
                del self.functions[name]
            inlined = True
        return inlined

    def _count_calls_of_copy(self, callee: tt.FuncOp) -> None:
        for call in self._calls_in(callee):
            self.uses[_callee_name(call)] += 1

    def _inline(self, call: tt.CallOp, func: tt.FuncOp, callee: tt.FuncOp, move: bool) -> None:
        """Puts the body of `callee` (or a copy of it) in place of `call`, which stands in `func`."""
        region = callee.body if move else clone_region(callee.body, {})
        self.locations.put_inside(region, call.location, callee, func, is_copy=not move)
        entry = region.first_block
        block = call.parent
        assert entry is not None and block is not None
        values = operand_values(call)
        for argument, value in zip(tuple(entry.args), values, strict=True):
            if not (_is_argument_of(value, func) and values.count(value) == 1):
                self.settled.disturb_users(argument)
                argument.replace_all_uses_with(value)
            elif isinstance(value, BlockArgument):
                _unify(argument, value)
        if entry.next_block is None:
            _splice(entry, block, call)
        else:
            _splice_blocks(region, block, call)


def _is_argument_of(value: SSAValue, func: tt.FuncOp) -> bool:
    """Of such a value no pattern knows more than of the argument of another function."""
    return isinstance(value, BlockArgument) and value.block is func.body.first_block


def _unify(argument: BlockArgument, value: BlockArgument) -> None:
    """Makes the users of `argument` and `value` use the same, changing as few as can be. One of the two is left without block."""
    if not is_used_less(value, argument):
        argument.replace_all_uses_with(value)
        return
    value.replace_all_uses_with(argument)
    if value.name_hint is not None:
        forward_name(value, argument)
    block = value.block
    argument.block, argument.index, argument.location = block, value.index, value.location
    set_arguments(block, [argument if each is value else each for each in block.args])


def _fits(call: tt.CallOp, callee: tt.FuncOp) -> bool:
    """A body of several blocks does not fit where only one block may stand."""
    first = callee.body.first_block
    assert first is not None
    if first.next_block is None:
        return True
    parent = call.parent_op()
    return parent is None or not (parent.name.startswith("scf.") or parent.has_trait(SingleBlockImplicitTerminator))


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
class Inline(Pass, origin="triton"):
    """Replaces calls by the bodies of the functions they call."""

    name: ClassVar[str] = "inline"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    establishes: ClassVar[frozenset[Property]] = frozenset({Property.INLINED})

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_calls(op, canonicalization_patterns())


def inline_calls(module: ModuleOp, patterns: PatternSet, is_canonical: bool = True) -> None:
    """Replaces calls in `module`; the functions are simplified by `patterns` before, as `canonicalize` does (first
    op first, constants at the start) or,
    where layouts are still open, last op first with each constant where it is."""
    _Inliner(module, patterns, is_canonical).run()


def symbol_name(op: Operation) -> str | None:
    """The name that `op` defines, if it is a symbol."""
    name = op.properties.get("sym_name") or op.attributes.get("sym_name")
    if isinstance(name, StringAttr) and op.get_traits_of_type(SymbolOpInterface):
        return name.data
    return None


def is_private(op: Operation) -> bool:
    """True if the symbol `op` may be erased when nothing refers to it."""
    visibility = op.properties.get("sym_visibility") or op.attributes.get("sym_visibility")
    return isinstance(visibility, StringAttr) and visibility.data == "private"


_WITHOUT_NAMES: frozenset[type[Attribute]] = frozenset(
    {IntegerAttr, StringAttr, UnitAttr, TensorType, IntegerType, FunctionType}
)
"""Attributes that refer to no symbol: most of those that there are, whose class is found out sooner than that it is none of the others."""


def _references(attr: Attribute) -> list[str]:
    if attr.__class__ in _WITHOUT_NAMES:
        return []
    if isinstance(attr, SymbolRefAttr):
        return [attr.root_reference.data]
    if instance_of(attr, ArrayAttr):
        return [name for element in attr.data for name in _references(element)]
    if isinstance(attr, DictionaryAttr):
        return [name for element in attr.data.values() for name in _references(element)]
    return []


def referenced_symbols(op: Operation) -> set[str]:
    """The symbols that `op` and everything in it refer to."""
    found: set[str] = set()
    for inner in ops_in(op):
        for attributes in (inner.properties, inner.attributes):
            for attr in attributes.values():
                if attr.__class__ not in _WITHOUT_NAMES:
                    found.update(_references(attr))
    return found


def erase_dead_symbols(module: ModuleOp) -> bool:
    """Erases the private symbols of `module` that neither a public symbol nor another op leads to; whether there are any."""
    symbols: dict[str, Operation] = {}
    for op in module.body.ops:
        name = symbol_name(op)
        if name is not None and is_private(op):
            symbols[name] = op
    if not symbols:
        return False
    private = set(symbols.values())
    pending = [op for op in module.body.ops if op not in private]
    live: set[str] = set()
    while pending:
        for name in referenced_symbols(pending.pop()):
            if name in symbols and name not in live:
                live.add(name)
                pending.append(symbols[name])
    for name, op in symbols.items():
        if name not in live:
            module.body.block.erase_op(op)
    return len(live) < len(symbols)


@register_pass
class SymbolDce(Pass, origin="triton"):
    """Erases private functions that nothing refers to."""

    name: ClassVar[str] = "symbol-dce"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.TENSOR_IR})
    keeps: ClassVar[frozenset[Property]] = KEPT_IN_PLACE

    def apply(self, ctx: Context, op: ModuleOp) -> bool:
        return erase_dead_symbols(op)
