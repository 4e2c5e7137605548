"""Axis info: contiguity, divisibility, constancy and constant value of every integer and pointer of a module.

In: a module of `tt` (or `ttg`) functions. Out: `AxisInfoAnalysis(module).get(value)`, an `AxisInfo`.

    %offs = arith.addi %base, %range : tensor<128xi32>      contiguity = [128], divisibility = [128], constancy = [1]
    %mask = arith.cmpi slt, %offs, %n                       contiguity = [1], divisibility = [1], constancy = [16]

The rules are registered by op, one file per family (`rules_*.py`); an op without a rule claims nothing.
Counterpart of lib/Analysis/AxisInfo.cpp of Triton 3.6.0, except that a claim which can be false is not made.

A function that others call gets, for each scalar (or 1-d) argument, what holds at all of its call sites.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
)
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from minitriton.analysis.assumptions import Promise, promises
from minitriton.analysis.axis_info import rules_arith as rules_arith
from minitriton.analysis.axis_info import rules_shape as rules_shape
from minitriton.analysis.axis_info.explain import Claim, Explanation, Step, explain, why
from minitriton.analysis.axis_info.lattice import (
    HINTS,
    RULES,
    AxisInfo,
    access_shape,
    join,
    rank_of,
    splat_integer,
    unknown,
    with_hints,
)
from minitriton.analysis.dataflow import ForwardDataflow
from minitriton.dialects.attribute_values import elements
from minitriton.dialects.facts import Function
from minitriton.dialects.facts.region_flow import Call
from minitriton.dialects.fast_paths.op_access import operand_values, ops_in
from minitriton.dialects.narrowing import instance_of

__all__ = ["AxisInfo", "AxisInfoAnalysis"]


class AxisInfoAnalysis(ForwardDataflow[AxisInfo]):
    """The facts of a module, found when the first one is asked for.

    Facts speak of the IR as it was then; a value made later has the fact that claims nothing. With `as_asked` the IR stays as it is
    until the last fact was asked for: only what a value is computed from is looked at then, as long as no control flow is in the way,
    and of several functions only the value's own and those that call it.
    """

    def __init__(self, module: ModuleOp, *, as_asked: bool = False) -> None:
        super().__init__()
        self.module = module
        self._as_asked = as_asked
        self._straight = _entry_of_only_function(module) if as_asked else None
        self._begun: set[Operation] = set()
        self._finished: set[Operation] = set()
        self._computed: set[Operation] = set()
        self.promises: dict[SSAValue, list[Promise]] = {}
        self._noted: set[Block] = set()
        self._done = False

    def get(self, value: SSAValue) -> AxisInfo:
        """What is known of `value`."""
        if not self._done and not self._is_found_straight(value):
            if self._as_asked and self._straight is None:
                self._run_for(value)
            else:
                self._done = True
                self.facts.clear()
                self._begun.clear()
                self._run(self._functions)
        return self.fact(value)

    def _is_found_straight(self, value: SSAValue) -> bool:
        """Finds the fact of `value` if it is computed from arguments by ops of the function's first block alone."""
        entry = self._straight
        if entry is None:
            return False
        if entry not in self._noted:
            self._note_promises(entry)
            self._begin(cast(Operation, entry.parent_op()), entry, ())
        waiting = [value]
        while waiting:
            last = waiting[-1]
            if type(last) is not OpResult:
                if last.owner is not entry:
                    return False
                waiting.pop()
                continue
            op = last.op
            if op.parent is not entry or op.regions:
                return False
            before = () if op in self._computed or RULES.of(op) is None else operand_values(op)
            missing = [
                operand for operand in before if type(operand) is not OpResult or operand.op not in self._computed
            ]
            missing = [operand for operand in missing if operand.owner is not entry]
            if missing:
                waiting += missing
                continue
            if op not in self._computed:
                self._computed.add(op)
                self.transfer(op)
            waiting.pop()
        return True

    def explain(self, value: SSAValue) -> Explanation:
        """The facts that the fact of `value` was made from, as a tree that prints with source locations."""
        self.get(value)
        return explain(self, value)

    def why(self, value: SSAValue, claim: Claim, dim: int = 0) -> list[Step]:
        """The path from `value` to the op that keeps `claim` from being larger."""
        self.get(value)
        return why(self, value, claim, dim)

    def mask_alignment(self, mask: SSAValue) -> int:
        """How many neighbouring elements along the layout's fastest axis have the same mask."""
        if not instance_of(mask.type, TensorType):
            return 1
        return max(1, self.get(mask).constancy[access_shape(mask.type).fastest_dim])

    def transfer(self, op: Operation) -> None:
        rule = RULES.of(op)
        if rule is None:
            if op.attributes:
                for result in op.results:
                    hinted = _with_attributes(self.unknown(result), op.attributes)
                    if hinted is not None:
                        self.facts[result] = hinted
            return
        result = op.results[0]
        fact = rule(op, [self.fact(operand) for operand in op.operands])
        if op.attributes:
            fact = _with_attributes(fact, op.attributes) or fact
        self.facts[result] = self._promised(result, fact) if self.promises else fact

    def join(self, a: AxisInfo, b: AxisInfo) -> AxisInfo:
        return join(a, b)

    def unknown(self, value: SSAValue) -> AxisInfo:
        return unknown(rank_of(value.type))

    def loop_variable(self, lower: AxisInfo, step: AxisInfo) -> AxisInfo:
        divisibility = (min(lower.divisibility[0], step.divisibility[0]),)
        return AxisInfo((1,), divisibility, (1,), None, lower.non_negative)

    def constant_of(self, fact: AxisInfo) -> int | None:
        return fact.constant_value

    def run_block(self, block: Block) -> None:
        if block not in self._noted:
            self._note_promises(block)
        super().run_block(block)

    def _note_promises(self, block: Block) -> None:
        self._noted.add(block)
        for promise in promises(block):
            self.promises.setdefault(promise.value, []).append(promise)

    def _promised(self, value: SSAValue, fact: AxisInfo) -> AxisInfo:
        for promise in self.promises.get(value, ()):
            fact = promise.apply(fact)
        return fact

    @cached_property
    def _calls(self) -> dict[str, list[Operation]]:
        """The calls of each function, by its name."""
        functions = _functions_of(self.module)
        return _calls_by_function(functions) if len(functions) > 1 else {}

    @cached_property
    def _functions(self) -> list[Operation]:
        """The functions, each after its callers."""
        return _callers_first(_functions_of(self.module), self._calls)

    def _run_for(self, value: SSAValue) -> None:
        """Finds the facts of the function that `value` is in, or of its arguments if it is one of these, and of those that call it."""
        owner = value.owner
        function = _enclosing_function(owner) if owner.parent is not None else None
        if function is None or function in self._finished or function.parent_op() is not self.module:
            return
        needed: set[Operation] = set()
        waiting = [function]
        while waiting:
            callers = {_enclosing_function(call) for call in self._calls.get(_name(waiting.pop()), ())} - needed
            needed |= callers
            waiting += callers
        entry = function.regions[0].first_block
        if value.owner is not entry:
            needed.add(function)
        missing = needed - self._finished
        if missing:
            self._run([each for each in self._functions if each in missing])
        if entry is not None and function not in self._begun:
            self._begin(function, entry, self._calls.get(_name(function), ()))

    def _run(self, functions: Sequence[Operation]) -> None:
        for function in functions:
            first = function.regions[0].first_block
            if first is None or function in self._finished:
                continue
            self._finished.add(function)
            if function not in self._begun:
                self._begin(function, first, self._calls.get(_name(function), ()))
            self.run(function.regions[0])

    def _begin(self, function: Operation, entry: Block, call_sites: Sequence[Operation]) -> None:
        """Find the facts of the arguments of `function`."""
        self._begun.add(function)
        self._arguments(function, entry, call_sites)
        for promise in promises(entry):
            if promise.value.owner is entry:
                self.facts[promise.value] = promise.apply(self.fact(promise.value))

    def _arguments(self, function: Operation, entry: Block, call_sites: Sequence[Operation]) -> None:
        hints = function.properties.get("arg_attrs")
        all_attributes = hints.data if instance_of(hints, ArrayAttr) else ()
        for index, argument in enumerate(entry.args):
            attributes = all_attributes[index] if index < len(all_attributes) else None
            own: Mapping[str, Attribute] = attributes.data if isinstance(attributes, DictionaryAttr) else {}
            fact = self.unknown(argument)
            hinted = _with_attributes(fact, own)
            if call_sites and fact.rank == 1:
                self.sources[argument] = tuple(call.operands[index] for call in call_sites)
                hinted = self._joined_call_sites(self.sources[argument], hinted, own)
            if hinted is not None:
                self.facts[argument] = hinted

    def _joined_call_sites(self, passed: Sequence[SSAValue], hinted: AxisInfo | None, own: Iterable[str]) -> AxisInfo:
        """What holds at every call; a hint on the argument weakens what the calls say about the same claim."""
        fact = self.fact(passed[0])
        for value in passed[1:]:
            fact = join(fact, self.fact(value))
        if hinted is not None:
            names = set(own)
            fact = fact._replace(
                contiguity=_weaker("tt.contiguity" in names, fact.contiguity, hinted.contiguity),
                divisibility=_weaker("tt.divisibility" in names, fact.divisibility, hinted.divisibility),
                constancy=_weaker("tt.constancy" in names, fact.constancy, hinted.constancy),
            )
        return fact._replace(constant_value=None)


