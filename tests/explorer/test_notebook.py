"""Kernels, reports, layouts and differences display themselves, in a real Jupyter kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="needs minitriton[notebook]")
pytest.importorskip("ipykernel", reason="needs minitriton[notebook]")
nbformat = pytest.importorskip("nbformat", reason="needs minitriton[notebook]")

KERNEL = Path(__file__).parents[2] / "minitriton_kernels" / "vector_add.py"
CELLS = (
    f"""
import sys
import numpy as np
from minitriton.commands.cli import main
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.compiles import Compiles
from minitriton.explorer.layout_facts import layout_fact, read_encoding
opened = Compiles().opened(CompileRequest({str(KERNEL)!r} + ":vector_add", "*fp32:16,*fp32:16,*fp32:16,i32,BLOCK=256"))
opened.recording
""",
    "opened.recording.difference(opened.recording.find('tritongpu-coalesce'))",
    'layout_fact(read_encoding("blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"), (16, 32))',
    """
import minitriton
kernel = minitriton.compile(opened.program.source, target=opened.program.target)
kernel
""",
    """
from minitriton.explorer.execution import run_program
run_program(opened.program, opened.recording).report
""",
    """
from minitriton.lab import check
launch = opened.program.launch()
check(opened.program.source, launch.arguments, launch.grid, target=opened.program.target, options=opened.program.options)
""",
)
SHOWN = ("tritongpu-coalesce", "ttg.convert_layout", "T0:0", "ld.global", "requests", "emit-ptx")


def test_they_display_themselves_in_a_notebook() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    done = nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    for cell, wanted in zip(done.cells, SHOWN, strict=True):
        shown = [
            output["data"].get("text/html", "") for output in cell.outputs if output.output_type == "execute_result"
        ]
        assert shown and wanted in shown[0], (cell.source, cell.outputs)
        assert "<script" not in shown[0]


def test_before_and_after_are_both_in_sight() -> None:
    from minitriton.host.tables import table

    assert "table-layout:fixed;width:100%" in table(["before", "after"], [["x" * 500, "y"]], fits=True)
    assert "overflow-wrap:anywhere" in table(["a"], [["b"]], fits=True) and "fixed" not in table(["a"], [["b"]])
