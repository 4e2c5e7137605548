"""Random integer programs: scalars and tensors of all widths through arithmetic that wraps, loops, branches and assumptions.

In: a `random.Random`. Out: a module with a function `f(out, i8, i16, i32, i32, i64, i64)` that stores what it computed, 8 numbers of 64 bits each,
and how many. Nothing in it is undefined: divisors are odd or numbers that are not zero, shifts shorter than the type.
"""

from __future__ import annotations

import random

from xdsl.dialects import scf
from xdsl.dialects.builtin import FunctionType, IntegerType, ModuleOp, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from minitriton.dialects import arith, llvm, math, tt
from minitriton.dialects.tt.types import pointer_type, tensor_type
from minitriton.rewriting.constants import constant_op, element_type, int_attr, width_of

LENGTH = 8
"""Elements of every tensor."""
STORED = 12
"""Values that a program stores."""
WIDTHS = (8, 16, 32, 64)
ARGUMENTS = (8, 16, 32, 32, 64, 64)

_PLAIN = (
    arith.AddiOp, arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp,
    arith.MinSIOp, arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp,
)  # fmt: skip
_DIVISIONS = (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)
_SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)


class Generator:
    """Adds ops to `block`; `values` are those that the next one may use."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.block = Block()
        self.values: list[SSAValue] = []

    def put(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        if op.results:
            self.values.append(op.results[0])
            return op.results[0]
        return self.values[-1]

    def constant(self, type_: Attribute, number: int | None = None) -> SSAValue:
        if number is None:
            bits = self.rng.randrange(width_of(type_) + 1)
            number = self.rng.choice((0, 1, 2, 3, 7, 8, 16, 48, 100, -1, -2, (1 << bits) - 1, 1 << bits, -(1 << bits)))
        return self.put(constant_op(int_attr(type_, number)))

    def some(self, type_: Attribute) -> SSAValue:
        found = [value for value in self.values if value.type == type_]
        return self.rng.choice(found[-12:]) if found and self.rng.random() < 0.85 else self.constant(type_)

    def any(self) -> SSAValue:
        return self.rng.choice([value for value in self.values if width_of(value.type) > 1][-16:])

    def steps(self, count: int, depth: int = 0) -> None:
        for _ in range(count):
            self.step(depth)

    def step(self, depth: int) -> None:
        kinds = [self.binary] * 7 + [self.division] * 5 + [self.cast] * 6 + [self.compare] * 2 + [self.select] * 2
        kinds += [self.shift, self.shift, self.leaf, self.leaf, self.tensor, self.tensor, self.absolute]
        kind = self.rng.choice(kinds)
        if depth < 2 and self.rng.random() < 0.12:
            self.rng.choice((self.loop, self.branch))(depth)
        else:
            kind()

    def leaf(self) -> None:
        axis = self.rng.randrange(3)
        ops = (
            tt.GetProgramIdOp(axis),
            tt.GetNumProgramsOp(axis),
            tt.MakeRangeOp(tensor_type((LENGTH,), i32), start=0, end=LENGTH),
        )
        self.put(self.rng.choice(ops))

    def binary(self) -> None:
        left = self.any()
        self.put(self.rng.choice(_PLAIN)(left, self.some(left.type)))

    def division(self) -> None:
        """Divisors are numbers that are not zero, or odd; the least number is not divided by -1."""
        left = self.any()
        type_ = left.type
        if self.rng.random() < 0.6:
            divisor = self.constant(type_, self.rng.choice((1, 2, 3, 4, 7, 16, 48, 100, -2, -3, -16)))
        else:
            divisor = self.put(arith.OrIOp(self.some(type_), self.constant(type_, 1)))
            if self.rng.random() < 0.5:
                divisor = self.put(arith.AndIOp(divisor, self.constant(type_, 63)))
            else:
                left = self.put(arith.MaxSIOp(left, self.constant(type_, 1 - (1 << (width_of(type_) - 1)))))
        self.put(self.rng.choice(_DIVISIONS)(left, divisor))

    def shift(self) -> None:
        left = self.any()
        width = width_of(left.type)
        if self.rng.random() < 0.6:
            amount = self.constant(left.type, self.rng.randrange(width))
        else:
            amount = self.put(arith.AndIOp(self.some(left.type), self.constant(left.type, width - 1)))
        self.put(self.rng.choice(_SHIFTS)(left, amount))

    def absolute(self) -> None:
        self.put(math.AbsIOp(self.any()))

    def compare(self) -> None:
        left = self.any()
        self.put(arith.CmpiOp(left, self.some(left.type), self.rng.randrange(10)))

    def select(self) -> None:
        left = self.any()
        condition = i1 if element_type(left.type) is left.type else tensor_type((LENGTH,), i1)
        self.put(arith.SelectOp(self.some(condition), left, self.some(left.type)))

    def cast(self) -> None:
        source = self.any()
        width = self.rng.choice([w for w in (1, *WIDTHS, 64) if w != width_of(source.type)] or [32])
        if width == width_of(source.type):
            return
        scalar = IntegerType(width)
        type_ = scalar if element_type(source.type) is source.type else tensor_type((LENGTH,), scalar)
        wider = width > width_of(source.type)
        self.put((self.rng.choice((arith.ExtSIOp, arith.ExtUIOp)) if wider else arith.TruncIOp)(source, type_))

    def tensor(self) -> None:
        scalars = [value for value in self.values if element_type(value.type) is value.type]
        value = self.rng.choice(scalars[-12:])
        self.put(tt.SplatOp(value, tensor_type((LENGTH,), value.type)))

    def nested(self, arguments: list[Attribute], types: list[Attribute], depth: int) -> Region:
        outer, known = self.block, self.values
        self.block = Block(arg_types=arguments)
        self.values = [*known, *self.block.args]
        self.steps(self.rng.randrange(1, 6), depth + 1)
        yielded = [self.some(type_) for type_ in types]
        if len(arguments) > 1 and self.rng.random() < 0.5:
            carried = self.block.args[1]
            yielded[0] = self.put(arith.AddiOp(carried, self.some(carried.type)))
        self.block.add_op(scf.YieldOp.create(operands=yielded))
        region = Region(self.block)
        self.block, self.values = outer, known
        return region

    def loop(self, depth: int) -> None:
        """At most eight times round, whatever the bounds are."""
        type_ = self.rng.choice((i32, i32, i64))
        step = self.constant(type_, self.rng.choice((1, 2, 5)))
        low = self.put(arith.AndIOp(self.some(type_), self.constant(type_, self.rng.choice((7, 1 << 20, -1 << 12)))))
        more = self.put(arith.AndIOp(self.some(type_), self.constant(type_, 7)))
        high = self.put(arith.AddiOp(low, more))
        inits = [self.any() for _ in range(self.rng.randrange(3))]
        types = [value.type for value in inits]
        body = self.nested([type_, *types], types, depth)
        op = scf.ForOp.create(operands=[low, high, step, *inits], result_types=types, regions=[body])
        self.block.add_op(op)
        self.values.extend(op.results)

    def branch(self, depth: int) -> None:
        types = [self.any().type for _ in range(self.rng.randrange(1, 3))]
        condition = self.some(i1)
        regions = [self.nested([], types, depth), self.nested([], types, depth)]
        op = scf.IfOp.create(operands=[condition], result_types=types, regions=regions)
        self.block.add_op(op)
        self.values.extend(op.results)


def assume(generator: Generator, value: SSAValue, number: int) -> None:
    """A comparison of an argument with a number that holds of the argument that the program is run with."""
    rng = generator.rng
    predicate, bound = rng.choice(((2, number + 3), (3, number), (4, number - 7), (5, number)))
    half = 1 << (width_of(value.type) - 1)
    if -half <= bound < half:
        limit = generator.constant(value.type, bound)
        condition = generator.put(arith.CmpiOp(value, limit, predicate))
        generator.block.add_op(llvm.AssumeOp(condition))


def make_program(rng: random.Random, arguments: list[int]) -> ModuleOp:
    """A module of one function `f`; what it assumes holds of `arguments`."""
    generator = Generator(rng)
    types: list[Attribute] = [pointer_type(i64), *(IntegerType(width) for width in ARGUMENTS)]
    entry = generator.block = Block(arg_types=types)
    out, *numbers = entry.args
    generator.values = list(numbers)
    for value, number in zip(numbers, arguments, strict=True):
        if rng.random() < 0.5:
            assume(generator, value, number)
    generator.steps(rng.randrange(8, 40))
    wide = tensor_type((LENGTH,), i64)
    places = generator.put(tt.MakeRangeOp(tensor_type((LENGTH,), i32), start=0, end=LENGTH))
    for number, value in enumerate(generator.values[-1 - STORED : -1]):
        if element_type(value.type) is value.type:
            value = generator.put(tt.SplatOp(value, tensor_type((LENGTH,), value.type)))
        if width_of(value.type) < 64:
            value = generator.put(arith.ExtSIOp(value, wide))
        start = generator.put(tt.AddPtrOp(out, generator.constant(i32, number * LENGTH)))
        pointers = generator.put(tt.SplatOp(start, tensor_type((LENGTH,), out.type)))
        generator.block.add_op(tt.StoreOp(generator.put(tt.AddPtrOp(pointers, places)), value))
    entry.add_op(tt.ReturnOp.create())
    function = tt.FuncOp("f", FunctionType.from_lists(types, []), Region(entry), visibility="public")
    return ModuleOp([function])


def random_arguments(rng: random.Random) -> list[int]:
    """Numbers for the integer arguments: small ones, and those at the ends of the types."""
    found = []
    for width in ARGUMENTS:
        half = 1 << (width - 1)
        number = rng.choice((0, 1, 5, -1, -3, 100, half - 1, -half, rng.randrange(-half, half)))
        found.append(max(-half, min(half - 1, number)))
    return found