def _functions_of(module: ModuleOp) -> dict[str, Operation]:
    return {_name(op): op for op in module.ops if Function.of(op) and op.regions}


def _entry_of_only_function(module: ModuleOp) -> Block | None:
    """The first block of the function of `module`, if there is just one, which nothing calls then."""
    functions = list(_functions_of(module).values())
    return functions[0].regions[0].first_block if len(functions) == 1 else None


def _weaker(also: bool, ours: tuple[int, ...], theirs: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(min, ours, theirs)) if also else ours


def _with_attributes(fact: AxisInfo, attributes: Mapping[str, Attribute]) -> AxisInfo | None:
    """`fact` with the hints among `attributes`; None if there are none."""
    found = [_numbers(attributes.get(name)) for name in HINTS]
    if not any(found):
        return None
    return with_hints(fact, contiguity=found[0], divisibility=found[1], constancy=found[2])


def _numbers(attribute: Attribute | None) -> tuple[int, ...] | None:
    if instance_of(attribute, IntegerAttr):
        return (attribute.value.data,)
    if instance_of(attribute, DenseIntOrFPElementsAttr):
        splat = splat_integer(attribute)
        if splat is not None:
            return (splat,) * prod(attribute.get_shape())
        return tuple(int(value) for value in elements(attribute))
    return None


