"""Replacing values of some types by several values each, through structured control flow, branches and calls.

In: a module, the types of the parts that stand for a value of some type, and rules for the ops that make or use such values.
Out: the same module without these types. With `!tt.tensordesc<...>` made of a base and a size:

    scf.for ... iter_args(%a = %d) -> (!tt.tensordesc<...>)     scf.for ... iter_args(%b = %base, %n = %size) -> (!tt.ptr<f32>, i64)
      scf.yield %a                                          =>    scf.yield %b, %n
    tt.call @f(%d)                                              tt.call @f(%base, %size)

Every op that only hands values on (whatever runs regions, ends blocks or calls, and functions) is handled here. Parts that are `steady` are not carried
through control flow that leaves them as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, UnrealizedConversionCastOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.dialects import tt
from minitriton.dialects.attribute_values import i32_array, integers
from minitriton.dialects.facts.region_flow import is_forwarding_terminator
from minitriton.dialects.fast_paths.op_access import block_of, block_successors, last_op_of, operand_at, operand_values
from minitriton.dialects.narrowing import instance_of
from minitriton.rewriting.regions import is_defined_outside

Rule = Callable[["ValueExpansion", Operation], None]
"""Rewrites one op: inserts others before it, and says what stands for its results."""


class ValueExpansion:
    """One rewriting of one module.

    `part_types(type)`: the types that stand for `type`, None for a type that stays. `rules` are for the ops that make or use
    expanded values. `steady(type)`: how many of the first parts may be left out where control flow does not change them.
    `refuse(op)`: the error about an op that needs the whole value and has no rule.
    """

    def __init__(
        self,
        part_types: Callable[[Attribute], Sequence[Attribute] | None],
        rules: Mapping[type[Operation], Rule],
        *,
        steady: Callable[[Attribute], int] = lambda type_: 0,
        refuse: Callable[[Operation], Exception],
    ) -> None:
        self._part_types = part_types
        self._rules = rules
        self._steady = steady
        self._refuse = refuse
        self._known: dict[Attribute, Sequence[Attribute] | None] = {}
        self._parts: dict[SSAValue, Sequence[SSAValue]] = {}
        self._detached: list[Operation] = []
        self.anchor: Operation | None = None
        """The op that is being rewritten."""

    # For rules --------------------------------------------------------------------------------------------------------

    def parts(self, value: SSAValue) -> Sequence[SSAValue]:
        """What stands for `value`."""
        return self._parts[value]

    def insert(self, op: Operation) -> SSAValue:
        """Puts `op` before the op that is being rewritten; its first result, if any."""
        anchor = self.anchor
        assert anchor is not None and anchor.parent is not None
        op.location = anchor.location
        anchor.parent.insert_op_before(op, anchor)
        return op.results[0] if op.results else anchor.operands[0]

    def expand(self, value: SSAValue, parts: Sequence[SSAValue]) -> None:
        """From now on `parts` stand for `value`."""
        self._parts[value] = parts

    # The walk ---------------------------------------------------------------------------------------------------------

    def run(self, module: Operation) -> None:
        """Rewrites everything inside `module`. Raises what `refuse` makes of an op that needs the whole value."""
        for region in module.regions:
            self._region(region)
        for op in self._detached:
            op.drop_all_references()

    def types(self, type_: Attribute) -> Sequence[Attribute] | None:
        """The types of the parts of a `type_`, None if it is not expanded."""
        try:
            return self._known[type_]
        except KeyError:
            found = self._known[type_] = self._part_types(type_)
            return found

    def _region(self, region: Region) -> None:
        for block in region.blocks:
            self._arguments(block)
        for block in region.blocks:
            for op in list(block.ops):
                self._op(op)

    def _arguments(self, block: Block) -> None:
        for argument in block.args:
            types = self.types(argument.type)
            if types is None:
                continue
            index = argument.index
            new = [block.insert_arg(type_, index + 1 + offset, argument.location) for offset, type_ in enumerate(types)]
            # What stands for the argument in ops that are still to be rewritten; it is never part of the module.
            whole = UnrealizedConversionCastOp.create(result_types=[argument.type]).results[0]
            argument.replace_all_uses_with(whole)
            block.erase_arg(argument)
            self._parts[whole] = new

    def _op(self, op: Operation) -> None:
        touched = any(self.types(value.type) is not None for value in (*operand_values(op), *op.results))
        rule = self._rules.get(op.__class__) if touched else None
        if rule is not None:
            self.anchor = op
            rule(self, op)
            self._detach(op)
            return
        for region in op.regions:
            self._region(region)
        if isinstance(op, tt.FuncOp):
            self._function(op)
        elif touched:
            if not is_forwarding_terminator(op):
                raise self._refuse(op)
            self._forward(op)

    def _detach(self, op: Operation) -> None:
        op.detach()
        self._detached.append(op)

    def _flat(self, values: Iterable[SSAValue]) -> list[SSAValue]:
        flat: list[SSAValue] = []
        for value in values:
            flat.extend(self._parts.get(value, (value,)))
        return flat

    def _flat_types(self, types: Iterable[Attribute]) -> list[Attribute]:
        flat: list[Attribute] = []
        for type_ in types:
            parts = self.types(type_)
            flat.extend((type_,) if parts is None else parts)
        return flat

    def _forward(self, op: Operation) -> None:
        """The same op with the parts in place of the whole."""
        operands, types = self._flat(operand_values(op)), self._flat_types(result.type for result in op.results)
        dropped = drop_steady(op, operands, self._steady_positions(op))
        new = op.__class__.create(
            operands=operands,
            result_types=[type_ for index, type_ in enumerate(types) if index not in dropped],
            properties=self._segments(op),
            attributes=op.attributes,
            successors=block_successors(op),
            regions=[op.detach_region(0) for _ in range(len(op.regions))],
            location=op.location,
        )
        assert op.parent is not None
        op.parent.insert_op_before(new, op)
        left = iter(new.results)
        results = [dropped[index] if index in dropped else next(left) for index in range(len(types))]
        start = 0
        for old in op.results:
            parts = self.types(old.type)
            if parts is None:
                old.replace_all_uses_with(results[start])
                results[start].name_hint = old.name_hint
                start += 1
            else:
                self._parts[old] = results[start : start + len(parts)]
                start += len(parts)
        self._detach(op)

    def _steady_positions(self, op: Operation) -> list[int]:
        """The flat positions of the parts of `op`'s results that need not be carried if nothing changes them."""
        positions: list[int] = []
        start = 0
        for result in op.results:
            parts = self.types(result.type)
            if parts is not None:
                positions.extend(range(start, start + self._steady(result.type)))
            start += 1 if parts is None else len(parts)
        return positions

    def _segments(self, op: Operation) -> dict[str, Attribute]:
        """The properties of `op`, with the number of operands in each group as it is with the parts."""
        properties = dict(op.properties)
        sizes = properties.get("operandSegmentSizes")
        if sizes is not None:
            counts: list[int] = []
            start = 0
            for size in integers(sizes):
                counts.append(len(self._flat(operand_values(op)[start : start + size])))
                start += size
            properties["operandSegmentSizes"] = i32_array(tuple(counts))
        return properties

    def _function(self, op: tt.FuncOp) -> None:
        """The signature; the attributes of an argument go to the first of its parts."""
        old = op.function_type
        inputs, outputs = self._flat_types(old.inputs), self._flat_types(old.outputs)
        if len(inputs) == len(old.inputs) and len(outputs) == len(old.outputs):
            return
        op.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        for name, types in (("arg_attrs", old.inputs), ("res_attrs", old.outputs)):
            attrs = op.properties.get(name)
            if instance_of(attrs, ArrayAttr):
                op.properties[name] = ArrayAttr(self._spread(attrs.data, types.data))

    def _spread(self, attrs: Sequence[Attribute], types: Sequence[Attribute]) -> list[Attribute]:
        spread: list[Attribute] = []
        for attr, type_ in zip(attrs, types, strict=True):
            parts = self.types(type_)
            spread.append(attr)
            spread.extend(DictionaryAttr({}) for _ in range(0 if parts is None else len(parts) - 1))
        return spread


