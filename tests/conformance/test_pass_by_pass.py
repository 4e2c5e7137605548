"""The comparison pass by pass, on kernels of our own: written down, recorded, judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton")

import triton.language as tl
from kernel_source import CannotWrite, kernel_file
from pass_by_pass import is_known
from pass_comparison import judge_stages, judge_steps, load_case
from triton_steps import load_kernel, steps_of

pytestmark = pytest.mark.oracle

SCALE = tl.constexpr(2.5)


@triton.jit
def scaled(x, T: tl.constexpr):
    return (x * SCALE).to(T)


@triton.jit
def row_sums(x, o, n, T: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + cols, mask=cols < n, other=0.0)
    if row > 3:
        tl.store(o + row, scaled(tl.sum(total, axis=0), T))


class Anything:
    pass


@triton.jit
def unwritable(o, X: tl.constexpr):
    tl.store(o, 1)


SIGNATURE = {"x": "*fp32", "o": "*fp16", "n": "i32", "T": "constexpr", "BLOCK": "constexpr"}
ATTRS = {(0,): [["tt.divisibility", 16]]}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "row_sums-1-sm90.py"
    constants: dict[Any, Any] = {(3,): tl.float16, (4,): 128}
    path.write_text(kernel_file(row_sums, SIGNATURE, constants, ATTRS, {"num_warps": 2}, 90))
    return path


def test_a_kernel_is_written_with_what_it_reads(written: Path) -> None:
    text = written.read_text()
    assert "SCALE = tl.constexpr(2.5)" in text
    assert text.index("def scaled") < text.index("def row_sums")
    case = load_kernel(written, "triton")
    assert (case.ARCH, case.OPTIONS, case.CONSTANTS[3,]) == (90, {"num_warps": 2}, tl.float16)


def test_a_value_without_text_is_refused() -> None:
    with pytest.raises(CannotWrite, match="Anything"):
        kernel_file(unwritable, {"o": "*i32", "X": "constexpr"}, {(1,): Anything()}, {}, {}, 90)


def test_every_pass_and_stage_is_judged(written: Path) -> None:
    record = steps_of(written)
    assert [s["pass"] for s in record["steps"]][:2] == ["common.add_inliner", "ttir.add_rewrite_tensor_pointer"]
    assert record["steps"][-1]["pass"] == "ttnvgpuir.add_proxy_fence_insertion"
    verdicts = judge_steps(record)
    assert {v.outcome for v in verdicts} <= {"equal", "absent"}, [v for v in verdicts if v.outcome != "equal"]
    assert sum(v.outcome == "equal" for v in verdicts) > 30
    assert [v.outcome for v in judge_stages(load_case(written), record)] == ["equal"] * 3


def test_another_result_is_told_apart(written: Path) -> None:
    record = steps_of(written)
    step = next(s for s in record["steps"] if s["before"] != s["after"])
    step["after"] = step["before"]
    assert judge_steps(record)[record["steps"].index(step)].outcome == "differs"


def test_a_difference_is_known_by_pass_and_test() -> None:
    assert is_known("tritongpu-pipeline", Path("tl_range_num_stages-1-sm90.py"))
    assert not is_known("tritongpu-pipeline", Path("tl_range_fuse-1-sm90.py"))
    assert not is_known("frontend", Path("tl_range_num_stages-1-sm90.py"))
