"""Lit tests of the lowering, compiled and executed (`lit_lowering.py` runs all of them; here, the smaller files)."""

import os
from pathlib import Path

import pytest

pytest.importorskip("triton")

import minitriton.codegen.all_passes
import minitriton.passes.all_passes  # noqa: F401

SOURCE = os.environ.get("TRITON_SRC")
SMALL = [
    "Conversion/atomic_ldst.mlir",
    "Conversion/cvt_to_llvm.mlir",
    "Conversion/dedup-by-constancy.mlir",
    "Conversion/divide-by-0.mlir",
    "Conversion/reduce_to_llvm.mlir",
    "Conversion/tritongpu_to_llvm_hopper_ptx80.mlir",
    "Conversion/tritongpu_to_ptx.mlir",
]


@pytest.mark.skipif(SOURCE is None, reason="TRITON_SRC names no checkout of Triton")
@pytest.mark.parametrize("name", SMALL)
def test_functions_do_on_the_emulator_what_they_mean(name: str) -> None:
    from lit_lowering import lower_file

    results = lower_file(Path(SOURCE or ""), name)
    assert results
    assert [r for r in results if r.outcome != "equal"] == []
