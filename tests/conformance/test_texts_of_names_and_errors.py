# pyright: standard
"""Names of values in TTIR, their places, and what a `CompilationError` says, as programs look for them
(see `test_texts_that_programs_ask_for`; more errors are in `tests/frontend/test_errors.py`)."""

from __future__ import annotations

import re
import traceback

import pytest
from asked_texts import array

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.frontend.errors import CompilationError
from minitriton.target import GPUTarget

HOPPER = GPUTarget("cuda", 90, 32)


def ttir(kernel: triton.JITFunction, **signature: str) -> str:
    return triton.compile(ASTSource(kernel, signature, {}), target=HOPPER).asm["ttir"]


@triton.jit
def one_more(src, n):
    pid = tl.program_id(0)
    offset = pid * 16
    offsets = offset + tl.arange(0, 16)
    where = src + offsets
    mask = offsets < n
    more = tl.load(where, mask=mask) + 1
    tl.store(where, more, mask=mask)


def test_values_are_named_as_in_the_kernel_and_numbered_where_they_are_several() -> None:
    text = ttir(one_more, src="*fp32", n="i32")
    for line in (
        r"tt\.func public @one_more\(%src: !tt\.ptr<f32> loc\(\"src\"\(#loc\)\), %n: i32 loc\(\"n\"\(#loc\)\)\)",
        r"%more = arith\.constant dense<1\.000000e\+00> : tensor<16xf32> loc\(#loc\d+\)",
        r"%c16_i32 = arith\.constant 16 : i32 loc\(#loc\d+\)",
        r"%pid = tt\.get_program_id x : i32",
        r"%offset = arith\.muli %pid, %c16_i32 : i32",
        r"%offsets = tt\.make_range \{end = 16 : i32, start = 0 : i32\} : tensor<16xi32>",
        r"%offsets_0 = tt\.splat %offset : i32 -> tensor<16xi32>",
        r"%offsets_1 = arith\.addi %offsets_0, %offsets : tensor<16xi32>",
        r"%where = tt\.splat %src : !tt\.ptr<f32> -> tensor<16x!tt\.ptr<f32>>",
        r"%where_2 = tt\.addptr %where, %offsets_1 : tensor<16x!tt\.ptr<f32>>, tensor<16xi32>",
        r"%mask = tt\.splat %n : i32 -> tensor<16xi32>",
        r"%mask_3 = arith\.cmpi slt, %offsets_1, %mask : tensor<16xi32>",
        r"%more_4 = tt\.load %where_2, %mask_3 : tensor<16x!tt\.ptr<f32>>",
        r"%more_5 = arith\.addf %more_4, %more : tensor<16xf32>",
        r"tt\.store %where_2, %more_5, %mask_3 : tensor<16x!tt\.ptr<f32>>",
    ):
        found = re.search(line, text)
        assert found, line
        text = text[found.end() :]
    for name in ("more", "pid", "offset", "offsets", "where", "mask"):
        assert re.search(rf'^#loc\d+ = loc\("{name}"\(#loc\d+\)\)$', text, re.MULTILINE), name


@triton.jit
def counts(n):
    for step in range(n):
        tl.device_print("", step)


@triton.jit
def doubles(n):
    row = tl.arange(0, 16)
    for _step in range(n):
        row += row
    tl.device_print("", row)


@triton.jit
def grows(n):
    row = tl.arange(0, 16)
    if n > 2:
        row *= 2
    else:
        row *= 4
    tl.device_print("", row)


@triton.jit
def multiplies(n):
    row = tl.arange(0, 16)
    step = 0
    while step < n:
        step += 1
        row *= step
    tl.device_print("", row)


@pytest.mark.parametrize(
    ("kernel", "lines"),
    [
        (counts, [r"scf\.for %step = %c0_i32 to %n step %c1_i32"]),
        (
            doubles,
            [
                r"%row = tt\.make_range \{end = 16 : i32, start = 0 : i32\} : tensor<16xi32>",
                r"%row_0 = scf\.for %_step = %c0_i32 to %n step %c1_i32 iter_args\(%row_1 = %row\) -> \(tensor<16xi32>\)",
                r"%row_2 = arith\.addi %row_1, %row_1 : tensor<16xi32>",
                r"scf\.yield %row_2 : tensor<16xi32>",
            ],
        ),
        (
            grows,
            [
                r"%row_1 = arith\.muli %row, %cst_0 : tensor<16xi32>",
                r"scf\.yield %row_1 : tensor<16xi32>",
                r"%row_1 = arith\.muli %row, %cst : tensor<16xi32>",
                r"scf\.yield %row_1 : tensor<16xi32>",
            ],
        ),
        (
            multiplies,
            [
                r"%(step_\d+):2 = scf\.while \(%row_\d+ = %row, %step_\d+ = %step\) : \(tensor<16xi32>, i32\) -> \(tensor<16xi32>, i32\)",
                r"arith\.cmpi slt, %step_\d+, %n : i32",
                r"\^bb0\(%row_\d+: tensor<16xi32> loc\(\"row\"",
                r"%step_\d+ = arith\.addi %step_\d+, %c1_i32 : i32",
                r"scf\.yield %row_\d+, %step_\d+ : tensor<16xi32>, i32",
                r'tt\.print ": " \{hex = false, isSigned = array<i32: 1>\} : %step_\d+#0 : tensor<16xi32>',
            ],
        ),
    ],
    ids=["for", "carried", "if", "while"],
)
def test_loops_and_branches_name_what_they_carry(kernel: triton.JITFunction, lines: list[str]) -> None:
    text = ttir(kernel, n="i32")
    for line in lines:
        found = re.search(line, text)
        assert found, line
        text = text[found.end() :]


