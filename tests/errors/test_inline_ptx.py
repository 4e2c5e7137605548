"""Inline PTX whose operands or constraints are wrong is refused at its line; LLVM would end the process for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minitriton as triton
import minitriton.language as tl


@triton.jit
def runs(x, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tl.arange(0, 64)
    value = tl.load(x + i)
    result = tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [value], dtype=tl.int32, is_pure=True, pack=1)  # wrong
    tl.store(x + i, result)


def compiled(text: str, constraints: str) -> Any:
    return runs.warmup(triton.MockTensor(tl.int32), TEXT=text, CONSTRAINTS=constraints, grid=(1,))


WRONG = [
    ("add.s32 $0, $5, 1;", "=r,r", "names operand $5, but there are 2 operands"),
    ("add.s32 $0, ${7}, 1;", "=r,r", "names operand $7, but there are 2 operands"),
    ("add.s32 ${0, $1, 1;", "=r,r", "malformed operand '${0,'"),
    ("add.s32 $x, $1, 1;", "=r,r", "malformed operand '$x, '"),
    ("add.s32 $0, ${1:q}, 1;", "=r,r", "malformed operand '${1:'"),
    ("add.s32 $0, $1, 1;", "=z,r", "'=z' in '=z,r' is not a constraint"),
    ("add.s32 $0, $1, 1;", "=r", "describe 1 outputs and 0 inputs, but the operation has 1 and 1"),
    ("add.s32 $0, $1, 1;", "=r,r,r", "describe 1 outputs and 2 inputs, but the operation has 1 and 1"),
    ("add.s32 $0, $1, 1;", "r,=r", "name an output after an input"),
]


@pytest.mark.parametrize(("text", "constraints", "message"), WRONG, ids=[f"{w[0]} {w[1]}" for w in WRONG])
def test_wrong_inline_ptx_is_refused_at_its_line(
    text: str, constraints: str, message: str, refused: Callable[..., Any], wrong_line: Callable[[Any], str]
) -> None:
    refused(lambda: compiled(text, constraints), wrong_line(runs), message, "help: ")


@pytest.mark.parametrize(
    ("text", "constraints"),
    [
        ("add.s32 $0, $1, 1;", "=r,r"),
        ("add.s32 ${0}, ${1}, 1;", "=&r, r"),
        ("{ .reg .b32 t$$; mov.b32 $0, $1; }", "=r,0"),
        ("mov.b32 $0, $1;", "=r,r,~{memory}"),
    ],
)
def test_right_inline_ptx_compiles(text: str, constraints: str) -> None:
    assert "begin inline asm" in compiled(text, constraints).asm["ptx"]
