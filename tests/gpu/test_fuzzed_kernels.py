"""Fuzzed kernels on the GPU give what the interpreter and the emulator give."""

import pytest

pytest.importorskip("torch")

from minitriton.fuzz.tiles import KIND


@pytest.mark.parametrize("batch", range(10))
def test_the_gpu_agrees(batch: int) -> None:
    for number in range(batch * 10, batch * 10 + 10):
        report = KIND.fuzz(11, number, ["interpreter", "emulator", "gpu"])
        assert not report.findings, f"minitriton fuzz --seed 11 --only {number}\n{report.findings[0].text}"
