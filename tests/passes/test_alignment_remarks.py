"""`test-print-alignment`: what axis info knows, as text."""

from __future__ import annotations

import pytest
from triton_test_passes.print_alignment import PrintAlignment

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module

SOURCE = """tt.func @f(%n: i32 {tt.divisibility = 16 : i32}) {
  %0 = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32> loc("k.py":3:5)
  %1 = tt.splat %n : i32 -> tensor<128xi32>
  %2 = arith.cmpi slt, %0, %1 : tensor<128xi32>
  tt.return
}
"""


def test_each_result_gets_a_line_and_the_module_stays(capsys: pytest.CaptureFixture[str]):
    module = parse_module(SOURCE)
    before = print_module(module)
    PrintAlignment().apply(make_context(), module)
    lines = capsys.readouterr().err.splitlines()
    assert print_module(module) == before
    assert len(lines) == 3
    assert lines[0].startswith("k.py:3:5: remark: %0 = tt.make_range")
    assert lines[0].endswith(
        "=> contiguity = [128], divisibility = [1073741824], constancy = [1], constant_value = <none>"
    )
    assert lines[2].endswith("=> contiguity = [1], divisibility = [1], constancy = [16], constant_value = <none>")
