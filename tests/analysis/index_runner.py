"""Runs random index programs on NumPy, and compares every value with what axis info claims of it.

In: a function's entry block, its analysis, arguments. Out: how many values were checked; `AssertionError` for a false claim. A run
that is undefined, or breaks an assumption of the analysis (no overflow, varying divisors are positive), ends with `Skip`.
"""

from __future__ import annotations

import operator
import random

import numpy as np
from index_programs import ARGUMENTS, is_pointer, pointee_size, shape_of, width_of
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from minitriton.analysis.axis_info.analysis import AxisInfoAnalysis
from minitriton.analysis.axis_info.lattice import AxisInfo


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
    if fact.constant_value is not None:
        assert (array == fact.constant_value).all(), (value, fact, array)
    if fact.non_negative and width_of(type_) > 1:
        assert (array >= 0).all(), (value, fact, array)
    for dim, size in enumerate(array.shape):
        moved = array if dim == array.ndim - 1 else array.swapaxes(dim, -1)
        contiguity, constancy = min(fact.contiguity[dim], size), min(fact.constancy[dim], size)
        if contiguity > 1:
            groups = moved.reshape(*moved.shape[:-1], size // contiguity, contiguity)
            steps = groups[..., 1:] - groups[..., :-1] - pointee_size(type_)
            assert (wrap(steps, width_of(type_)) == 0).all(), (value, fact, array)
        if constancy > 1:
            groups = moved.reshape(*moved.shape[:-1], size // constancy, constancy)
            assert (groups == groups[..., :1]).all(), (value, fact, array)
        if fact.divisibility[dim] > 1:
            assert (moved[..., ::contiguity] % fact.divisibility[dim] == 0).all(), (value, fact, array)


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
