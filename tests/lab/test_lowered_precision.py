"""A TTIR pass that asks for fewer bits than the kernel is named, although the interpreter's numbers do not show it."""

from __future__ import annotations

import inspect

import numpy as np
from broken_passes import broken
from xdsl.ir import Operation

import minitriton as triton
import minitriton.language as tl
from minitriton.dialects import tt
from minitriton.dialects.tt import InputPrecision, InputPrecisionAttr
from minitriton.lab import CheckReport, check_call
from minitriton.pipeline.pass_manager import Pipeline


@triton.jit
def product(a, b, c, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION))


def round_to_tf32(op: Operation) -> bool:
    if not isinstance(op, tt.DotOp):
        return False
    op.input_precision = InputPrecisionAttr(InputPrecision.TF32)
    return True


def checked(precision: str) -> CheckReport:
    arrays = [np.ones((16, 16), np.float32) for _ in range(3)]
    pipeline = Pipeline.parse(f"inline,canonicalize,{broken(round_to_tf32)},cse")
    return check_call(product, arrays, grid=(1,), N=16, PRECISION=precision, pipeline=pipeline)


def test_a_dot_in_tf32_where_the_kernel_asks_for_float32_is_named_with_its_line() -> None:
    report = checked("ieee")
    (row,) = report.broken
    line = inspect.getsourcelines(product.fn)[1] + 4
    assert row.name == "broken-round-to-tf32" and not row.wrong
    assert row.rounding is not None and f"test_lowered_precision.py:{line}:" in row.rounding
    assert "it lowers the precision" in report.text()


def test_a_kernel_that_asks_for_tf32_gets_it() -> None:
    assert checked("tf32").ok
