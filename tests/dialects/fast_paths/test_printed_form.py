"""Forms that are compiled for printing say what xDSL's statements say."""

from __future__ import annotations

from pathlib import Path

import pytest

from minitriton.dialects.context import make_context
from minitriton.dialects.fast_paths import op_definition
from minitriton.dialects.fast_paths.printed_form import printed_form
from minitriton.dialects.text import parse_module, print_module
from minitriton.dialects.ttg import MemDescSubsliceOp

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.tt*ir"))

OPTIONAL_PARTS = """module {
  tt.func public @f(%p: !tt.ptr<f32>, %q: tensor<4x!tt.ptr<f32>>, %m: tensor<4xi1>, %x: tensor<4xf32>, %i: i32, %c: i1) {
    %0 = tt.load %q : tensor<4x!tt.ptr<f32>>
    %1 = tt.load %q, %m : tensor<4x!tt.ptr<f32>>
    %2 = tt.load %q, %m, %x cacheModifier = ca evictionPolicy = evict_first : tensor<4x!tt.ptr<f32>>
    tt.store %q, %2, %m evictionPolicy = evict_last {note = 1 : i32} : tensor<4x!tt.ptr<f32>>
    %3 = arith.addi %i, %i overflow<nsw> : i32
    %4 = arith.addi %i, %3 {note} : i32
    %5 = arith.mulf %x, %x fastmath<fast> : tensor<4xf32>
    %6 = arith.select %m, %x, %5 : tensor<4xi1>, tensor<4xf32>
    %7 = arith.select %c, %i, %4 : i32
    %8 = arith.cmpi slt, %3, %4 : i32
    tt.print "x" {hex = false, isSigned = array<i32: 0>} : %6 : tensor<4xf32>
    tt.return
  }
}
"""


@pytest.mark.parametrize("text", [OPTIONAL_PARTS, *(path.read_text() for path in GOLDEN[::7])])
def test_a_compiled_form_prints_what_the_statements_print(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse_module(text)
    compiled = print_module(module, locations=True)
    monkeypatch.setattr(op_definition, "_form", lambda cls: None)
    assert print_module(module, locations=True) == compiled


def test_a_form_whose_spaces_depend_on_the_op_is_left_to_xdsl() -> None:
    make_context()
    assert printed_form(op_definition.textual_form(MemDescSubsliceOp).stmts) is None
