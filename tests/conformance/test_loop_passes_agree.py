"""Passes that reshape loops and branches give what Triton's wheel gives, op by op."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

from triton._C.libtriton import passes
from wheel_passes import canonical_text, on_wheel

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.pass_registry import Pass
from minitriton.passes.combine_tensor_select_and_if import CombineTensorSelectAndIf

pytestmark = pytest.mark.oracle

CONTEXT = make_context()

SOURCE = os.environ.get("TRITON_SRC")


def agree(text: str, add_pass: Callable[[Any], None], answer: Pass) -> str:
    """Asserts that both passes make the same of `text`; what they make."""
    module = parse_module(text)
    answer.apply(CONTEXT, module)
    module.verify()
    want = on_wheel(text, [add_pass])
    assert canonical_text(module) == canonical_text(parse_module(want)), text
    return want


def lit_chunks(name: str) -> list[str]:
    """The parts of one of Triton's lit tests, if its checkout is at hand."""
    if SOURCE is None:
        pytest.skip("TRITON_SRC names no checkout of Triton")
    return re.split(r"^// ?-----.*$", Path(SOURCE, "test", name).read_text(), flags=re.MULTILINE)


def test_selects_of_the_lit_test_are_merged_alike() -> None:
    for chunk in lit_chunks("TritonGPU/combine-select-if.mlir"):
        agree(chunk, passes.ttgpuir.add_combine_tensor_select_and_if, CombineTensorSelectAndIf())