# Values that control flow forwards unchanged need not be passed.
#
# In: a structured op whose regions are rewritten already, its operands, and the positions of carried values to look at. Out: the same
# op's regions and operands without those that never change, and what each of them always is.
#
#     scf.for ... iter_args(%a = %x, ...) { ... scf.yield %a, ... }      %a is %x
#     scf.if %c { scf.yield %x, ... } else { scf.yield %x, ... }         the result is %x

_BOUNDS = 3
"""The operands of `scf.for` before its initial values."""


def drop_steady(op: Operation, operands: list[SSAValue], positions: Sequence[int]) -> dict[int, SSAValue]:
    """Removes from `op`'s regions and from `operands` the carried values at `positions` (counted among the results) that never
    change; what each of them always is."""
    if not positions:
        return {}
    if isinstance(op, scf.ForOp):
        return _of_for(op, operands, positions)
    if isinstance(op, scf.IfOp):
        return _of_if(op, positions)
    if isinstance(op, scf.WhileOp):
        return _of_while(op, operands, positions)
    return {}


def _terminator(op: Operation, region: int) -> Operation:
    return last_op_of(block_of(op, region))


def _replace_argument(block: Block, index: int, value: SSAValue) -> None:
    argument = block.args[index]
    argument.replace_all_uses_with(value)
    block.erase_arg(argument)


