"""Random index programs: functions of integer and pointer expressions, with loops and branches, built from a seed.

In: a `random.Random`. Out: a module of one function, its entry block, and what divides each of its arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.dialects import arith, tt
from minitriton.dialects.tt.types import PointerType, pointer_type, tensor_type

OPS: dict[str, type[Operation]] = {
    op.name: op
    for dialect in (arith, tt)
    for op in vars(dialect).values()
    if isinstance(op, type) and issubclass(op, Operation) and hasattr(op, "name")
}
POINTEES = (IntegerType(8), IntegerType(16), i32, IntegerType(64))
ARGUMENTS = (i32, i32, IntegerType(64), i1, pointer_type(i32), pointer_type(IntegerType(16)))


@cache
def width_of(type_: Attribute) -> int:
    element = type_.element_type if isinstance(type_, TensorType) else type_
    return element.width.data if isinstance(element, IntegerType) else 64


@cache
def shape_of(type_: Attribute) -> tuple[int, ...]:
    return type_.get_shape() if isinstance(type_, TensorType) else ()


@cache
def pointee_size(type_: Attribute) -> int:
    element = type_.element_type if isinstance(type_, TensorType) else type_
    return element.pointee_type.width.data // 8 if isinstance(element, PointerType) else 1


@cache
def is_pointer(type_: Attribute) -> bool:
    return isinstance(element_of(type_), PointerType)


@cache
def element_of(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, TensorType) else type_


def wrapped(value: int, width: int) -> int:
    """`value` as a constant of the width: signed, but 0 or 1 for one bit."""
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


class Generator:
    """Builds one random function; `values` are those that an op in the current block may use."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.values: list[SSAValue] = []
        self.block = Block()

    def emit(self, name: str, operands, result: Attribute, **properties: Attribute) -> SSAValue:
        op = OPS[name].create(operands=operands, result_types=[result], properties=properties)
        if self.rng.random() < 0.02 and name == "arith.muli":
            op.attributes["tt.note"] = StringAttr("an attribute that is no hint")
        self.block.add_op(op)
        self.values.append(op.results[0])
        return op.results[0]

    def constant(self, type_: Attribute, value: int | None = None) -> SSAValue:
        width = width_of(type_)
        if value is None:
            value = self.rng.choice((0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 100, 128, -1, -2, -3, -4, -8, -16, -100))
        value = wrapped(value, width)
        if isinstance(type_, TensorType):
            return self.emit("arith.constant", [], type_, value=DenseIntOrFPElementsAttr.from_list(type_, [value]))
        return self.emit("arith.constant", [], type_, value=IntegerAttr(value, type_))

    def some(self, accept: Callable[[Attribute], bool]) -> SSAValue | None:
        found = [value for value in self.values[-24:] if accept(value.type)] or [
            value for value in self.values if accept(value.type)
        ]
        return self.rng.choice(found) if found else None

    def integer(self, type_: Attribute | None = None) -> SSAValue | None:
        if type_ is None:
            return self.some(lambda t: not is_pointer(t))
        found = None if self.rng.random() < 0.2 else self.some(lambda t: t == type_)
        return self.constant(type_) if found is None else found

    def step(self, depth: int) -> None:
        choice = self.rng.random()
        if choice < 0.10:
            self.sequence()
        elif choice < 0.50:
            self.binary()
        elif choice < 0.64:
            self.reshape()
        elif choice < 0.70:
            self.compare()
        elif choice < 0.78:
            self.select()
        elif choice < 0.84:
            self.cast()
        elif choice < 0.90:
            self.pointer()
        elif choice < 0.93 and depth < 2:
            self.loop(depth)
        elif choice < 0.95 and depth < 2:
            self.while_loop(depth)
        elif choice < 0.98 and depth < 2:
            self.branch(depth)
        else:
            self.leaf()

    def leaf(self) -> None:
        kind = self.rng.random()
        if kind < 0.55:
            size = self.rng.choice((4, 8, 16))
            start = self.rng.choice((0, 0, 0, 4, 8, 16, 3, size))
            self.emit(
                "tt.make_range",
                [],
                tensor_type((size,), i32),
                start=IntegerAttr(start, i32),
                end=IntegerAttr(start + size, i32),
            )
        elif kind < 0.7:
            self.emit("tt.get_program_id", [], i32, axis=IntegerAttr(0, i32))
        else:
            self.constant(self.rng.choice((i32, i32, i1, IntegerType(64), tensor_type((8,), i32))))

    def binary(self) -> SSAValue | None:
        left = self.integer()
        if left is None:
            return self.leaf()
        if width_of(left.type) == 1:
            right = self.integer(left.type)
            return self.emit("arith." + self.rng.choice(("andi", "ori", "xori")), [left, right], left.type)
        names = ("addi", "addi", "addi", "subi", "muli", "muli", "divsi", "divui", "remsi", "remui", "andi", "ori")
        names += ("xori", "maxsi", "minsi", "maxui", "minui", "shli", "shrsi", "shrui")
        name = "arith." + self.rng.choice(names)
        if name.startswith("arith.sh"):
            right = self.constant(left.type, self.rng.randrange(0, 5))
        elif name.startswith(("arith.div", "arith.rem")) and self.rng.random() < 0.7:
            right = self.constant(left.type, self.rng.choice((1, 2, 3, 4, 6, 8, 16, 48, -1, -2, -4, -6)))
        else:
            right = self.integer(left.type)
        operands = [left, right] if self.rng.random() < 0.7 or "sh" in name else [right, left]
        return self.emit(name, operands, left.type)

    def sequence(self) -> None:
        """Consecutive numbers around zero or an argument, and what kernels do with them: divide, wrap, compare, widen."""
        size = self.rng.choice((8, 16))
        type_ = tensor_type((size,), i32)
        bounds = {"start": IntegerAttr(0, i32), "end": IntegerAttr(size, i32)}
        sequence = self.emit("tt.make_range", [], type_, **bounds)
        if self.rng.random() < 0.5:
            base = self.constant(type_, self.rng.choice((-size, -4, -2, -3, 4, 8, 64, -1)))
        else:
            base = self.emit("tt.splat", [self.pick(i32)], type_)
        sequence = self.emit("arith.addi", [sequence, base], type_)
        other = self.constant(type_, self.rng.choice((2, 4, 8, 16, -4, 12, 0, 3)))
        names = ["divsi", "divui", "remsi", "remui", "maxui", "minui", "maxsi", "minsi", "cmpi", "cast"]
        name = self.rng.choice(names)
        if name == "cmpi":
            operands = [sequence, other] if self.rng.random() < 0.5 else [other, sequence]
            predicate = IntegerAttr(self.rng.randrange(10), IntegerType(64))
            self.emit("arith.cmpi", operands, tensor_type((size,), i1), predicate=predicate)
        elif name == "cast":
            name = self.rng.choice(("arith.extsi", "arith.extui", "arith.trunci"))
            self.emit(name, [sequence], tensor_type((size,), IntegerType(8 if name == "arith.trunci" else 64)))
        else:
            if name.startswith(("max", "min")):
                other = self.integer(type_)
            self.emit("arith." + name, [sequence, other], type_)

    def reshape(self) -> None:
        source = self.some(lambda t: True)
        if source is None:
            return self.leaf()
        shape, element = shape_of(source.type), element_of(source.type)
        if not shape:
            target = self.rng.choice(((8,), (16,), (4,), (4, 8)))
            self.emit("tt.splat", [source], tensor_type(target, element))
        elif len(shape) == 1:
            axis = self.rng.randrange(2)
            target = (1, *shape) if axis == 0 else (*shape, 1)
            self.emit("tt.expand_dims", [source], tensor_type(target, element), axis=IntegerAttr(axis, i32))
        elif 1 in shape:
            target = tuple(self.rng.choice((2, 8)) if size == 1 else size for size in shape)
            self.emit("tt.broadcast", [source], tensor_type(target, element))
        else:
            order = DenseArrayBase.from_list(i32, [1, 0])
            self.emit("tt.trans", [source], tensor_type(shape[::-1], element), order=order)

    def compare(self) -> None:
        left = self.some(lambda t: not is_pointer(t) and t != i1)
        if left is None:
            return self.leaf()
        result = tensor_type(shape_of(left.type), i1) if shape_of(left.type) else i1
        right = self.integer(left.type)
        predicate = IntegerAttr(self.rng.randrange(10), IntegerType(64))
        operands = [left, right] if self.rng.random() < 0.5 else [right, left]
        self.emit("arith.cmpi", operands, result, predicate=predicate)

    def select(self) -> None:
        condition = self.some(lambda t: width_of(t) == 1)
        if condition is None:
            return self.compare()
        shape = shape_of(condition.type)
        left = self.some(lambda t: not shape or shape_of(t) == shape)
        right = None if left is None else self.some(lambda t: t == left.type)
        if left is not None and right is not None:
            self.emit("arith.select", [condition, left, right], left.type)

    def cast(self) -> None:
        source = self.integer()
        if source is None:
            return self.leaf()
        width, shape = width_of(source.type), shape_of(source.type)
        target = self.rng.choice([w for w in (8, 16, 32, 64) if w != width])
        name = "arith.trunci" if target < width else self.rng.choice(("arith.extsi", "arith.extui"))
        element = IntegerType(target)
        self.emit(name, [source], tensor_type(shape, element) if shape else element)

    def pointer(self) -> None:
        if self.rng.random() < 0.3:
            scalar = self.some(lambda t: is_pointer(t) and not shape_of(t))
            offsets = self.some(lambda t: len(shape_of(t)) == 1 and width_of(t) == 32)
            if scalar is not None and offsets is not None:
                type_ = tensor_type(shape_of(offsets.type), scalar.type)
                base = self.emit("tt.splat", [scalar], type_)
                self.emit("tt.addptr", [base, offsets], type_)
        pointer = self.some(is_pointer)
        if pointer is None:
            return self.leaf()
        if self.rng.random() < 0.3:
            element = pointer_type(self.rng.choice(POINTEES))
            shape = shape_of(pointer.type)
            self.emit("tt.bitcast", [pointer], tensor_type(shape, element) if shape else element)
            return None
        shape = shape_of(pointer.type)
        offset = self.some(lambda t: not is_pointer(t) and shape_of(t) == shape and width_of(t) >= 32)
        if offset is None:
            offset = self.constant(tensor_type(shape, i32) if shape else i32)
        self.emit("tt.addptr", [pointer, offset], pointer.type)
        return None

    def nested(self, arguments, carried_types, depth: int, extra=()) -> Region:
        """A region of a few random ops that yields values of `carried_types`."""
        outer_block, outer_values = self.block, self.values
        self.block = Block(arg_types=arguments)
        self.values = [*outer_values, *self.block.args]
        for _ in range(self.rng.randrange(1, 4)):
            self.step(depth + 1)
        chosen = [self.pick(type_) for type_ in carried_types]
        if extra:
            chosen = [self.pick(type_) for type_ in extra] + chosen
        terminator = scf.ConditionOp if extra else scf.YieldOp
        self.block.add_op(terminator.create(operands=chosen))
        region = Region(self.block)
        self.block, self.values = outer_block, outer_values
        return region

    def pick(self, type_: Attribute) -> SSAValue:
        found = self.some(lambda t: t == type_)
        return self.constant(type_) if found is None else found

    def carried(self) -> list[SSAValue]:
        found = [self.some(lambda t: True) for _ in range(self.rng.randrange(1, 3))]
        return [value for value in found if value is not None]

    def loop(self, depth: int) -> None:
        inits = self.carried()
        types = [value.type for value in inits]
        bounds = [self.pick(i32), self.pick(i32), self.constant(i32, self.rng.choice((1, 2, 4, 16)))]
        region = self.nested([i32, *types], types, depth)
        op = scf.ForOp.create(operands=[*bounds, *inits], result_types=types, regions=[region])
        self.block.add_op(op)
        self.values.extend(op.results)

    def while_loop(self, depth: int) -> None:
        inits = self.carried()
        types = [value.type for value in inits]
        before = self.nested(types, types, depth, extra=(i1,))
        after = self.nested(types, types, depth)
        op = scf.WhileOp.create(operands=inits, result_types=types, regions=[before, after])
        self.block.add_op(op)
        self.values.extend(op.results)

    def branch(self, depth: int) -> None:
        types = [value.type for value in self.carried()]
        condition = self.pick(i1)
        regions = [self.nested([], types, depth), self.nested([], types, depth)]
        op = scf.IfOp.create(operands=[condition], result_types=types, regions=regions)
        self.block.add_op(op)
        self.values.extend(op.results)


def make_program(rng: random.Random) -> tuple[ModuleOp, Block, list[int]]:
    """A module of one function, its entry block, and the promised divisibility of each argument."""
    generator = Generator(rng)
    entry = generator.block = Block(arg_types=ARGUMENTS)
    promised = [rng.choice((1, 4, 16)) if type_ != i1 else 1 for type_ in ARGUMENTS]
    hints = [DictionaryAttr({"tt.divisibility": IntegerAttr(d, i32)} if d > 1 else {}) for d in promised]
    generator.values = list(entry.args)
    for _ in range(2):
        generator.leaf()
    for _ in range(rng.randrange(6, 14)):
        generator.step(0)
    entry.add_op(tt.ReturnOp.create())
    function = tt.FuncOp.create(
        properties={"sym_name": StringAttr("f"), "arg_attrs": ArrayAttr(hints)}, regions=[Region(entry)]
    )
    return ModuleOp([function]), entry, promised
