"""Integer ops on every pair of 8-bit numbers, against arithmetic in Python's own integers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.ir import Operation

from minitriton.dialects.text import parse_module
from minitriton.interpreter import launch as meanings


def the_op(line: str, arguments: str) -> Operation:
    module = parse_module(f"tt.func @f({arguments}) {{\n{line}\ntt.return\n}}")
    return next(op for op in module.walk() if op.name == line.split("=")[1].split()[0])


def meaning(line: str, arguments: str) -> Callable[..., np.ndarray]:
    op = the_op(line, arguments)
    return meanings.PURE_OPS.of(op)(op)


A, B = (grid.reshape(-1) for grid in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128)))
A, B = A.astype(np.int8), B.astype(np.int8)


def wrap(value: int) -> int:
    return (value + 128) % 256 - 128


def toward_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divsi": toward_zero,
    "remsi": lambda a, b: a - b * toward_zero(a, b),
    "floordivsi": lambda a, b: a // b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxsi": max,
    "minsi": min,
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "maxui": max,
    "minui": min,
}
SHIFTS: dict[str, Callable[[int, int], int]] = {
    "shli": lambda a, b: a << b,
    "shrsi": lambda a, b: a >> b,
    "shrui": lambda a, b: (a & 255) >> b,
}


def run(name: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    type_ = f"tensor<{a.size}xi8>" if a.size & (a.size - 1) == 0 else "tensor<1xi8>"
    with np.errstate(all="ignore"):
        return meaning(f"%r = arith.{name} %a, %b : {type_}", f"%a: {type_}, %b: {type_}")(a, b)


@pytest.mark.parametrize("name", SIGNED)
def test_signed_ops(name: str):
    keep = B != 0 if "div" in name or "rem" in name else B == B
    a, b = A[keep], B[keep]
    expected = [wrap(SIGNED[name](x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert run(name, a, b).tolist() == expected


@pytest.mark.parametrize("name", UNSIGNED)
def test_unsigned_ops(name: str):
    keep = B != 0
    a, b = A[keep], B[keep]
    expected = [wrap(UNSIGNED[name](x & 255, y & 255)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert run(name, a, b).tolist() == expected


@pytest.mark.parametrize("name", SHIFTS)
def test_shifts(name: str):
    keep = (B >= 0) & (B < 8)
    a, b = A[keep], B[keep]
    expected = [wrap(SHIFTS[name](x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert run(name, a, b).tolist() == expected


@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        ("eq", lambda a, b: a == b),
        ("ne", lambda a, b: a != b),
        ("slt", lambda a, b: a < b),
        ("sle", lambda a, b: a <= b),
        ("sgt", lambda a, b: a > b),
        ("sge", lambda a, b: a >= b),
        ("ult", lambda a, b: a & 255 < b & 255),
        ("ule", lambda a, b: a & 255 <= b & 255),
        ("ugt", lambda a, b: a & 255 > b & 255),
        ("uge", lambda a, b: a & 255 >= b & 255),
    ],
)
def test_comparisons(predicate: str, holds: Callable[[int, int], bool]):
    type_ = f"tensor<{A.size}xi8>"
    compare = meaning(f"%r = arith.cmpi {predicate}, %a, %b : {type_}", f"%a: {type_}, %b: {type_}")
    assert compare(A, B).tolist() == [holds(x, y) for x, y in zip(A.tolist(), B.tolist(), strict=True)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%r = arith.addi %a, %b : tensor<4xi1>", [False, True, True, False]),
        ("%r = arith.muli %a, %b : tensor<4xi1>", [False, False, False, True]),
        ("%r = arith.cmpi slt, %a, %b : tensor<4xi1>", [False, False, True, False]),
        ("%r = arith.cmpi ult, %a, %b : tensor<4xi1>", [False, True, False, False]),
        ("%r = arith.maxsi %a, %b : tensor<4xi1>", [False, False, False, True]),
        ("%r = arith.maxui %a, %b : tensor<4xi1>", [False, True, True, True]),
    ],
)
def test_bits_are_numbers_of_one_bit(line: str, expected: list[bool]):
    a, b = np.array([0, 0, 1, 1], np.bool_), np.array([0, 1, 0, 1], np.bool_)
    assert meaning(line, "%a: tensor<4xi1>, %b: tensor<4xi1>")(a, b).tolist() == expected


def test_casts_of_integers():
    def cast(name: str, source: str, target: str, values: np.ndarray) -> list[int]:
        return meaning(f"%r = arith.{name} %a : tensor<2x{source}> to tensor<2x{target}>", f"%a: tensor<2x{source}>")(
            values
        ).tolist()

    assert cast("extsi", "i8", "i32", np.array([-1, 127], np.int8)) == [-1, 127]
    assert cast("extui", "i8", "i32", np.array([-1, 127], np.int8)) == [255, 127]
    assert cast("trunci", "i32", "i8", np.array([300, -129], np.int32)) == [44, 127]
    assert cast("extsi", "i1", "i32", np.array([True, False])) == [-1, 0]
    assert cast("extui", "i1", "i32", np.array([True, False])) == [1, 0]
    assert cast("trunci", "i32", "i1", np.array([3, 2], np.int32)) == [True, False]


def test_the_upper_half_of_a_product():
    type_ = "tensor<2xi64>"
    high = meaning(f"%r = tt.mulhiui %a, %b : {type_}", f"%a: {type_}, %b: {type_}")
    a, b = np.array([-1, 1 << 40], np.int64), np.array([-1, 1 << 40], np.int64)
    assert high(a, b).tolist() == [-2, 1 << 16]


def test_bit_counts():
    values = np.array([0, 1, -1, 40], np.int8)

    def count(name: str) -> list[int]:
        return meaning(f"%r = math.{name} %a : tensor<4xi8>", "%a: tensor<4xi8>")(values).tolist()

    assert count("ctpop") == [0, 1, 8, 2]
    assert count("ctlz") == [8, 7, 0, 2]
    assert count("cttz") == [8, 0, 0, 3]