def _drop_operands(op: Operation, dropped: set[int], first: int = 0) -> None:
    op.operands = [value for index, value in enumerate(operand_values(op)) if index - first not in dropped]


def _of_for(op: scf.ForOp, operands: list[SSAValue], positions: Sequence[int]) -> dict[int, SSAValue]:
    block, end = block_of(op, 0), _terminator(op, 0)
    dropped: dict[int, SSAValue] = {}
    for position in positions:
        init, argument = operands[_BOUNDS + position], block.args[1 + position]
        if operand_at(end, position) in (argument, init):
            dropped[position] = init
    _drop_operands(end, set(dropped))
    for position in sorted(dropped, reverse=True):
        _replace_argument(block, 1 + position, dropped[position])
        del operands[_BOUNDS + position]
    return dropped


def _of_if(op: scf.IfOp, positions: Sequence[int]) -> dict[int, SSAValue]:
    then, other = _terminator(op, 0), _terminator(op, 1)
    dropped = {p: operand_at(then, p) for p in positions if operand_at(then, p) is operand_at(other, p)}
    for end in (then, other):
        _drop_operands(end, set(dropped))
    return dropped


def _of_while(op: scf.WhileOp, operands: list[SSAValue], positions: Sequence[int]) -> dict[int, SSAValue]:
    """First the values that go round unchanged, then the results that are one of the values around the loop."""
    before, after = block_of(op, 0), block_of(op, 1)
    condition, end = _terminator(op, 0), _terminator(op, 1)
    steady: dict[int, SSAValue] = {}
    for index, init in enumerate(operands):
        again = operand_at(end, index)
        through = after.args.index(again) if again in after.args else None
        comes_back = through in positions and operand_values(condition)[1 + (through or 0)] is before.args[index]
        if comes_back or (
            again is init and any(operand_values(condition)[1 + p] is before.args[index] for p in positions)
        ):
            steady[index] = init
    _drop_operands(end, set(steady))
    for index in sorted(steady, reverse=True):
        _replace_argument(before, index, steady[index])
        del operands[index]
    dropped = {p: v for p in positions if is_defined_outside(v := operand_values(condition)[1 + p], op)}
    _drop_operands(condition, set(dropped), 1)
    for position in sorted(dropped, reverse=True):
        _replace_argument(after, position, dropped[position])
    return dropped
