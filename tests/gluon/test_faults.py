"""A third of the planted faults of `benchmarks/gluon_faults.py`, and the right kernels: the other two thirds are `python benchmarks/gluon_faults.py`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gluon_faults import FAULTS, LAUNCHES, SOURCE, Fault, complaint, verdict

from minitriton.errors import MinitritonError
from minitriton.experimental import gluon
from minitriton.experimental.gluon import language as gl
from minitriton.experimental.gluon.language.nvidia.ampere import async_copy
from minitriton.language.gluon.layouts import BlockedLayout, SliceLayout, written


@pytest.mark.parametrize("kernel", LAUNCHES)
def test_a_right_kernel_is_clean(kernel: str, tmp_path: Path) -> None:
    assert complaint(kernel, SOURCE.read_text(), tmp_path) is None


@pytest.mark.parametrize("fault", FAULTS[::3], ids=lambda fault: fault.id)
def test_a_fault_is_found_at_its_line(fault: Fault, tmp_path: Path) -> None:
    found, what = verdict(fault, tmp_path)
    assert found, what


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.says == "proxy-fence"], ids=lambda fault: fault.id
)
def test_the_interpreter_finds_a_missing_fence_at_its_line(
    fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINITRITON_INTERPRET", "1")
    found, what = verdict(replace(fault, says="with no fence between them"), tmp_path)
    assert found, what


@pytest.mark.parametrize("kernel", ["tma_copied", "dot_of_copied", "loaded_and_added"])
def test_what_sm_80_lacks_is_refused_at_its_line(kernel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", "sm80")
    error = complaint(kernel, SOURCE.read_text(), tmp_path)
    assert error is not None and error.location is not None
    assert "needs sm_90 or later, and the kernel is compiled for sm_80" in error.message


def test_only_operands_of_16_bits_may_be_contiguous_along_another_dimension_than_k(tmp_path: Path) -> None:
    text = SOURCE.read_text().replace("NVMMASharedLayout(64, 16)", "NVMMASharedLayout(32, 8)")
    text = text.replace("[16, 32, 16])", "[16, 32, 32])").replace("gl.float16, [M, K]", "gl.float8e5, [M, K]")
    text = text.replace("gl.float16, [K, N]", "gl.float8e5, [K, N]").replace("k0))\n", "k0).to(gl.float8e5))\n")
    text = text.replace("y.store(gl.load(b + k1 * N + j))", "y.store(gl.load(b + k1 * N + j).to(gl.float8e5))")
    error = complaint("dot_of_stored", text, tmp_path)
    assert error is not None and "operand b is not contiguous along k" in error.message
    assert error.location is not None and "warpgroup_mma(" in text.split("\n")[error.location.line - 1]


@gluon.jit
def summed_before_the_last_wait(x, out, STEPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
    at = (
        gl.arange(0, 4, gl.SliceLayout(1, layout))[:, None] * 128
        + gl.arange(0, 128, gl.SliceLayout(0, layout))[None, :]
    )
    buffers = gl.allocate_shared_memory(gl.float32, [2, 4, 128], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    async_copy.async_copy_global_to_shared(buffers.index(0), x + at)
    async_copy.commit_group()
    total = gl.zeros([4, 128], gl.float32, layout)
    for step in range(STEPS):
        async_copy.async_copy_global_to_shared(buffers.index((step + 1) % 2), x + at, mask=at < STEPS - step)
        async_copy.commit_group()
        async_copy.wait_group(1)
        total += buffers.index(step % 2).load(layout)
        gl.thread_barrier()
    gl.store(out + gl.arange(0, 128, gl.SliceLayout(0, layout)), gl.sum(total, 0))


def test_a_reduction_in_memory_that_is_still_copied_to_is_found_where_it_is_called() -> None:
    """The buffers are not used any more, so the sum has their memory; its instructions are the library's."""
    with pytest.raises(MinitritonError, match="writes what an asynchronous copy writes later") as caught:
        summed_before_the_last_wait[(1,)](np.ones((4, 128), np.float32), np.zeros(128, np.float32), 4)
    assert caught.value.location is not None and "gl.sum(" in (caught.value.source_line or "")


def test_a_deadlock_says_what_the_mbarrier_lacks_and_where_others_wait(tmp_path: Path) -> None:
    text = SOURCE.read_text().replace("        mbarrier.arrive(empty.index(slot), count=1)\n", "")
    error = complaint("loaded_and_added", text, tmp_path)
    assert isinstance(error, MinitritonError)
    assert "lacks 1 of 1 arrivals; others wait at" in error.message


def test_a_layout_is_written_as_kernels_write_it() -> None:
    layout = SliceLayout(1, BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]))
    assert written(layout) == "ttgl.SliceLayout(1, ttgl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]))"