@triton.jit
def smaller(x, y):
    if x < y:
        return x
    return y


@triton.jit
def smaller_of_each(x, y):
    at = tl.arange(0, 4)
    tl.device_print("", tl.map_elementwise(smaller, tl.load(x + at), tl.load(y + at)))


def test_what_is_mapped_over_elements_has_places() -> None:
    text = smaller_of_each.warmup(array(tl.float32), array(tl.float32), grid=(1,)).asm["ttir"]
    assert "loc(unknown)" not in text


# Errors ---------------------------------------------------------------------------------------------------------------


@triton.jit
def too_imprecise():
    a = tl.full((64, 64), 0.0, tl.float8e5)
    tl.dot(a, a, max_num_imprecise_acc=128)


@triton.jit
def wrongly_scaled():
    a = tl.full((32, 64), 0, tl.uint8)
    b = tl.full((64, 32), 0, tl.uint8)
    tl.dot_scaled(a, tl.full((32, 4), 0, tl.uint8), "e5m2", b, tl.full((32, 2), 0, tl.uint8), "e5m2")


@triton.jit
def too_short(DTYPE: tl.constexpr):
    a = tl.full((8, 8), 0, DTYPE)
    tl.dot(a, a)


@triton.jit
def seven():
    tl.arange(2, 9)


@triton.jit
def thirty_three():
    tl.full((33,), 0, dtype=tl.int64)


@triton.jit
def adds_nothing():
    0 + "a"  # noqa: B018


@triton.jit
def expands_nothing():
    tl.expand_dims(None, -1)


@triton.must_use_result("It is pure.")
@triton.jit
def cubed(x):
    return x * x * x


@triton.jit
def drops_a_result():
    cubed(tl.full((64, 64), 0.0, tl.float32))


def refused(kernel: triton.JITFunction, **constants: object) -> CompilationError:
    with pytest.raises(CompilationError) as found:
        triton.compile(ASTSource(kernel, dict.fromkeys(constants, "constexpr"), constants), target=HOPPER)
    return found.value


@pytest.mark.parametrize(
    ("kernel", "cause"),
    [
        (too_imprecise, "max_num_imprecise_acc (128) must be <= K (64)"),
        (wrongly_scaled, "lhs_scale must be a tensor of shape [32, 2]. Got ['32', '4']"),
        (seven, "arange's range must be a power of 2"),
        (thirty_three, "Shape element 0 must be a power of 2"),
    ],
)
def test_the_cause_of_an_error_is_said_word_for_word(kernel: triton.JITFunction, cause: str) -> None:
    assert str(refused(kernel).__cause__) == cause


@pytest.mark.parametrize(("dtype", "k"), [(tl.float8e5, 32), (tl.int8, 32), (tl.float16, 16)])
def test_a_dot_that_is_too_short_says_how_long_it_has_to_be(dtype: tl.dtype, k: int) -> None:
    assert f"M >= 1, N >= 1 and K >= {k}" in str(refused(too_short, DTYPE=dtype).__cause__)


@pytest.mark.parametrize("kernel", [adds_nothing, expands_nothing])
def test_an_error_names_the_line_and_column_in_the_kernel(kernel: triton.JITFunction) -> None:
    said = "\n".join(traceback.format_exception(refused(kernel), chain=False))
    assert "at 2:4:" in said
    assert "<source unavailable>" not in said and "code_generator.py" not in said


def test_an_error_inside_the_language_has_a_cause_that_points_there() -> None:
    cause = refused(expands_nothing).__cause__
    assert cause is not None
    said = "\n".join(traceback.format_exception(cause, chain=False))
    assert "/core.py" in said and "code_generator.py" not in said


def test_a_result_that_has_to_be_used_is_named() -> None:
    assert "The result of cubed is not being used. It is pure." in str(refused(drops_a_result))
