"""The passes for block pointers and descriptors give what Triton's own give."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from triton._C.libtriton import passes
from wheel_passes import ir_equal, on_wheel

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module, print_module
from minitriton.pass_registry import Pass
from minitriton.passes.rewrite_tensor_pointer import RewriteTensorPointer

pytestmark = pytest.mark.oracle


def after(text: str, pass_: Pass) -> str:
    """The text of `text` after a pass of ours; the module is verified."""
    module = parse_module(text)
    pass_.apply(make_context(), module)
    module.verify()
    return print_module(module)


def block_pointer_access(element: str, padding: str) -> str:
    return f"""
    tt.func public @f(%x: !tt.ptr<{element}>, %m: i64, %i: i32) {{
      %c1 = arith.constant 1 : i64
      %p = tt.make_tensor_ptr %x, [%m, %m], [%m, %c1], [%i, %i] {{order = array<i32: 1, 0>}} : !tt.ptr<tensor<16x32x{element}>>
      %v = tt.load %p cacheModifier = cg {{boundaryCheck = array<i32: 1, 0>{padding}}} : !tt.ptr<tensor<16x32x{element}>>
      %q = tt.advance %p, [%i, %i] : !tt.ptr<tensor<16x32x{element}>>
      tt.store %q, %v {{boundaryCheck = array<i32: 1>}} : !tt.ptr<tensor<16x32x{element}>>
      tt.return
    }}
    """


ZEROS, NANS = ", padding = 1 : i32", ", padding = 2 : i32"


@pytest.mark.parametrize(
    ("element", "padding"),
    [(e, p) for e in ("f16", "bf16", "f32", "f64", "f8E5M2", "f8E4M3FN") for p in ("", ZEROS, NANS)]
    + [(e, p) for e in ("i8", "i64") for p in ("", ZEROS)],
)
def test_an_access_through_a_block_pointer(element: str, padding: str) -> None:
    text = block_pointer_access(element, padding)
    assert ir_equal(after(text, RewriteTensorPointer()), on_wheel(text, [passes.ttir.add_rewrite_tensor_pointer]))
