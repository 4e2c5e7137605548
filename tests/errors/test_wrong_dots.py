"""Products that `tl.dot` refuses: each error is at the kernel's line and says what to do."""

# pyright: standard

from __future__ import annotations

import re
from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects.context import make_context
from minitriton.dialects.text import print_module
from minitriton.frontend.errors import CompilationError
from minitriton.pipeline.ast_source import ASTSource
from minitriton.target import CUDAOptions, GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


@triton.jit
def product(
    A: tl.constexpr, B: tl.constexpr, TA: tl.constexpr, TB: tl.constexpr, C: tl.constexpr, TC: tl.constexpr,
    OUT: tl.constexpr, PRECISION: tl.constexpr, IMPRECISE: tl.constexpr,
):  # fmt: skip
    acc = None if C is None else tl.zeros(C, TC)
    tl.dot(tl.zeros(A, TA), tl.zeros(B, TB), acc, PRECISION, None, IMPRECISE, OUT)


GOOD: dict[str, Any] = {
    "A": (16, 32), "B": (32, 16), "TA": tl.float16, "TB": tl.float16, "C": None, "TC": tl.float32,
    "OUT": tl.float32, "PRECISION": None, "IMPRECISE": None,
}  # fmt: skip


def compile_product(**given: Any) -> str:
    return first_ir(product, GOOD | given)


def first_ir(kernel: Any, constants: dict[str, Any]) -> str:
    """What the frontend makes of a kernel whose arguments are all known."""
    source = ASTSource(kernel, dict.fromkeys(constants, "constexpr"), constants)
    return print_module(source.make_ir(HOPPER, CUDAOptions.for_target(HOPPER), make_context()))


def test_the_product_that_the_others_are_made_of_is_one_dot() -> None:
    dots = re.findall(r"tt\.dot .*-> (tensor<\S+>)", compile_product())
    assert dots == ["tensor<16x16xf32>"]


@pytest.mark.parametrize(
    ("wrong", "help"),
    [
        ({"B": (64, 16)}, "tl.trans"),
        ({"A": (32,), "B": (32,)}, "[:, None]"),
        ({"A": (2, 16, 32), "B": (4, 32, 16)}, "[2] and [4]; broadcast"),
        ({"A": (16, 8), "B": (8, 16)}, "masked to 0"),
        ({"TB": tl.float32}, ".to("),
        ({"TA": tl.int32, "TB": tl.int32}, "int8"),
        ({"TA": tl.uint8, "TB": tl.uint8}, "cast uint8"),
        ({"C": (16, 32)}, "tl.zeros([16, 16]"),
        ({"C": (16, 16), "TC": tl.float64}, "begin with fp32"),
        ({"PRECISION": "tf16"}, "ieee"),
        ({"TA": tl.float8e5, "TB": tl.float8e5, "IMPRECISE": 64}, "0 to 32"),
        ({"TA": tl.float8e4b8, "TB": tl.float8e4b8}, "convert"),
    ],
)
def test_a_product_that_does_not_fit_is_refused_with_what_to_do(wrong: dict[str, Any], help: str) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_product(**wrong)
    assert caught.value.location is not None and caught.value.location.file == __file__
    assert help in (caught.value.help or "")


@triton.jit
def scaled(A: tl.constexpr, SA: tl.constexpr, B: tl.constexpr, SB: tl.constexpr, C: tl.constexpr, OUT: tl.constexpr):
    x, y = tl.zeros(A, tl.uint8), tl.zeros(B, tl.uint8)
    xs, ys = tl.zeros(SA, tl.uint8), tl.zeros(SB, tl.uint8)
    acc = None if C is None else tl.zeros(C, tl.float32)
    tl.dot_scaled(x, xs, "e5m2", y, ys, "e2m1", acc, out_dtype=OUT)


SCALED: dict[str, Any] = {"A": (64, 64), "SA": (64, 2), "B": (32, 32), "SB": (32, 2), "C": None, "OUT": tl.float32}


def compile_scaled(**given: Any) -> str:
    return first_ir(scaled, SCALED | given)


def test_the_scaled_product_that_the_others_are_made_of_is_one_dot() -> None:
    assert len(re.findall(r"tt\.dot_scaled .* lhs = e5m2 rhs = e2m1", compile_scaled())) == 1


@pytest.mark.parametrize(
    ("wrong", "help"),
    [
        ({"SA": (64, 4)}, "along k"),
        ({"SB": (2, 32)}, "k last"),
        ({"B": (64, 32), "SB": (32, 4)}, "k is 64 on the left and 128 on the right"),
        ({"C": (32, 64)}, "tl.zeros([64, 32]"),
        ({"OUT": tl.float16}, "cast the result"),
    ],
)
def test_a_scaled_product_that_does_not_fit_is_refused_with_what_to_do(wrong: dict[str, Any], help: str) -> None:
    with pytest.raises(CompilationError) as caught:
        compile_scaled(**wrong)
    assert help in (caught.value.help or "")
