"""The laboratory with a kernel of one's own: a @jit function with inputs, or FILE.py:kernel without a signature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton import lab
from minitriton.errors import MinitritonError

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scaled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2.0, mask=at < n)
"""


@triton.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2.0, mask=at < n)


def inputs() -> dict[str, object]:
    return {"x_ptr": np.arange(100, dtype=np.float32), "out_ptr": np.zeros(100, np.float32), "n": 100, "BLOCK": 64}


def test_a_function_is_swept_with_its_inputs() -> None:
    table = lab.sweep([doubled], count=2, inputs={**inputs(), "grid": (2,)})
    assert np.prod(table.records[0].metrics["programs"]) == 2
    assert len(table) >= 1
    assert {record.kernel.partition("-")[0] for record in table.records} == {"doubled"}
    assert all(record.result is lab.Class.RIGHT for record in table.records)


def test_each_pass_of_a_function_is_left_out() -> None:
    found = lab.leave_one_out(doubled, inputs=inputs(), grid=(2,))
    (name,) = found.whole
    assert name.startswith("doubled-") and "tritongpu-coalesce" in found.without[name]


def test_a_function_is_searched() -> None:
    found = lab.search(doubled, objective="instructions", budget=4, inputs=[*inputs().values()], grid=(2,))
    assert found.best.result is lab.Class.RIGHT


def test_a_file_needs_no_signature(tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(KERNEL)
    assert all(record.result is lab.Class.RIGHT for record in lab.sweep(f"{path}:scaled", count=1).records)


def test_a_file_that_launches_its_kernel_is_swept_as_it_does(tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    call = "scaled[(3,)](np.ones(96, np.float32), np.ones(96, np.float32), 96, BLOCK=32)"
    path.write_text(f"import numpy as np\n{KERNEL}\nif __name__ == '__main__':\n    {call}\n")
    (record,) = lab.sweep(f"{path}:scaled", count=1).records
    assert (record.result, record.metrics["programs"]) == (lab.Class.RIGHT, 3)


def test_an_input_that_is_missing_is_said_at_the_callers_line() -> None:
    given = inputs()
    del given["n"]
    with pytest.raises(MinitritonError) as error:
        lab.sweep([doubled], inputs=given, grid=(2,))
    assert "inputs of doubled lack n" in str(error.value)
    assert error.value.location is not None and error.value.location.file == __file__
    assert "lab.sweep([doubled], inputs=given" in str(error.value)
