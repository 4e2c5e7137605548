"""What tensor copies write and read around the ends of rows: what an H200 did (`benchmarks/tensor_copy_edges.py`) is what the emulator does."""

from __future__ import annotations

import pytest
from tensor_copy_edges import ILLEGAL, Edge, on_emulator

MEASURED = {
    Edge("store", "int8", 464, 128, 384): "384..463 (+0)",
    Edge("store", "int8", 465, 128, 384): "384..479 (+15)",
    Edge("store", "int8", 466, 128, 384, base=144): "384..479 (+14)",
    Edge("store", "int8", 466, 128, 464): "464..479 (+14)",
    Edge("store", "int8", 466, 128, 480): "none",
    Edge("store", "int8", 261, 16, 256): "256..271 (+11)",
    Edge("store", "int8", 1, 128, 0, rows=1): "0..15 (+15)",
    Edge("store", "float16", 239, 64, 192): "192..239 (+2)",
    Edge("store", "float32", 117, 32, 100): "100..119 (+12)",
    Edge("store", "float32", 117, 32, 97): ILLEGAL,
    Edge("store", "int8", 466, 128, -16): ILLEGAL,
    Edge("store", "int8", 464, 128, 128, row=-2): ILLEGAL,
    Edge("store", "int8", 464, 128, 128, row=2): "row 0 on: none; row 2 on: 128..255 (-208)",
    Edge("add", "float16", 233, 64, 192): "192..239 (+14)",
    Edge("add", "int32", 118, 32, 96, rows=1): "96..119 (+8)",
    Edge("add", "float32", 116, 32, 32, row=-8): ILLEGAL,
    Edge("zero", "int8", 466, 128, 384): "row 0 on: 384..465 (+0); row 4 on: none",
    Edge("zero", "int8", 466, 128, -16, rows=1): "0..111 (-354)",
    Edge("zero", "int8", 466, 128, 381): ILLEGAL,
    Edge("zero", "float32", 116, 32, 32, row=-2): "row 0 on: none; row 2 on: 32..63 (-208); row 6 on: none",
    Edge("nan", "float16", 233, 64, 192, rows=1): "192..232 (+0)",
}


@pytest.mark.parametrize("edge", MEASURED, ids=lambda edge: " ".join(str(edge).split()))
def test_a_copy_at_an_edge_does_what_a_gpu_does(edge: Edge) -> None:
    assert on_emulator(edge) == MEASURED[edge]
