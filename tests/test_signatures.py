"""What signatures on command lines may give to parameters that are compiled in."""

from __future__ import annotations

import enum

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.commands.signature import Parameter, parse_signature
from minitriton.errors import MinitritonError


class Mode(enum.IntEnum):
    FAST = 2


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def kernel(x, n, ACC: tl.constexpr, ACT: tl.constexpr = None):
    tl.store(x, n)


def given(text: str) -> list[Parameter]:
    return parse_signature(text, kernel)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("fp32", tl.float32), ("tl.float32", tl.float32), ("float8e4nv", tl.float8e4nv), ("fp8e5", tl.float8e5), ("i1", tl.int1), ("*fp16", tl.pointer_type(tl.float16)),
        ("None", None), ("True", True), ("1024", 1024), ("0.5", 0.5), ("-1", -1), ("'fp32'", "fp32"), ("'a,b'", "a,b"), ("relu", "relu"), ("(64, 32)", (64, 32)),
        ("(fp32, @twice, None, (1, bf16))", (tl.float32, twice, None, (1, tl.bfloat16))), ("@twice", twice), ("@Mode.FAST", Mode.FAST), ("@tl.sum", tl.sum),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["", "ACC="])
def test_values_of_every_kind_have_a_spelling(text: str, value: object, name: str) -> None:
    acc = given(f"*fp32:16,i32,{name}{text}")[2]
    assert acc == Parameter("ACC", "constexpr", constant=value, is_constant=True)
    assert type(acc.constant) is type(value)


def test_what_is_not_compiled_in_is_a_type() -> None:
    assert [p.type_name for p in given("n=fp32,ACC=i64,*fp32")] == ["*fp32", "fp32", "constexpr", "constexpr"]


@pytest.mark.parametrize(("text", "word"), [("@nothing", "nothing"), ("@Mode.SLOW", "SLOW")])
def test_a_name_that_the_file_does_not_have_is_an_error(text: str, word: str) -> None:
    with pytest.raises(MinitritonError, match=word):
        given(f"*fp32,i32,{text}")


def test_the_example_compiles_with_an_element_type(capsys: pytest.CaptureFixture[str]) -> None:
    from minitriton.commands.cli import main

    signature = "*fp16:16,*fp16:16,*fp16:16,i32,i32,i32,i32:16,1,i32:16,1,i32:16,64,64,32,4,ACC=tl.float32"
    assert main(["compile", "minitriton_kernels/matmul.py:matmul", "--signature", signature, "--emit", "ttir"]) == 0
    assert "-> tensor<64x64xf32>" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("*fp3,i32,4", "x"),
        ("*fp32,int,4", "n"),
        ("n=relu,*fp32,4", "n"),
        ("*fp32,i32:8,4", "n"),
        ("n=foo:16,*fp32,4", "n"),
    ],
)
def test_what_is_no_type_is_said_of_its_own_parameter(text: str, parameter: str) -> None:
    with pytest.raises(MinitritonError, match=f"parameter '{parameter}' (is given|has an unknown hint)"):
        given(text)