def _name(function: Operation) -> str:
    name = function.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else ""


def _calls_by_function(functions: dict[str, Operation]) -> dict[str, list[Operation]]:
    calls: dict[str, list[Operation]] = {}
    for function in functions.values():
        for op in ops_in(function):
            is_call = (
                Call.of(op) is not None or op.name == "func.call"
            )  # xDSL's, which is there only where a text has it
            if is_call and isinstance(callee := op.properties.get("callee"), SymbolRefAttr):
                calls.setdefault(callee.string_value(), []).append(op)
    return calls


def _callers_first(functions: dict[str, Operation], calls: dict[str, list[Operation]]) -> list[Operation]:
    """Functions so ordered that each comes after its callers; recursion is split where it closes."""
    if not calls:
        return list(functions.values())
    order: list[Operation] = []
    seen: set[str] = set()

    def visit(name: str) -> None:
        if name in seen or name not in functions:
            return
        seen.add(name)
        for call in calls.get(name, ()):
            visit(_name(_enclosing_function(call)))
        order.append(functions[name])

    for name in functions:
        visit(name)
    return order


def _enclosing_function(inside: Operation | Block) -> Operation:
    parent = inside.parent_op()
    while parent is not None and not Function.of(parent):
        parent = parent.parent_op()
    assert parent is not None
    return parent
