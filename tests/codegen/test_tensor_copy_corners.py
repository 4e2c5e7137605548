"""Tensor copies that no GPU makes are refused at their line where that is known, and stores that may write past a row are named by a remark."""

from __future__ import annotations

import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.compiler import ASTSource
from minitriton.errors import LoweringError
from minitriton.target import GPUTarget


@triton.jit
def moved(x, y, m, n, stride, ROW: tl.constexpr, FROM: tl.constexpr, TO: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [m, n], [stride, 1], [8, 32])
    target = tl.make_tensor_descriptor(y, [m, n], [stride, 1], [8, 32])
    target.store([ROW, TO], source.load([ROW, FROM]))


def compiled(row: int, first: int, to: int, *, divided: bool = False, arch: int = 90) -> str:
    signature = {
        "x": "*fp32",
        "y": "*fp32",
        "m": "i32",
        "n": "i32",
        "stride": "i32",
        "ROW": "constexpr",
        "FROM": "constexpr",
        "TO": "constexpr",
    }
    attributes = {(index,): [["tt.divisibility", 16]] for index in (0, 1, 3, 4)}
    if not divided:
        del attributes[(3,)]
    source = ASTSource(moved, signature, {"ROW": row, "FROM": first, "TO": to}, attributes)
    return triton.compile(source, GPUTarget("cuda", arch, 32), {}).asm["ptx"]


@pytest.mark.parametrize(
    ("row", "first", "to", "why"),
    [
        (0, 3, 0, "begins 12 bytes into the rows, not at a multiple of 16"),
        (0, 0, 97, "begins 388 bytes into the rows"),
        (0, 0, -4, "begins at 0, -4: only loads may begin before the tensor"),
        (-1, 0, 0, "begins at -1, 0: only loads"),
    ],
)
def test_a_copy_that_no_gpu_makes_is_refused_at_its_line(row: int, first: int, to: int, why: str) -> None:
    with pytest.raises(LoweringError, match=why) as raised:
        compiled(row, first, to)
    assert raised.value.location is not None and raised.value.location.line == 18
    assert "cp.async.bulk" not in compiled(row, first, to, arch=80), "pointers and masks can"


def test_loads_may_begin_before_the_tensor() -> None:
    assert "cp.async.bulk.tensor" in compiled(0, -4, 4)


def test_a_remark_names_stores_that_may_write_past_a_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLIR_ENABLE_REMARK", "1")
    compiled(0, 0, 0)
    told = capsys.readouterr().err
    assert f"{__file__}:18:" in told
    assert "remark: this store may write up to 12 bytes past the end of each row" in told
    compiled(0, 0, 0, divided=True)
    assert "past the end" not in capsys.readouterr().err
