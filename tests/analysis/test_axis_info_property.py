"""No claim of axis info is false: random index programs, every value of every run compared with what is claimed of it.

A program is a `tt.func` of integer and pointer expressions over ranges, constants and arguments of either sign, with loops
and branches. It is run on NumPy integers of the width of its types. Runs that break an assumption of the analysis (an
overflow, a varying divisor that is not positive) or that are undefined are not counted.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import numpy as np
import pytest
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

from minitriton.analysis.axis_fact import AxisInfo
from minitriton.analysis.axis_info import AxisInfoAnalysis
from minitriton.dialects import arith, tt
from minitriton.dialects.tt_types import PointerType, pointer_type, tensor_type

PROGRAMS = 10_000
RUNS = 3
OPS: dict[str, type[Operation]] = {
    op.name: op
    for dialect in (arith, tt)
    for op in vars(dialect).values()
    if isinstance(op, type) and issubclass(op, Operation) and hasattr(op, "name")
}
POINTEES = (IntegerType(8), IntegerType(16), i32, IntegerType(64))


class Skip(Exception):
    """This run is undefined, or breaks an assumption of the analysis."""


def wrap(value, width):
    if width == 1:
        return value & 1
    if width == 64:
        return value
    half = 1 << (width - 1)
    return ((value + half) & ((1 << width) - 1)) - half


def exact(value, width):
    """`value` if it fits the type; an overflow ends the run."""
    if np.any(wrap(value, width) != value):
        raise Skip
    return value


def truncated_divide(a, b):
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient)


def as_unsigned(value, width):
    if width == 64 and np.any(value < 0):
        raise Skip
    return value & ((1 << width) - 1) if width < 64 else value


def as_signed(value, width):
    return -value if width == 1 else value


def product(a, b, width):
    if np.any(np.abs(np.asarray(a, np.float64) * np.asarray(b, np.float64)) > 2.0**62):
        raise Skip
    return exact(a * b, width)


COMPARE = (
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
)


def width_of(type_: Attribute) -> int:
    element = type_.element_type if isinstance(type_, TensorType) else type_
    return element.width.data if isinstance(element, IntegerType) else 64


def shape_of(type_: Attribute) -> tuple[int, ...]:
    return type_.get_shape() if isinstance(type_, TensorType) else ()


def pointee_size(type_: Attribute) -> int:
    element = type_.element_type if isinstance(type_, TensorType) else type_
    return element.pointee_type.width.data // 8 if isinstance(element, PointerType) else 1


def divide(op, a, b, width):
    if np.any(b == 0):
        raise Skip
    constant = isinstance(op.operands[1].owner, Operation) and op.operands[1].owner.name == "arith.constant"
    if not constant and np.any(b < 0):
        raise Skip
    if op.name.endswith("ui"):
        a, b = as_unsigned(a, width), as_unsigned(b, width)
        return wrap(a // b if "div" in op.name else a % b, width)
    quotient = truncated_divide(a, b)
    return exact(quotient, width) if "div" in op.name else a - b * quotient


def shift(op, a, b, width):
    if np.any((b < 0) | (b >= width)):
        raise Skip
    if op.name == "arith.shli":
        return product(a, np.int64(1) << np.minimum(b, 62), width)
    return wrap(as_unsigned(a, width) >> b, width) if op.name == "arith.shrui" else a >> b


def binary(op, a, b, width):
    name = op.name
    if name == "arith.addi":
        return exact(a + b, width)
    if name == "arith.subi":
        return exact(a - b, width)
    if name == "arith.muli":
        return product(a, b, width)
    if name.startswith(("arith.div", "arith.rem")):
        return divide(op, a, b, width)
    if name.startswith("arith.sh"):
        return shift(op, a, b, width)
    if name in ("arith.andi", "arith.ori", "arith.xori"):
        return {"arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor}[name](a, b)
    pick = np.maximum if "max" in name else np.minimum
    if name.endswith("ui"):
        return wrap(pick(as_unsigned(a, width), as_unsigned(b, width)), width)
    return pick(a, b)


def evaluate(op: Operation, values: list, rng: random.Random):
    """The value of an op without control flow, as int64 (an i1 is 0 or 1, a pointer its address)."""
    name = op.name
    type_ = op.results[0].type
    width = width_of(type_)
    if name == "arith.constant":
        attribute = op.properties["value"]
        if isinstance(attribute, IntegerAttr):
            return np.int64(wrap(attribute.value.data, width))
        return np.full(shape_of(type_), wrap(attribute.get_values()[0], width), np.int64)
    if name == "tt.make_range":
        return np.arange(op.properties["start"].value.data, op.properties["end"].value.data, dtype=np.int64)
    if name == "tt.get_program_id":
        return np.int64(rng.choice((0, 1, 2, 3, 7, 100)))
    if name == "tt.splat":
        return np.full(shape_of(type_), values[0], np.int64)
    if name == "tt.expand_dims":
        return np.expand_dims(values[0], op.properties["axis"].value.data)
    if name == "tt.broadcast":
        return np.broadcast_to(values[0], shape_of(type_))
    if name == "tt.trans":
        return np.transpose(values[0], op.properties["order"].get_values())
    if name == "tt.addptr":
        return values[0] + values[1] * pointee_size(type_)
    if name == "tt.bitcast":
        return values[0]
    if name == "arith.cmpi":
        predicate = op.properties["predicate"].value.data
        width = width_of(op.operands[0].type)
        read = as_unsigned if predicate > 5 else as_signed
        return COMPARE[predicate](read(values[0], width), read(values[1], width)).astype(np.int64)
    if name == "arith.select":
        return np.where(values[0] != 0, values[1], values[2])
    if name == "arith.extsi":
        return -values[0] if width_of(op.operands[0].type) == 1 else values[0]
    if name == "arith.extui":
        return as_unsigned(values[0], width_of(op.operands[0].type))
    if name == "arith.trunci":
        return exact(values[0], width) if width > 1 else values[0] & 1
    return binary(op, values[0], values[1], width)


class Run:
    """One execution: every value is checked against its fact when it gets its value."""

    def __init__(self, analysis: AxisInfoAnalysis, rng: random.Random) -> None:
        self.analysis = analysis
        self.rng = rng
        self.env: dict[SSAValue, np.ndarray] = {}
        self.checked = 0

    def set(self, value: SSAValue, concrete) -> None:
        self.env[value] = concrete
        check(self.analysis.get(value), np.asarray(concrete), value.type, value)
        self.checked += 1

    def block(self, block: Block) -> list:
        for op in block.ops:
            values = [self.env[operand] for operand in op.operands]
            if op.name == "scf.for":
                self.loop(op, values)
            elif op.name == "scf.while":
                self.while_loop(op, values)
            elif op.name == "scf.if":
                region = op.regions[0 if values[0] else 1]
                for result, value in zip(op.results, self.block(region.block), strict=True):
                    self.set(result, value)
            elif op.results:
                self.set(op.results[0], evaluate(op, values, self.rng))
            elif op is block.last_op:
                return values
        return []

    def loop(self, op: Operation, values: list) -> None:
        lower, upper, step, *carried = values
        if step <= 0:
            raise Skip
        body = op.regions[0].block
        for index in range(int(lower), min(int(upper), int(lower) + 3 * int(step)), int(step)):
            self.set(body.args[0], np.int64(index))
            for argument, value in zip(body.args[1:], carried, strict=True):
                self.set(argument, value)
            carried = self.block(body)
        for result, value in zip(op.results, carried, strict=True):
            self.set(result, value)

    def while_loop(self, op: Operation, values: list) -> None:
        before, after = op.regions[0].block, op.regions[1].block
        for _ in range(3):
            for argument, value in zip(before.args, values, strict=True):
                self.set(argument, value)
            condition, *passed = self.block(before)
            if not condition:
                for result, value in zip(op.results, passed, strict=True):
                    self.set(result, value)
                return
            for argument, value in zip(after.args, passed, strict=True):
                self.set(argument, value)
            values = self.block(after)
        raise Skip


def check(fact: AxisInfo, concrete: np.ndarray, type_: Attribute, value: object = None) -> None:
    """Raise `AssertionError` if a claim of `fact` does not hold of `concrete`."""
    array = concrete.reshape(-1) if concrete.ndim == 0 else concrete
    width, unit = width_of(type_), pointee_size(type_)
    if fact.constant_value is not None:
        assert np.all(array == fact.constant_value), (value, fact, array)
    if fact.non_negative and width > 1:
        assert np.all(array >= 0), (value, fact, array)
    for dim, size in enumerate(array.shape):
        moved = np.moveaxis(array, dim, -1)
        contiguity, constancy = min(fact.contiguity[dim], size), min(fact.constancy[dim], size)
        if contiguity > 1:
            groups = moved.reshape(*moved.shape[:-1], size // contiguity, contiguity)
            assert np.all(wrap(groups[..., 1:] - groups[..., :-1] - unit, width) == 0), (value, fact, array)
        if constancy > 1:
            groups = moved.reshape(*moved.shape[:-1], size // constancy, constancy)
            assert np.all(groups == groups[..., :1]), (value, fact, array)
        if fact.divisibility[dim] > 1:
            assert np.all(moved[..., ::contiguity] % fact.divisibility[dim] == 0), (value, fact, array)


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
        value = wrap(value, width)
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


def is_pointer(type_: Attribute) -> bool:
    return isinstance(element_of(type_), PointerType)


def element_of(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, TensorType) else type_


ARGUMENTS = (i32, i32, IntegerType(64), i1, pointer_type(i32), pointer_type(IntegerType(16)))


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


def random_arguments(rng: random.Random, promised: list[int]) -> list:
    arguments = []
    for type_, divisor in zip(ARGUMENTS, promised, strict=True):
        if type_ == i1:
            arguments.append(np.int64(rng.randrange(2)))
        elif is_pointer(type_):
            arguments.append(np.int64(rng.randrange(1, 1000) * 2 * divisor))
        else:
            arguments.append(np.int64(rng.choice((0, 1, 2, 3, 5, 8, 33, -1, -2, -3, -7, -33)) * divisor))
    return arguments


def run_program(seed: int) -> int:
    """Make and run program `seed`; the number of values that were checked."""
    rng = random.Random(seed)
    module, entry, promised = make_program(rng)
    analysis = AxisInfoAnalysis(module)
    checked = 0
    for _ in range(RUNS):
        run = Run(analysis, rng)
        try:
            for argument, value in zip(entry.args, random_arguments(rng, promised), strict=True):
                run.set(argument, value)
            run.block(entry)
        except Skip:
            pass
        checked += run.checked
    return checked


@pytest.mark.parametrize("part", range(4))
def test_no_claim_about_a_random_program_is_false(part: int):
    share = PROGRAMS // 4
    checked = sum(run_program(seed) for seed in range(part * share, (part + 1) * share))
    assert checked > 10 * share
